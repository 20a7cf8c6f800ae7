/// Notifies the other processes of this schema.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/sql/bell.hpp"
#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {

/// On a connection of its own: a notification inside a business transaction would make all
/// transactions that have one commit one after the other, in the whole cluster. Thread-safe.
class Notifier {
public:
    explicit Notifier(ConnectionOptions options) : options_(std::move(options)) {}

    /// Returns at once.
    void ring() noexcept { bell_.ring(); }
    /// Whether a notification by this backend is our own.
    bool is_own(int backend) const;
    /// The channel of this schema.
    static std::string channel(const ConnectionOptions& options);

private:
    void send();

    const ConnectionOptions options_;
    std::unique_ptr<PostgresConnection> connection_;  // of the bell's thread
    mutable std::mutex mutex_;
    int backend_ = 0;
    Bell bell_{[this] { send(); }};  // ends first
};

}  // namespace pawl::store::sql::postgres
