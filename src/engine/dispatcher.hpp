/// Claims due effects and timers, has them performed, and gives the store the word on each.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pawl/options.hpp>
#include <set>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/latch.hpp"
#include "base/pool.hpp"
#include "base/slots.hpp"
#include "engine/exclusive_turn.hpp"
#include "engine/functions.hpp"
#include "engine/instances.hpp"
#include "engine/session.hpp"
#include "store/session_claims.hpp"

namespace pawl::engine {

/// How much this process claims of one sort: runs, which may take long, or everything else.
struct Budget {
    std::size_t limit = 0;
    base::Slots* slots = nullptr;  ///< of runs: those that have left theirs make room for others
    std::size_t held = 0;          ///< and reserved
    bool hungry = false;           ///< `step` left because there was no room
};

/// Items of one kind and tag that this process can handle.
struct Lane {
    store::Line line;
    const Registered* workflow = nullptr;  ///< none for runs
    Policy policy;
    Budget* budget = nullptr;
    std::size_t held = 0;  ///< claimed by this process
};

/// An item that this process has claimed, until its word on it is durable.
struct Held {
    store::Item item;
    Lane* lane = nullptr;
    std::stop_source stop;
    std::optional<Duration> deadline;  ///< of the handler that is running, by `elapsed`
    bool started = false;
    bool is_lent = false;   ///< the thread that waits for it executes it: it is beside the budget
    bool given_up = false;  ///< its deadline passed: whatever the handler still says is ignored
    std::shared_ptr<void> prepared;  ///< of a run
    int postponed = 0;               ///< so often the store could not take the word on it
};

/// Who executes runs that were claimed.
class RunItems {
public:
    /// What each needs, read for all of them at once.
    virtual std::vector<std::shared_ptr<void>> prepare(const std::vector<store::Item>& items) = 0;
    /// Begins to execute it; in the end `done`, `settle` or `give_back` is called.
    virtual void execute(const std::shared_ptr<Held>& held) = 0;

protected:
    ~RunItems() = default;
};

/// What the store could not take is tried again after this long, then longer.
inline constexpr Duration postponed_for = std::chrono::milliseconds{200};
inline constexpr Duration longest_postponed = std::chrono::seconds{5};

/// Thread-safe. `step` is called by one thread at a time.
class Dispatcher final : public BornClaims {
public:
    struct Parts {
        store::Store& store;
        base::Log& log;
        CommitterLanes& lanes;
        base::Pool& callbacks;
        base::Pool& workers;
        base::Random& random;
        Session& session;
        ExclusiveTurn& turn;
        const Clock& clock;
    };
    struct Options {
        std::size_t claims = 0;
        std::size_t runs = 0;          ///< claimed at a time
        base::Slots* slots = nullptr;  ///< that they need while their code runs, if any
        int losses = 0;
        Duration lease{};
        std::function<void(Task)> executor;  ///< runs effects; without it the workers do
        /// What a running handler keeps alive, in case it outlives the engine's patience.
        std::function<std::shared_ptr<void>()> keep_alive;
        std::function<void(std::string_view)> at_point;
    };
    Dispatcher(Parts parts, Options options);

    /// Before anything is claimed; the instances come later because they know the dispatcher.
    void set_up(const Registry& registry, Instances& instances, const Functions& functions,
                RunItems& runs);

    /// Claims what is due and there is room for. Returns when it wants to be called again.
    base::Pause step();
    /// Called when `step` should run before its time.
    void on_wanted(std::function<void()> wanted) { wanted_ = std::move(wanted); }

    /// From now on `step` claims. `inline_effects`: the workers' queue is drained by the caller.
    void begin_work(bool inline_effects);
    /// From now on callers execute what they wait for, though nothing else is claimed.
    void begin_lending() { lending_ = true; }
    /// From now on nothing is claimed, and claimed items that have not begun are given back.
    void begin_stop();
    /// False at the deadline: then handlers are asked to stop, and have a moment to do so.
    bool wait_until_empty(Duration deadline);
    /// The lease was not kept: handlers of what it held are asked to stop.
    void stop_lost();
    /// Whether the last `step` claimed something, or has more to do at once.
    bool progressed() const { return progressed_; }

