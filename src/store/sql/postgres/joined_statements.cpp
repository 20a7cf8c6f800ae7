#include "store/sql/postgres/joined_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.hpp"
#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr std::string_view raises = "SELECT 1 / (";
constexpr std::string_view raised = ")::integer";

// The same statement with parameters that begin behind `offset`, which is moved behind them.
std::string shifted(std::string_view sql, std::size_t& offset) {
    std::string out;
    std::size_t highest = 0;
    for (std::size_t at = 0; at < sql.size(); ++at) {
        out += sql[at];
        if (sql[at] != '$') continue;
        std::size_t number = 0;
        const char* const first = sql.data() + at + 1;
        const auto [rest, error] = std::from_chars(first, sql.data() + sql.size(), number);
        if (error != std::errc{}) continue;
        highest = std::max(highest, number);
        out += std::to_string(number + offset);
        at += static_cast<std::size_t>(rest - first);
    }
    offset += highest;
    return out;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
    return text;
}

}  // namespace

bool can_join(std::string_view statement) {
    static constexpr std::string_view all[] = {statements.presumed->writing->dictionary.text,
                                               statements.presumed->instances.text,
                                               statements.presumed->sessions.text,
                                               statements.presumed->items.text,
                                               statements.presumed->writing->instances.text,
                                               statements.presumed->writing->items.text,
                                               statements.instances.add.text,
                                               statements.events.add.text,
                                               statements.inputs.add.text,
                                               statements.items.add.text};
    return std::ranges::find(all, statement) != std::end(all);
}

std::string join_statements(std::span<const std::string_view> texts) {
    std::string with, condition;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string sql = shifted(trimmed(texts[i]), offset);
        with += with.empty() ? "WITH " : ", ";
        if (!sql.starts_with("WITH ")) {
            with += fmt::format("joined{} AS ({})", i, sql);
            continue;
        }
        const auto end = sql.rfind(raises);
        base::check(end != sql.npos && sql.ends_with(raised), "a guard raises at its end");
        with += trimmed(std::string_view{sql}.substr(5, end - 5));
        condition += condition.empty() ? "" : " AND ";
        const auto begin = end + raises.size();
        condition += sql.substr(begin, sql.size() - raised.size() - begin);
    }
    if (condition.empty()) return with + " SELECT 1";
    return fmt::format("{} {}{}{}", with, raises, condition, raised);
}

}  // namespace pawl::store::sql::postgres
