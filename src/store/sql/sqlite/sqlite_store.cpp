#include "store/sql/sqlite/sqlite_store.hpp"

#include "store/sql/rewrite.hpp"
#include "store/sql/sql_store.hpp"
#include "store/sql/sqlite/migrations.hpp"
#include "store/sql/sqlite/sqlite_database.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_sqlite(const SqliteOptions& options) {
    return sql::make_sql_store(std::make_unique<sql::sqlite::SqliteDatabase>(options));
}

std::string sqlite_migration_sql(const SqliteOptions& options) {
    sql::check_prefix(options.prefix);
    std::string script;
    for (const auto& migration : sql::sqlite::migrations())
        script += sql::rewrite(migration.script, {.prefix = options.prefix, .mark = '?'});
    return script;
}

}  // namespace pawl::store
