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

constexpr int message_columns = 16;  // that read_message reads

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
        const bool first = one.left.empty() && !fetched.empty();
        moved.add({channel, one.partition.index, one.sequence, first ? 1 : one.attempts, one.losses,
                   one.losses_alone, positions.empty() ? 0 : static_cast<int>(one.begun),
                   one.retry_at, one.stopped ? 1 : 0, one.error ? text(*one.error) : Value{},
                   given_bytes(batches_.back())});
    }

    Rows done, buried, moved;

private:
    Time now_;
    std::deque<std::string> batches_;  // the rows have views of them
};

}  // namespace

// Of one partition.
struct Delivering::Search {
    std::size_t at = 0;  ///< in the Advances
    Ref channel = 0;
    std::int32_t part = 0;
    MessageMarks::Start start;
    std::int64_t first = 0;
};

namespace {

// What searches have found, once their transaction is committed.
void leave_marks(MessageMarks& marks, const auto& searches, Duration begun) {
    const Duration took = MessageMarks::uptime() - begun;
    for (const auto& one : searches) marks.found(one.channel, one.part, one.start, one.first, took);
}

}  // namespace

Ref Delivering::get(Connection& connection, const std::string& channel) {
    if (const auto ref = find(connection, channel)) return *ref;
    throw Error{
        Code::unavailable,
        fmt::format("channel \"{}\" is not there any more: the server has lost commits", channel)};
}

std::optional<Ref> Delivering::find(Connection& connection, const std::string& channel) {
    return interned_.find(connection, std::string_view{channel});
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
        // The number may be another channel's by now, if the server has lost commits.
        interned_.compare(connection);
        const auto known = find(connection, channel);
        if (!known) return Ownership{};
        const Ref ref = *known;
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
        one.losses = static_cast<std::int32_t>(row.number(2));
        one.losses_alone = static_cast<std::int32_t>(row.number(3));
        one.begun = static_cast<Begun>(row.number(4));
        one.retry_at = row.maybe_time(5);
        if (row.number(6) != 0) one.stopped = std::string{row.view(7)};
        batches[key] = unpacked(row.view(8));
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

// In two transactions: what one of them sees is older than what it is told.
void Delivering::see_moment() {
    if (!sql_.messages.marks || !marks_.wants_moment()) return;
    const std::unique_lock turn{seeing_moment_, std::try_to_lock};
    if (!turn) return;  // somebody else is at it, and the last one will do
    MessageMarks::Seen seen;
    in_read(database_, [&](Connection& connection) {
        connection.query(sql_.messages.marks->position, {},
                         [&](const Row& row) { seen.position = row.number(0); });
        return true;
    });
    in_read(database_, [&](Connection& connection) {
        connection.query(sql_.messages.marks->snapshot, {}, [&](const Row& row) {
            seen.snapshot = row.view(0);
            seen.ceiling = std::stoull(std::string{row.view(1)});
        });
        return true;
    });
    marks_.set_moment(seen);
}

std::vector<std::optional<Time>> Delivering::look(std::span<const Partition> partitions) {
    see_moment();
    const Duration begun = MessageMarks::uptime();
    std::vector<Search> searches;
    auto found = in_read(database_, [&](Connection& connection) {
        std::vector<std::optional<Time>> due(partitions.size());
        searches.clear();
        searches.reserve(partitions.size());
        Rows keys;
        for (const auto& partition : partitions) {
            const Ref ref = find(connection, partition.channel).value_or(0);
            if (!sql_.messages.marks) {
                keys.add({ref, partition.index});
                continue;
            }
            const auto& start = searches
                                    .emplace_back(Search{.channel = ref,
                                                         .part = partition.index,
                                                         .start = marks_.of(ref, partition.index)})
                                    .start;
            keys.add({ref, partition.index, start.position, text(start.transactions),
                      text(start.floors)});
        }
        connection.query(sql_.messages.first_due, keys, [&](std::size_t key, const Row& row) {
            due[key] = row.maybe_time(0);
            if (sql_.messages.marks && !row.is_null(1)) searches[key].first = row.number(1);
        });
        return due;
    });
    leave_marks(marks_, searches, begun);
    return found;
}

std::vector<Delivering::Search> Delivering::searches(std::span<const Advance> all,
                                                     const std::vector<bool>& held,
                                                     const std::vector<Ref>& refs) const {
    std::vector<Search> searches;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!held[i] || all[i].fetch == 0) continue;
        const auto part = all[i].partition.index;
        searches.push_back(
            {.at = i, .channel = refs[i], .part = part, .start = marks_.of(refs[i], part)});
    }
    return searches;
}

