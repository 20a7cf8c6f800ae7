#include "store/memory/delivering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <pawl/error.hpp>
#include <set>

namespace pawl::store::memory {
namespace {

std::int32_t declared(State& state, const std::string& channel, std::int32_t partitions) {
    const auto wanted = partitions == 0 ? default_partitions : partitions;
    const auto there = state.channels.try_emplace(channel, wanted).first->second;
    for (std::int32_t index = 0; index < there; ++index)
        state.partitions.try_emplace({channel, index});
    return there;
}

bool is_in(const Message& message, const Partition& partition) {
    return message.channel == partition.channel && message.partition == partition.index;
}

}  // namespace

std::int32_t partition_of(State& state, const Message& message) {
    const auto partitions = declared(state, message.channel, 0);
    if (!message.partition) return static_cast<std::int32_t>(partition_hash(message) % partitions);
    if (*message.partition < 0 || *message.partition >= partitions)
        throw Error{Code::invalid, fmt::format("channel \"{}\" has no partition {}",
                                               message.channel, *message.partition)};
    return *message.partition;
}

std::int32_t Delivering::declare(const std::string& channel, std::int32_t partitions) {
    const std::lock_guard lock{mutex_};
    const auto there = declared(state_, channel, partitions);
    if (partitions != 0 && partitions != there)
        throw Error{Code::invalid,
                    fmt::format("channel \"{}\" has {} partitions, not {}: the number is changed "
                                "by Engine::repartition, once the channel is empty",
                                channel, there, partitions)};
    return there;
}

bool Delivering::repartition(const std::string& channel, std::int32_t partitions) {
    const std::lock_guard lock{mutex_};
    for (const auto& [position, message] : state_.messages)
        if (message.channel == channel) return false;
    std::erase_if(state_.partitions,
                  [&](const auto& entry) { return entry.first.channel == channel; });
    state_.channels[channel] = partitions;
    declared(state_, channel, partitions);
    return true;
}

bool Delivering::is_live(SessionId session) const {
    const auto at = state_.sessions.find(session);
    return at != state_.sessions.end() && at->second.until > clock_.now();
}

Ownership Delivering::own(const Claim& claim, const std::string& channel,
                          std::span<const std::int32_t> except) {
    const std::lock_guard lock{mutex_};
    Ownership got;
    const auto there = state_.channels.find(channel);
    if (there == state_.channels.end()) return got;
    state_.subscribers.insert({channel, claim.session});
    const auto processes = std::ranges::count_if(state_.subscribers, [&](const auto& one) {
        return one.first == channel && is_live(one.second);
    });
    const auto live = std::max<std::size_t>(static_cast<std::size_t>(processes), 1);
    got.share = (static_cast<std::size_t>(there->second) + live - 1) / live;
    const auto of_channel = [&](auto use) {
        for (auto& [partition, row] : state_.partitions)
            if (partition.channel == channel) use(partition, row);
    };
    of_channel([&](const Partition& partition, PartitionRow& row) {
        if (row.session == claim.session) got.held.push_back(partition.index);
    });
    of_channel([&](const Partition& partition, PartitionRow& row) {
        if (got.held.size() >= got.share || is_live(row.session) ||
            std::ranges::count(except, partition.index) > 0)
            return;
        row.session = claim.session;
        row.fence = claim.fence;
        got.held.push_back(partition.index);
        auto& taken = got.taken.emplace_back();
        taken.partition = partition;
        taken.sequence = row.sequence;
        taken.attempts = row.attempts;
        taken.losses = row.losses;
        taken.losses_alone = row.losses_alone;
        taken.begun = row.begun;
        taken.retry_at = row.retry_at;
        if (row.stopped) taken.stopped = row.error.value_or("");
        for (const auto position : row.batch) taken.batch.push_back(state_.messages.at(position));
    });
    return got;
}

void Delivering::disown(std::span<const Partition> partitions, Fence fence) {
    const std::lock_guard lock{mutex_};
    for (const auto& partition : partitions) {
        const auto at = state_.partitions.find(partition);
        if (at == state_.partitions.end() || at->second.fence != fence) continue;
        at->second.session = 0;
        at->second.fence = 0;
        at->second.begun = Begun::no;
    }
}

std::vector<std::optional<Time>> Delivering::look(std::span<const Partition> partitions) {
    const std::lock_guard lock{mutex_};
    std::vector<std::optional<Time>> due;
    for (const auto& partition : partitions) {
        auto& first = due.emplace_back();
        for (const auto& [position, message] : state_.messages) {
            if (!is_in(message, partition)) continue;
            const Time at = message.deliver_after.value_or(Time{});
            first = std::min(first.value_or(at), at);
        }
    }
    return due;
}

std::vector<Advanced> Delivering::advance(std::span<const Advance> all) {
    const std::lock_guard lock{mutex_};
    const Time now = clock_.now();
    std::vector<Advanced> answers;
    for (const auto& one : all) {
        auto& answer = answers.emplace_back();
        const auto at = state_.partitions.find(one.partition);
        answer.lost = at == state_.partitions.end() || at->second.fence != one.fence;
        if (answer.lost) continue;
        PartitionRow& row = at->second;
        for (const auto& burial : one.buried) {
            auto& dead = state_.dead_messages[burial.position];
            dead.message = state_.messages.at(burial.position);
            dead.message.deliver_after.reset();
            dead.sequence = burial.sequence;
            dead.attempts = burial.attempts;
            dead.reason = burial.reason;
            dead.died_at = now;
            dead.status = burial.rejected ? DeadStatus::rejected : DeadStatus::pending;
        }
        for (const auto position : one.done) state_.messages.erase(position);
        row.sequence = one.sequence;
        row.batch = one.left;
        row.attempts = one.attempts;
        row.losses = one.losses;
        row.losses_alone = one.losses_alone;
        row.retry_at = one.retry_at;
        row.error = one.error;
        row.stopped = one.stopped;
        row.begun = one.left.empty() ? Begun::no : one.begun;
        if (one.fetch == 0) continue;
        std::size_t bytes = 0;
        for (auto& [position, message] : state_.messages) {
            if (!is_in(message, one.partition)) continue;
            if (message.deliver_after && !(one.ripen && *message.deliver_after <= now)) continue;
            if (message.deliver_after) message.at = *message.deliver_after;
            message.deliver_after.reset();
            if (answer.fetched.size() == one.fetch || std::ranges::count(one.left, position) > 0)
                continue;
            if (bytes >= one.fetch_bytes) continue;
            bytes += message.payload.bytes.size();
            answer.fetched.push_back(message);
            row.batch.push_back(position);
        }
        if (one.left.empty() && !answer.fetched.empty()) {
            row.attempts = 1;
            row.begun = one.begun;
        }
    }
    return answers;
}

std::vector<std::string> Delivering::channels() {
    const std::lock_guard lock{mutex_};
    std::vector<std::string> names;
    for (const auto& [name, partitions] : state_.channels) names.push_back(name);
    return names;
}

void Delivering::accompany(const Partition& partition, Fence fence) {
    const std::lock_guard lock{mutex_};
    const auto at = state_.partitions.find(partition);
    if (at == state_.partitions.end() || at->second.fence != fence) return;
    if (at->second.begun == Begun::alone) at->second.begun = Begun::beside_others;
}

std::vector<PartitionDepth> Delivering::depths(const std::string& channel) {
    const std::lock_guard lock{mutex_};
    std::vector<PartitionDepth> depths;
    for (const auto& [partition, row] : state_.partitions) {
        if (partition.channel != channel) continue;
        auto& depth = depths.emplace_back();
        depth.partition = partition;
        depth.sequence = row.sequence;
        depth.attempts = row.attempts;
        depth.error = row.error;
        depth.stopped = row.stopped;
        depth.owner = row.session;
        for (const auto& [position, message] : state_.messages) {
            if (!is_in(message, partition)) continue;
            ++depth.waiting;
            depth.oldest = std::min(depth.oldest.value_or(message.at), message.at);
        }
    }
    return depths;
}

std::vector<Delivered> Delivering::delivered(std::span<const Uuid> messages) {
    const std::lock_guard lock{mutex_};
    std::vector<Delivered> found;
    for (const auto& id : messages) {
        found.push_back(Delivered::yes);
        for (const auto& [position, dead] : state_.dead_messages)
            if (dead.message.id == id && dead.status != DeadStatus::resolved)
                found.back() = Delivered::dead;
        for (const auto& [position, message] : state_.messages)
            if (message.id == id) found.back() = Delivered::no;
    }
    return found;
}

std::int64_t Delivering::resume(const std::string& channel) {
    const std::lock_guard lock{mutex_};
    std::int64_t resumed = 0;
    for (auto& [partition, row] : state_.partitions) {
        if (partition.channel != channel || !row.stopped) continue;
        row.stopped = false;
        row.retry_at.reset();
        row.attempts = 0;
        row.losses = 0;
        row.losses_alone = 0;
        row.begun = Begun::no;
        row.session = 0;
        row.fence = 0;
        ++resumed;
    }
    return resumed;
}

std::vector<DeadMessage> Delivering::find_dead(const DeadMessageFilter& filter) const {
    const Time now = clock_.now();
    std::vector<DeadMessage> found;
    for (auto [position, dead] : state_.dead_messages) {
        if (dead.status == DeadStatus::reprocessing && *dead.until <= now)
            dead.status = DeadStatus::pending;
        if (dead.status != DeadStatus::reprocessing) dead.until.reset();
        const Message& message = dead.message;
        if (position <= filter.after || found.size() == filter.limit) continue;
        if (!filter.positions.empty() && std::ranges::count(filter.positions, position) == 0)
            continue;
        if (!filter.channel.empty() && message.channel != filter.channel) continue;
        if (filter.partition && message.partition != filter.partition) continue;
        if (!filter.type.empty() && message.type != filter.type) continue;
        if (dead.reason.find(filter.reason) == std::string::npos) continue;
        if (filter.died_from && dead.died_at < *filter.died_from) continue;
        if (filter.died_before && dead.died_at >= *filter.died_before) continue;
        if (filter.status && dead.status != *filter.status) continue;
        found.push_back(std::move(dead));
    }
    return found;
}

std::vector<DeadMessage> Delivering::dead(const DeadMessageFilter& filter) {
    const std::lock_guard lock{mutex_};
    return find_dead(filter);
}

std::int64_t Delivering::count_dead(const DeadMessageFilter& filter) {
    auto all = filter;
    all.limit = std::numeric_limits<std::size_t>::max();
    const std::lock_guard lock{mutex_};
    return static_cast<std::int64_t>(find_dead(all).size());
}

std::vector<DeadMessage> Delivering::reprocess(const DeadMessageFilter& filter, Time until) {
    auto pending = filter;
    pending.status = DeadStatus::pending;
    const std::lock_guard lock{mutex_};
    auto found = find_dead(pending);
    for (auto& dead : found) {
        dead.status = DeadStatus::reprocessing;
        dead.until = until;
        auto& row = state_.dead_messages.at(dead.message.position);
        row.status = dead.status;
        row.until = until;
    }
    return found;
}

std::int64_t Delivering::redeliver(const DeadMessageFilter& filter) {
    auto pending = filter;
    pending.status = DeadStatus::pending;
    const std::lock_guard lock{mutex_};
    const auto found = find_dead(pending);
    for (const auto& dead : found) {
        state_.dead_messages.at(dead.message.position).status = DeadStatus::resolved;
        Message message = dead.message;
        // There may be other partitions than when it was published.
        if (message.key.empty())
            *message.partition %= declared(state_, message.channel, 0);
        else
            message.partition.reset();
        message.partition = partition_of(state_, message);
        message.position = ++state_.last_message;
        message.at = clock_.now();
        state_.messages.emplace(message.position, std::move(message));
    }
    return static_cast<std::int64_t>(found.size());
}

std::int64_t Delivering::settle_dead(std::span<const std::int64_t> positions, DeadStatus status,
                                     const std::string& reason) {
    const std::lock_guard lock{mutex_};
    std::int64_t settled = 0;
    for (const auto position : std::set<std::int64_t>{positions.begin(), positions.end()}) {
        const auto at = state_.dead_messages.find(position);
        if (at == state_.dead_messages.end() || at->second.status > DeadStatus::reprocessing)
            continue;
        at->second.status = status;
        at->second.until.reset();
        if (!reason.empty()) at->second.reason = reason;
        ++settled;
    }
    return settled;
}

std::int64_t Delivering::clean_up_dead(Time before, std::size_t limit) {
    const std::lock_guard lock{mutex_};
    std::int64_t removed = 0;
    for (auto at = state_.dead_messages.begin(); at != state_.dead_messages.end();) {
        const bool goes = at->second.status >= DeadStatus::resolved &&
                          at->second.died_at < before && static_cast<std::size_t>(removed) < limit;
        removed += goes ? 1 : 0;
        at = goes ? state_.dead_messages.erase(at) : std::next(at);
    }
    return removed;
}

namespace {

[[noreturn]] void fail_without_sql() {
    throw Error{Code::misuse,
                "a store in memory has no SQL: a transaction of your own client needs a store on "
                "SQLite, PostgreSQL or MariaDB"};
}

}  // namespace

std::unique_ptr<ForeignTransaction> Delivering::join(const ForeignHandle&) { fail_without_sql(); }
SpelledStatement Delivering::spell(const Message&, Marks) { fail_without_sql(); }

}  // namespace pawl::store::memory
