/// Dead letters, and what retention no longer keeps.
#pragma once

#include "store/sql/database.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/receipts.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

/// Thread-safe as far as the database's leases are.
class Retaining {
public:
    Retaining(Database& database, Interned& interned, Receipts& receipts)
        : database_(database),
          sql_(database.statements()),
          interned_(interned),
          receipts_(receipts) {}

    std::vector<DeadLetter> dead_letters(const DeadLetterFilter& filter);
    std::int64_t count_dead_letters(const DeadLetterFilter& filter);
    std::int64_t retry_dead_letters(const DeadLetterFilter& filter);
    std::int64_t discard_dead_letters(const DeadLetterFilter& filter);
    Vacuumed vacuum(const VacuumRequest& request);

private:
    /// Oldest id first, without their failures.
    std::vector<DeadLetter> find(Connection& connection, const DeadLetterFilter& filter);
    void lock(Connection& connection, const Rows& letters);
    std::int64_t revive(Connection& connection, const std::vector<DeadLetter>& letters,
                        std::size_t limit);
    std::int64_t remove_dead_letters(Connection& connection, Time before, std::int64_t limit);
    std::int64_t remove_finished(Connection& connection, Time before, std::int64_t limit);

    Database& database_;
    const Statements& sql_;
    Interned& interned_;
    Receipts& receipts_;
};

}  // namespace pawl::store::sql
