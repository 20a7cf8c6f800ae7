// Channels: how many partitions they have.
#include <fmt/format.h>

#include <pawl/error.hpp>

#include "store/sql/delivering.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {

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

}  // namespace pawl::store::sql
