// pawl's own parameters are taken out of a store URL; the rest is libpq's.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <pawl/error.hpp>

#include "base/url.hpp"
#include "store/sql/postgres/postgres_store.hpp"

namespace pawl::store {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view what) {
    throw Error{Code::invalid, fmt::format("invalid store URL: {} is {}, it must be {}", name,
                                           base::shown(value), what)};
}

std::int64_t whole_number(std::string_view name, std::string_view value, std::string_view what) {
    std::int64_t number = 0;
    const auto end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || at != end || number < 1 || number > 1'000'000)
        refuse(name, value, what);
    return number;
}

// Whether the parameter is pawl's.
bool take(PostgresOptions& options, std::string_view name, std::string_view value) {
    if (name == "schema") {
        options.schema = value;
    } else if (name == "connections") {
        options.connections =
            static_cast<std::size_t>(whole_number(name, value, "a number of connections"));
    } else if (name == "pooler") {
        if (value != "yes" && value != "no") refuse(name, value, "yes or no");
        options.pooler = value == "yes";
    } else if (name == "statement_timeout") {
        options.statement_timeout =
            std::chrono::seconds{whole_number(name, value, "a number of seconds")};
    } else if (name == "patience") {
        options.patience = std::chrono::seconds{whole_number(name, value, "a number of seconds")};
    } else {
        return false;
    }
    return true;
}

// pawl's, and those that this libpq knows; except what is for its own developers.
std::vector<std::string> known_parameters() {
    std::vector<std::string> names{"connections", "patience", "pooler",
                                   "schema",      "ssl",      "statement_timeout"};
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
        PQconninfoParse("", nullptr), PQconninfoFree};
    for (const auto* option = options.get(); option && option->keyword; ++option)
        if (*option->dispchar != 'D') names.emplace_back(option->keyword);
    std::ranges::sort(names);
    return names;
}

// libpq and the server show these in messages.
constexpr std::array shown_ones{"dbname", "host", "hostaddr", "port", "user"};

void check_names(const base::ServerUrl& url) {
    for (const auto& [name, value] : url.parameters)
        if (std::ranges::count(shown_ones, name) > 0 && !base::is_name(value))
            refuse(name, value, "a name, without = and ;");
}

}  // namespace

PostgresOptions parse_postgres_url(std::string_view url) {
    const auto parsed = base::parse_server_url(url);
    base::check_parameters(parsed.scheme, parsed.parameters, known_parameters());
    check_names(parsed);
    PostgresOptions options{.schema = ""};
    const auto mark = url.find('?');
    options.conninfo = url.substr(0, mark);
    if (mark == url.npos) return options;
    std::string_view query = url.substr(mark + 1);
    char before = '?';
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const auto name = part.substr(0, part.find('='));
        if (take(options, name, parsed.parameters.find(name)->second)) continue;
        options.conninfo += before;
        options.conninfo += part;
        before = '&';
    }
    return options;
}

}  // namespace pawl::store
