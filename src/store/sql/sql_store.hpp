/// The Store on a SQL database: its verbs, each in the part that it belongs to.
#pragma once

#include <memory>

#include "store/sql/database.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

std::unique_ptr<Store> make_sql_store(std::unique_ptr<Database> database);

}  // namespace pawl::store::sql
