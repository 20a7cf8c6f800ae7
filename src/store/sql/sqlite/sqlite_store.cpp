#include "store/sql/sqlite/sqlite_store.hpp"

#include "store/sql/sql_store.hpp"
#include "store/sql/sqlite/sqlite_database.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_sqlite(const SqliteOptions& options) {
    return sql::make_sql_store(std::make_unique<sql::sqlite::SqliteDatabase>(options));
}

}  // namespace pawl::store
