/// Messages, inputs and starts in a transaction of a database client of your own.
#pragma once

#include <memory>
#include <optional>
#include <pawl/detail/outgoing.hpp>
#include <pawl/export.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct pg_conn;   // PGconn
struct st_mysql;  // MYSQL of MariaDB Connector/C

namespace pawl::inline v0 {

class Engine;

/// Called after your commit, it tells those who deliver that there is something, in every process.
/// If it is forgotten they find it by themselves, a little later. Valid while its engine lives, and
/// called by any thread.
class PAWL_API Wake {
public:
    Wake() = default;  ///< wakes nobody
    void operator()() const noexcept;

private:
    friend class Engine;
    friend class JoinedTransaction;
    explicit Wake(Engine& engine) : engine_(&engine) {}
    Engine* engine_ = nullptr;
};

/// How a client marks the parameters of a statement.
enum class Marks {
    native,    ///< as the database does: $1 on PostgreSQL, ? on SQLite and MariaDB
    dollar,    ///< $1, $2, ...
    question,  ///< ?: ODBC
    colon,     ///< :1, :2, ...: SOCI
};

/// A statement that publishes, for clients that do not give their connection away: run it in your
/// transaction, once.
struct SqlText {
    std::string sql{};
    /// All of them texts, one for each mark, in this order. Without a value: NULL.
    std::vector<std::optional<std::string>> parameters{};
    Uuid message{};  ///< for `Engine::delivered`
    Wake wake{};     ///< after the commit
};

/// A connection of your own client on which a transaction is open. What is published, sent,
/// routed and started here is written there at once: it happens if you commit, and not if you roll
/// back. pawl never begins or ends your transaction. Used by one thread at a time, and not after
/// the connection is closed.
///
/// Failures are pawl::Error. What failed has left nothing, and its message says whether your
/// transaction can go on or has to be rolled back.
class PAWL_API JoinedTransaction {
public:
    ~JoinedTransaction();
    JoinedTransaction(JoinedTransaction&&) noexcept;

    /// As Transaction::publish.
    template <class T>
    Uuid publish(std::string_view channel, const T& value, PublishOptions options = {}) {
        return publish_all({detail::outgoing_message(channel, value, std::move(options))}).front();
    }
    /// Several at once, all or none, in their order.
    template <class T>
    std::vector<Uuid> publish_all(std::string_view channel, const std::vector<T>& values) {
        return publish_all(channel, values, [](const T&) { return PublishOptions{}; });
    }
    /// `options(value)` gives those of each.
    template <class T, class F>
    std::vector<Uuid> publish_all(std::string_view channel, const std::vector<T>& values,
                                  F options) {
        return publish_all(detail::outgoing_messages(channel, values, options));
    }
    /// As Transaction::send.
    template <class W, class I>
    void send(const Workflow<W>& workflow, std::string_view id, const I& input,
              SendOptions options = {}) {
        post(detail::outgoing_input(workflow, id, input, std::move(options)));
    }
    /// As Transaction::route.
    template <class W, class I>
    void route(const Workflow<W>& workflow, std::string_view tag, const I& input,
               SendOptions options = {}) {
        post(detail::outgoing_route(workflow, tag, input, std::move(options)));
    }
    /// As Transaction::start.
    template <class In, class Out, class I>
    void start(const Function<In, Out>& function, std::string_view id, const I& input) {
        post(detail::outgoing_start(function, id, input));
    }

    Wake wake() const;

private:
    friend class Engine;
    struct Impl;
    explicit JoinedTransaction(std::unique_ptr<Impl> impl);
    std::vector<Uuid> publish_all(std::vector<detail::OutgoingMessage> messages);
    void post(detail::OutgoingInput input);

    std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::inline v0
