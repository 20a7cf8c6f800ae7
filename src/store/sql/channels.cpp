// Channels: how many partitions they have.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <pawl/error.hpp>
#include <thread>

#include "store/sql/delivering.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

// How long repartition waits for a lock, and how often it tries.
constexpr std::chrono::milliseconds first_patience{10};
constexpr std::chrono::milliseconds longest_patience{1280};
constexpr int most_tries = 8;

}  // namespace

std::int32_t Delivering::declare_in(Connection& connection, Words& words, Ref ref,
                                    std::int32_t partitions) {
    std::int32_t there = 0;
    const auto hold = [&] {
        connection.query(sql_.channels.hold, {ref},
                         [&](const Row& row) { there = static_cast<std::int32_t>(row.number(0)); });
        return there > 0;
    };
    if (!hold()) {
        words.renew(connection);
        connection.run(sql_.channels.add, {ref, partitions == 0 ? default_partitions : partitions});
        hold();
    } else {
        words.learn(connection);
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
        words.begin(connection);
        ref = words.name(connection, channel);
        return declare_in(connection, words, ref, partitions);
    });
    words.keep();
    declared_.add(ref, words.generation());
    if (partitions != 0 && partitions != there)
        throw Error{Code::invalid,
                    fmt::format("channel \"{}\" has {} partitions, not {}: the number is changed "
                                "by Engine::repartition, once the channel is empty",
                                channel, there, partitions)};
    return there;
}

// Whoever waits for a lock has others wait behind it, those who publish to other channels, too. So
// it waits for a moment only, and lets them go on before it tries again.
bool Delivering::repartition(const std::string& channel, std::int32_t partitions) {
    declare(channel, 0);
    for (int tries = 0;; ++tries) {
        const auto patience = std::min(first_patience * (1 << tries), longest_patience);
        try {
            const bool changed = receipts_.in_write_once([&](Connection& connection) {
                return repartition_in(connection, channel, partitions, patience);
            });
            if (changed) database_.announce();
            return changed;
        } catch (const Error& error) {
            // Where there are no locks it has waited for its turn already.
            if (error.code() != Code::busy || !sql_.items.lock_together) throw;
            if (tries + 1 == most_tries)
                throw Error{Code::busy,
                            fmt::format("cannot repartition channel \"{}\": a transaction that has "
                                        "published is still open. End it or try again: {}",
                                        channel, error.what())};
        }
        std::this_thread::sleep_for(patience);
    }
}

bool Delivering::repartition_in(Connection& connection, const std::string& channel,
                                std::int32_t partitions, std::chrono::milliseconds patience) {
    const Ref ref = get(connection, channel);
    const auto is_empty = [&] {
        bool empty = true;
        connection.query(sql_.messages.any, {ref}, [&](const Row&) { empty = false; });
        return empty;
    };
    if (!is_empty()) return false;
    const std::string milliseconds = std::to_string(patience.count());
    if (sql_.channels.hurry)
        connection.query(*sql_.channels.hurry, {text(milliseconds)}, [](const Row&) {});
    connection.reach(repartition_begun);
    connection.query(sql_.channels.lock, {ref}, [](const Row&) {});
    // Owners lock their partition before its messages, so it is done in this order here.
    connection.query(sql_.partitions.lock, {ref}, [](const Row&) {});
    // Whoever publishes waits for this, or is waited for.
    if (sql_.channels.quiesce) connection.run(*sql_.channels.quiesce);
    if (!is_empty()) return false;
    connection.run(sql_.partitions.remove, {ref});
    connection.run(sql_.channels.set, {ref, partitions});
    Words words{interned_, sql_};
    declare_in(connection, words, ref, partitions);
    return true;
}

}  // namespace pawl::store::sql