    std::optional<store::Claim> reserve(const Registered& workflow,
                                        const std::string& effect) override;
    void cancel(const Registered& workflow, const std::string& effect) override;
    void launch(store::Item item) override { launch(std::move(item), nullptr, For::pool); }
    void released(const store::Line& line, Time due) override;

    using HeldPtr = std::shared_ptr<Held>;
    // The same for runs, and what their executor says.
    /// `For::caller`: the thread that waits for the run executes it, beside the budget.
    enum class For : std::uint8_t { pool, caller };
    std::optional<store::Claim> reserve(const store::Line& line, For whom);
    void cancel(const store::Line& line, For whom);
    void launch(store::Item item, std::shared_ptr<void> prepared, For whom);
    /// False: it was given back or buried.
    bool begin(const HeldPtr& held);
    void settle(const HeldPtr& held, store::Settlement word);
    void done(const HeldPtr& held);
    void give_back(const std::vector<HeldPtr>& some);
    using Claims = std::vector<std::pair<store::ItemId, store::Fence>>;
    /// And those that could not be released before.
    void release(Claims claims);
    /// `is_lent`: of a run that its caller executes.
    bool is_stopping(bool is_lent = false) const { return stopping_ && !(is_lent && lending_); }
    /// Something may have become due.
    void want() {
        if (!stopping_ && wanted_) wanted_();
    }

private:
    friend class ItemRequest;
    friend class ItemWord;

    struct Claiming {
        std::size_t claimed = 0;
        base::Pause pause;
    };
    Claiming claim_normal(Duration now);
    Claiming claim_alone(Duration now);
    void end_alone();
    Claiming claim_within(Budget& budget, Duration now);
    store::ClaimRequest claim_request(const Budget* budget, std::size_t room);
    std::optional<store::Claim> reserve_in(Lane& lane, For whom);
    void cancel_in(Lane& lane, For whom);
    /// How many more it may claim; with the mutex held.
    std::size_t room_in(const Budget& budget) const;
    static std::size_t worthwhile(const Budget& budget);
    void take_all(std::vector<store::Item> items);
    void preload(const std::vector<store::Item>& items);
    void take(store::Item item, std::shared_ptr<void> prepared);
    void run(const HeldPtr& held);
    void hand_to_executor(const HeldPtr& held, Task& task);
    void perform(const HeldPtr& held);
    std::unique_ptr<detail::Asked> call_handler(const HeldPtr& held, const Delivery& delivery);
    void fire(const HeldPtr& held);
    void failed(const HeldPtr& held, std::string_view message, bool permanent);
    void bury(const HeldPtr& held, const std::string& reason);
    void log_untold(const HeldPtr& held, std::string_view why) const;
    void log_taken_over(const HeldPtr& held) const;
    void send(const HeldPtr& held, std::unique_ptr<detail::Asked> input, store::Settlement word);
    /// The store could not be reached: what `again` does is done later.
    void postpone(const HeldPtr& held, Task again, const std::string& why);
    base::Pause check_deadlines(Duration now);
    /// Gives back what the store holds for this session and nobody here works on.
    void release_strays(Duration now);
    base::Pause run_postponed(Duration now);
    void point(std::string_view name) const {
        if (options_.at_point) options_.at_point(name);
    }

    Parts parts_;
    const Options options_;
    Instances* instances_ = nullptr;
    RunItems* run_items_ = nullptr;
    std::function<void()> wanted_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::map<std::pair<std::string, std::string>, Lane*> effects_;  ///< by type and tag
    std::map<store::Line, Lane*> by_line_;

    mutable std::mutex mutex_;
    std::size_t held_ = 0;  ///< and reserved, of both budgets
    Budget works_;
    Budget runs_;
    std::set<HeldPtr> items_;
    // By the clock's `elapsed`: only items are due by the store's time.
    std::multimap<Duration, Task> postponed_;
    Claims unreleased_;
    Claims suspected_;  ///< by the last look: claims of this session that nobody here knew
    Duration suspects_at_{};
    Duration next_step_{};  ///< when `step` comes by itself
    std::atomic<bool> stopping_{true};
    std::atomic<bool> lending_{false};
    base::Latch emptied_;

    enum class Alone : std::uint8_t { no, draining, running } alone_ = Alone::no;
    Duration alone_since_{};
    Duration alone_again_at_{};
    bool progressed_ = false;
    bool inline_effects_ = false;
};

}  // namespace pawl::engine
