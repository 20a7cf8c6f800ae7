#include "conformance/stores.hpp"

#include <cstdlib>

#ifdef PAWL_POSTGRES
#include "conformance/postgres_schema.hpp"
#endif
#ifdef PAWL_MARIADB
#include "conformance/mariadb_tables.hpp"
#endif
#include "conformance/temporary_directory.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::store::conformance {
namespace {

Database memory(const Clock& clock) {
    return {.open = [&clock] { return open_memory(clock); }, .shared = false};
}

// Without a hook it is the same handle.
Database shared(std::function<std::unique_ptr<Store>(base::AtPoint)> hooked) {
    return {.open = [hooked] { return hooked({}); }, .hooked = hooked};
}

Database sqlite(const Clock& clock) {
    const auto directory = std::make_shared<TemporaryDirectory>();
    const std::string path = directory->path() / "store.db";
    return shared([&clock, directory, path](base::AtPoint at_point) {
        return open_sqlite({.path = path, .clock = &clock, .at_point = std::move(at_point)});
    });
}

#ifdef PAWL_POSTGRES
Database postgres(const Clock& clock) {
    const auto schema = std::make_shared<PostgresSchema>();
    return shared([&clock, schema](base::AtPoint at_point) {
        auto options = schema->options();
        options.clock = &clock;
        options.at_point = std::move(at_point);
        return open_postgres(options);
    });
}
#endif

#ifdef PAWL_MARIADB
Database mariadb(const Clock& clock) {
    const auto tables = std::make_shared<MariadbTables>();
    return shared([&clock, tables](base::AtPoint at_point) {
        auto options = tables->options();
        options.clock = &clock;
        options.at_point = std::move(at_point);
        return open_mariadb(options);
    });
}
#endif

std::string missing(const char* server) {
    return std::getenv(server) ? "" : std::string{server} + " names no server: run ./dev test";
}

}  // namespace

std::vector<StoreUnderTest> stores_under_test() {
    return {
        {.name = "memory", .create = memory},
        {.name = "sqlite", .create = sqlite},
#ifdef PAWL_POSTGRES
        {.name = "postgres", .create = postgres, .missing = missing("PAWL_TEST_POSTGRES")},
#endif
#ifdef PAWL_MARIADB
        {.name = "mariadb", .create = mariadb, .missing = missing("PAWL_TEST_MARIADB")},
#endif
    };
}

}  // namespace pawl::store::conformance
