/// The commit verb: a group in one transaction, and what to do when a part of it can't be written.
#pragma once

#include <mutex>
#include <span>

#include "store/sql/database.hpp"
#include "store/sql/group.hpp"
#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// Thread-safe as far as the database's leases are.
class Committing {
public:
    Committing(Database& database, Interned& interned)
        : database_(database), interned_(interned), group_(database.statements(), interned) {}

    void commit(std::span<const Commit> commits, std::span<Answer> answers);

private:
    /// Only guards to look at: nobody needs to wait for a turn to write.
    void confirm(std::span<const Commit> commits, std::span<Answer> answers);
    /// Halves what fails until the Commit at fault stands alone. All in one transaction, so that an
    /// error that is nobody's fault still undoes everything.
    void bisect(Connection& connection, const Group::Run& run, BrokenChains& broken);

    Database& database_;
    Interned& interned_;
    std::mutex mutex_;  // of the group below, on databases with several writers
    Group group_;
};

}  // namespace pawl::store::sql
