/// By what it is known whether a transaction was committed, when the answer to its commit is lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <pawl/time.hpp>
#include <utility>

#include "base/points.hpp"
#include "base/random.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {

/// How long receipts are kept, by the store's clock. The vacuum of any process removes older ones.
inline constexpr Duration receipts_kept = std::chrono::hours{1};
/// A transaction is sent again only within this time: its receipt is there then if it was
/// committed.
inline constexpr Duration receipts_trusted = receipts_kept / 2;

/// A row that a transaction leaves, and that only one of its tries can leave: if the server is
/// still at an earlier try, one of the two fails. It says which of them was committed; what that
/// try answered its process still knows. Used by one thread.
class Receipt {
public:
    Receipt(const Statements& statements, Time at, std::uint64_t token)
        : statements_(&statements), at_(at), token_(static_cast<std::int64_t>(token)) {}

    /// A try whose commit was sent has lost its connection.
    void lose_answer() { ++attempt_; }
    /// Whether an earlier try may have been committed.
    bool is_in_doubt() const { return attempt_ > 0; }
    /// The number of the earlier try that was committed, counted from 0. Nothing: none yet, and if
    /// one is by the time of this one's commit, that fails with a Collision. Error (in_doubt) when
    /// it is too late to tell. Asks nobody unless it is in doubt.
    std::optional<std::size_t> find(Connection& connection, Time now) const;
    /// Inside the transaction of this try, as its last statement.
    void write(Connection& connection) const;
    /// Instead of it, where an earlier try was committed: this one's commit then waits for the
    /// replicas that the earlier one may not have reached.
    void confirm(Connection& connection) const;

private:
    const Statements* statements_;  ///< without `receipts` where no answer can be lost
    Time at_;
    std::int64_t token_;
    std::int64_t attempt_ = 0;
};

/// The receipts of a store. Thread-safe.
class Receipts {
public:
    explicit Receipts(Database& database) : database_(database), random_(base::system_random()) {}

    Receipt fresh();
    /// Runs a transaction that takes effect once, and says what it did also if the answer to its
    /// commit is lost; Error (in_doubt) if that can't be found out. As `in_write` otherwise.
    template <class Body>
    auto in_write_once(Body&& body);

private:
    Database& database_;
    std::unique_ptr<base::Random> random_;
};

template <class Body>
auto Receipts::in_write_once(Body&& body) {
    Receipt receipt = fresh();
    std::deque<decltype(body(std::declval<Connection&>()))> results;  // of tries that were sent
    for (Tries tries;;) {
        const auto tried = results.size();
        try {
            const auto connection = database_.write(Purpose::group);
            Transaction transaction{*connection, Access::write};
            if (const auto done = receipt.find(*connection, database_.now())) {
                receipt.confirm(*connection);
                transaction.commit();
                return results.at(*done);
            }
            auto result = body(*connection);
            receipt.write(*connection);
            results.push_back(std::move(result));
            transaction.commit();
            connection->reach(base::points::group_committed);
            return results.back();
        } catch (const Error& error) {
            const bool was_sent = results.size() > tried;
            if (was_sent && is_lost(error))
                receipt.lose_answer();
            else if (was_sent)
                results.pop_back();
            if (tries.again(error)) continue;
            if (receipt.is_in_doubt()) fail_in_doubt(error);
            throw;
        }
    }
}

}  // namespace pawl::store::sql
