#include "engine/stop_timers.hpp"

#include <algorithm>
#include <vector>

#include "base/waits.hpp"

namespace pawl::engine {

StopTimers::Watch::Watch(StopTimers& timers, std::stop_source stop, const StepOptions& options,
                         Time now)
    : timers_(timers), stop_(std::move(stop)), heartbeat_(options.heartbeat), last_beat_(now) {
    if (options.deadline > Duration::zero())
        deadline_ = now + base::at_most_for_ever(options.deadline);
    bool want = false;
    {
        const std::lock_guard lock{timers_.mutex_};
        at_ = timers_.watches_.insert(timers_.watches_.end(), this);
        want = next() < timers_.next_step_;
        if (want) timers_.next_step_ = next();
    }
    if (want && timers_.wanted_) timers_.wanted_();
}

StopTimers::Watch::~Watch() {
    const std::lock_guard lock{timers_.mutex_};
    timers_.watches_.erase(at_);
}

void StopTimers::Watch::beat() {
    const Time now = timers_.store_.now();
    const std::lock_guard lock{timers_.mutex_};
    last_beat_ = now;
}

Time StopTimers::Watch::next() const {
    Time next = deadline_.value_or(Time::max());
    if (heartbeat_ > Duration::zero()) next = std::min(next, last_beat_ + heartbeat_);
    return next;
}

base::Pause StopTimers::step(Time now) {
    std::vector<std::stop_source> due;
    base::Pause pause;
    {
        const std::lock_guard lock{mutex_};
        next_step_ = Time::max();
        for (auto* watch : watches_) {
            if (watch->asked_) continue;
            if (watch->next() <= now) {
                watch->asked_ = true;
                due.push_back(watch->stop_);
            } else {
                next_step_ = std::min(next_step_, watch->next());
            }
        }
        if (next_step_ != Time::max()) pause = next_step_ - now;
    }
    // Without the lock: a stop callback of the user's may call back.
    for (auto& stop : due) stop.request_stop();
    return pause;
}

}  // namespace pawl::engine
