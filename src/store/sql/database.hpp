/// What a SQL store needs of its database besides a connection: turns to write, a clock, a watch.
#pragma once

#include <functional>
#include <memory>
#include <pawl/time.hpp>
#include <string>

#include "store/sql/connection.hpp"
#include "store/sql/lent_connection.hpp"
#include "store/sql/numbers.hpp"
#include "store/sql/spelling.hpp"
#include "store/sql/statements.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

/// What a write is for: how long it may wait for its turn, and what it may lose.
enum class Purpose : std::uint8_t {
    group,    ///< durable when its commit returns
    users,    ///< the user's own SQL: durable too, on a connection that groups do not need
    claim,    ///< may be undone by a power failure, which ends every claimant too
    renewal,  ///< like a claim, and goes before every waiting group
};

class Database {
public:
    virtual ~Database() = default;

    /// A connection that is used by one thread and goes back when the lease ends.
    class Lease {
    public:
        Lease(Database& database, Connection& connection, Access access)
            : database_(&database), connection_(connection), access_(access) {}
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        ~Lease() { database_->give_back(connection_, access_); }

        Connection& operator*() const { return connection_; }
        Connection* operator->() const { return &connection_; }

    private:
        Database* database_;
        Connection& connection_;
        Access access_;
    };

    virtual Time now() = 0;
    /// For statements that count from the moment at which they run: NULL where the server tells the
    /// time then, else this moment.
    virtual Value time_of_statement() { return now(); }
    virtual const Statements& statements() const = 0;
    /// Waits, with a deadline, until it may write; then throws `busy`.
    virtual Lease write(Purpose purpose) = 0;
    virtual Lease read() = 0;
    /// How many groups are best written at a time.
    virtual std::size_t writers() const { return 1; }
    /// For one transaction at a time.
    virtual std::unique_ptr<Numbers> numbers() = 0;
    /// Calls `take` for up to `limit` events after `cursor`, in an order that never skips one that
    /// commits later and keeps each instance's own. Returns the next cursor. By position, unless a
    /// database gives positions in another order than it commits.
    virtual std::string follow(const std::string& cursor, std::size_t limit,
                               const std::function<void(const Row&)>& take);
    /// Tells the watches of other processes that there is something for them.
    virtual void announce() noexcept = 0;
    /// The same of a transaction that took no number, as one that is not pawl's.
    virtual void announce_unnumbered() noexcept { announce(); }
    /// Throws Error (misuse) unless a transaction on this database is open on it.
    virtual std::unique_ptr<LentConnection> borrow(const ForeignHandle& handle) = 0;
    virtual Spelling spelling() const = 0;
    virtual std::unique_ptr<Watch> watch() = 0;

private:
    friend class Lease;
    virtual void give_back(Connection& connection, Access access) noexcept = 0;
};

}  // namespace pawl::store::sql
