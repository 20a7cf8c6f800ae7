/// What is asked about the claims of sessions.
#pragma once

#include "store/sql/connection.hpp"

namespace pawl::store::sql {

/// Those of all sessions: there are no more than the processes may hold. Without a parameter, it is
/// the same in every dialect.
inline constexpr Statement claims_of_sessions =
    "SELECT id, fence, session FROM pawl_item WHERE session IS NOT NULL";

}  // namespace pawl::store::sql
