/// A connection that the user's own client has lent, with a transaction of the user's open on it.
#pragma once

#include "store/foreign.hpp"
#include "store/sql/connection.hpp"

namespace pawl::store::sql {

/// Used by one thread at a time. It is the user's before `enter` and after `leave`, and must then
/// be as he knows it.
class LentConnection {
public:
    virtual ~LentConnection() = default;
    /// Throws Error (misuse) unless a transaction is open that can go on. Then there is no `leave`.
    virtual Connection& enter() = 0;
    virtual void leave() noexcept = 0;
};

namespace lending {

[[noreturn]] void refuse_handle(const ForeignHandle& handle, const char* store);
/// Inside of a handler: goes back to the savepoint, and says what is left to do.
[[noreturn]] void undo_and_rethrow(Connection& connection);

}  // namespace lending

/// Runs `body(Connection&)` on a connection that is lent. If it throws, what it did is undone, as
/// far as the transaction allows, and the error says whether that can go on.
template <class Body>
void on_lent(LentConnection& lent, Body&& body) {
    Connection& connection = lent.enter();
    struct Leaving {
        LentConnection& lent;
        ~Leaving() { lent.leave(); }
    } const leaving{lent};
    try {
        connection.set_savepoint();
        body(connection);
        connection.release_savepoint();
    } catch (...) {
        lending::undo_and_rethrow(connection);
    }
}

/// The handle, if it is one of the store's sort; else throws Error (misuse). `store` is what the
/// store is: "a SQLite file".
template <class Handle>
Handle handle_of(const ForeignHandle& handle, const char* store) {
    const auto* const own = std::get_if<Handle>(&handle);
    if (!own || !*own) lending::refuse_handle(handle, store);
    return *own;
}

}  // namespace pawl::store::sql
