// Which partitions this process delivers: a fair share of each channel, by leases with fences.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/waits.hpp"
#include "engine/deliverer.hpp"

namespace pawl::engine {
namespace {

constexpr Duration between_ownerships = std::chrono::seconds{1};

// No wait between two attempts is longer: where the time is further away, the store's clock went
// back since it was written.
Duration wait_until(Time retry_at, Time now, Duration longest) {
    const Duration wait = retry_at - now;
    return wait > longest ? Duration::zero() : std::max(wait, Duration::zero());
}

}  // namespace

// Once a second, so that what a process that died has left is found, and a new one gets its share.
void Deliverer::refresh_ownership(Duration now) {
    {
        const std::lock_guard lock{mutex_};
        const bool is_trusted =
            session_ == 0 || (parts_.session.holds(session_) && lapses_ == parts_.session.lapses());
        if (stopping_ || (now < own_at_ && is_trusted)) return;
    }
    const auto session = parts_.session.ensure();
    const auto lapses = parts_.session.lapses();
    {
        const std::lock_guard lock{mutex_};
        own_at_ = now + between_ownerships;
    }
    if (session != session_) {
        lose([](const Held&) { return true; });
        for (auto& channel : channels_) channel->fence.reset();
        session_ = session;
    }
    for (auto& channel : channels_) {
        // That of a call that failed is used again: what it has taken after all is known by it.
        if (!channel->fence) channel->fence = static_cast<store::Fence>(parts_.random.next() >> 1);
        const auto got = parts_.store.outbox().own({session, *channel->fence}, channel->name,
                                                   busy_ones(*channel));
        take(*channel, got, lapses);
        give_surplus_back(*channel, got.share);
        channel->fence.reset();
    }
    const std::lock_guard lock{mutex_};
    lapses_ = lapses;
}

// What a handler still says of them is ignored.
void Deliverer::lose(const std::function<bool(const Held&)>& which) {
    std::vector<std::stop_source> stops;
    std::size_t count = 0;
    {
        const std::lock_guard lock{mutex_};
        for (auto& [partition, held] : held_) {
            if (held->lost || !which(*held)) continue;
            held->lost = true;
            ++count;
            if (held->running) stops.push_back(held->stop);
        }
        std::erase_if(held_, [](const auto& entry) {
            return entry.second->lost && !entry.second->is_busy();
        });
    }
    for (auto& stop : stops) stop.request_stop();
    if (count > 0)
        parts_.log.say(LogLevel::info, LogEvent::ownership_lost,
                       fmt::format("{} partitions were taken by others", count));
}

void Deliverer::stop_lost() {
    std::vector<std::stop_source> stops;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [partition, held] : held_)
            if (held->running && !is_ours(*held)) stops.push_back(held->stop);
    }
    for (auto& stop : stops) stop.request_stop();
}

void Deliverer::take(Channel& channel, const store::Ownership& got, std::uint64_t lapses) {
    lose([&](const Held& held) {
        return held.partition.channel == channel.name &&
               (std::ranges::count(got.held, held.partition.index) == 0 ||
                std::ranges::count(got.taken, held.partition, &store::OwnedPartition::partition) >
                    0);
    });
    std::vector<store::Partition> unknown;
    const Now now = this->now();
    {
        const std::lock_guard lock{mutex_};
        std::erase_if(doubtful_, [&](const auto& doubt) { return doubt.second <= now.at; });
        channel.is_there = got.share > 0;
        for (const auto& taken : got.taken) {
            // One that was lost is still here if its handler runs: until that returns, the next
            // one waits.
            auto& place = held_[taken.partition];
            auto before = std::exchange(place, std::make_shared<Held>());
            place->before = std::move(before);
            place->partition = taken.partition;
            place->channel = &channel;
            place->session = session_;
            place->lapses = lapses;
            place->fence = *channel.fence;
            place->sequence = taken.sequence;
            place->batch.assign(taken.batch.begin(), taken.batch.end());
            place->attempts = taken.attempts;
            place->losses = taken.losses + (taken.begun == store::Begun::no ? 0 : 1);
            place->losses_alone = taken.losses_alone + (taken.begun == store::Begun::alone ? 1 : 0);
            place->has_new_loss = taken.begun != store::Begun::no;
            place->one_by_one = taken.begun == store::Begun::no ? 0 : taken.batch.size();
            place->retry_at = taken.retry_at;
            if (taken.retry_at)
                place->retries_at =
                    now.at + wait_until(*taken.retry_at, now.due, channel.options.policy.cap);
            // What was in doubt here may be again.
            if (const auto doubt = doubtful_.find(taken.partition); doubt != doubtful_.end()) {
                place->retries_at = std::max(place->retries_at.value_or(long_ago), doubt->second);
                place->retry_at = now.due + (*place->retries_at - now.at);
            }
            place->stopped = taken.stopped.has_value();
            place->fetch = channel.options.batch;
            // What somebody else has begun may be what ended him.
            place->window = taken.batch.empty() ? channel.options.batch : 1;
        }
        for (const auto index : got.held) {
            const store::Partition partition{channel.name, index};
            const auto at = held_.find(partition);
            if (at == held_.end() || at->second->lost)
                unknown.push_back(partition);
            else
                at->second->lapses = lapses;
        }
    }
    // Taken by a call whose answer was lost.
    if (!unknown.empty()) parts_.store.outbox().disown(unknown, *channel.fence);
}

