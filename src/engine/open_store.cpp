#include "engine/open_store.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>
#include <pawl/migrate.hpp>
#include <vector>

#include "base/url.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"
#ifdef PAWL_MARIADB
#include "store/sql/mariadb/mariadb_store.hpp"
#endif
#ifdef PAWL_POSTGRES
#include "store/sql/postgres/postgres_store.hpp"
#endif

namespace pawl::engine {
namespace {

bool yes_or_no(const base::StoreUrl& url, const std::string& name, bool otherwise) {
    const auto it = url.parameters.find(name);
    if (it == url.parameters.end()) return otherwise;
    if (it->second == "yes" || it->second == "no") return it->second == "yes";
    throw Error{Code::invalid, fmt::format("invalid store URL: {} is {}, it must be yes or no",
                                           name, base::shown(it->second))};
}

store::SqliteOptions sqlite_options(std::string_view text, const Options& options) {
    const auto url = base::parse_url(text);
    for (const auto& [name, value] : url.parameters)
        if (name != "adopt" && name != "full_sync")
            throw Error{Code::invalid,
                        fmt::format("store URL: sqlite has no parameter {}; it has adopt "
                                    "and full_sync",
                                    base::shown(name))};
    if (url.rest.empty())
        throw Error{Code::invalid, "store URL \"sqlite:\" names no file: write sqlite:PATH"};
    store::SqliteOptions sqlite;
    sqlite.path = url.rest;
    sqlite.clock = options.test.store_clock;
    sqlite.prefix = options.prefix;
    sqlite.adopt = yes_or_no(url, "adopt", false);
    sqlite.full_sync = yes_or_no(url, "full_sync", true);
    sqlite.at_point = options.test.at_point;
    return sqlite;
}

#ifdef PAWL_POSTGRES
store::PostgresOptions postgres_options(std::string_view url, const Options& options) {
    auto postgres = store::parse_postgres_url(url);
    // Where tables have a schema of their own they need no prefix: its name is the prefix's.
    if (postgres.schema.empty()) {
        postgres.schema = options.prefix;
        if (postgres.schema.ends_with('_')) postgres.schema.pop_back();
    }
    postgres.clock = options.test.store_clock;
    postgres.at_point = options.test.at_point;
    return postgres;
}
#endif

#ifdef PAWL_MARIADB
store::MariadbOptions mariadb_options(std::string_view url, const Options& options) {
    store::MariadbOptions mariadb;
    mariadb.url = url;
    mariadb.clock = options.test.store_clock;
    mariadb.prefix = options.prefix;
    mariadb.at_point = options.test.at_point;
    return mariadb;
}
#endif

/// What can be done with a kind of store, by the scheme of its URL.
struct Kind {
    std::vector<std::string_view> schemes;
    std::unique_ptr<store::Store> (*open)(std::string_view url, const Options& options);
    void (*migrate)(std::string_view url, const Options& options);
    std::string (*migration_sql)(std::string_view url, const Options& options);
    const char* build_option = nullptr;  ///< without which it was built, if it was
};

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {.schemes = {"sqlite"},
         .open = [](std::string_view url,
                    const Options& options) { return open_sqlite(sqlite_options(url, options)); },
         .migrate = [](std::string_view url,
                       const Options& options) { open_sqlite(sqlite_options(url, options)); },
         .migration_sql =
             [](std::string_view url, const Options& options) {
                 return store::sqlite_migration_sql(sqlite_options(url, options));
             }},
        {.schemes = {"memory"},
         .open =
             [](std::string_view, const Options& options) {
                 const Clock* clock = options.test.store_clock;
                 return store::open_memory(clock ? *clock : system_clock());
             },
         .migrate = [](std::string_view, const Options&) {},
         .migration_sql = [](std::string_view, const Options&) { return std::string{}; }},
#ifdef PAWL_POSTGRES
        {.schemes = {"postgres", "postgresql"},
         .open =
             [](std::string_view url, const Options& options) {
                 return store::open_postgres(postgres_options(url, options));
             },
         .migrate =
             [](std::string_view url, const Options& options) {
                 store::migrate_postgres(postgres_options(url, options));
             },
         .migration_sql =
             [](std::string_view url, const Options& options) {
                 return store::postgres_migration_sql(postgres_options(url, options));
             }},
#else
        {.schemes = {"postgres", "postgresql"}, .build_option = "PAWL_POSTGRES"},
#endif
#ifdef PAWL_MARIADB
        {.schemes = {"mariadb", "mysql"},
         .open =
             [](std::string_view url, const Options& options) {
                 return store::open_mariadb(mariadb_options(url, options));
             },
         .migrate =
             [](std::string_view url, const Options& options) {
                 store::migrate_mariadb(mariadb_options(url, options));
             },
         .migration_sql =
             [](std::string_view url, const Options& options) {
                 return store::mariadb_migration_sql(mariadb_options(url, options));
             }},
#else
        {.schemes = {"mariadb", "mysql"}, .build_option = "PAWL_MARIADB"},
#endif
    };
    return all;
}

const Kind& kind_of(std::string_view url) {
    const auto scheme = base::scheme_of(url);
    std::string known;
    for (const auto& kind : kinds()) {
        for (const auto name : kind.schemes) {
            if (name != scheme) continue;
            if (!kind.build_option) return kind;
            throw Error{Code::invalid,
                        fmt::format("store URL: this pawl was built without {} stores; build it "
                                    "with -D{}=ON",
                                    scheme, kind.build_option)};
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.schemes.front());
    }
    throw Error{Code::invalid,
                fmt::format("store URL: there is no store \"{}\"; there are {}", scheme, known)};
}

}  // namespace

std::unique_ptr<store::Store> open_store(std::string_view url, const Options& options) {
    return kind_of(url).open(url, options);
}

}  // namespace pawl::engine

namespace pawl::inline v0 {

void migrate(std::string_view url, const Options& options) {
    engine::kind_of(url).migrate(url, options);
}

std::string migration_sql(std::string_view url, const Options& options) {
    return engine::kind_of(url).migration_sql(url, options);
}

}  // namespace pawl::inline v0
