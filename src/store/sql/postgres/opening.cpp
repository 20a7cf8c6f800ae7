#include "store/sql/postgres/opening.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/url.hpp"
#include "store/sql/postgres/migrations.hpp"
#include "store/sql/postgres/postgres_statements.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr std::size_t longest_schema = 48;

struct Contents {
    bool exists = false;
    std::int64_t tables = 0;
    bool has_meta = false;
};

Contents look_at(PostgresConnection& connection, const std::string& schema) {
    Contents found;
    connection.query(contents, {text(schema)}, [&](const Row& row) {
        found = {row.number(0) > 0, row.number(1), row.number(2) == 3};
    });
    return found;
}

[[noreturn]] void refuse(const PostgresConnection& connection, const std::string& why) {
    throw Error{Code::corrupt, fmt::format("PostgreSQL {}: {}", connection.place(), why)};
}

// The number of the last migration; 0 where there is none.
std::int64_t read_version(PostgresConnection& connection, const std::string& schema) {
    const auto found = look_at(connection, schema);
    if (found.tables == 0) return 0;
    std::string application;
    std::int64_t version = 0;
    std::int64_t minimum_reader = 0;
    if (found.has_meta)
        connection.query(meta, {}, [&](const Row& row) {
            application = row.view(0);
            version = row.number(1);
            minimum_reader = row.number(2);
        });
    if (application != "pawl")
        refuse(connection, fmt::format("the tables in schema \"{}\" are not pawl's; give another "
                                       "schema with schema=NAME in the store URL",
                                       schema));
    const auto newest = migrations().back().number;
    if (minimum_reader > newest)
        refuse(connection,
               fmt::format("schema {} of \"{}\" needs a program that knows schema {}, and this one "
                           "knows {}; use a newer pawl",
                           version, schema, minimum_reader, newest));
    return version;
}

void migrate(PostgresConnection& connection, const std::string& schema) {
    Transaction transaction{connection, Access::write};
    connection.query(lock_schema, {text(schema)}, [](const Row&) {});
    auto version = read_version(connection, schema);
    if (!look_at(connection, schema).exists)
        connection.run_script(fmt::format("{}\"{}\"", create_schema, schema));
    for (const auto& migration : migrations()) {
        if (migration.number <= version) continue;
        connection.run_script(migration.script);
        version = read_version(connection, schema);
        base::check(version == migration.number, "a migration writes its own number");
    }
    connection.reach(base::points::prepare_migrated);
    transaction.commit();
    connection.reach(base::points::prepare_committed);
}

}  // namespace

void check_options(const PostgresOptions& options) {
    const auto& schema = options.schema;
    const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    bool good = !schema.empty() && schema.size() <= longest_schema && lower(schema.front()) &&
                !schema.starts_with("pg_");
    for (const char c : schema) good = good && (lower(c) || (c >= '0' && c <= '9'));
    if (!good)
        throw Error{Code::invalid,
                    fmt::format("the schema {} is not usable: give it 1 to {} lower-case "
                                "letters, digits and underscores, a digit not first, and not pg_",
                                base::shown(schema), longest_schema)};
    if (options.connections == 0)
        throw Error{Code::invalid,
                    "a PostgreSQL store needs at least one connection: connections=1"};
}

void prepare_schema(PostgresConnection& connection, const std::string& schema) {
    if (read_version(connection, schema) < migrations().back().number) migrate(connection, schema);
    const auto table = connection.qualified("event");
    bool restored = false;
    connection.query(epoch, {}, [&](const Row& row) { restored = row.number(2) == 0; });
    if (restored) connection.run(rebase, {text(table)});
}

std::string migration_script(const std::string& schema) {
    std::string script = fmt::format("{}\"{}\";\n\n", create_schema, schema);
    for (const auto& migration : migrations())
        script += rewrite(migration.script, {.prefix = '"' + schema + "\".", .mark = '$'});
    return script;
}

}  // namespace pawl::store::sql::postgres
