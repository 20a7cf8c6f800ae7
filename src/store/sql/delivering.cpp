#include "store/sql/delivering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <pawl/error.hpp>

#include "store/sql/cursor.hpp"
#include "store/sql/records.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

// Eight bytes each, the highest first.
std::string packed(const std::vector<std::int64_t>& positions) {
    std::string out;
    out.reserve(positions.size() * 8);
    for (const auto position : positions)
        for (int shift = 56; shift >= 0; shift -= 8)
            out.push_back(static_cast<char>(static_cast<std::uint64_t>(position) >> shift & 0xff));
    return out;
}

std::vector<std::int64_t> unpacked(std::string_view bytes) {
    std::vector<std::int64_t> positions(bytes.size() / 8);
    for (std::size_t i = 0; i < positions.size() * 8; ++i) {
        const auto number = static_cast<std::uint64_t>(positions[i / 8]) << 8 |
                            static_cast<unsigned char>(bytes[i]);
        positions[i / 8] = static_cast<std::int64_t>(number);
    }
    return positions;
}

// The rows that Advances write.
class Progress {
public:
    explicit Progress(Time now) : now_(now) {}

    void conclude(const Advance& one) {
        for (const auto position : one.done) done.add({position});
        for (const auto& burial : one.buried)
            buried.add(
                {burial.position, burial.sequence, burial.attempts, text(burial.reason), now_,
                 static_cast<int>(burial.rejected ? DeadStatus::rejected : DeadStatus::pending)});
    }
    void move(Ref channel, const Advance& one, const std::vector<Message>& fetched) {
        auto positions = one.left;
        for (const auto& message : fetched) positions.push_back(message.position);
        batches_.push_back(packed(positions));
        const bool begun = one.left.empty() && !fetched.empty();
        moved.add({channel, one.partition.index, one.sequence, begun ? 1 : one.attempts,
                   one.retry_at, one.stopped ? 1 : 0, one.error ? text(*one.error) : Value{},
                   given_bytes(batches_.back())});
    }

    Rows done, buried, moved;

private:
    Time now_;
    std::deque<std::string> batches_;  // the rows have views of them
};

}  // namespace

std::optional<Ref> Delivering::find(Connection& connection, const std::string& channel) {
    return interned_.find(connection, std::string_view{channel});
}

std::int32_t Delivering::declare_in(Connection& connection, Ref ref, std::int32_t partitions) {
    std::int32_t there = 0;
    const auto hold = [&] {
        connection.query(sql_.channels.hold, {ref},
                         [&](const Row& row) { there = static_cast<std::int32_t>(row.number(0)); });
        return there > 0;
    };
    if (!hold()) {
        connection.run(sql_.channels.add, {ref, partitions == 0 ? default_partitions : partitions});
        hold();
    }
    Rows parts;
    for (std::int32_t part = 0; part < there; ++part) parts.add({ref, part});
    connection.run(sql_.partitions.add, parts);
    return there;
}

std::int32_t Delivering::declare(const std::string& channel, std::int32_t partitions) {
    Words words{interned_, sql_};
    Ref ref = 0;
    const auto there = in_write(database_, Purpose::group, [&](Connection& connection) {
        words.forget();
        ref = words.name(connection, channel);
        return declare_in(connection, ref, partitions);
    });
    words.keep();
    declared_.add(ref);
    if (partitions != 0 && partitions != there)
        throw Error{Code::invalid,
                    fmt::format("channel \"{}\" has {} partitions, not {}: the number is changed "
                                "by Engine::repartition, once the channel is empty",
                                channel, there, partitions)};
    return there;
}

bool Delivering::repartition(const std::string& channel, std::int32_t partitions) {
    declare(channel, 0);
    const bool changed = in_write(database_, Purpose::group, [&](Connection& connection) {
        const Ref ref = *find(connection, channel);
        connection.query(sql_.channels.lock, {ref}, [](const Row&) {});
        // Owners lock their partition before its messages, so it is done in this order here.
        connection.query(sql_.partitions.lock, {ref}, [](const Row&) {});
        // Whoever publishes waits for this, or is waited for.
        if (sql_.channels.quiesce) connection.run(*sql_.channels.quiesce);
        bool empty = true;
        connection.query(sql_.messages.any, {ref}, [&](const Row&) { empty = false; });
        if (!empty) return false;
        connection.run(sql_.partitions.remove, {ref});
        connection.run(sql_.channels.set, {ref, partitions});
        declare_in(connection, ref, partitions);
        return true;
    });
    if (changed) database_.announce();
    return changed;
}

Delivering::Owners Delivering::owners(Connection& connection, Ref ref, SessionId session,
                                      std::span<const std::int32_t> except) {
    const Time now = database_.now();
    Owners owners;
    std::int64_t processes = 0;
    connection.query(sql_.subscribers.live, {ref, now}, [&](const Row& row) {
        ++processes;
        owners.subscribed = owners.subscribed || row.number(0) == session;
    });
    if (!owners.subscribed) ++processes;
    std::int64_t partitions = 0;
    connection.query(sql_.partitions.owners, {ref, now}, [&](const Row& row) {
        ++partitions;
        const auto part = static_cast<std::int32_t>(row.number(0));
        if (row.number(1) == session)
            owners.held.push_back(part);
        else if (row.number(2) == 0 && std::ranges::count(except, part) == 0)
            ++owners.free;
    });
    owners.share = static_cast<std::size_t>((partitions + processes - 1) / processes);
    return owners;
}

