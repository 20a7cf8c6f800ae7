#include "store/sql/postgres/postgres_store.hpp"

#include "store/sql/postgres/opening.hpp"
#include "store/sql/postgres/postgres_database.hpp"
#include "store/sql/sql_store.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_postgres(const PostgresOptions& options) {
    return sql::make_sql_store(std::make_unique<sql::postgres::PostgresDatabase>(options));
}

void migrate_postgres(const PostgresOptions& options) {
    sql::postgres::check_options(options);
    sql::postgres::PostgresConnection connection{sql::postgres::connection_options(options)};
    sql::postgres::prepare_schema(connection, options.schema);
}

std::string postgres_migration_sql(const PostgresOptions& options) {
    sql::postgres::check_options(options);
    return sql::postgres::migration_script(options.schema);
}

}  // namespace pawl::store
