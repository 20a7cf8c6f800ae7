/// The parts of an engine, wired together.
#pragma once

#include <memory>
#include <mutex>
#include <pawl/engine.hpp>
#include <pawl/options.hpp>
#include <string_view>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "base/pool.hpp"
#include "base/random.hpp"
#include "base/uuid.hpp"
#include "engine/committer_lanes.hpp"
#include "engine/deliverer.hpp"
#include "engine/dispatcher.hpp"
#include "engine/exclusive_turn.hpp"
#include "engine/functions.hpp"
#include "engine/inbox.hpp"
#include "engine/inbox_limit.hpp"
#include "engine/instances.hpp"
#include "engine/registry.hpp"
#include "engine/router.hpp"
#include "engine/runs.hpp"
#include "engine/session.hpp"
#include "engine/vacuum.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Owned by the Engine, and by every handler that runs: one that does not come back keeps it alive.
class Core : public std::enable_shared_from_this<Core> {
public:
    Core(std::unique_ptr<store::Store> store, Options options);

    void add(std::string name, std::unique_ptr<detail::Model> model, WorkflowOptions options);
    void add(std::string name, std::unique_ptr<detail::FunctionModel> model,
             FunctionOptions options);
    void subscribe(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
                   SubscribeOptions options);
    void start();
    bool stop(Duration deadline);
    void run_until_idle();

    /// An input from outside.
    struct Sending {
        std::string_view type;
        std::string_view id;  ///< empty: the input's route
        std::unique_ptr<detail::Asked> input;
        SendOptions options;
    };
    OutcomeRecord send(Sending sending);
    void send(Sending sending, detail::Completion done);

    /// Before anything is done with it: whatever is added is added.
    void use() {
        check_process();
        set_up();
    }
    /// Empty, with this engine's limits and ids.
    OutgoingBuffer outgoing() {
        return OutgoingBuffer{
            {.payload_limit = options_.payload_limit,
             .fresh_id = [this] { return fresh_id(); },
             .before_post = [this](const std::string& type,
                                   std::size_t others) { inbox_limit_.check(type, others); }}};
    }
    /// Publishes what is in it, and waits until that is durable.
    void commit(const OutgoingBuffer& outgoing);
    /// Messages were committed: those who deliver them look at once.
    void published(std::span<const store::Message> messages) { deliverer_.published(messages); }
    void published_by_others() { deliverer_.published_by_others(); }

    store::Store& store() { return *store_; }
    const Registry& registry() const { return registry_; }
    /// One that was added, or pawl's own. Throws Error (unknown).
    const Registered& workflow(std::string_view type) const;
    Instances& instances() { return instances_; }
    base::Log& log() { return log_; }
    Uuid fresh_id() { return base::uuid7(clock_.now(), *random_); }
    const Functions& functions() const { return functions_; }
    /// Ready to be used: whatever is added is added.
    Runs& runs();
    const Options& options() const { return options_; }
    /// Whether this is a child that was forked from the engine's process.
    bool is_foreign_process() const;
    void check_process() const;
    /// Work may have become due.
    void wake() { claiming_.wake(); }

private:
    /// Most of the threads of functions wait for commits while others run.
    static constexpr std::size_t threads_per_body = 4;

    void set_up();
    void check_addable(const std::string& name) const;
    void start_parts();
    bool stop_parts(Duration deadline);
    // What an engine that was not started begins when a program needs it. It ends with `stop`.
    void commit_in_background();
    void attend_runs();
    void keep_lease();
    /// With `life_` held.
    void watch_others();
    bool has_begun() const { return started_ || committing_ || watching_ || keeps_lease_; }
    void prepare(Request& request, Sending sending);
    void add_inboxes();
    void apply_posted(const std::string& type, records::Posted posted, const Received& received,
                      InboxSubscriber::Applied applied);
    void unlisten(const Address& address, const std::string& instance, InboxSubscriber::Fate fate,
                  InboxSubscriber::Applied applied);
    /// Runs what waits for a callback thread, when there are none.
    void drain_callbacks();
    base::OnFailure logged(const char* where);

    const Options options_;
    const std::unique_ptr<store::Store> store_;
    const std::unique_ptr<base::Random> random_;
    const Clock& clock_;
    base::Log log_;
    const int process_;
    Registry registry_;
    Registered router_;
    Functions functions_;
    base::Pool callbacks_;
    base::Pool workers_;
    base::Pool function_threads_;
    base::Slots slots_;
    CommitterLanes committers_;
    Session session_;
    ExclusiveTurn turn_;
    Dispatcher dispatcher_;
    Instances instances_;
    Runs runs_;
    Deliverer deliverer_;
    InboxLimit inbox_limit_;
    Vacuum vacuum_;
    base::Loop claiming_;
    base::Loop delivering_;
    base::Loop vacuuming_;
    std::unique_ptr<store::Watch> watch_;
    std::unique_ptr<base::Loop> watching_;
    base::Pause looks_again_in_;  ///< of the watch
    std::mutex life_;             ///< of start and stop
    std::atomic<bool> started_{false};
    std::atomic<bool> driven_{false};      ///< by `run_until_idle`: it has no threads of its own
    std::atomic<bool> committing_{false};  ///< on its threads, although it was not started
    std::atomic<bool> attending_{false};   ///< `watching_` is there
    bool keeps_lease_ = false;             ///< of runs that their callers execute
    std::once_flag set_up_;
    std::atomic<bool> used_{false};
    std::atomic<bool> ending_{false};
};

}  // namespace pawl::engine
