#include "store/sql/mariadb/mariadb_errors.hpp"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "store/constraint.hpp"
#include "store/sql/connection.hpp"

namespace pawl::store::sql::mariadb {
namespace {

enum class Sort { ordinary, collision, constraint, loss };

struct Diagnosis {
    Code code;
    const char* advice;
    Sort sort = Sort::ordinary;
};

constexpr const char* unknown = "look the code up in MariaDB's documentation";
constexpr unsigned wsrep_not_ready = 1047;  // ER_UNKNOWN_COM_ERROR, of a Galera node

Diagnosis diagnose_refusal(unsigned code) {
    switch (code) {
        case ER_ACCESS_DENIED_ERROR:
        case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
        case ER_DBACCESS_DENIED_ERROR:
            return {Code::invalid, "give the URL a user and a password that may use the database"};
        case ER_BAD_DB_ERROR:
            return {Code::invalid, "create the database, or give the URL the right name"};
        case ER_CON_COUNT_ERROR:
        case ER_TOO_MANY_USER_CONNECTIONS:
        case ER_USER_LIMIT_REACHED:
            return {Code::unavailable,
                    "the server has no connection left; raise max_connections, or let fewer "
                    "processes have fewer"};
        default:
            return {Code::unavailable, "start the server, or correct the URL"};
    }
}

// The row or the value is at fault: a part of a group may still succeed.
bool is_about_a_row(unsigned code) {
    switch (code) {
        case ER_DATA_TOO_LONG:
        case ER_TRUNCATED_WRONG_VALUE:
        case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD:
        case ER_WARN_DATA_OUT_OF_RANGE:
        case ER_BAD_NULL_ERROR:
        case ER_INVALID_CHARACTER_STRING:
        case ER_NET_PACKET_TOO_LARGE:
        case ER_TOO_BIG_ROWSIZE:
            return true;
        default:
            return false;
    }
}

Diagnosis diagnose(unsigned code) {
    if (is_loss(code)) return {Code::unavailable, "the connection was lost; try again", Sort::loss};
    if (is_about_a_row(code)) return {Code::invalid, "the value does not fit the column"};
    switch (code) {
        case ER_LOCK_DEADLOCK:
        case ER_LOCK_WAIT_TIMEOUT:
        case ER_CHECKREAD:
        case ER_ERROR_DURING_COMMIT:
        case ER_XA_RBDEADLOCK:
        case wsrep_not_ready:
            return {Code::busy, "another transaction was in the way; try again", Sort::collision};
        case ER_DUP_ENTRY:
            return {Code::conflict, "another process wrote the same row first; try again",
                    Sort::collision};
        case ER_STATEMENT_TIMEOUT:
        case ER_LOCK_TABLE_FULL:
            return {Code::busy, "the server took too long; look at its load, and try again"};
        case ER_DISK_FULL:
        case ER_RECORD_FILE_FULL:
        case ER_GET_ERRNO:
        case ER_ERROR_ON_WRITE:
        case ER_OUTOFMEMORY:
        case ER_OUT_OF_RESOURCES:
            return {Code::unavailable, "the server's disk or memory is full; make room there"};
        case ER_OPTION_PREVENTS_STATEMENT:
        case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
        case ER_READ_ONLY_MODE:
        case ER_OPEN_AS_READONLY:
            return {Code::unavailable, "the server is read-only; give the URL of the primary"};
        case ER_TABLEACCESS_DENIED_ERROR:
        case ER_COLUMNACCESS_DENIED_ERROR:
        case ER_SPECIFIC_ACCESS_DENIED_ERROR:
            return {Code::unavailable,
                    "grant the user the rights to read and change rows of pawl's tables, and for a "
                    "migration to create them"};
        case ER_NO_SUCH_TABLE:
        case ER_BAD_FIELD_ERROR:
            return {Code::corrupt, "the tables are not what they should be; migrate the database"};
        default:
            return {Code::unavailable, unknown};
    }
}

// Of the user's own SQL: what is not the server's state or a race is the statement's fault.
Diagnosis diagnose_users(unsigned code) {
    const auto diagnosis = diagnose(code);
    if (code == ER_STATEMENT_TIMEOUT)
        return {Code::busy, "the transaction took too long: see Options::transaction_limit"};
    switch (code) {
        case ER_DUP_ENTRY:
        case ER_DUP_ENTRY_WITH_KEY_NAME:
        case ER_DUP_UNIQUE:
        case ER_BAD_NULL_ERROR:
        case ER_CONSTRAINT_FAILED:
        case ER_NO_REFERENCED_ROW:
        case ER_NO_REFERENCED_ROW_2:
        case ER_ROW_IS_REFERENCED:
        case ER_ROW_IS_REFERENCED_2:
        case ER_SIGNAL_EXCEPTION:  // of a trigger
            return {Code::invalid, "the database refused it", Sort::constraint};
        case ER_NO_SUCH_TABLE:
        case ER_BAD_FIELD_ERROR:
            return {Code::invalid, "the database refused it"};
        default:
            if (diagnosis.advice != unknown) return diagnosis;
            return {Code::invalid, "the database refused it"};
    }
}

Diagnosis diagnose(unsigned code, const Attempt& attempt) {
    if (attempt.while_connecting) return diagnose_refusal(code);
    if (attempt.users) return diagnose_users(code);
    if (attempt.committing && !undoes_commit(code))
        return {Code::unavailable, "the result of the commit is unknown", Sort::loss};
    return diagnose(code);
}

}  // namespace

Failure failure_of(st_mysql* link) { return {mysql_errno(link), mysql_error(link)}; }
// What fails while rows are fetched is only known to the connection.
Failure failure_of(st_mysql_stmt* statement) {
    if (mysql_stmt_errno(statement) == 0) return failure_of(statement->mysql);
    return {mysql_stmt_errno(statement), mysql_stmt_error(statement)};
}

bool is_loss(unsigned code) {
    switch (code) {
        case CR_SERVER_GONE_ERROR:
        case CR_SERVER_LOST:
        case CR_SERVER_LOST_EXTENDED:
        case CR_CONNECTION_ERROR:
        case CR_CONN_HOST_ERROR:
        case CR_MALFORMED_PACKET:
        case CR_COMMANDS_OUT_OF_SYNC:
        case CR_STMT_CLOSED:
        case ER_SERVER_SHUTDOWN:
        case ER_CONNECTION_KILLED:
        case ER_QUERY_INTERRUPTED:
        case ER_NEW_ABORTING_CONNECTION:
        case ER_ABORTING_CONNECTION:
        case ER_NET_READ_ERROR:
        case ER_NET_READ_INTERRUPTED:
        case ER_NET_ERROR_ON_WRITE:
        case ER_NET_WRITE_INTERRUPTED:
            return true;
        default:
            return false;
    }
}

bool undoes_commit(unsigned code) {
    switch (code) {
        case ER_LOCK_DEADLOCK:  // another node of a cluster was faster
        case ER_XA_RBDEADLOCK:
        case ER_LOCK_WAIT_TIMEOUT:  // of the lock that a backup holds
        case ER_OPTION_PREVENTS_STATEMENT:
        case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
        case ER_READ_ONLY_MODE:
            return true;
        default:
            return false;
    }
}

void fail(const Failure& failure, const Attempt& attempt) {
    const Diagnosis diagnosis = diagnose(failure.code, attempt);
    std::string_view what = attempt.what;
    while (!what.empty() && (what.front() == ' ' || what.front() == '\n')) what.remove_prefix(1);
    const auto message =
        fmt::format("MariaDB at {}: {} (code {}) at \"{}\": {}", attempt.server, failure.message,
                    failure.code, what.substr(0, 60), diagnosis.advice);
    switch (diagnosis.sort) {
        case Sort::collision:
            throw Collision{diagnosis.code, message};
        case Sort::constraint:
            throw ConstraintViolated{diagnosis.code, message};
        case Sort::loss:
            throw LostConnection{diagnosis.code, message};
        case Sort::ordinary:
            break;
    }
    throw Error{diagnosis.code, message};
}

}  // namespace pawl::store::sql::mariadb
