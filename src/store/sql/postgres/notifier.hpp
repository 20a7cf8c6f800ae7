/// Tells other processes that something was committed: at once, and then not too often.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {

/// One thread with a connection of its own. A notification inside a business transaction would make
/// all transactions that have one commit one after the other, in the whole cluster. Thread-safe.
class Bell {
public:
    explicit Bell(ConnectionOptions options);
    ~Bell();
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;

    /// Returns at once. The first ring goes out at once, those that follow it together.
    void ring() noexcept;
    /// Whether a notification by this backend is our own.
    bool is_own(int backend) const;
    /// The channel of this schema.
    static std::string channel(const ConnectionOptions& options);

private:
    void run();
    void send();

    const ConnectionOptions options_;
    std::unique_ptr<PostgresConnection> connection_;  // of the thread
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
    bool stopping_ = false;
    int backend_ = 0;
    std::thread thread_;  // begins with the first ring
};

}  // namespace pawl::store::sql::postgres