// Those that are delivered just now leave as soon as their handlers have returned: under load that
// is the only time.
void Deliverer::give_surplus_back(Channel& channel, std::size_t share) {
    std::vector<HeldPtr> surplus;
    {
        const std::lock_guard lock{mutex_};
        std::vector<HeldPtr> busy;
        std::size_t count = 0;
        const auto is_busy = [](const Held& held) { return held.running || held.ended; };
        for (const auto& [partition, held] : held_) {
            if (partition.channel != channel.name || held->lost) continue;
            ++count;
            held->leaves = false;
            if (is_busy(*held)) busy.push_back(held);
        }
        auto too_many = count - std::min(count, share);
        for (const auto& [partition, held] : held_) {
            if (too_many == 0) break;
            if (partition.channel != channel.name || held->lost || is_busy(*held)) continue;
            surplus.push_back(held);
            --too_many;
        }
        for (const auto& held : busy)
            if (too_many > 0) {
                held->leaves = true;
                --too_many;
            }
    }
    give_back(surplus);
}

// What came of a transaction is seen when its partition is taken again; a handler that does not
// return has others deliver its own.
void Deliverer::give_up_some() {
    std::vector<HeldPtr> some;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [partition, held] : held_)
            if (held->gives_up && !held->lost) some.push_back(held);
        if (!some.empty()) own_at_ = long_ago;
    }
    give_back(some);
}

// Those that it has lost, and whose handlers have not returned: nobody here could deliver them.
std::vector<std::int32_t> Deliverer::busy_ones(const Channel& channel) {
    const std::lock_guard lock{mutex_};
    std::vector<std::int32_t> busy;
    for (const auto& [partition, held] : held_)
        if (held->channel == &channel && held->lost && held->is_busy())
            busy.push_back(partition.index);
    return busy;
}

std::vector<std::int64_t> Deliverer::positions(const std::deque<store::Message>& batch,
                                               std::size_t from) {
    std::vector<std::int64_t> all;
    for (auto at = from; at < batch.size(); ++at) all.push_back(batch[at].position);
    return all;
}

// The next owner must know what this one has counted, and has not told with an advance.
void Deliverer::tell_losses(const std::vector<HeldPtr>& all) {
    std::vector<store::Advance> advances;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& held : all) {
            if (!held->has_new_loss || held->is_busy()) continue;
            advances.push_back({.partition = held->partition,
                                .fence = held->fence,
                                .sequence = held->sequence,
                                .left = positions(held->batch, 0),
                                .attempts = held->attempts,
                                .losses = held->losses,
                                .losses_alone = held->losses_alone,
                                .retry_at = held->retry_at,
                                .error = held->error,
                                .stopped = held->stopped});
        }
    }
    if (!advances.empty()) parts_.store.outbox().advance(advances);
}

// They are ours until the store has heard of it: a call that fails is made again.
void Deliverer::give_back(const std::vector<HeldPtr>& all) {
    tell_losses(all);
    std::map<store::Fence, std::vector<store::Partition>> by_fence;
    for (const auto& held : all) by_fence[held->fence].push_back(held->partition);
    for (const auto& [fence, partitions] : by_fence)
        parts_.store.outbox().disown(partitions, fence);
    const std::lock_guard lock{mutex_};
    for (const auto& held : all) {
        held->lost = true;
        if (!held->is_busy()) held_.erase(held->partition);
    }
}

void Deliverer::begin_stop() {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
}

bool Deliverer::wait_until_empty(Duration deadline) {
    const base::Countdown countdown{deadline};
    const auto is_empty = [&] {
        const std::lock_guard lock{mutex_};
        return running_ == 0;
    };
    while (!is_empty() && countdown.left() > Duration::zero()) emptied_.wait_for(countdown.left());
    if (is_empty()) return true;
    std::vector<std::stop_source> running;
    {
        const std::lock_guard lock{mutex_};
        for (auto& [partition, held] : held_)
            if (held->running) running.push_back(held->stop);
    }
    for (auto& stop : running) stop.request_stop();
    return is_empty();
}

void Deliverer::end_work() noexcept {
    try {
        step();  // the last words
        step();  // of what has not begun after all
        std::vector<HeldPtr> all;
        HeldPtr left;
        {
            const std::lock_guard lock{mutex_};
            for (const auto& [partition, held] : held_)
                if (!held->running && !held->lost) all.push_back(held);
            if (sole_ && sole_->running && !sole_->lost) left = sole_;
        }
        // A handler that has not returned ends with the engine: it does not end the engine.
        if (left) parts_.store.outbox().accompany(left->partition, left->fence);
        give_back(all);
    } catch (const std::exception& e) {
        parts_.log.say(
            {.level = LogLevel::warning,
             .event = LogEvent::store_failed,
             .error = e.what(),
             .text = fmt::format("partitions are given back by their lease: {}", e.what())});
    }
    log_now();
    const std::lock_guard lock{mutex_};
    end_alone();
    std::erase_if(held_, [](const auto& entry) { return !entry.second->is_busy(); });
}

}  // namespace pawl::engine
