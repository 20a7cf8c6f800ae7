// Which partitions this process delivers: a fair share of each channel, by leases with fences.
#include <algorithm>

#include "engine/deliverer.hpp"

namespace pawl::engine {
namespace {

constexpr Duration between_ownerships = std::chrono::seconds{1};

}  // namespace

// Once a second, so that what a process that died has left is found, and a new one gets its share.
void Deliverer::refresh_ownership(Time now) {
    {
        const std::lock_guard lock{mutex_};
        if (stopping_ || now < own_at_) return;
    }
    const auto session = parts_.session.ensure();
    const auto fence = static_cast<store::Fence>(parts_.random.next() >> 1);
    {
        const std::lock_guard lock{mutex_};
        own_at_ = now + between_ownerships;
        if (session != session_)
            for (auto& [partition, held] : held_) held->lost = true;
        session_ = session;
    }
    drop_lost();
    for (auto& channel : channels_) {
        const auto got = parts_.store.outbox().own({session, fence}, channel->name);
        take(*channel, got, fence);
        give_surplus_back(*channel, got.share);
    }
}

void Deliverer::give_doubtful_back() {
    std::vector<HeldPtr> doubtful;
    {
        const std::lock_guard lock{mutex_};
        for (auto& [partition, held] : held_)
            if (held->in_doubt && !held->running) doubtful.push_back(held);
        if (!doubtful.empty()) own_at_ = Time{};
    }
    for (const auto& held : doubtful) {
        parts_.store.outbox().disown({&held->partition, 1}, held->fence);
        held->in_doubt = false;
    }
}

void Deliverer::drop_lost() {
    const std::lock_guard lock{mutex_};
    std::erase_if(held_,
                  [](const auto& entry) { return entry.second->lost && !entry.second->running; });
}

void Deliverer::take(Channel& channel, const store::Ownership& got, store::Fence fence) {
    const std::lock_guard lock{mutex_};
    channel.is_there = got.share > 0;
    for (auto& [partition, held] : held_)
        if (partition.channel == channel.name && std::ranges::count(got.held, partition.index) == 0)
            held->lost = true;
    for (const auto& taken : got.taken) {
        // One that was lost and is still running keeps its place until its handler returns.
        auto& place = held_[taken.partition];
        place = std::make_shared<Held>();
        place->partition = taken.partition;
        place->channel = &channel;
        place->fence = fence;
        place->sequence = taken.sequence;
        place->batch.assign(taken.batch.begin(), taken.batch.end());
        place->attempts = taken.attempts;
        place->retry_at = taken.retry_at;
        place->stopped = taken.stopped.has_value();
        // What somebody else has begun may be what ended him.
        place->window = taken.batch.empty() ? channel.options.batch : 1;
    }
}

void Deliverer::give_surplus_back(Channel& channel, std::size_t share) {
    std::map<store::Fence, std::vector<store::Partition>> surplus;
    {
        const std::lock_guard lock{mutex_};
        const auto is_ours = [&](const auto& entry) {
            return entry.first.channel == channel.name && !entry.second->lost;
        };
        auto count = static_cast<std::size_t>(std::ranges::count_if(held_, is_ours));
        for (auto at = held_.begin(); at != held_.end() && count > share;) {
            const bool goes = is_ours(*at) && !at->second->running && !at->second->ended;
            if (goes) {
                surplus[at->second->fence].push_back(at->first);
                --count;
            }
            at = goes ? held_.erase(at) : std::next(at);
        }
    }
    for (const auto& [fence, partitions] : surplus) parts_.store.outbox().disown(partitions, fence);
}

}  // namespace pawl::engine
