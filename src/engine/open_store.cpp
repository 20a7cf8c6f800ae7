#include "engine/open_store.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/url.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sql/mariadb/mariadb_store.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::engine {
namespace {

bool yes_or_no(const base::StoreUrl& url, const std::string& name, bool otherwise) {
    const auto it = url.parameters.find(name);
    if (it == url.parameters.end()) return otherwise;
    if (it->second == "yes" || it->second == "no") return it->second == "yes";
    throw Error{Code::invalid, fmt::format("store URL: {}={} must be yes or no", name, it->second)};
}

std::unique_ptr<store::Store> open_sqlite(const base::StoreUrl& url, const Options& options) {
    for (const auto& [name, value] : url.parameters)
        if (name != "adopt" && name != "full_sync")
            throw Error{Code::invalid,
                        fmt::format("store URL: sqlite has no parameter \"{}\"; it has adopt "
                                    "and full_sync",
                                    name)};
    if (url.rest.empty())
        throw Error{Code::invalid, "store URL \"sqlite:\" names no file: write sqlite:PATH"};
    store::SqliteOptions sqlite;
    sqlite.path = url.rest;
    sqlite.clock = options.test.store_clock;
    sqlite.prefix = options.prefix;
    sqlite.adopt = yes_or_no(url, "adopt", false);
    sqlite.full_sync = yes_or_no(url, "full_sync", true);
    sqlite.at_point = options.test.at_point;
    return store::open_sqlite(sqlite);
}

std::unique_ptr<store::Store> open_mariadb(std::string_view url, const Options& options) {
    store::MariadbOptions mariadb;
    mariadb.url = url;
    mariadb.clock = options.test.store_clock;
    mariadb.prefix = options.prefix;
    mariadb.at_point = options.test.at_point;
    return store::open_mariadb(mariadb);
}

// A URL with a server may hold a password: it is not taken apart here, nor shown.
bool has_scheme(std::string_view url, std::string_view scheme) {
    return url.substr(0, url.find(':')) == scheme;
}

}  // namespace

std::unique_ptr<store::Store> open_store(std::string_view url, const Options& options) {
    if (has_scheme(url, "mariadb") || has_scheme(url, "mysql")) return open_mariadb(url, options);
    const auto parsed = base::parse_url(url);
    const Clock* clock = options.test.store_clock;
    if (parsed.scheme == "memory") return store::open_memory(clock ? *clock : system_clock());
    if (parsed.scheme == "sqlite") return open_sqlite(parsed, options);
    throw Error{Code::invalid, fmt::format("store URL \"{}\": there is no store \"{}\"; there are "
                                           "sqlite, mariadb and memory",
                                           url, parsed.scheme)};
}

}  // namespace pawl::engine
