/// A line to a server: libpq with a deadline on everything.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <pawl/time.hpp>
#include <string>

namespace pawl::store::sql::postgres {

struct LinkOptions {
    std::string conninfo{};
    Duration connect_timeout = std::chrono::seconds{5};  ///< of each host
    Duration statement_timeout = std::chrono::seconds{30};
};

struct ClearResult {
    void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

struct FinishUnlessLent {
    bool is_lent = false;
    void operator()(PGconn* connection) const {
        if (!is_lent) PQfinish(connection);
    }
};

/// Used by one thread at a time. Always in pipeline mode: what is sent is answered in its order,
/// and nothing waits for an answer before `receive` is called.
class Link {
public:
    using Deadline = std::chrono::steady_clock::time_point;

    /// Connects. Throws pawl::Error within the time it is given.
    explicit Link(const LinkOptions& options);
    /// A connection of somebody else's, who takes care of its settings and its end.
    explicit Link(PGconn* lent);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// As the server's settings have it, rounded up.
    static std::string milliseconds_of(Duration time);

    PGconn* handle() const { return connection_.get(); }
    const std::string& place() const { return place_; }  ///< for messages: never with a password
    int backend() const { return PQbackendPID(connection_.get()); }
    Deadline deadline() const;

    /// After a call of libpq's that returned `sent`: throws if it failed. Then nobody knows what of
    /// it will be sent, and to what an answer would be one: the link is of no use any more.
    void check_sent(int sent, const char* what);
    bool has_failed() const { return has_failed_; }
    void sync();
    /// Hands what is sent to the network as far as it takes it without waiting.
    void flush_now();
    /// The next result; null at the end of each command's. Throws LostConnection when `deadline`
    /// passes: what the server makes of it is then not known.
    Result receive(Deadline deadline, const char* what);
    /// Waits until something has come in or `timeout` has passed, or `also` can be read.
    void wait_for_input(std::chrono::milliseconds timeout, int also);

private:
    [[noreturn]] void fail_lost(const char* what, const std::string& why) const;
    /// False when the deadline has passed.
    bool wait(short events, Deadline deadline) const;

    LinkOptions options_;
    std::unique_ptr<PGconn, FinishUnlessLent> connection_;
    std::string place_;
    bool has_failed_ = false;
};

}  // namespace pawl::store::sql::postgres
