#include "store/sql/mariadb/mariadb_store.hpp"

#include "store/sql/mariadb/mariadb_database.hpp"
#include "store/sql/mariadb/mariadb_migrating.hpp"
#include "store/sql/mariadb/mariadb_url.hpp"
#include "store/sql/sql_store.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_mariadb(const MariadbOptions& options) {
    return sql::make_sql_store(std::make_unique<sql::mariadb::MariadbDatabase>(options));
}

void migrate_mariadb(const MariadbOptions& options) {
    const sql::mariadb::MariadbDatabase database{options};  // does it when it is opened
}

std::string mariadb_migration_sql(const MariadbOptions& options) {
    sql::mariadb::address_of(options.url);  // what is wrong in it is told here too
    return sql::mariadb::migration_sql(sql::mariadb::with_parameters_of_url(options).prefix);
}

}  // namespace pawl::store
