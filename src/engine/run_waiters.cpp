#include "engine/run_waiters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/waits.hpp"

namespace pawl::engine {
namespace {

// A wake-up can be lost, and the end of a run can be missed where clocks differ: then all awaited
// runs are looked at together, and at last each waiter looks for itself.
constexpr Duration between_sweeps = std::chrono::seconds{1};
constexpr Duration safety_net = std::chrono::seconds{10};
// So few are looked at one by one.
constexpr std::size_t few = 16;
// A commit becomes visible a little after the time that is written in it.
constexpr Duration overlap = std::chrono::milliseconds{100};
constexpr Duration first_overlap = std::chrono::seconds{1};
constexpr std::size_t rows_at_first = 4096;
constexpr std::size_t rows_of_a_sweep = 1000;
// A look that took a millisecond is followed by nine without one: most of the time is for work.
constexpr int rest = 9;

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

RunWaiters::Runs::iterator RunWaiters::seat(const store::InstanceName& run, Waiter& waiter) {
    const auto at = runs_.try_emplace(run).first;
    at->second.waiters.push_back(&waiter);
    if (waiter.seen) news_.insert(run);
    tidy(at);
    return at;
}

void RunWaiters::unseat(Runs::iterator at, Waiter& waiter) {
    std::erase(at->second.waiters, &waiter);
    if (waiter.seen && std::ranges::none_of(at->second.waiters, [](const Waiter* one) {
            return one->seen.has_value();
        }))
        news_.erase(at->first);
    tidy(at);
}

void RunWaiters::tidy(Runs::iterator at) {
    if (is_awaited_elsewhere(at->second))
        elsewhere_.insert(at->first);
    else
        elsewhere_.erase(at->first);
    if (at->second.waiters.empty() && at->second.executions == 0) runs_.erase(at);
}

RunWaiters::Seat::Seat(RunWaiters& waiters, store::InstanceName run) : waiters_(waiters) {
    const std::lock_guard lock{waiters_.mutex_};
    at_ = waiters_.seat(run, waiter_);
}

RunWaiters::Seat::~Seat() {
    const std::lock_guard lock{waiters_.mutex_};
    waiters_.unseat(at_, waiter_);
}

std::optional<records::Finished> RunWaiters::Seat::wait(Duration timeout) {
    const base::Countdown countdown{timeout};
    const bool for_ever = timeout >= base::for_ever;
    bool look = false;
    bool in_vain = false;
    {
        const std::lock_guard lock{waiters_.mutex_};
        if (waiter_.finished) return std::move(waiter_.finished);
        in_vain = for_ever && waiters_.is_in_vain(&at_->second);
        look = !is_executed_here() || in_vain;
    }
    for (;;) {
        if (look) {
            const auto tail = std::move(waiters_.store_.tails({&run(), 1}).front());
            if (!tail.row)
                throw Error{Code::unknown,
                            fmt::format("there is no run \"{}\" of \"{}\"", run().id, run().type)};
            if (auto end = end_of(tail)) return end;
        }
        if (in_vain) fail_stopped(run());
        const Duration left = countdown.left();
        if (left == Duration::zero()) return std::nullopt;
        const bool told = waiter_.changed.wait_for(std::min(left, safety_net));
        const std::lock_guard lock{waiters_.mutex_};
        if (waiter_.finished) return std::move(waiter_.finished);
        in_vain = for_ever && waiters_.is_in_vain(&at_->second);
        look = !told || (waiter_.look && !is_executed_here()) || in_vain;
        waiter_.look = false;
    }
}

void RunWaiters::wait_for_news(const store::InstanceName& run, store::Version seen,
                               Duration timeout) {
    Waiter waiter;
    waiter.seen = seen;
    Runs::iterator at;
    {
        const std::lock_guard lock{mutex_};
        at = seat(run, waiter);
    }
    // What was committed before the seat was taken is found by the next sweep.
    waiter.changed.wait_for(std::min(timeout, between_sweeps));
    const std::lock_guard lock{mutex_};
    unseat(at, waiter);
}

void RunWaiters::began(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    const auto at = runs_.try_emplace(run).first;
    ++at->second.executions;
    tidy(at);
}

void RunWaiters::left(const store::InstanceName& run, const records::Finished* finished) {
    const std::lock_guard lock{mutex_};
    const auto at = runs_.find(run);
    if (at == runs_.end()) return;
    auto& known = at->second;
    if (known.executions > 0) --known.executions;
    for (auto* waiter : known.waiters) {
        if (finished) waiter->finished = *finished;
        waiter->look = true;
        waiter->changed.set();
    }
    tidy(at);
}

void RunWaiters::changed(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    const auto at = runs_.find(run);
    if (at == runs_.end()) return;
    for (auto* waiter : at->second.waiters)
        if (waiter->seen) waiter->changed.set();
}

void RunWaiters::set_life(Life life) {
    const std::lock_guard lock{mutex_};
    life_ = life;
    for (const auto& [run, known] : runs_)
        for (auto* waiter : known.waiters) waiter->changed.set();
}

void RunWaiters::check_worth_waiting(const store::InstanceName& run) {
    const std::lock_guard lock{mutex_};
    const auto at = runs_.find(run);
    if (is_in_vain(at == runs_.end() ? nullptr : &at->second)) fail_stopped(run);
}

std::vector<store::InstanceName> RunWaiters::awaited(bool all) {
    const std::lock_guard lock{mutex_};
    if (all || elsewhere_.size() <= few) {
        std::vector<store::InstanceName> runs{elsewhere_.begin(), elsewhere_.end()};
        // One that is executed here can be waited for, too, and its values come before its end.
        for (const auto& run : news_)
            if (!elsewhere_.contains(run)) runs.push_back(run);
        return runs;
    }
    return {news_.begin(), news_.end()};
}

std::vector<store::InstanceName> RunWaiters::ended_since() {
    {
        const std::lock_guard lock{mutex_};
        if (elsewhere_.size() <= few) {
            ended_until_.reset();
            return {};
        }
    }
    if (!ended_until_) {
        ended_until_ = store_.now() - first_overlap;
        most_rows_ = rows_at_first;
    }
    const auto since = *ended_until_ - overlap;
    auto ended = store_.finished_since(since, most_rows_);
    is_behind_ = ended.size() == most_rows_;
    if (!ended.empty()) {
        const auto last = ended.back().at;
        // A page of one moment says nothing of what comes behind it.
        most_rows_ = is_behind_ && last <= since ? 2 * most_rows_ : rows_at_first;
        ended_until_ = is_behind_ ? last + overlap : std::max(*ended_until_, last);
    }
    std::vector<store::InstanceName> awaited;
    const std::lock_guard lock{mutex_};
    for (auto& one : ended)
        if (elsewhere_.contains(one.name)) awaited.push_back(std::move(one.name));
    return awaited;
}

void RunWaiters::tell(const std::vector<store::InstanceName>& runs) {
    for (std::size_t from = 0; from < runs.size(); from += rows_of_a_sweep) {
        const std::span some{runs.data() + from, std::min(rows_of_a_sweep, runs.size() - from)};
        const auto tails = store_.tails(some);
        const std::lock_guard lock{mutex_};
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto at = runs_.find(some[i]);
            if (at == runs_.end()) continue;
            const auto end = end_of(tails[i]);
            for (auto* waiter : at->second.waiters) {
                const bool has_news =
                    waiter->seen && tails[i].row && tails[i].row->version != *waiter->seen;
                if (end) waiter->finished = *end;
                if (end || has_news) waiter->changed.set();
            }
        }
    }
}

base::Pause RunWaiters::look(bool heard) {
    const std::lock_guard looking{looking_};
    const auto begun_at = clock_.elapsed();
    owed_ = owed_ || heard;
    const bool sweeps = begun_at >= sweeps_at_;
    if (sweeps || (owed_ && begun_at >= rests_until_)) {
        if (sweeps) sweeps_at_ = begun_at + between_sweeps;
        auto runs = awaited(sweeps);
        if (!sweeps) std::ranges::copy(ended_since(), std::back_inserter(runs));
        tell(runs);
        owed_ = !sweeps && is_behind_;
        const auto now = clock_.elapsed();
        rests_until_ = now + rest * (now - begun_at);
    }
    if (owed_) return std::max(rests_until_ - clock_.elapsed(), Duration::zero());
    const std::lock_guard lock{mutex_};
    if (elsewhere_.empty() && news_.empty()) return std::nullopt;
    return std::max(sweeps_at_ - clock_.elapsed(), Duration::zero());
}

}  // namespace pawl::engine
