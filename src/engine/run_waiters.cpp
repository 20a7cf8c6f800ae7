#include "engine/run_waiters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>
#include <vector>

namespace pawl::engine {
namespace {

// In case a wake-up was lost.
constexpr Duration safety_net = std::chrono::seconds{1};
// Whoever executes it here says so himself, unless somebody else has ended it meanwhile.
constexpr Duration safety_net_here = std::chrono::seconds{5};

std::optional<records::Finished> end_of(const store::Tail& tail) {
    if (!tail.row || !tail.row->finished_at || !tail.last ||
        tail.last->event.name != records::Finished::tag)
        return std::nullopt;
    return json::decode_enveloped<records::Finished>(tail.last->event.payload.bytes);
}

[[noreturn]] void fail_stopped(const store::InstanceName& run) {
    throw Error{
        Code::unavailable,
        fmt::format("run \"{}\" of \"{}\" has not ended, and the engine was stopped: nobody "
                    "here would hear of it; wait with a timeout, or in an engine that "
                    "works",
                    run.id, run.type)};
}

}  // namespace

RunWaiters::Seat::Seat(RunWaiters& waiters, store::InstanceName run)
    : waiters_(waiters), run_(std::move(run)) {
    const std::lock_guard lock{waiters_.mutex_};
    at_ = waiters_.waiters_.emplace(run_, &waiter_);
}

RunWaiters::Seat::~Seat() {
    const std::lock_guard lock{waiters_.mutex_};
    waiters_.waiters_.erase(at_);
}

std::optional<records::Finished> RunWaiters::Seat::wait(Duration timeout) {
    const base::Countdown countdown{timeout};
    const bool for_ever = timeout >= base::for_ever;
    bool here = false;
    bool look = false;
    bool in_vain = false;
    {
        const std::lock_guard lock{waiters_.mutex_};
        if (waiter_.finished) return std::move(waiter_.finished);
        here = is_executed_here();
        in_vain = for_ever && waiters_.is_in_vain(run_);
        look = !here || in_vain;
    }
    for (;;) {
        if (look) {
            const auto tail = std::move(waiters_.store_.tails({&run_, 1}).front());
            if (!tail.row)
                throw Error{Code::unknown,
                            fmt::format("there is no run \"{}\" of \"{}\"", run_.id, run_.type)};
            if (auto end = end_of(tail)) return end;
        }
        if (in_vain) fail_stopped(run_);
        const Duration left = countdown.left();
        if (left == Duration::zero()) return std::nullopt;
        const bool told =
            waiter_.changed.wait_for(std::min(left, here ? safety_net_here : safety_net));
        const std::lock_guard lock{waiters_.mutex_};
        if (waiter_.finished) return std::move(waiter_.finished);
        here = is_executed_here();
        in_vain = for_ever && waiters_.is_in_vain(run_);
        look = !told || (waiter_.look && !here) || in_vain;
        waiter_.look = false;
    }
}

bool RunWaiters::wait_for_news(const store::InstanceName& run, Duration timeout) {
    Waiter waiter;
    Waiters::iterator at;
    {
        const std::lock_guard lock{mutex_};
        at = waiters_.emplace(run, &waiter);
    }
    const bool told = waiter.changed.wait_for(std::min(timeout, safety_net / 20));
    const std::lock_guard lock{mutex_};
    waiters_.erase(at);
    return told;
}

void RunWaiters::began(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    executing_.insert(run);
}

void RunWaiters::left(const store::InstanceName& run, const records::Finished* finished) {
    const std::lock_guard lock{mutex_};
    if (const auto at = executing_.find(run); at != executing_.end()) executing_.erase(at);
    const auto [first, last] = waiters_.equal_range(run);
    for (auto at = first; at != last; ++at) {
        if (finished) at->second->finished = *finished;
        at->second->look = true;
        at->second->changed.set();
    }
}

void RunWaiters::changed(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    const auto [first, last] = waiters_.equal_range(run);
    for (auto at = first; at != last; ++at) at->second->changed.set();
}

void RunWaiters::set_life(Life life) {
    const std::lock_guard lock{mutex_};
    life_ = life;
    for (const auto& [run, waiter] : waiters_) waiter->changed.set();
}

void RunWaiters::check_worth_waiting(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    if (is_in_vain(run)) fail_stopped(run);
}

void RunWaiters::heard() {
    const std::unique_lock looking{looking_, std::try_to_lock};
    if (!looking) return;
    std::vector<store::InstanceName> runs;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [run, waiter] : waiters_)
            if (!executing_.contains(run) && (runs.empty() || runs.back() != run))
                runs.push_back(run);
    }
    if (runs.empty()) return;
    const auto tails = store_.tails(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (const auto end = end_of(tails[i])) {
            const std::lock_guard lock{mutex_};
            const auto [first, last] = waiters_.equal_range(runs[i]);
            for (auto at = first; at != last; ++at) {
                at->second->finished = *end;
                at->second->changed.set();
            }
        } else {
            changed(runs[i]);
        }
    }
}

}  // namespace pawl::engine
