/// PostgreSQL's failures as pawl's: the one place that knows its codes.
#pragma once

#include <string>
#include <string_view>

namespace pawl::store::sql::postgres {

struct Failure {
    std::string state;    ///< SQLSTATE; empty when the connection is gone
    std::string message;  ///< the server's
    std::string at;       ///< the beginning of the statement
    bool users = false;   ///< a statement of the user's own
};

/// Whether the statement was given up because its time was over.
bool was_out_of_time(const Failure& failure);

/// Whether the connection can't be used after it: it is gone, or leads to the wrong server.
bool ends_connection(const Failure& failure);

/// Throws Collision, LostConnection or Error.
[[noreturn]] void throw_failure(const std::string& place, const Failure& failure);

}  // namespace pawl::store::sql::postgres
