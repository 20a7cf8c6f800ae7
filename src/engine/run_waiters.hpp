/// Those who wait for runs, which this process executes or another.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <pawl/clock.hpp>
#include <set>
#include <vector>

#include "base/latch.hpp"
#include "base/loop.hpp"
#include "engine/run_records.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe. Waiting costs nothing while others commit: one look finds what has ended since the
/// look before, and wakes only those who wait for that.
class RunWaiters {
public:
    RunWaiters(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}

private:
    struct Waiter {
        base::Latch changed;
        std::optional<records::Finished> finished;
        bool look = false;  ///< nobody here will say: it has to look for itself
        /// Of one who waits for a change instead of the end: the version that it has seen.
        std::optional<store::Version> seen;
    };
    /// A run that somebody waits for, or that this process executes.
    struct Known {
        std::vector<Waiter*> waiters;
        int executions = 0;
    };
    using Runs = std::map<store::InstanceName, Known>;

public:
    /// A place among those who wait: what is said of the run from now on is not missed. For one
    /// thread.
    class Seat {
    public:
        Seat(RunWaiters& waiters, store::InstanceName run);
        ~Seat();
        Seat(const Seat&) = delete;
        Seat& operator=(const Seat&) = delete;

        /// How the run ended; absent when `timeout` passes first. Throws Error: unknown if there is
        /// no such run, unavailable if it would wait for ever in an engine that was stopped.
        std::optional<records::Finished> wait(Duration timeout);

    private:
        friend class RunWaiters;
        bool is_executed_here() const { return at_->second.executions > 0; }

        RunWaiters& waiters_;
        const store::InstanceName& run() const { return at_->first; }
        Waiter waiter_;
        Runs::iterator at_;
    };
    /// Returns when the journal has got past this version, or when `timeout` has passed.
    void wait_for_news(const store::InstanceName& run, store::Version seen, Duration timeout);

    /// This process executes the run: it will say itself when it has ended.
    void began(const store::InstanceName& run);
    /// It does not any more, with what it came to if it has ended.
    void left(const store::InstanceName& run, const records::Finished* finished = nullptr);
    /// Its journal has grown.
    void changed(const store::InstanceName& run);
    /// Whether the engine works. One that stops lets those go who would wait for ever, except for
    /// what it is still executing; one that was stopped lets go all of them.
    /// An idle one was not started yet.
    enum class Life : std::uint8_t { idle, working, stopping, stopped };
    void set_life(Life life);
    Life life() const { return life_; }
    /// Throws the Error of those who are let go.
    void check_worth_waiting(const store::InstanceName& run);
    /// Looks whether what is waited for has ended: where it was `heard` that something was
    /// committed, and from time to time in case nobody said so. Returns when to look again without
    /// having heard anything.
    base::Pause look(bool heard);

private:
    Runs::iterator seat(const store::InstanceName& run, Waiter& waiter);
    void unseat(Runs::iterator at, Waiter& waiter);
    /// Forgets it when nobody needs it; with the mutex held, as the two before.
    void tidy(Runs::iterator at);
    /// Whether others may end it, and somebody waits for that.
    static bool is_awaited_elsewhere(const Known& known) {
        return known.executions == 0 && !known.waiters.empty();
    }
    /// Whether nobody here will hear of its end. With the mutex held.
    bool is_in_vain(const Known* known) const {
        return life_ == Life::stopped ||
               (life_ == Life::stopping && (!known || known->executions == 0));
    }
    std::vector<store::InstanceName> awaited(bool all);
    /// Those of the awaited runs that have ended since the last look, and perhaps others.
    std::vector<store::InstanceName> ended_since();
    void tell(const std::vector<store::InstanceName>& runs);

    store::Store& store_;
    const Clock& clock_;
    std::mutex mutex_;
    Runs runs_;
    std::set<store::InstanceName> elsewhere_;  ///< awaited, and not executed here
    std::set<store::InstanceName> news_;       ///< awaited for a change
    std::atomic<Life> life_ = Life::idle;

    std::mutex looking_;               ///< one look at a time; it guards what follows
    std::optional<Time> ended_until_;  ///< by the store's clock: what ended before was found
    std::size_t most_rows_ = 0;
    bool is_behind_ = false;  ///< the last look did not get to the end
    bool owed_ = false;       ///< a look that was put off
    Duration rests_until_{0};
    Duration sweeps_at_{0};
};

}  // namespace pawl::engine
