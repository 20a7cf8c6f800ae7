/// Messages as the rows that messages.add takes.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "store/outbox.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/statements.hpp"
#include "store/sql/value.hpp"

namespace pawl::store::sql {

/// The message outlives the rows.
inline void add_message(Rows& rows, Ref channel, const Message& message, Time now) {
    const Envelope& envelope = message.envelope;
    rows.add(
        {channel, message.partition ? Value{*message.partition} : Value{}, partition_hash(message),
         now, message.deliver_after ? Value{*message.deliver_after} : Value{0},
         static_cast<int>(message.payload.encoding), bytes(message.id), given_bytes(message.key),
         given_text(message.type), given_text(message.recipient), given_text(message.schema),
         given_bytes(envelope.causation), given_text(envelope.correlation),
         given_text(envelope.conversation), given_text(envelope.tenant), given_text(envelope.trace),
         bytes(message.payload.bytes)});
}

/// Of those that must not be in their channel twice, adds each that is the first.
inline void add_first_ones(Connection& connection, const Statements& sql, Rows& rows,
                           std::vector<std::pair<Ref, const Message*>> messages, Time now) {
    std::set<std::pair<Ref, std::string_view>> seen;
    std::erase_if(messages, [&](const auto& one) {
        return !seen.emplace(one.first, one.second->once).second;
    });
    Rows keys;
    for (const auto& [channel, message] : messages)
        keys.add({channel, bytes(message->once), now, now + message->once_for, bytes(message->id)});
    connection.query(sql.once.take, keys, [&](std::size_t key, const Row& row) {
        const auto& [channel, message] = messages[key];
        if (row.view(0) == bytes(message->id).view()) add_message(rows, channel, *message, now);
    });
}

}  // namespace pawl::store::sql
