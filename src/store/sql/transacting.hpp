/// Runs a transaction, and runs it again as a whole where that is right.
#pragma once

#include <utility>

#include "store/sql/database.hpp"

namespace pawl::store::sql {

/// How often a transaction was begun anew, and when it is enough.
class Tries {
public:
    /// Whether the transaction may be begun again after this error. After a Collision it waits a
    /// little first.
    bool again(const Error& error);
    /// The same after a Collision.
    bool again();

private:
    int collisions_ = 0;
    int losses_ = 0;
};

/// Whether the error leaves open what became of a transaction whose COMMIT was being sent.
bool is_lost(const Error& error);
/// Throws `in_doubt`: a COMMIT was sent, and `last` is why the database can't be asked about it.
[[noreturn]] void fail_in_doubt(const Error& last);

/// `body(Connection&)` returns what the transaction is for. Nothing it does outlives a run that
/// failed, except in its own variables. Throws `in_doubt` if an earlier run may have been
/// committed.
template <class Body>
auto in_write(Database& database, Purpose purpose, Body&& body) {
    bool in_doubt = false;
    for (Tries tries;;) {
        bool committing = false;
        try {
            const auto connection = database.write(purpose);
            Transaction transaction{*connection, Access::write};
            auto result = body(*connection);
            committing = true;
            transaction.commit();
            return result;
        } catch (const Error& error) {
            in_doubt = in_doubt || (committing && is_lost(error));
            if (tries.again(error)) continue;
            if (in_doubt) fail_in_doubt(error);
            throw;
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
        } catch (const Error& error) {
            if (!tries.again(error)) throw;
        }
    }
}

}  // namespace pawl::store::sql
