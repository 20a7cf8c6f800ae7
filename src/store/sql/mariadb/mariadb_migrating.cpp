#include "store/sql/mariadb/mariadb_migrating.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/check.hpp"
#include "store/sql/mariadb/mariadb_statements.hpp"
#include "store/sql/mariadb/migrations.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::mariadb {
namespace {

constexpr std::int64_t lock_seconds = 60;

struct Schema {
    std::int64_t version = 0;  ///< 0: none, or not all of the first one
    std::int64_t minimum_reader = 0;
};

[[noreturn]] void refuse(const std::string& why) {
    throw Error{Code::corrupt, "MariaDB database: " + why};
}

std::int64_t number(Connection& connection, Statement statement, std::initializer_list<Value> row) {
    std::int64_t found = 0;
    connection.query(statement, row, [&](const Row& r) { found = r.number(0); });
    return found;
}

// The first migration makes pawl_meta first and writes its row last: without the row, the rest was
// not finished.
Schema read_schema(MariadbConnection& connection, const std::string& prefix) {
    if (number(connection, count_tables, {text(prefix)}) == 0) return {};
    const std::string table = prefix + "meta";
    Schema schema;
    bool is_own = number(connection, meta_columns, {text(table)}) == 3;
    if (is_own)
        connection.query(meta, {}, [&](const Row& row) {
            is_own = row.view(0) == "pawl";
            schema = {.version = row.number(1), .minimum_reader = row.number(2)};
        });
    if (!is_own)
        refuse(
            fmt::format("its tables called {}* are not pawl's; give another prefix or another "
                        "database",
                        prefix));
    const auto newest = migrations().back().number;
    if (schema.minimum_reader > newest)
        refuse(
            fmt::format("its schema {} needs a program that knows schema {}, and this one knows "
                        "{}; use a newer pawl",
                        schema.version, schema.minimum_reader, newest));
    return schema;
}

// Of all processes that migrate these tables.
class SchemaLock {
public:
    SchemaLock(MariadbConnection& connection, const std::string& prefix)
        : connection_(connection), prefix_(prefix) {
        if (number(connection_, lock_schema, {text(prefix_), lock_seconds}) != 1)
            throw Error{Code::busy,
                        "another process is migrating pawl's tables and does not end: "
                        "look for it, and try again"};
    }
    SchemaLock(const SchemaLock&) = delete;
    SchemaLock& operator=(const SchemaLock&) = delete;
    ~SchemaLock() {
        try {
            number(connection_, unlock_schema, {text(prefix_)});
        } catch (const Error&) {
            // The server frees it with the connection.
        }
    }

private:
    MariadbConnection& connection_;
    const std::string& prefix_;
};

}  // namespace

void migrate(MariadbConnection& connection, const std::string& prefix) {
    const auto newest = migrations().back().number;
    const bool is_done = read_schema(connection, prefix).version >= newest;
    connection.rollback();
    if (is_done) return;

    const SchemaLock lock{connection, prefix};
    std::int64_t version = read_schema(connection, prefix).version;
    connection.rollback();
    for (const auto& migration : migrations()) {
        if (migration.number <= version) continue;
        connection.run_script(migration.script);
        connection.reach(base::points::prepare_migrated);
        connection.commit();
        version = read_schema(connection, prefix).version;
        connection.rollback();
        base::check(version == migration.number, "a migration writes its own number");
    }
    connection.reach(base::points::prepare_committed);
}

std::string migration_sql(const std::string& prefix) {
    check_prefix(prefix);
    std::string sql;
    for (const auto& migration : migrations()) sql += rewrite(migration.script, {.prefix = prefix});
    return sql;
}

}  // namespace pawl::store::sql::mariadb
