/// The user's own SQL in the store's database, in a transaction that pawl commits.
#pragma once

#include <pawl/detail/outgoing.hpp>
#include <pawl/detail/sql_values.hpp>
#include <pawl/export.hpp>
#include <pawl/json.hpp>

namespace pawl::inline v0 {

/// A transaction that is open. What it does is committed together with what pawl records of it, or
/// not at all. Valid until the function that was given it returns, and used by its thread alone.
///
/// SQL is the database's own, with parameters $1, $2, ... on each of them, one statement at a time.
/// An argument is a number, a bool, a text, a std::vector<std::byte>, a pawl::Uuid (a text), a time
/// (TIMESTAMP on PostgreSQL and MariaDB, a text like "2024-02-29T12:00:00.000000Z" on SQLite),
/// std::nullopt or a std::optional of these.
///
/// Failures are pawl::Error, with Code::invalid if the statement, an argument or the data is at
/// fault. A statement that fails ends the transaction: nothing of it is committed, whether or not
/// the exception is caught.
class Transaction {
public:
    Transaction(detail::SqlSession& session, detail::Outgoing& outgoing)
        : session_(&session), outgoing_(&outgoing) {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// Runs a statement; returns how many rows it inserted, updated or deleted.
    template <class... Args>
    std::int64_t exec(std::string_view sql, const Args&... args) {
        return session_->run(sql, values(args...)).changed;
    }

    /// All rows that a statement returns. A row is a plain struct, its fields in the order of the
    /// columns, or a single value. A column that may be NULL is a std::optional.
    template <class Row, class... Args>
    std::vector<Row> query(std::string_view sql, const Args&... args) {
        static_assert(detail::is_sql_row<Row>(),
                      "pawl: a row of SQL is a plain struct, or one value, of integers, bool, "
                      "double, std::string, std::vector<std::byte>, pawl::Uuid, pawl::Time or a "
                      "std::optional of these");
        return detail::read_rows<Row>(sql, session_->run(sql, values(args...)));
    }

    /// For messages of others, which may come more than once: true the first time that `consumer`
    /// asks for this `id`, false ever after, for as long as `window`. It counts only if this
    /// transaction commits; whoever asks beside it waits for its end.
    ///
    ///     if (!tx.once("billing", delivery.message_id)) return;  // it was done before
    bool once(std::string_view consumer, std::string_view id, Duration window = once_window) {
        return session_->is_first(outgoing_->once(consumer, id), window);
    }

    /// Publishes a message if this commits. Its id can be asked for with `Engine::delivered`.
    template <class T>
    Uuid publish(std::string_view channel, const T& value, PublishOptions options = {}) {
        return outgoing_->publish(detail::outgoing_message(channel, value, std::move(options)));
    }
    /// Has an input applied to an instance if this commits: once, soon after, and behind inputs of
    /// this instance that were committed before this one was sent.
    template <class W, class I>
    void send(const Workflow<W>& workflow, std::string_view id, const I& input,
              SendOptions options = {}) {
        outgoing_->post(detail::outgoing_input(workflow, id, input, std::move(options)));
    }
    /// Has an input applied to the instances that listen to `tag`, now or later, if this commits.
    template <class W, class I>
    void route(const Workflow<W>& workflow, std::string_view tag, const I& input,
               SendOptions options = {}) {
        outgoing_->post(detail::outgoing_route(workflow, tag, input, std::move(options)));
    }
    /// Starts a run if this commits; nothing if there is one with this id.
    template <class In, class Out, class I>
    void start(const Function<In, Out>& function, std::string_view id, const I& input) {
        outgoing_->post(detail::outgoing_start(function, id, input));
    }

protected:
    Transaction(Transaction&&) = default;

private:
    template <class... Args>
    static std::vector<detail::SqlValue> values(const Args&... args) {
        std::vector<detail::SqlValue> all;
        all.reserve(sizeof...(args));
        (all.push_back(detail::sql_argument<std::remove_cvref_t<Args>>(args)), ...);
        return all;
    }

    detail::SqlSession* session_;
    detail::Outgoing* outgoing_;
};

}  // namespace pawl::inline v0
