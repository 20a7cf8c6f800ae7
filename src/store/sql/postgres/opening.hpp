/// Whether a schema may be used, and bringing its tables up to date.
#pragma once

#include <string>

#include "store/sql/postgres/postgres_connection.hpp"
#include "store/sql/postgres/postgres_store.hpp"

namespace pawl::store::sql::postgres {

/// Throws pawl::Error (invalid) for settings that can't work.
void check_options(const PostgresOptions& options);

/// Applies the migrations that are missing, each once, however many processes try; does nothing,
/// and needs no right to change tables, if there are none. Throws pawl::Error that says why the
/// schema is refused.
void prepare_schema(PostgresConnection& connection, const std::string& schema);

/// All migrations as one script.
std::string migration_script(const std::string& schema);

}  // namespace pawl::store::sql::postgres
