/// Those who wait for runs to end, in this process or another.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/latch.hpp"
#include "engine/run_records.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe.
class RunWaiters {
public:
    explicit RunWaiters(store::Store& store) : store_(store) {}

private:
    struct Waiter {
        base::Latch changed;
        std::optional<records::Finished> finished;
        bool look = false;  ///< nobody here will say: it has to look for itself
    };
    using Waiters = std::multimap<store::InstanceName, Waiter*>;

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
        bool is_executed_here() const { return waiters_.executing_.contains(run_); }

        RunWaiters& waiters_;
        const store::InstanceName run_;
        Waiter waiter_;
        Waiters::iterator at_;
    };
    /// True when something may have changed about the run, false when `timeout` passed.
    bool wait_for_news(const store::InstanceName& run, Duration timeout);

    /// This process executes the run: it will say itself when it has ended.
    void began(const store::InstanceName& run);
    /// It does not any more, with what it came to if it has ended.
    void left(const store::InstanceName& run, const records::Finished* finished = nullptr);
    void changed(const store::InstanceName& run);
    /// Whether the engine works. One that stops lets those go who would wait for ever, except for
    /// what it is still executing; one that was stopped lets go all of them.
    enum class Life : std::uint8_t { working, stopping, stopped };
    void set_life(Life life);
    /// Throws the Error of those who are let go.
    void check_worth_waiting(const store::InstanceName& run);
    /// Another process committed something: looks whether it ended what is waited for.
    void heard();

private:
    store::Store& store_;
    std::mutex mutex_;
    Waiters waiters_;
    std::multiset<store::InstanceName> executing_;
    Life life_ = Life::working;
    /// Whether nobody here will hear of its end. With the mutex held.
    bool is_in_vain(const store::InstanceName& run) const {
        return life_ == Life::stopped || (life_ == Life::stopping && !executing_.contains(run));
    }
    std::mutex looking_;
};

}  // namespace pawl::engine
