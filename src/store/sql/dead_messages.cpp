// Messages that were not delivered, and their way from there.
#include <limits>
#include <set>
#include <unordered_set>

#include "store/sql/cursor.hpp"
#include "store/sql/delivering.hpp"
#include "store/sql/message_rows.hpp"
#include "store/sql/records.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
std::optional<Rows> Delivering::parameters(Connection& connection, const DeadMessageFilter& filter,
                                           std::int64_t limit) {
    Value channel;
    if (!filter.channel.empty()) {
        const auto ref = find(connection, filter.channel);
        if (!ref) return std::nullopt;
        channel = *ref;
    }
    Rows row;
    row.add({filter.after, database_.now(), channel,
             filter.partition ? Value{*filter.partition} : Value{}, given_text(filter.type),
             given_text(filter.reason), filter.died_from, filter.died_before,
             filter.status ? Value{static_cast<int>(*filter.status)} : Value{}, limit});
    return row;
}

std::vector<DeadMessage> Delivering::find_dead(Connection& connection,
                                               const DeadMessageFilter& filter) {
    std::vector<DeadMessage> found;
    const std::unordered_set<std::int64_t> wanted{filter.positions.begin(), filter.positions.end()};
    // Those that are named may be far apart.
    const auto limit = wanted.empty() ? limit_of(filter.limit) : no_limit;
    const auto parameters = this->parameters(connection, filter, limit);
    if (!parameters) return found;
    std::vector<Ref> channels;
    connection.query(sql_.dead_messages.page, *parameters, [&](std::size_t, const Row& row) {
        if (found.size() == filter.limit || (!wanted.empty() && !wanted.contains(row.number(0))))
            return;
        DeadMessage dead;
        dead.message = read_message(row);
        dead.sequence = row.number(16);
        dead.attempts = static_cast<std::int32_t>(row.number(17));
        dead.reason = std::string{row.view(18)};
        dead.died_at = row.time(19);
        dead.status = static_cast<DeadStatus>(row.number(20));
        if (dead.status == DeadStatus::reprocessing) dead.until = row.maybe_time(21);
        channels.push_back(row.number(22));
        found.push_back(std::move(dead));
    });
    for (std::size_t i = 0; i < found.size(); ++i)
        found[i].message.channel = interned_.name(connection, channels[i]);
    return found;
}

std::vector<DeadMessage> Delivering::dead(const DeadMessageFilter& filter) {
    return in_read(database_,
                   [&](Connection& connection) { return find_dead(connection, filter); });
}

std::int64_t Delivering::count_dead(const DeadMessageFilter& filter) {
    return in_read(database_, [&](Connection& connection) -> std::int64_t {
        if (!filter.positions.empty()) {
            auto all = filter;
            all.limit = std::numeric_limits<std::size_t>::max();
            return static_cast<std::int64_t>(find_dead(connection, all).size());
        }
        std::int64_t count = 0;
        if (const auto parameters = this->parameters(connection, filter, no_limit))
            connection.query(sql_.dead_messages.count, *parameters,
                             [&](std::size_t, const Row& row) { count = row.number(0); });
        return count;
    });
}

std::vector<std::int64_t> Delivering::lock_unsettled(Connection& connection,
                                                     std::span<const std::int64_t> positions) {
    const std::set<std::int64_t> each{positions.begin(), positions.end()};
    const std::vector<std::int64_t> sorted{each.begin(), each.end()};
    Rows rows;
    for (const auto position : sorted) rows.add({position});
    std::vector<std::int64_t> unsettled;
    connection.query(sql_.dead_messages.lock, rows, [&](std::size_t key, const Row& row) {
        if (row.number(0) <= static_cast<int>(DeadStatus::reprocessing))
            unsettled.push_back(sorted[key]);
    });
    return unsettled;
}

std::vector<DeadMessage> Delivering::lock_pending(Connection& connection,
                                                  DeadMessageFilter filter) {
    filter.status = DeadStatus::pending;
    auto found = find_dead(connection, filter);
    Rows positions;
    for (const auto& dead : found) positions.add({dead.message.position});
    // Somebody may have taken them since they were found.
    const Time now = database_.now();
    std::vector<bool> is_free(found.size());
    connection.query(sql_.dead_messages.lock, positions, [&](std::size_t key, const Row& row) {
        is_free[key] = row.number(0) == 0 || (row.number(0) == 1 && row.time(1) <= now);
    });
    std::vector<DeadMessage> locked;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (is_free[i]) locked.push_back(std::move(found[i]));
    return locked;
}

std::vector<DeadMessage> Delivering::reprocess(const DeadMessageFilter& filter, Time until) {
    return receipts_.in_write_once([&](Connection& connection) {
        auto taken = lock_pending(connection, filter);
        Rows rows;
        for (auto& dead : taken) {
            rows.add({dead.message.position, until});
            dead.status = DeadStatus::reprocessing;
            dead.until = until;
        }
        connection.run(sql_.dead_messages.reprocess, rows);
        return taken;
    });
}

std::int64_t Delivering::redeliver(const DeadMessageFilter& filter) {
    const auto count = receipts_.in_write_once([&](Connection& connection) {
        auto taken = lock_pending(connection, filter);
        Rows settled, messages;
        for (auto& dead : taken) {
            Message& message = dead.message;
            settled.add({message.position, static_cast<int>(DeadStatus::resolved), Value{}});
            const Ref channel = get(connection, message.channel);
            std::int32_t partitions = 1;
            connection.query(sql_.channels.hold, {channel}, [&](const Row& row) {
                partitions = static_cast<std::int32_t>(row.number(0));
            });
            // There may be others than when it was published.
            if (message.key.empty())
                *message.partition %= partitions;
            else
                message.partition.reset();
            add_message(messages, {channel, &message}, database_.now());
        }
        connection.run(sql_.dead_messages.settle, settled);
        connection.run(sql_.messages.add, messages);
        return static_cast<std::int64_t>(taken.size());
    });
    if (count > 0) database_.announce();
    return count;
}

std::int64_t Delivering::settle_dead(std::span<const std::int64_t> positions, DeadStatus status,
                                     const std::string& reason) {
    return receipts_.in_write_once([&](Connection& connection) {
        const auto settled = lock_unsettled(connection, positions);
        Rows rows;
        for (const auto position : settled)
            rows.add({position, static_cast<int>(status), given_text(reason)});
        connection.run(sql_.dead_messages.settle, rows);
        return static_cast<std::int64_t>(settled.size());
    });
}

std::int64_t Delivering::clean_up_dead(Time before, std::size_t limit) {
    return receipts_.in_write_once([&](Connection& connection) {
        return connection.run(sql_.dead_messages.clean_up, {before, limit_of(limit)});
    });
}

}  // namespace pawl::store::sql
