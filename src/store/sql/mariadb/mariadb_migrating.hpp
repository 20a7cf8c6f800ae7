/// Whether the tables of a database may be used, and bringing them up to date.
#pragma once

#include <string>

#include "store/sql/mariadb/mariadb_connection.hpp"

namespace pawl::store::sql::mariadb {

/// Throws pawl::Error that says why these tables are refused. Applies the migrations that are
/// missing, each once, however many processes try; if there are none it only reads. A run that was
/// killed is taken up where it ended.
void migrate(MariadbConnection& connection, const std::string& prefix);

/// What `migrate` would run on an empty database, for people who run it themselves.
std::string migration_sql(const std::string& prefix);

}  // namespace pawl::store::sql::mariadb
