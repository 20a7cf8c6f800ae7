/// A bounded number of connections to one server, opened when they are needed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {

/// Thread-safe.
class ConnectionPool {
public:
    struct Options {
        ConnectionOptions connection;
        std::size_t most = 8;
        Duration patience{};  ///< for a free connection, or for a server that does not answer
    };
    explicit ConnectionPool(Options options) : options_(std::move(options)) {}

    enum class Rank { ordinary, urgent };
    /// Throws `busy` if none gets free in time, and what opening one throws. There is one more for
    /// the urgent.
    PostgresConnection& take(Rank rank = Rank::ordinary);
    /// One that is open and not in use, or null. Never waits.
    PostgresConnection* take_idle();
    void give_back(PostgresConnection& connection) noexcept;

    /// A connection apart from the pool.
    std::unique_ptr<PostgresConnection> open() const;

private:
    using Owned = std::unique_ptr<PostgresConnection>;
    Owned open_patiently(std::chrono::steady_clock::time_point deadline);
    PostgresConnection& lend(Owned connection);

    const Options options_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<Owned> free_;
    std::vector<Owned> lent_;
    std::size_t opening_ = 0;
};

}  // namespace pawl::store::sql::postgres
