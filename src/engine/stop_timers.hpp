/// Asks bodies of steps to stop when their time is over, or their run is cancelled.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <pawl/step.hpp>
#include <stop_token>

#include "base/loop.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe. Driven by `step`.
class StopTimers {
public:
    explicit StopTimers(store::Store& store) : store_(store) {}
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
        std::optional<Time> deadline() const { return deadline_; }

    private:
        friend class StopTimers;
        Time next() const;
        StopTimers& timers_;
        const store::InstanceName* run_;
        std::stop_source stop_;
        std::optional<Time> deadline_;
        Duration heartbeat_{0};
        Time last_beat_{};
        Time looked_at_{};  ///< for a cancellation
        bool asked_ = false;
        std::list<Watch*>::iterator at_;
    };

    /// At least once a second, while there are bodies.
    base::Pause step(Time now);

private:
    void look_for_cancellations(Time now);

    store::Store& store_;
    std::function<void()> wanted_;
    std::mutex mutex_;
    std::list<Watch*> watches_;
    Time next_step_ = Time::max();
};

}  // namespace pawl::engine
