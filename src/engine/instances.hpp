/// Instances in memory: one at a time decides for each, on the state after the input before.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/pool.hpp"
#include "base/random.hpp"
#include "engine/committer_lanes.hpp"
#include "engine/mailbox.hpp"
#include "engine/request.hpp"

namespace pawl::engine {

/// An instance's state after everything that was decided, durable or on its way.
struct CachedInstance {
    const Registered* workflow = nullptr;
    std::string id;
    /// Through which its Commits go; another only when none of them is in flight.
    std::atomic<Committer*> lane{nullptr};

    std::mutex mutex;   ///< of what follows; never held while the user's code runs
    Mailbox returned;   ///< to be decided again, in their order and before everything newer
    Mailbox mailbox;    ///< not decided yet
    int in_flight = 0;  ///< decided, and their Commits not answered yet
    std::uint64_t last_number = 0;  ///< of a request, in the order in which they came
    bool busy = false;              ///< a thread is deciding for this instance
    /// Busy, but the callback thread that shall decide has not begun: whoever waits may come first.
    bool posted = false;
    /// Read before anybody asked, for the first who decides. It may be old by then: then its Commit
    /// is stale, as that of any state would be.
    std::optional<store::Loaded> preloaded;

    // Only the thread that is deciding touches these.
    std::unique_ptr<detail::State> state;  ///< none: to be loaded
    store::Version version = 0;
    store::Head head = 0;  ///< of the event at this version
    store::Version snapshot_at = 0;
    bool speculative = false;  ///< taken for new without a look
    bool has_timers = true;    ///< it may have
    Duration decided_at{};     ///< last, by the clock's `elapsed`; its Commit confirms the version
    std::shared_ptr<Chain> chain;

    /// Whether nothing can be decided before the Commits in flight are answered: they rest on a
    /// state that is gone, and those of them that lost a race come first.
    bool must_wait() const { return in_flight > 0 && (!state || chain->broken); }

    void forget() {
        state.reset();
        chain.reset();
        version = snapshot_at = 0;
        head = 0;
        speculative = false;
    }
};

/// Claims for effects that this process performs itself, and what becomes of them.
class BornClaims {
public:
    virtual ~BornClaims() = default;
    /// A claim if this process handles that effect and has room for it.
    virtual std::optional<store::Claim> reserve(const Registered& workflow,
                                                const std::string& effect) = 0;
    /// Reserved, but never committed.
    virtual void cancel(const Registered& workflow, const std::string& effect) = 0;
    /// Committed: perform it.
    virtual void launch(store::Item item) = 0;
    /// Committed, for whoever claims it.
    virtual void released(const store::Line& line, Time due) = 0;
};

/// Thread-safe.
class Instances {
public:
    struct Options {
        std::size_t cached = 0;
        std::size_t payload_limit = 0;
        /// So long after it was last confirmed a state is taken for that of its instance: no other
        /// one can be there by its name, and at its version, before.
        Duration believed_for{0};
        /// Called when messages were committed.
        std::function<void(std::span<const store::Message>)> published;
    };
    struct Parts {
        store::Store& store;
        CommitterLanes& lanes;
        base::Pool& callbacks;
        base::Random& random;
        const Clock& clock;
        BornClaims& born;
    };
    Instances(Parts parts, Options options);

    /// Decides the request now, or leaves it to the thread that is deciding for its instance.
    /// Ends with `Request::finish`, whatever happens.
    void send(std::unique_ptr<Request> request);
    /// The same for a caller that waits, and that commits by itself (`Committer::help`) after this.
    void send_and_help(std::unique_ptr<Request> request);
    /// Goes on deciding for an instance that was handed over.
    void take_over(const std::shared_ptr<CachedInstance>& instance);
    /// Of a request whose Commit has its answer; on the committing thread.
    void conclude(std::unique_ptr<Request> request, store::Answer answer,
                  std::vector<Job::Owned>& later);

    /// Reads those that are not in memory in one go, because inputs to them are about to be sent.
    void preload(const std::vector<std::pair<const Registered*, std::string>>& wanted);

    /// The state after sequence `at` (0: the last) as committed; null if there is no such instance.
    std::unique_ptr<detail::State> load_state(const Registered& workflow, const std::string& id,
                                              store::Version at);

private:
    struct Shard {
        std::mutex mutex;
        std::list<std::shared_ptr<CachedInstance>> recent;  ///< latest first
        std::unordered_map<std::string, std::list<std::shared_ptr<CachedInstance>>::iterator> index;
    };
    static constexpr std::size_t shard_count = 16;

    std::shared_ptr<CachedInstance> find(const Registered& workflow, const std::string& id);
    bool enqueue(std::unique_ptr<Request> request, bool waits);
    void drive(const std::shared_ptr<CachedInstance>& instance);
    std::unique_ptr<Request> next(const std::shared_ptr<CachedInstance>& instance, bool turn_over);
    void pass_on(const std::shared_ptr<CachedInstance>& instance);
    void landed(Request& request, std::unique_ptr<Request> again);
    void decide(CachedInstance& instance, std::unique_ptr<Request> request);
    bool decide_held(CachedInstance& instance, std::unique_ptr<Request>& request);
    store::Answer commit_held(CachedInstance& instance, Request& request, store::Held held);
    void give_back(CachedInstance& instance, std::unique_ptr<Request> request);
    void ensure_state(CachedInstance& instance, const Request& request);
    bool may_be_replaced(CachedInstance& instance, Duration now) const;
    void take_state(CachedInstance& instance, const store::Loaded& loaded);
    void plan(CachedInstance& instance, Request& request);
    void plan_confirmation(const CachedInstance& instance, Request& request);
    void plan_accepted(CachedInstance& instance, Request& request, detail::Draft draft);
    void abandon(CachedInstance& instance, std::unique_ptr<Request> request,
                 std::exception_ptr error);
    void committed(Request& request, store::Answer& answer);
    void launch_born(Request& request, const store::Answer& answer);
    void cancel_born(Request& request);
    std::unique_ptr<detail::State> state_of(const Registered& workflow, const std::string& id,
                                            const store::Loaded& loaded);

    Parts parts_;
    Options options_;
    std::unique_ptr<Moment::Source> uuids_;
    std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace pawl::engine
