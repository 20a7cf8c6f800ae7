#include "engine/stop_timers.hpp"

#include <algorithm>
#include <map>
#include <pawl/error.hpp>
#include <vector>

#include "base/waits.hpp"
#include "engine/run_records.hpp"

namespace pawl::engine {
namespace {

constexpr Duration between_looks = std::chrono::seconds{1};
constexpr std::size_t mail_to_look_at = 1000;

}  // namespace

StopTimers::Watch::Watch(StopTimers& timers, const store::InstanceName* run, std::stop_source stop,
                         const StepOptions& options)
    : timers_(timers), run_(run), stop_(std::move(stop)), heartbeat_(options.heartbeat) {
    const Duration now = timers_.clock_.elapsed();
    last_beat_ = looked_at_ = now;
    if (options.deadline > Duration::zero()) {
        const auto length = base::at_most_for_ever(options.deadline);
        deadline_ = now + length;
        shown_deadline_ = timers_.store_.now() + length;
    }
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
    const Duration now = timers_.clock_.elapsed();
    const std::lock_guard lock{timers_.mutex_};
    last_beat_ = now;
}

Duration StopTimers::Watch::next() const {
    if (heartbeat_ <= Duration::zero()) return deadline_;
    return std::min(deadline_, last_beat_ + base::at_most_for_ever(heartbeat_));
}

base::Pause StopTimers::step() {
    const Duration now = clock_.elapsed();
    std::vector<std::stop_source> due;
    base::Pause pause;
    {
        const std::lock_guard lock{mutex_};
        next_step_ = Duration::max();
        for (auto* watch : watches_) {
            if (watch->asked_) continue;
            if (watch->next() <= now) {
                watch->asked_ = true;
                due.push_back(watch->stop_);
            } else {
                next_step_ = std::min(next_step_, watch->next());
            }
        }
        if (next_step_ != Duration::max()) pause = next_step_ - now;
    }
    // Without the lock: a stop callback of the user's may call back.
    for (auto& stop : due) stop.request_stop();
    look_for_cancellations(now);
    return pause;
}

// By reading the mail, which stays where it is: the run itself takes it at its next boundary.
// Bodies that are over sooner are not worth a look.
void StopTimers::look_for_cancellations(Duration now) {
    std::map<store::InstanceName, std::vector<std::stop_source>> looks;
    {
        const std::lock_guard lock{mutex_};
        for (auto* watch : watches_) {
            if (!watch->run_ || watch->asked_ || now - watch->looked_at_ < between_looks) continue;
            watch->looked_at_ = now;
            looks[*watch->run_].push_back(watch->stop_);
        }
    }
    for (auto& [run, bodies] : looks) {
        try {
            const auto mail = store_.inbox(run, mail_to_look_at);
            if (std::ranges::count(mail, records::CancelRequested::tag, &store::InboxRow::name) > 0)
                for (auto& body : bodies) body.request_stop();
        } catch (const Error& e) {
            if (e.retryable()) return;  // the store can't be asked now: all are asked again
        }
    }
}

}  // namespace pawl::engine
