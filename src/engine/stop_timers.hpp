/// Asks bodies of steps to stop when their time is over, or their run is cancelled.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <pawl/clock.hpp>
#include <pawl/step.hpp>
#include <stop_token>

#include "base/loop.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe. Driven by `step`.
class StopTimers {
public:
    StopTimers(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}
    /// Called when `step` should run before its time.
    void on_wanted(std::function<void()> wanted) { wanted_ = std::move(wanted); }

    /// One body: `stop` is requested when its deadline passes, its heart stands still, or somebody
    /// has asked its run to end; that is looked for once a second, if there is a `run`.
    class Watch final : public Attempt::Pulse {
    public:
        Watch(StopTimers& timers, const store::InstanceName* run, std::stop_source stop,
              const StepOptions& options);
        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;
        void beat() override;
        /// As it is shown; it is measured by the clock's `elapsed`.
        std::optional<Time> deadline() const { return shown_deadline_; }

    private:
        friend class StopTimers;
        Duration next() const;
        StopTimers& timers_;
        const store::InstanceName* run_;
        std::stop_source stop_;
        std::optional<Time> shown_deadline_;
        Duration deadline_ = Duration::max();
        Duration heartbeat_{0};
        Duration last_beat_{};
        Duration looked_at_{};  ///< for a cancellation
        bool asked_ = false;
        std::list<Watch*>::iterator at_;
    };

    /// At least once a second, while there are bodies.
    base::Pause step();

private:
    void look_for_cancellations(Duration now);

    store::Store& store_;
    const Clock& clock_;
    std::function<void()> wanted_;
    std::mutex mutex_;
    std::list<Watch*> watches_;
    Duration next_step_ = Duration::max();
};

}  // namespace pawl::engine
