/// One connection to a SQL database: the whole of what a database has to supply to run statements.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <pawl/detail/sql.hpp>
#include <pawl/error.hpp>
#include <pawl/time.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/sql/value.hpp"

namespace pawl::store::sql {

/// A statement of the tables in statements files. Only a literal can become one, so that its
/// address names it and no SQL is made of values at run time. Tables are called pawl_*, parameters
/// $1, $2, ...; a connection replaces both by what it needs when it prepares the statement.
struct Statement {
    consteval Statement(const char* sql) : text(sql) {}
    const char* text;
};

/// A row of a result. Views are valid until the next row.
class Row {
public:
    virtual bool is_null(int column) const = 0;
    virtual std::int64_t number(int column) const = 0;    ///< 0 for NULL
    virtual std::string_view view(int column) const = 0;  ///< empty for NULL

    Time time(int column) const { return Time{Duration{number(column)}}; }
    std::optional<Time> maybe_time(int column) const {
        return is_null(column) ? std::nullopt : std::optional{time(column)};
    }

protected:
    ~Row() = default;
};

enum class Access : std::uint8_t { read, write };

/// The database gave the transaction up because of others that ran beside it (a deadlock, a lost
/// race for one row): nothing of it was written, and the same may succeed when it is run again.
class Collision : public Error {
public:
    using Error::Error;
};

/// The connection is gone. What was not committed is undone; what was being committed is in doubt.
class LostConnection : public Error {
public:
    using Error::Error;
};

/// Used by one thread at a time. Every failure is a pawl::Error: `invalid` when this row or this
/// statement is at fault, and then a part of a group may still succeed; any other code when the
/// database is.
class Connection {
public:
    virtual ~Connection() = default;

    /// Runs the statement once, or once for each row. Returns how many rows it changed in all.
    std::int64_t run(Statement statement, std::initializer_list<Value> row = {}) {
        return run_rows(statement, {std::data(row), row.size()}, 1);
    }
    std::int64_t run(Statement statement, const Rows& rows) {
        return rows.empty() ? 0 : run_rows(statement, rows.values(), rows.size());
    }
    /// Runs it without waiting for its end where the database allows: a failure may show only in a
    /// later call, at the latest in `commit` or `release_savepoint`.
    void post(Statement statement, const Rows& rows) {
        if (!rows.empty()) post_rows(statement, rows.values(), rows.size());
    }

    /// Calls `take(const Row&)` for each row of the result. No statement may run inside `take`.
    template <class Take>
    void query(Statement statement, std::initializer_list<Value> row, Take&& take) {
        const auto sink = [&](std::size_t, const Row& found) { take(found); };
        query_rows(statement, {std::data(row), row.size()}, 1, Sink{sink});
    }
    /// For each row of `keys`, calls `take(which key, const Row&)` for each row that it finds.
    template <class Take>
    void query(Statement statement, const Rows& keys, Take&& take) {
        if (keys.empty()) return;
        query_rows(statement, keys.values(), keys.size(), Sink{take});
    }

    virtual void begin(Access access) = 0;
    /// After an error the transaction is not committed, and still has to be rolled back.
    virtual void commit() = 0;
    /// Never throws; without a transaction it does nothing.
    virtual void rollback() noexcept = 0;

    /// Marks a place inside the transaction to go back to. They nest.
    virtual void set_savepoint() = 0;
    virtual void release_savepoint() = 0;
    virtual void rollback_to_savepoint() = 0;

    /// Begins a transaction for SQL of the user's own. When `limit` has passed the database gives a
    /// statement up, and the transaction if it hears nothing, as far as it can.
    virtual void begin_users(Duration limit) = 0;
    /// One statement of the user's own, with parameters $1, $2, ... `invalid` where it, or the
    /// data, is at fault; `misuse` if it would end the transaction.
    virtual detail::SqlResult run_users(std::string_view sql,
                                        const std::vector<detail::SqlValue>& values) = 0;
    /// What follows in this transaction is pawl's own again.
    virtual void end_users() {}

    /// Between two writes, for crash tests: one of `base::points`.
    virtual void reach(std::string_view) {}

protected:
    /// A view of a callable; calling through it allocates nothing.
    class Sink {
    public:
        template <class F>
        explicit Sink(F& f)
            : object_(const_cast<void*>(static_cast<const void*>(&f))),
              call_([](void* object, std::size_t key, const Row& row) {
                  (*static_cast<F*>(object))(key, row);
              }) {}
        void operator()(std::size_t key, const Row& row) const { call_(object_, key, row); }

    private:
        void* object_;
        void (*call_)(void*, std::size_t, const Row&);
    };

    virtual std::int64_t run_rows(Statement statement, std::span<const Value> values,
                                  std::size_t rows) = 0;
    virtual void query_rows(Statement statement, std::span<const Value> values, std::size_t rows,
                            Sink sink) = 0;
    virtual void post_rows(Statement statement, std::span<const Value> values, std::size_t rows) {
        run_rows(statement, values, rows);
    }
};

/// A transaction that rolls back unless it is committed.
class Transaction {
public:
    Transaction(Connection& connection, Access access) : connection_(connection) {
        connection_.begin(access);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
        if (!done_) connection_.rollback();
    }
    void commit() {
        connection_.commit();
        done_ = true;
    }

private:
    Connection& connection_;
    bool done_ = false;
};

}  // namespace pawl::store::sql
