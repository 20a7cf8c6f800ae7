#include "store/sql/mariadb/mariadb_lent.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <pawl/error.hpp>

#include "store/sql/mariadb/mariadb_statements.hpp"

namespace pawl::store::sql::mariadb {
namespace {

[[noreturn]] void refuse(std::string_view why) {
    throw Error{Code::misuse, fmt::format("join: a connection to MariaDB: {}", why)};
}

// Nothing can be sent before the answers of what was sent are read.
st_mysql* idle(st_mysql* handle) {
    if (!mysql_get_host_info(handle)) refuse("it is not connected");
    if (handle->status != MYSQL_STATUS_READY)
        refuse("the result of a statement is not read to its end");
    return handle;
}

}  // namespace

MariadbLent::MariadbLent(st_mysql* handle, const ConnectionOptions& store)
    : handle_(idle(handle)), connection_(handle, store) {
    check_tables(store);
}

void MariadbLent::check_tables(const ConnectionOptions& store) {
    try {
        on_lent(*this,
                [](Connection& connection) { connection.query(meta, {}, [](const Row&) {}); });
    } catch (const Error& error) {
        if (error.code() != Code::corrupt) throw;
        refuse(fmt::format("the tables {}* of the store are not there; join one to {}: {}",
                           store.prefix, store.address.text(), error.what()));
    }
}

Connection& MariadbLent::enter() {
    idle(handle_);
    if (!connection_.is_in_transaction()) refuse("no transaction is open on it; begin it first");
    return connection_;
}

SpelledValue spelled(const Value& value) {
    switch (value.type) {
        case Value::Type::null:
            return {};
        case Value::Type::number:
            return {"CAST(", " AS SIGNED)", std::to_string(value.number)};
        case Value::Type::bytes:
            return {"UNHEX(", ")", hex_of(value.view())};
        case Value::Type::text:
            break;
    }
    return {.parameter = std::string{value.view()}};
}

}  // namespace pawl::store::sql::mariadb
