/// The engine: runs workflows on a store, performs their effects, fires their timers.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <pawl/dag.hpp>
#include <pawl/detail/subscriber.hpp>
#include <pawl/detail/typed.hpp>
#include <pawl/detail/typed_function.hpp>
#include <pawl/export.hpp>
#include <pawl/foreign.hpp>
#include <pawl/function.hpp>
#include <pawl/guard.hpp>
#include <pawl/handlers.hpp>
#include <pawl/inspect.hpp>
#include <pawl/options.hpp>
#include <pawl/outbox.hpp>
#include <pawl/outcome.hpp>
#include <pawl/task.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

namespace detail {
/// How an asynchronous send ends: an outcome, or an error.
using Completion = Once<OutcomeRecord, std::exception_ptr>;
}  // namespace detail

/// A transaction of your own on the store's database. What it does is committed together with what
/// it publishes, sends, routes and starts, or not at all. Used by the thread that began it, and
/// soon over: others wait for its locks, and on SQLite for its turn to write.
class PAWL_API BegunTransaction : public Transaction {
public:
    /// Rolls back unless it was committed.
    ~BegunTransaction();
    BegunTransaction(BegunTransaction&&) noexcept;

    /// Throws pawl::Error; with Code::in_doubt it is not known whether it was committed.
    void commit();

private:
    friend class Engine;
    struct Impl;
    explicit BegunTransaction(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// One engine on one store. Thread-safe, except that `add` comes before everything else. Several
/// engines live in one process; using one after `fork` is an error.
class PAWL_API Engine {
public:
    /// Opens the store, creating it where there is none: "sqlite:shop.db", "postgres://...".
    explicit Engine(std::string_view url, Options options = {});
    /// Stops as `stop` does, with `Options::stop_deadline`. Does not throw.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Registers a workflow under `name`, and the handlers of its effects. Without handlers this
    /// process sends inputs and fires timers, and leaves the effects to others. Call it before
    /// `start`.
    template <class W, class... H>
    Workflow<W> add(std::string name, Handlers<H...> handlers, WorkflowOptions options = {});
    template <class W>
    Workflow<W> add(std::string name, WorkflowOptions options = {});

    /// Registers a durable function under `name`: a function, a lambda or a functor that takes a
    /// `pawl::Context&` and, if it wants one, an input. This process executes its runs.
    template <detail::DurableFunction F>
    auto add(std::string name, F function, FunctionOptions options = {}) {
        using Model = detail::TypedFunction<std::decay_t<F>>;
        add_function(name, std::make_unique<Model>(std::move(function)), options);
        return Function<typename Model::In, typename Model::Out>{*this, std::move(name)};
    }

    /// Registers a dag as a durable function. Throws Error (invalid) if its tasks go round in a
    /// circle.
    template <class In>
    Function<In, void> add(std::string name, const Dag<In>& dag, FunctionOptions options = {}) {
        return add(std::move(name), dag.function(), options);
    }

    /// Registers runs whose steps this program acquires and does by itself: pawl executes nothing
    /// of them. `open` needs no start.
    template <class In, class Out = void>
    Steps<In, Out> add_steps(std::string name) {
        static_assert(json::travels<In>, "pawl: the input of a run can't travel as JSON");
        add_function(name, nullptr, {});
        return {*this, std::move(name)};
    }

    /// Delivers the messages of a channel to `handler`, in order per partition and at least once:
    /// `(const T&)` or `(const T&, const pawl::Delivery&)` for one message at a time, a
    /// `(pawl::Batch<T>&)` for several. A handler `(pawl::Transaction&, const T&)` works on tables
    /// of your own: what it does there and that the message is done are one commit, so it happens
    /// once. What throws is tried again as the options say; `pawl::Permanent` is not. Call it
    /// before `start`.
    template <class F>
    void subscribe(std::string channel, F handler, SubscribeOptions options = {}) {
        add_subscriber(std::move(channel),
                       std::make_unique<detail::TypedSubscriber<F>>(std::move(handler)), options);
    }

    /// Starts the threads that claim and perform work. Sending needs no start.
    void start();
    /// Takes no new work, lets running handlers finish up to `deadline`, gives the rest back
    /// uncharged. True if nothing had to be left. Refused in a handler or callback (misuse).
    bool stop(Duration deadline = std::chrono::seconds{30});
    /// For tests, on an engine that was not started: does everything that is due, on this thread.
    void run_until_idle();

    /// The untyped entry: `input` is JSON, {"type": "Place", ...}. An empty id asks `route`. Throws
    /// Error (codec) with the path if the input has an unknown field (unless
    /// `SendOptions::lenient`) or a duplicate key.
    OutcomeRecord send(std::string_view type, std::string_view id, std::string_view input,
                       SendOptions options = {});
    /// The JSON of an instance's state; absent if there is no such instance.
    std::optional<std::string> state(std::string_view type, std::string_view id);

    /// Begins a transaction of your own, with `exec`, `query`, `publish`, `send`, `route` and
    /// `start`.
    BegunTransaction begin();
    /// Calls `body(pawl::Transaction&)` in a transaction, and commits it, unless `consumer` has
    /// done so for this `id` before: an effect of a message that may come more than once. Whether
    /// it was called.
    template <class F>
    bool once(std::string_view consumer, std::string_view id, F&& body) {
        auto tx = begin();
        if (!tx.once(consumer, id)) return false;
        std::forward<F>(body)(static_cast<Transaction&>(tx));
        tx.commit();
        return true;
    }

    /// Publishes, sends and starts in the transaction that is open on a connection of your own to
    /// the store's database. Needs no start. Error (misuse) if none is open, or if it leads
    /// elsewhere: nothing is written then.
    JoinedTransaction join(sqlite3* connection);
    JoinedTransaction join(pg_conn* connection);
    JoinedTransaction join(st_mysql* connection);
    /// The same as a statement, for clients that do not give their connection away. Where the
    /// channel is new it is made now, on a connection of pawl's: on SQLite before your transaction
    /// writes.
    template <class T>
    SqlText publish_sql(std::string_view channel, const T& value, PublishOptions options = {},
                        Marks marks = Marks::native) {
        return sql_of(detail::outgoing_message(channel, value, std::move(options)), marks);
    }
    template <class W, class I>
    SqlText send_sql(const Workflow<W>& workflow, std::string_view id, const I& input,
                     SendOptions options = {}, Marks marks = Marks::native) {
        return sql_of(detail::outgoing_input(workflow, id, input, std::move(options)), marks);
    }
    template <class W, class I>
    SqlText route_sql(const Workflow<W>& workflow, std::string_view tag, const I& input,
                      SendOptions options = {}, Marks marks = Marks::native) {
        return sql_of(detail::outgoing_route(workflow, tag, input, std::move(options)), marks);
    }
    template <class In, class Out, class I>
    SqlText start_sql(const Function<In, Out>& function, std::string_view id, const I& input,
                      Marks marks = Marks::native) {
        return sql_of(detail::outgoing_start(function, id, input), marks);
    }

    /// Publishes a message and waits until that is durable. Returns its id.
    template <class T>
    Uuid publish(std::string_view channel, const T& value, PublishOptions options = {}) {
        return publish_one(detail::outgoing_message(channel, value, std::move(options)));
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
    /// Makes sure that a channel is there with so many partitions: Error (invalid) if it has
    /// others.
    void channel(std::string_view name, int partitions);
    /// Changes the number of partitions of an empty channel. False: it has undelivered messages.
    /// Throws Error: `busy` while a transaction that has published is open, or `in_doubt`.
    bool repartition(std::string_view channel, int partitions);
    /// Resumes partitions stopped by `Poison::stop`, and returns how many. May throw `in_doubt`.
    std::int64_t resume(std::string_view channel);
    /// What has become of a message that was published, and whose transaction was committed.
    MessageStatus delivered(const Uuid& message);
    /// Until all of them are delivered, or dead. False when `timeout` passed first.
    bool wait_for(const std::vector<Uuid>& messages, Duration timeout);
    std::vector<PartitionDepth> partitions(std::string_view channel);
    /// All its partitions together. `pawl::rates` tells how fast it moves between two of these.
    ChannelStatistics statistics(std::string_view channel);

    std::vector<DeadMessage> dead_messages(const DeadMessageQuery& query = {});
    std::int64_t count_dead_messages(const DeadMessageQuery& query = {});
    /// Takes dead messages to work on them: they are pending again when `deadline` has passed.
    std::vector<DeadMessage> replay_dead_messages(const DeadMessageQuery& query, Duration deadline);
    /// Has those that are pending delivered once more, as the last of their partition, under the
    /// ids that they had. Returns how many.
    std::int64_t redeliver_dead_messages(const DeadMessageQuery& query);
    /// What was done about them by hand. Numbers are those of DeadMessage.
    std::int64_t resolve_dead_messages(const std::vector<std::int64_t>& numbers);
    std::int64_t bury_dead_messages(const std::vector<std::int64_t>& numbers,
                                    std::string_view reason);
    std::int64_t discard_dead_messages(const std::vector<std::int64_t>& numbers);
    /// Removes those that were resolved, discarded or rejected, and died so long ago. The engine
    /// does so by itself after Options::ending_retention.
    std::int64_t clean_up_dead_messages(Duration older_than, std::size_t limit = 1000);

    InstanceList instances(const InstanceQuery& query = {});
    /// Up to `limit` entries after sequence `after`; empty if there is no such instance.
    std::vector<JournalEntry> journal(std::string_view type, std::string_view id,
                                      std::int64_t after = 0, std::size_t limit = 1000);
    std::vector<PendingWork> pending(const WorkQuery& query = {});
    std::vector<Backlog> backlog();
    std::vector<Ending> endings(const WorkQuery& query = {});

    std::vector<DeadLetter> dead_letters(const DeadLetterQuery& query = {});
    std::int64_t count_dead_letters(const DeadLetterQuery& query = {});
    /// Makes up to `query.limit` dead letters due again with fresh attempts. Returns how many.
    std::int64_t retry_dead_letters(const DeadLetterQuery& query);
    std::int64_t discard_dead_letters(const DeadLetterQuery& query);

    /// The store's time.
    Time now();

private:
    template <class W>
    friend class Workflow;
    friend class detail::RunHandle;
    friend class detail::OpenedRun;
    friend class JoinedTransaction;
    friend class Wake;
    struct Impl;

    struct Sending {
        std::string_view type{};
        std::string_view id{};  ///< empty: the input's route
        std::unique_ptr<detail::Asked> input{};
        SendOptions options{};
    };
    void add_model(std::string name, std::unique_ptr<detail::Model> model, WorkflowOptions options);
    void add_function(std::string name, std::unique_ptr<detail::FunctionModel> model,
                      FunctionOptions options);
    void add_subscriber(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
                        SubscribeOptions options);
    Uuid publish_one(detail::OutgoingMessage message);
    std::vector<Uuid> publish_all(std::vector<detail::OutgoingMessage> messages);
    void post_all(std::vector<detail::OutgoingInput> inputs);
    SqlText sql_of(detail::OutgoingMessage message, Marks marks);
    SqlText sql_of(detail::OutgoingInput input, Marks marks);
    OutcomeRecord send_asked(Sending sending);
    void send_asked(Sending sending, detail::Completion done);
    /// The state after sequence `at` (0: the last), or null.
    std::unique_ptr<detail::State> load_state(std::string_view type, std::string_view id,
                                              std::int64_t at);

    std::unique_ptr<Impl> impl_;
};

/// A typed handle to one workflow of an engine. Cheap to copy; valid while its engine lives.
template <class W>
class Workflow {
public:
    using Input = typename W::Input;

    /// Sends an input and waits until its outcome is durable. Throws pawl::Error when that could
    /// not be reached; with Code::in_doubt, resend with the error's input id.
    template <class I>
        requires std::constructible_from<Input, I>
    Outcome<W> send(std::string_view id, I input, SendOptions options = {}) const {
        return Outcome<W>{engine_->send_asked(sending(id, std::move(input), std::move(options)))};
    }
    /// To the instance that the workflow's `static std::string route(const I&)` names.
    template <class I>
        requires(std::constructible_from<Input, I> && !std::convertible_to<I, std::string_view>)
    Outcome<W> send(I input, SendOptions options = {}) const {
        check_route<I>();
        return Outcome<W>{engine_->send_asked(sending("", std::move(input), std::move(options)))};
    }

    /// Returns before the commit; the future has the outcome or the error. It decides on
    /// this thread, and waits only while `Options::queue` is full. Inputs of one thread to one
    /// instance are applied in the order they were sent.
    template <class I>
        requires std::constructible_from<Input, I>
    std::future<Outcome<W>> send_async(std::string_view id, I input,
                                       SendOptions options = {}) const {
        std::promise<Outcome<W>> promise;
        auto future = promise.get_future();
        engine_->send_asked(
            sending(id, std::move(input), std::move(options)),
            [promise = std::move(promise)](OutcomeRecord record, std::exception_ptr error) mutable {
                if (error)
                    promise.set_exception(error);
                else
                    promise.set_value(Outcome<W>{std::move(record)});
            });
        return future;
    }
    /// To the instance that `route` names.
    template <class I>
        requires(std::constructible_from<Input, I> && !std::convertible_to<I, std::string_view>)
    std::future<Outcome<W>> send_async(I input, SendOptions options = {}) const {
        check_route<I>();
        return send_async("", std::move(input), std::move(options));
    }
    /// `done(outcome, error)` is called on a thread of the engine; exactly one of them is set.
    template <class I, std::invocable<std::optional<Outcome<W>>, std::exception_ptr> F>
        requires std::constructible_from<Input, I>
    void send_async(std::string_view id, I input, SendOptions options, F done) const {
        engine_->send_asked(
            sending(id, std::move(input), std::move(options)),
            [done = std::move(done)](OutcomeRecord record, std::exception_ptr error) mutable {
                if (error)
                    done(std::optional<Outcome<W>>{}, error);
                else
                    done(std::optional<Outcome<W>>{Outcome<W>{std::move(record)}}, error);
            });
    }
    template <class I, std::invocable<std::optional<Outcome<W>>, std::exception_ptr> F>
        requires(std::constructible_from<Input, I> && !std::convertible_to<I, std::string_view>)
    void send_async(I input, SendOptions options, F done) const {
        check_route<I>();
        send_async("", std::move(input), std::move(options), std::move(done));
    }

    /// Leaves an input in the inbox and returns when that is durable: it is applied soon, once, and
    /// in the order of the posts to its instance.
    template <class I>
        requires std::constructible_from<Input, I>
    void post(std::string_view id, I input, SendOptions options = {}) const {
        std::vector<detail::OutgoingInput> one;
        one.push_back({.type = name_,
                       .id = std::string{id},
                       .input = json::encode(Input(std::move(input))),
                       .options = std::move(options)});
        engine_->post_all(std::move(one));
    }
    /// Several at once, all or none.
    void post(const std::vector<std::pair<std::string, Input>>& inputs) const {
        std::vector<detail::OutgoingInput> all;
        all.reserve(inputs.size());
        for (const auto& [id, input] : inputs)
            all.push_back({.type = name_, .id = id, .input = json::encode(input)});
        engine_->post_all(std::move(all));
    }

    /// Leaves an input for the instances that listen to `tag` (`Decision::listen`), and returns
    /// when that is durable. Each that listens gets it once, in the order of the calls with this
    /// tag; if none does, it waits for the first that will.
    template <class I>
        requires std::constructible_from<Input, I>
    void route(std::string_view tag, I input, SendOptions options = {}) const {
        std::vector<detail::OutgoingInput> one;
        one.push_back(detail::outgoing_route(*this, tag, input, std::move(options)));
        engine_->post_all(std::move(one));
    }
    /// Several at once, each with its tag, all or none.
    void route(const std::vector<std::pair<std::string, Input>>& inputs) const {
        std::vector<detail::OutgoingInput> all;
        all.reserve(inputs.size());
        for (const auto& [tag, input] : inputs)
            all.push_back({.type = name_, .id = {}, .tag = tag, .input = json::encode(input)});
        engine_->post_all(std::move(all));
    }

    /// The committed state; absent if there is no such instance.
    std::optional<W> state(std::string_view id) const { return state_at(id, 0); }
    /// The state after the event of that sequence; 0 is the last.
    std::optional<W> state_at(std::string_view id, std::int64_t sequence) const {
        auto state = engine_->load_state(name_, id, sequence);
        if (!state) return std::nullopt;
        return std::move(static_cast<detail::TypedState<W>&>(*state).value);
    }
    std::vector<JournalEntry> journal(std::string_view id, std::int64_t after = 0,
                                      std::size_t limit = 1000) const {
        return engine_->journal(name_, id, after, limit);
    }
    /// Effects and timers of one instance that are not done yet.
    std::vector<PendingWork> pending(std::string_view id) const {
        return engine_->pending({.type = name_, .id = std::string{id}});
    }
    /// Of this type; `query.type` is set for you.
    InstanceList instances(InstanceQuery query = {}) const {
        query.type = name_;
        return engine_->instances(query);
    }
    const std::string& name() const { return name_; }

private:
    friend class Engine;
    Workflow(Engine& engine, std::string name) : engine_(&engine), name_(std::move(name)) {}

    template <class I>
    static constexpr void check_route() {
        static_assert(
            requires(const I& in) { std::string{W::route(in)}; },
            "pawl: sending without an id needs `static std::string route(const Input&)`");
    }
    template <class I>
    Engine::Sending sending(std::string_view id, I input, SendOptions options) const {
        return {name_, id, std::make_unique<detail::TypedAsked<W>>(Input(std::move(input))),
                std::move(options)};
    }

    Engine* engine_;
    std::string name_;
};

template <class W, class... H>
Workflow<W> Engine::add(std::string name, Handlers<H...> handlers, WorkflowOptions options) {
    if constexpr (detail::check_workflow<W>()) {
        add_model(name,
                  std::make_unique<detail::TypedModel<W, H...>>(std::move(handlers).release()),
                  options);
    }
    return {*this, std::move(name)};
}

template <class W>
Workflow<W> Engine::add(std::string name, WorkflowOptions options) {
    return add<W>(std::move(name), Handlers<>{}, options);
}

}  // namespace pawl::inline v0
