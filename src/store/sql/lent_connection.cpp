#include "store/sql/lent_connection.hpp"

#include <fmt/format.h>

#include <array>
#include <pawl/error.hpp>

namespace pawl::store::sql::lending {
namespace {

constexpr std::array clients{"a SQLite file", "PostgreSQL", "MariaDB"};  // as in ForeignHandle

bool undo(Connection& connection) noexcept {
    try {
        connection.rollback_to_savepoint();
        connection.release_savepoint();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

void refuse_handle(const ForeignHandle& handle, const char* store) {
    const bool is_null = std::visit([](const auto* h) { return h == nullptr; }, handle);
    if (is_null) throw Error{Code::misuse, "join: the connection is a null pointer"};
    throw Error{Code::misuse,
                fmt::format("join: this is a connection to {}, and the store is {}: its "
                            "transactions can't be one",
                            clients[handle.index()], store)};
}

// A deadlock has mostly ended the whole transaction, and where two have changed the same row one of
// them has to see it anew.
void undo_and_rethrow(Connection& connection) {
    const bool undone = undo(connection);
    const char* const go_on = "; nothing was written, and your transaction can go on";
    const char* const give_up = "; roll your transaction back and begin it again";
    try {
        throw;
    } catch (const Collision& error) {
        throw Error{error.code(), std::string{error.what()} + give_up};
    } catch (const Error& error) {
        throw Error{error.code(), std::string{error.what()} + (undone ? go_on : give_up)};
    }
}

}  // namespace pawl::store::sql::lending
