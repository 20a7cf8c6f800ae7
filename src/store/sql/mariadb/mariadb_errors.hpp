/// The one place that knows MariaDB's codes.
#pragma once

#include <string>
#include <string_view>

struct st_mysql;
struct st_mysql_stmt;

namespace pawl::store::sql::mariadb {

/// What the client library says of a failure.
struct Failure {
    unsigned code = 0;
    std::string message;
};

Failure failure_of(st_mysql* link);
Failure failure_of(st_mysql_stmt* statement);

/// Whether the connection is of no more use.
bool is_loss(unsigned code);

/// Whether a COMMIT that failed with this code has certainly undone the transaction.
bool undoes_commit(unsigned code);

struct Attempt {
    std::string_view server;        ///< "10.0.0.7:3306"
    std::string_view what;          ///< the statement, or what else was attempted
    bool while_connecting = false;  ///< then a refusal is the URL's fault
    bool users = false;             ///< a statement of the user's own
    bool committing = false;        ///< a COMMIT
};

/// Throws the Collision, LostConnection or Error that this failure is.
[[noreturn]] void fail(const Failure& failure, const Attempt& attempt);

}  // namespace pawl::store::sql::mariadb
