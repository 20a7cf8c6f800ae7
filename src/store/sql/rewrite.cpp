#include "store/sql/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

namespace pawl::store::sql {
namespace {

constexpr std::string_view own_prefix = "pawl_";
constexpr std::size_t longest_prefix = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// The length of a quoted text or a comment that begins here, else 0.
std::size_t opaque_length(std::string_view sql) {
    std::string_view end;
    if (sql[0] == '\'') end = "'";
    if (sql[0] == '"') end = "\"";
    if (sql.starts_with("--")) end = "\n";
    if (end.empty()) return 0;
    const auto at = sql.find(end, 1);
    return at == sql.npos ? sql.size() : at + end.size();
}

}  // namespace

std::string rewrite(std::string_view sql, const Dialect& dialect,
                    std::vector<std::size_t>* places) {
    std::string out;
    out.reserve(sql.size() + 64);
    while (!sql.empty()) {
        std::size_t length = opaque_length(sql);
        if (length == 0 && is_word(sql[0])) {
            while (length < sql.size() && is_word(sql[length])) ++length;
            if (sql.starts_with(own_prefix)) {
                out += dialect.prefix;
                sql.remove_prefix(own_prefix.size());
                length -= own_prefix.size();
            }
        } else if (length == 0 && sql[0] == '$' && sql.size() > 1 && is_digit(sql[1])) {
            out += dialect.mark;
            sql.remove_prefix(1);
            while (length < sql.size() && is_digit(sql[length])) ++length;
            if (places) places->push_back(std::stoul(std::string{sql.substr(0, length)}));
            if (dialect.numbered) out += sql.substr(0, length);
            sql.remove_prefix(length);
            continue;
        }
        if (length == 0) length = 1;
        out += sql.substr(0, length);
        sql.remove_prefix(length);
    }
    return out;
}

std::vector<std::string> split_script(std::string_view script) {
    std::vector<std::string> parts;
    std::string part;
    while (!script.empty()) {
        const bool comment = script.starts_with("--");
        const auto length = std::max<std::size_t>(opaque_length(script), 1);
        if (script[0] == ';') {
            parts.push_back(std::move(part));
            part.clear();
        } else if (!comment && !(part.empty() && (script[0] == ' ' || script[0] == '\n'))) {
            part += script.substr(0, length);
        }
        script.remove_prefix(length);
    }
    if (!part.empty()) parts.push_back(std::move(part));
    return parts;
}

void check_prefix(std::string_view prefix) {
    bool good = !prefix.empty() && prefix.size() <= longest_prefix && is_lower(prefix.front()) &&
                prefix.back() == '_';
    for (const char c : prefix) good = good && (is_lower(c) || is_digit(c) || c == '_');
    if (!good)
        throw Error{Code::invalid,
                    fmt::format("the table prefix \"{}\" is not usable: give it 1 to {} lower-case "
                                "letters, digits and underscores, a letter first and an underscore "
                                "last",
                                prefix, longest_prefix)};
}

}  // namespace pawl::store::sql
