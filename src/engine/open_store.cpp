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

// sqlite:PATH, or sqlite:///PATH as in the URLs of files. Two slashes begin the name of a host
// there, and a file has none.
std::string path_of(const base::StoreUrl& url) {
    const std::string_view rest = url.rest;
    if (rest.empty())
        throw Error{Code::invalid, "store URL \"sqlite:\" names no file: write sqlite:PATH"};
    if (rest.starts_with("file:"))
        throw Error{Code::invalid,
                    "store URL \"sqlite:file:...\": write sqlite:PATH, without file:"};
    if (!rest.starts_with("//")) return url.rest;
    const auto path = rest.substr(2);
    if (path.starts_with('/')) return std::string{path};
    throw Error{Code::invalid,
                "store URL \"sqlite://...\": two slashes begin the name of a host, and a file has "
                "none. Write sqlite:shop.db for a file in the working directory, or "
                "sqlite:///var/lib/shop.db (sqlite:/var/lib/shop.db) for one that is anywhere"};
}

store::SqliteOptions sqlite_options(std::string_view text, const Options& options) {
    const auto url = base::parse_url(text);
    base::check_parameters(url.scheme, url.parameters, {"adopt", "full_sync"});
    store::SqliteOptions sqlite;
    sqlite.path = path_of(url);
    sqlite.clock = options.test.store_clock;
    sqlite.prefix = options.prefix;
    sqlite.adopt = yes_or_no(url, "adopt", false);
    sqlite.full_sync = yes_or_no(url, "full_sync", true);
    sqlite.at_point = options.test.at_point;
    return sqlite;
}

void check_memory(std::string_view text) {
    const auto url = base::parse_url(text);
    base::check_parameters(url.scheme, url.parameters, {});
    if (!url.rest.empty())
        throw Error{Code::invalid,
                    "store URL \"memory:...\": a store in memory has no name, each engine has its "
                    "own: write memory:"};
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
    std::unique_ptr<store::Store> (*open)(std::string_view url, const Options& options) = nullptr;
    void (*migrate)(std::string_view url, const Options& options) = nullptr;
    std::string (*migration_sql)(std::string_view url, const Options& options) = nullptr;
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
             [](std::string_view url, const Options& options) {
                 check_memory(url);
                 const Clock* clock = options.test.store_clock;
                 return store::open_memory(clock ? *clock : system_clock());
             },
         .migrate = [](std::string_view url, const Options&) { check_memory(url); },
         .migration_sql =
             [](std::string_view url, const Options&) {
                 check_memory(url);
                 return std::string{};
             }},
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
