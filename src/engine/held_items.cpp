// The dispatcher's care for what it holds: deadlines, postponed words, giving back.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <pawl/error.hpp>

#include "base/points.hpp"
#include "engine/dispatcher.hpp"
#include "engine/log_records.hpp"

namespace pawl::engine {
namespace {

constexpr Duration last_moment = std::chrono::seconds{1};

}  // namespace

void Dispatcher::postpone(const HeldPtr& held, Task again, const std::string& why) {
    auto record = record_of(LogLevel::warning, LogEvent::put_off, held->item);
    record.error = why;
    record.text = fmt::format("the result of {} is settled later: {}", shown(held->item), why);
    parts_.log.count(std::move(record));
    {
        const std::lock_guard lock{mutex_};
        const int doublings = std::min(held->postponed++, 5);  // by then the longest is reached
        const Duration pause = std::min(postponed_for * (1 << doublings), longest_postponed);
        postponed_.emplace(parts_.clock.elapsed() + pause, std::move(again));
    }
    if (wanted_) wanted_();
}

base::Pause Dispatcher::run_postponed(Duration now) {
    const std::lock_guard lock{mutex_};
    while (!postponed_.empty() && postponed_.begin()->first <= now) {
        parts_.callbacks.post(std::move(postponed_.begin()->second));
        postponed_.erase(postponed_.begin());
    }
    if (postponed_.empty()) return std::nullopt;
    return postponed_.begin()->first - now;
}

base::Pause Dispatcher::check_deadlines(Duration now) {
    std::vector<HeldPtr> hung;
    base::Pause pause;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& held : items_) {
            if (!held->deadline || held->given_up) continue;
            auto next = *held->deadline;
            if (now >= next) {
                held->stop.request_stop();
                next += options_.lease;  // the grace for a handler to come back by itself
            }
            if (now >= next) {
                held->given_up = true;
                hung.push_back(held);
            } else if (!pause || next - now < *pause) {
                pause = next - now;
            }
        }
    }
    for (const auto& held : hung) {
        if (!options_.executor) parts_.workers.replace_one();
        failed(held, "the handler did not come back after its deadline", false);
    }
    return pause;
}

void Dispatcher::give_back(const std::vector<HeldPtr>& some) {
    Claims claims;
    for (const auto& held : some) claims.emplace_back(held->item.id, held->item.fence);
    release(std::move(claims));
    for (const auto& held : some) done(held);
}

// The lease would not give them back: this process goes on renewing it.
void Dispatcher::release(Claims claims) {
    {
        const std::lock_guard lock{mutex_};
        claims.insert(claims.end(), unreleased_.begin(), unreleased_.end());
        unreleased_.clear();
    }
    if (claims.empty()) return;
    try {
        point(base::points::release_before);
        parts_.store.release(claims);
        point(base::points::release_after);
    } catch (const std::exception& e) {
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .error = e.what(),
                        .text = fmt::format("claims are given back later: {}", e.what())});
        const std::lock_guard lock{mutex_};
        unreleased_.insert(unreleased_.end(), claims.begin(), claims.end());
    }
}

// A server that lost its last commits has claims again that were settled, and the lease that this
// process renews would keep them for ever. A claim may be new at one look, but not at two.
void Dispatcher::release_strays(Duration now) {
    auto* const claims = dynamic_cast<store::SessionClaims*>(&parts_.store);
    const auto session = parts_.session.current();
    if (!claims || !session || now < suspects_at_) return;
    suspects_at_ = now + options_.lease / 3;
    auto unknown = claims->claims_of(*session);
    {
        const std::lock_guard lock{mutex_};
        std::set<std::pair<store::ItemId, store::Fence>> known{unreleased_.begin(),
                                                               unreleased_.end()};
        for (const auto& held : items_) known.emplace(held->item.id, held->item.fence);
        std::erase_if(unknown, [&](const auto& claim) { return known.contains(claim); });
    }
    Claims strays;
    std::ranges::copy_if(unknown, std::back_inserter(strays), [&](const auto& claim) {
        return std::ranges::count(suspected_, claim) > 0;
    });
    suspected_ = std::move(unknown);
    if (strays.empty()) return;
    parts_.log.say(
        LogLevel::warning, LogEvent::ownership_lost,
        fmt::format("{} claims of this process are given back: the store holds them, and "
                    "nobody here works on them",
                    strays.size()));
    release(std::move(strays));
}

void Dispatcher::begin_stop() {
    std::vector<HeldPtr> waiting;
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        lending_ = false;
        for (const auto& held : items_) {
            if (held->started || held->given_up) continue;
            held->given_up = true;
            waiting.push_back(held);
        }
    }
    if (!waiting.empty()) give_back(waiting);
}

void Dispatcher::stop_lost() {
    std::vector<std::stop_source> lost;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& held : items_)
            if (held->started && !parts_.session.holds(held->item.session))
                lost.push_back(held->stop);
    }
    // Without the lock: a stop callback of the user's may call back.
    for (auto& stop : lost) stop.request_stop();
}

bool Dispatcher::wait_until_empty(Duration deadline) {
    const auto empty = [&] {
        const std::lock_guard lock{mutex_};
        return held_ == 0;
    };
    const auto wait = [&](Duration total) {
        const base::Countdown countdown{total};
        while (!empty() && countdown.left() > Duration::zero()) emptied_.wait_for(countdown.left());
        return empty();
    };
    if (wait(deadline)) return true;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& held : items_) held->stop.request_stop();
    }
    return wait(last_moment);
}

}  // namespace pawl::engine
