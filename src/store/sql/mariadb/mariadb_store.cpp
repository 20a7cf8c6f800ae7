#include "store/sql/mariadb/mariadb_store.hpp"

#include "store/sql/mariadb/mariadb_database.hpp"
#include "store/sql/sql_store.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_mariadb(const MariadbOptions& options) {
    return sql::make_sql_store(std::make_unique<sql::mariadb::MariadbDatabase>(options));
}

}  // namespace pawl::store
