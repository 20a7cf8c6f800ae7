/// mariadb://user:password@host:port/database?parameters, taken apart.
#pragma once

#include <string_view>

#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/sql/mariadb/mariadb_store.hpp"

namespace pawl::store::sql::mariadb {

/// Throws pawl::Error (invalid) that says what is wrong with it, and never shows the password.
Address address_of(std::string_view url);

/// The options, with what the URL's parameters say of them.
MariadbOptions with_parameters_of_url(MariadbOptions options);

}  // namespace pawl::store::sql::mariadb
