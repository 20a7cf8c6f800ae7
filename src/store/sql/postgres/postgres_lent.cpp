#include "store/sql/postgres/postgres_lent.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>
#include <utility>

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr const char* own_encoding = "UTF8";

[[noreturn]] void refuse(const PGconn* handle, std::string_view why) {
    const char* const database = PQdb(handle);
    throw Error{Code::misuse, fmt::format("join: a connection to PostgreSQL database \"{}\": {}",
                                          database ? database : "?", why)};
}

}  // namespace

std::string identity_of(Connection& connection) {
    std::string found;
    connection.query(identity, {}, [&](const Row& row) { found = row.view(0); });
    return found;
}

PostgresLent::PostgresLent(PGconn* handle, const Store& store)
    : handle_(handle), connection_(handle, store.schema) {
    check_open();
    check_identity(store);
}

// libpq knows it from the server's last answer.
void PostgresLent::check_open() const {
    if (PQpipelineStatus(handle_) != PQ_PIPELINE_OFF)
        refuse(handle_, "it is in pipeline mode; leave that with PQexitPipelineMode first");
    switch (PQtransactionStatus(handle_)) {
        case PQTRANS_INTRANS:
            return;
        case PQTRANS_IDLE:
            refuse(handle_, "no transaction is open on it; begin it first");
        case PQTRANS_ACTIVE:
            refuse(handle_, "the results of a command are not read to their end");
        case PQTRANS_INERROR:
            refuse(handle_, "its transaction has failed; roll it back and begin it again");
        case PQTRANS_UNKNOWN:
            break;
    }
    refuse(handle_, "it is not connected");
}

void PostgresLent::check_identity(const Store& store) {
    std::string found;
    try {
        on_lent(*this, [&](Connection& connection) { found = identity_of(connection); });
    } catch (const Error& error) {
        if (error.code() != Code::corrupt) throw;
        refuse(handle_, fmt::format("the tables of schema \"{}\" are not there; the store is "
                                    "{}: {}",
                                    store.schema, store.place, error.what()));
    }
    if (found != store.identity)
        refuse(handle_, fmt::format("it is another one than the store's, which is {}; nothing was "
                                    "written, and your transaction can go on",
                                    store.place));
}

// Many statements are one round trip in a pipeline, the savepoint around them included. Texts are
// sent as they are, so the server must take them for what they are.
Connection& PostgresLent::enter() {
    check_open();
    was_nonblocking_ = PQisnonblocking(handle_) == 1;
    if (PQsetnonblocking(handle_, 1) != 0 || PQenterPipelineMode(handle_) != 1)
        refuse(handle_, PQerrorMessage(handle_));
    const char* const found = PQparameterStatus(handle_, "client_encoding");
    const std::string encoding = found ? found : own_encoding;
    if (encoding == own_encoding) return connection_;
    try {
        set_encoding(own_encoding);
        encoding_ = encoding;
    } catch (...) {
        leave();
        throw;
    }
    return connection_;
}

void PostgresLent::leave() noexcept {
    try {
        const auto encoding = std::exchange(encoding_, {});
        if (!encoding.empty()) set_encoding(encoding);
    } catch (const std::exception&) {
        // The transaction has failed: with its end it is as it was.
    }
    PQexitPipelineMode(handle_);
    PQsetnonblocking(handle_, was_nonblocking_ ? 1 : 0);
}

void PostgresLent::set_encoding(const std::string& name) {
    connection_.query(postgres::set_encoding, {text(name)}, [](const Row&) {});
}

// The statement takes an array for each column: one of a single element, as a text.
SpelledValue spelled(const Value& value) {
    switch (value.type) {
        case Value::Type::null:
            return {};
        case Value::Type::number:
            return {.parameter = fmt::format("{{{}}}", value.number)};
        case Value::Type::bytes:
            return {.parameter = fmt::format("{{\"\\\\x{}\"}}", hex_of(value.view()))};
        case Value::Type::text:
            break;
    }
    std::string array = "{\"";
    for (const char c : value.view()) {
        if (c == '"' || c == '\\') array += '\\';
        array += c;
    }
    return {.parameter = array + "\"}"};
}

}  // namespace pawl::store::sql::postgres
