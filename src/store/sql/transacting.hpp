/// Runs a transaction, and runs it again as a whole where that is right.
#pragma once

#include <utility>

#include "store/sql/database.hpp"

namespace pawl::store::sql {

/// How often a transaction was begun anew, and when it is enough.
class Tries {
public:
    /// Inside a handler of a Collision: waits a little, or rethrows when it was the last try.
    void after_collision();
    /// Inside a handler of a LostConnection: rethrows when it was the last try.
    void after_loss();

private:
    int collisions_ = 0;
    int losses_ = 0;
};

/// `body(Connection&)` returns what the transaction is for. Nothing it does outlives a run that
/// failed, except in its own variables.
template <class Body>
auto in_write(Database& database, Purpose purpose, Body&& body) {
    for (Tries tries;;) {
        try {
            const auto connection = database.write(purpose);
            Transaction transaction{*connection, Access::write};
            auto result = body(*connection);
            transaction.commit();
            return result;
        } catch (const Collision&) {
            tries.after_collision();
        } catch (const LostConnection&) {
            tries.after_loss();
        }
    }
}

template <class Body>
auto in_read(Database& database, Body&& body) {
    for (Tries tries;;) {
        try {
            const auto connection = database.read();
            Transaction transaction{*connection, Access::read};
            auto result = body(*connection);
            transaction.commit();
            return result;
        } catch (const Collision&) {
            tries.after_collision();
        } catch (const LostConnection&) {
            tries.after_loss();
        }
    }
}

}  // namespace pawl::store::sql
