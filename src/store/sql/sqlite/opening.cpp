#include "store/sql/sqlite/opening.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "store/sql/sqlite/migrations.hpp"
#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

struct Contents {
    std::int64_t application_id = 0;
    std::int64_t tables = 0;
    std::int64_t own_tables = 0;
};

Contents look_at(SqliteConnection& connection, const std::string& prefix) {
    Contents contents;
    connection.query(application_id, {},
                     [&](const Row& row) { contents.application_id = row.number(0); });
    connection.query(count_tables, {text(prefix)}, [&](const Row& row) {
        contents.tables = row.number(0);
        contents.own_tables = row.number(1);
    });
    return contents;
}

struct Schema {
    std::string application;
    std::int64_t version = 0;
    std::int64_t minimum_reader = 0;
};

Schema read_schema(SqliteConnection& connection, const std::string& prefix) {
    Schema schema;
    std::int64_t known_columns = 0;
    const std::string table = prefix + "meta";
    connection.query(meta_columns, {text(table)},
                     [&](const Row& row) { known_columns = row.number(0); });
    if (known_columns != 3) return schema;
    connection.query(meta, {}, [&](const Row& row) {
        schema = {.application = std::string{row.view(0)},
                  .version = row.number(1),
                  .minimum_reader = row.number(2)};
    });
    return schema;
}

[[noreturn]] void refuse(const SqliteConnection& connection, const std::string& why) {
    throw Error{Code::corrupt, fmt::format("SQLite file {}: {}", connection.path(), why)};
}

}  // namespace

void check_file(SqliteConnection& connection, const OpeningOptions& options) {
    const Contents contents = look_at(connection, options.prefix);
    if (connection.is_read_only())
        throw Error{
            Code::unavailable,
            fmt::format("SQLite file {} is read-only: make the file writable", connection.path())};
    if (contents.own_tables == 0) {
        const bool foreign =
            contents.application_id != 0 && contents.application_id != own_application_id;
        if (foreign && !options.adopt)
            refuse(connection,
                   fmt::format("it belongs to another application (id {:#x}); give another path, "
                               "or let pawl's tables stand in it: sqlite:PATH?adopt=yes",
                               contents.application_id));
        return;
    }
    const Schema schema = read_schema(connection, options.prefix);
    if (schema.application != "pawl")
        refuse(connection, fmt::format("its tables called {}* are not pawl's; give another prefix "
                                       "or another path",
                                       options.prefix));
    const auto newest = migrations().back().number;
    if (schema.minimum_reader > newest)
        refuse(connection,
               fmt::format("its schema {} needs a program that knows schema {}, and this one knows "
                           "{}; use a newer pawl",
                           schema.version, schema.minimum_reader, newest));
}

void prepare_file(SqliteConnection& connection, const OpeningOptions& options) {
    std::string mode;
    connection.query(use_wal, {}, [&](const Row& row) { mode = row.view(0); });
    if (mode != "wal")
        throw Error{Code::unavailable,
                    fmt::format("SQLite file {}: its file system can't have a write-ahead log "
                                "(journal mode {}); give a path on a local disk",
                                connection.path(), mode)};
    connection.reach(base::points::prepare_logged);
    connection.configure(sync_every_commit);
    Transaction transaction{connection, Access::write};
    check_file(connection, options);
    const Contents contents = look_at(connection, options.prefix);
    std::int64_t version =
        contents.own_tables == 0 ? 0 : read_schema(connection, options.prefix).version;
    for (const auto& migration : migrations()) {
        if (migration.number <= version) continue;
        connection.run_script(migration.script);
        version = read_schema(connection, options.prefix).version;
        base::check(version == migration.number, "a migration writes its own number");
    }
    // A file with other tables is the user's: it keeps its own id.
    if (contents.tables == 0 && contents.application_id == 0)
        connection.configure(set_application_id);
    connection.reach(base::points::prepare_migrated);
    transaction.commit();
    connection.reach(base::points::prepare_committed);
}

}  // namespace pawl::store::sql::sqlite
