/// Messages as the rows that messages.add takes.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "store/outbox.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/statements.hpp"
#include "store/sql/value.hpp"

namespace pawl::store::sql {

/// A message and the number of its channel.
using Outgoing = std::pair<Ref, const Message*>;

/// As a row of messages.add; with `partitions` as one of messages.add_placed. The message outlives
/// the rows. Where the channel has no such partition, the row has none.
inline void add_message(Rows& rows, const Outgoing& outgoing, Time now,
                        std::optional<std::int32_t> partitions = std::nullopt) {
    const auto& [channel, message] = outgoing;
    const Envelope& envelope = message->envelope;
    Value part = message->partition ? Value{*message->partition} : Value{};
    Value hash = partition_hash(*message);
    if (partitions) {
        if (!message->partition) part = hash.number % *partitions;
        if (part.number >= *partitions) part = Value{};
        hash = part;
    }
    rows.add({channel, part, hash, now,
              message->deliver_after ? Value{*message->deliver_after} : Value{0},
              static_cast<int>(message->payload.encoding), bytes(message->id),
              given_bytes(message->key), given_text(message->type), given_text(message->recipient),
              given_text(message->schema), given_bytes(envelope.causation),
              given_text(envelope.correlation), given_text(envelope.conversation),
              given_text(envelope.tenant), given_text(envelope.trace),
              bytes(message->payload.bytes)});
}

/// Without those that must not be in their channel twice, and are not the first.
inline std::vector<Outgoing> first_ones(Connection& connection, const Statements& sql,
                                        std::vector<Outgoing> messages, Time now) {
    std::set<std::pair<Ref, std::string_view>> seen;
    std::vector<const Message*> asked;
    Rows keys;
    for (const auto& [channel, message] : messages) {
        if (message->once.empty() || !seen.emplace(channel, message->once).second) continue;
        asked.push_back(message);
        keys.add({channel, bytes(message->once), now, now + message->once_for, bytes(message->id)});
    }
    std::set<const Message*> first;
    connection.query(sql.once.take, keys, [&](std::size_t key, const Row& row) {
        if (row.view(0) == bytes(asked[key]->id).view()) first.insert(asked[key]);
    });
    std::erase_if(messages, [&](const Outgoing& one) {
        return !one.second->once.empty() && !first.contains(one.second);
    });
    return messages;
}

}  // namespace pawl::store::sql
