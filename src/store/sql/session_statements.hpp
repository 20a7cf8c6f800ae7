/// What is asked about the claims of a session.
#pragma once

#include "store/sql/connection.hpp"

namespace pawl::store::sql {

inline constexpr Statement claims_of_session = "SELECT id, fence FROM pawl_item WHERE session = $1";

}  // namespace pawl::store::sql