// Mostly nothing has changed, and nobody waits for a turn to write.
Ownership Delivering::own(const Claim& claim, const std::string& channel,
                          std::span<const std::int32_t> except) {
    Ownership got;
    const bool is_settled = in_read(database_, [&](Connection& connection) {
        const auto ref = find(connection, channel);
        if (!ref) return true;
        const auto owners = this->owners(connection, *ref, claim.session, except);
        got.share = owners.share;
        got.held = owners.held;
        return owners.subscribed && (owners.free == 0 || owners.held.size() >= owners.share);
    });
    if (is_settled) return got;
    return in_write(database_, Purpose::claim, [&](Connection& connection) {
        const Ref ref = *find(connection, channel);
        // There may be messages, and nobody who declared the channel.
        std::int32_t partitions = 0;
        // One at a time: what is found free may be somebody's by the time it is locked, and the
        // server does not look for his session again.
        connection.query(sql_.channels.hold, {ref}, [&](const Row& row) {
            partitions = static_cast<std::int32_t>(row.number(0));
        });
        if (partitions == 0) return Ownership{};
        Rows parts;
        for (std::int32_t part = 0; part < partitions; ++part) parts.add({ref, part});
        connection.run(sql_.partitions.add, parts);
        connection.run(sql_.subscribers.add, {ref, claim.session});
        connection.run(sql_.subscribers.forget, {ref});
        const auto owners = this->owners(connection, ref, claim.session, except);
        Ownership taken{.held = owners.held, .share = owners.share};
        if (owners.held.size() >= owners.share) return taken;
        std::vector<std::int32_t> free;
        const auto most = owners.share - owners.held.size();
        connection.query(sql_.partitions.free,
                         {ref, database_.now(), static_cast<std::int64_t>(most + except.size())},
                         [&](const Row& row) {
                             const auto part = static_cast<std::int32_t>(row.number(0));
                             if (free.size() == most || std::ranges::count(except, part) > 0)
                                 return;
                             // Its own, if its lease has passed and nobody noticed.
                             if (std::ranges::count(owners.held, part) == 0) free.push_back(part);
                         });
        Rows rows;
        for (const auto part : free) rows.add({ref, part, claim.session, claim.fence});
        connection.run(sql_.partitions.take, rows);
        taken.taken = read(connection, ref, channel, free);
        taken.held.insert(taken.held.end(), free.begin(), free.end());
        return taken;
    });
}

std::vector<OwnedPartition> Delivering::read(Connection& connection, Ref ref,
                                             const std::string& channel,
                                             const std::vector<std::int32_t>& parts) {
    Rows keys;
    for (const auto part : parts) keys.add({ref, part});
    std::vector<OwnedPartition> owned(parts.size());
    Rows positions;
    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::vector<std::vector<std::int64_t>> batches(parts.size());
    connection.query(sql_.partitions.rows, keys, [&](std::size_t key, const Row& row) {
        auto& one = owned[key];
        one.partition = {channel, parts[key]};
        one.sequence = row.number(0);
        one.attempts = static_cast<std::int32_t>(row.number(1));
        one.retry_at = row.maybe_time(2);
        if (row.number(3) != 0) one.stopped = std::string{row.view(4)};
        batches[key] = unpacked(row.view(5));
    });
    for (std::size_t at = 0; at < batches.size(); ++at)
        for (const auto position : batches[at]) {
            positions.add({position});
            places.emplace_back(at, owned[at].batch.size());
            owned[at].batch.emplace_back();
        }
    connection.query(sql_.messages.rows, positions, [&](std::size_t key, const Row& row) {
        auto& message = owned[places[key].first].batch[places[key].second];
        message = read_message(row);
        message.channel = channel;
    });
    return owned;
}

void Delivering::disown(std::span<const Partition> partitions, Fence fence) {
    in_write(database_, Purpose::claim, [&](Connection& connection) {
        Rows rows;
        for (const auto& partition : partitions)
            if (const auto ref = find(connection, partition.channel))
                rows.add({*ref, partition.index, fence});
        return connection.run(sql_.partitions.give_back, rows);
    });
    database_.announce();
}

std::vector<bool> Delivering::hold(Connection& connection, std::span<const Advance> all,
                                   const std::vector<Ref>& refs) {
    Rows rows;
    for (std::size_t i = 0; i < all.size(); ++i)
        rows.add({refs[i], all[i].partition.index, all[i].fence});
    std::vector<bool> held(all.size());
    connection.query(sql_.partitions.hold, rows,
                     [&](std::size_t key, const Row&) { held[key] = true; });
    return held;
}

