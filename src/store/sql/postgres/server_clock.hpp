/// The database's clock, read once in a while and carried on in between.
#pragma once

#include <mutex>
#include <optional>
#include <pawl/time.hpp>

#include "store/sql/postgres/connection_pool.hpp"

namespace pawl::store::sql::postgres {

/// Thread-safe. Nothing here depends on this machine's own time of day.
class ServerClock {
public:
    explicit ServerClock(ConnectionPool& pool) : pool_(pool) {}

    /// The server's time as of the last look plus what has passed since, sleep of the machine
    /// included. Looks again when that was a second ago and a connection is idle; throws only if it
    /// has never seen the server.
    Time now();
    void measure(PostgresConnection& connection);

private:
    ConnectionPool& pool_;
    std::mutex mutex_;
    std::optional<Duration> ahead_;  // of the time since boot
    Duration uncertainty_{};
    Duration measured_{};
    bool measuring_ = false;
};

}  // namespace pawl::store::sql::postgres
