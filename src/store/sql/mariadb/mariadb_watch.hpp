/// Hears of other processes' commits by looking at one row, often while there is something to hear.
#pragma once

#include <functional>
#include <memory>

#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/store.hpp"

namespace pawl::store::sql::mariadb {

/// Opens a connection of its own, and another when it is lost.
std::unique_ptr<Watch> make_watch(std::function<std::unique_ptr<MariadbConnection>()> open);

}  // namespace pawl::store::sql::mariadb
