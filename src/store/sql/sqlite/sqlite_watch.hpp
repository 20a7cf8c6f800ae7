/// Hears commits of other processes: they touch the turn file, and the kernel tells.
#pragma once

#include <memory>
#include <string>

#include "store/sql/sqlite/sqlite_connection.hpp"
#include "store/store.hpp"

namespace pawl::store::sql::sqlite {

/// Besides listening it looks at the file's version by itself now and then, for programs that write
/// with SQLite alone; where the kernel can't tell, it looks every few milliseconds.
std::unique_ptr<Watch> make_watch(ConnectionOptions connection, const std::string& turn_path);

}  // namespace pawl::store::sql::sqlite