std::vector<Advanced> Delivering::advance(std::span<const Advance> all) {
    see_moment();
    const Duration begun = MessageMarks::uptime();
    std::vector<Search> searches;
    auto advanced = in_write(database_, Purpose::group, [&](Connection& connection) {
        const Time now = database_.now();
        std::vector<Advanced> answers(all.size());
        std::vector<Ref> refs;
        for (const auto& one : all)
            refs.push_back(find(connection, one.partition.channel).value_or(0));
        const auto held = hold(connection, all, refs);
        Progress progress{now};
        for (std::size_t i = 0; i < all.size(); ++i) {
            answers[i].lost = !held[i];
            if (held[i]) progress.conclude(all[i]);
        }
        connection.post(sql_.dead_messages.bury, progress.buried);
        connection.post(sql_.messages.remove, progress.done);
        searches = this->searches(all, held, refs);
        Rows ripe;
        for (const auto& one : searches)
            if (all[one.at].ripen) ripe.add({one.channel, one.part, now});
        connection.post(sql_.messages.ripen, ripe);
        fetch(connection, all, searches, answers);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (held[i]) progress.move(refs[i], all[i], answers[i].fetched);
        connection.post(sql_.partitions.advance, progress.moved);
        return answers;
    });
    if (sql_.messages.marks) leave_marks(marks_, searches, begun);
    return advanced;
}

void Delivering::fetch(Connection& connection, std::span<const Advance> all,
                       std::vector<Search>& searches, std::vector<Advanced>& answers) {
    Rows wanted;
    for (const auto& [i, channel, part, start, first] : searches) {
        const Advance& one = all[i];
        // Those that are left are among what is found.
        const auto most = static_cast<std::int64_t>(one.fetch + one.left.size());
        const auto bytes = one.left.empty() ? limit_of(one.fetch_bytes) : no_limit;
        if (sql_.messages.marks)
            wanted.add({channel, part, most, bytes, start.position, text(start.transactions),
                        text(start.floors)});
        else
            wanted.add({channel, part, most, bytes});
    }
    std::vector<std::size_t> bytes(searches.size());
    connection.query(sql_.messages.next, wanted, [&](std::size_t key, const Row& row) {
        Search& search = searches[key];
        if (sql_.messages.marks && !row.is_null(message_columns))
            search.first = row.number(message_columns);
        const Advance& one = all[search.at];
        auto& fetched = answers[search.at].fetched;
        if (fetched.size() == one.fetch || std::ranges::count(one.left, row.number(0)) > 0) return;
        if (bytes[key] >= one.fetch_bytes) return;
        fetched.push_back(read_message(row));
        fetched.back().channel = one.partition.channel;
        bytes[key] += fetched.back().payload.bytes.size();
    });
}

void Delivering::accompany(const Partition& partition, Fence fence) {
    in_write(database_, Purpose::group, [&](Connection& connection) {
        const Ref ref = find(connection, partition.channel).value_or(0);
        return connection.run(sql_.partitions.accompany, {ref, partition.index, fence});
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

std::vector<std::string> Delivering::channels() {
    return in_read(database_, [&](Connection& connection) {
        std::vector<std::string> names;
        connection.query(sql_.channels.names, {},
                         [&](const Row& row) { names.emplace_back(row.view(0)); });
        return names;
    });
}

std::vector<PartitionDepth> Delivering::depths(const std::string& channel) {
    see_moment();
    const Duration begun = MessageMarks::uptime();
    std::vector<Search> searches;
    auto found = in_read(database_, [&](Connection& connection) {
        std::vector<PartitionDepth> depths;
        searches.clear();
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
        const auto waits = [&](std::int32_t part, std::int64_t count, Time oldest) {
            auto at = std::ranges::find(depths, part,
                                        [](const PartitionDepth& d) { return d.partition.index; });
            if (at == depths.end()) {
                depths.push_back({.partition = {channel, part}});
                at = std::prev(depths.end());
            }
            at->waiting = count;
            at->oldest = oldest;
        };
        if (!sql_.messages.marks) {
            connection.query(sql_.messages.waiting, {*ref}, [&](const Row& row) {
                waits(static_cast<std::int32_t>(row.number(0)), row.number(1), row.time(2));
            });
        } else {
            searches = waiting(connection, *ref, channel, waits);
        }
        std::ranges::sort(depths, {}, &PartitionDepth::partition);
        return depths;
    });
    leave_marks(marks_, searches, begun);
    return found;
}

std::vector<Delivering::Search> Delivering::waiting(
    Connection& connection, Ref ref, const std::string& channel,
    const std::function<void(std::int32_t, std::int64_t, Time)>& waits) {
    std::int32_t partitions = 0;
    connection.query(sql_.channels.find, {text(channel)}, [&](const Row& row) {
        partitions = static_cast<std::int32_t>(row.number(1));
    });
    std::vector<Search> searches;
    for (std::int32_t part = 0; part < partitions; ++part)
        searches.push_back({.channel = ref, .part = part, .start = marks_.of(ref, part)});
    Rows keys;
    for (const auto& one : searches)
        keys.add({ref, one.part, one.start.position, text(one.start.transactions),
                  text(one.start.floors)});
    connection.query(sql_.messages.waiting, keys, [&](std::size_t key, const Row& row) {
        waits(searches[key].part, row.number(0), row.time(1));
        searches[key].first = row.is_null(2) ? 0 : row.number(2);
    });
    return searches;
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
    const auto resumed = receipts_.in_write_once([&](Connection& connection) -> std::int64_t {
        const auto ref = find(connection, channel);
        return ref ? connection.run(sql_.partitions.resume, {*ref}) : 0;
    });
    database_.announce();
    return resumed;
}

}  // namespace pawl::store::sql