std::vector<std::optional<Time>> Delivering::look(std::span<const Partition> partitions) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<std::optional<Time>> due(partitions.size());
        Rows keys;
        for (const auto& partition : partitions)
            keys.add({find(connection, partition.channel).value_or(0), partition.index});
        connection.query(sql_.messages.first_due, keys,
                         [&](std::size_t key, const Row& row) { due[key] = row.maybe_time(0); });
        return due;
    });
}

std::vector<Advanced> Delivering::advance(std::span<const Advance> all) {
    return in_write(database_, Purpose::group, [&](Connection& connection) {
        const Time now = database_.now();
        std::vector<Advanced> answers(all.size());
        std::vector<Ref> refs;
        for (const auto& one : all)
            refs.push_back(find(connection, one.partition.channel).value_or(0));
        const auto held = hold(connection, all, refs);
        Progress progress{now};
        Rows ripe, wanted;
        std::vector<std::size_t> wants;
        for (std::size_t i = 0; i < all.size(); ++i) {
            answers[i].lost = !held[i];
            if (!held[i]) continue;
            progress.conclude(all[i]);
            if (all[i].fetch == 0) continue;
            wants.push_back(i);
            if (all[i].ripen) ripe.add({refs[i], all[i].partition.index, now});
            // Those that are left are among what is found.
            wanted.add({refs[i], all[i].partition.index,
                        static_cast<std::int64_t>(all[i].fetch + all[i].left.size()),
                        all[i].left.empty() ? limit_of(all[i].fetch_bytes) : no_limit});
        }
        connection.post(sql_.dead_messages.bury, progress.buried);
        connection.post(sql_.messages.remove, progress.done);
        connection.post(sql_.messages.ripen, ripe);
        std::vector<std::size_t> bytes(wants.size());
        connection.query(sql_.messages.next, wanted, [&](std::size_t key, const Row& row) {
            const Advance& one = all[wants[key]];
            auto& fetched = answers[wants[key]].fetched;
            if (fetched.size() == one.fetch || std::ranges::count(one.left, row.number(0)) > 0)
                return;
            if (bytes[key] >= one.fetch_bytes) return;
            fetched.push_back(read_message(row));
            fetched.back().channel = one.partition.channel;
            bytes[key] += fetched.back().payload.bytes.size();
        });
        for (std::size_t i = 0; i < all.size(); ++i)
            if (held[i]) progress.move(refs[i], all[i], answers[i].fetched);
        connection.post(sql_.partitions.advance, progress.moved);
        return answers;
    });
}

bool Delivering::advance_in(Connection& connection, const Advance& one) {
    const Ref ref = find(connection, one.partition.channel).value_or(0);
    if (!hold(connection, {&one, 1}, {ref}).front()) return false;
    Progress progress{database_.now()};
    progress.conclude(one);
    connection.post(sql_.dead_messages.bury, progress.buried);
    // Fewer: they were done before, by somebody who did not hear of it.
    if (connection.run(sql_.messages.remove, progress.done) !=
        static_cast<std::int64_t>(one.done.size()))
        return false;
    progress.move(ref, one, {});
    connection.post(sql_.partitions.advance, progress.moved);
    return true;
}

std::vector<PartitionDepth> Delivering::depths(const std::string& channel) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<PartitionDepth> depths;
        const auto ref = find(connection, channel);
        if (!ref) return depths;
        connection.query(sql_.partitions.depths, {*ref}, [&](const Row& row) {
            auto& one = depths.emplace_back();
            one.partition = {channel, static_cast<std::int32_t>(row.number(0))};
            one.sequence = row.number(1);
            one.attempts = static_cast<std::int32_t>(row.number(2));
            one.stopped = row.number(3) != 0;
            if (!row.is_null(4)) one.error = std::string{row.view(4)};
            one.owner = row.number(5);
        });
        // Messages of a channel that nobody has subscribed to yet have no partition row.
        connection.query(sql_.messages.waiting, {*ref}, [&](const Row& row) {
            const auto part = static_cast<std::int32_t>(row.number(0));
            auto at = std::ranges::find(depths, part,
                                        [](const PartitionDepth& d) { return d.partition.index; });
            if (at == depths.end()) {
                depths.push_back({.partition = {channel, part}});
                at = std::prev(depths.end());
            }
            at->waiting = row.number(1);
            at->oldest = row.time(2);
        });
        std::ranges::sort(depths, {}, &PartitionDepth::partition);
        return depths;
    });
}

std::vector<Delivered> Delivering::delivered(std::span<const Uuid> messages) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<Delivered> found(messages.size(), Delivered::yes);
        Rows ids;
        for (const auto& id : messages) ids.add({bytes(id)});
        connection.query(sql_.dead_messages.find, ids,
                         [&](std::size_t key, const Row&) { found[key] = Delivered::dead; });
        connection.query(sql_.messages.find, ids,
                         [&](std::size_t key, const Row&) { found[key] = Delivered::no; });
        return found;
    });
}

std::int64_t Delivering::resume(const std::string& channel) {
    const auto resumed =
        in_write(database_, Purpose::group, [&](Connection& connection) -> std::int64_t {
            const auto ref = find(connection, channel);
            return ref ? connection.run(sql_.partitions.resume, {*ref}) : 0;
        });
    database_.announce();
    return resumed;
}

}  // namespace pawl::store::sql
