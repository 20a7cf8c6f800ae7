/// Everything a memory store holds. Plain data: the verbs are in the files beside it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/memory/item_table.hpp"
#include "store/outbox.hpp"
#include "store/values.hpp"

namespace pawl::store::memory {

/// An input id that was applied to an instance.
struct AppliedInput {
    Version led_to = 0;
    Time at{};
};

struct Instance {
    InstanceRow row;
    std::vector<std::int64_t> positions;  ///< of its events; that of sequence n is at n - 1
    std::optional<Snapshot> snapshot;     ///< the last one written
    std::map<std::string, AppliedInput> inputs;
};

struct Session {
    Time until{};
    Duration lease{};
    std::string owner;
};

struct PartitionRow {
    std::int64_t sequence = 0;
    std::vector<std::int64_t> batch;
    std::int32_t attempts = 0;
    std::int32_t losses = 0;
    std::int32_t losses_alone = 0;
    Begun begun = Begun::no;
    std::optional<Time> retry_at;
    std::optional<std::string> error;
    bool stopped = false;
    SessionId session = 0;
    Fence fence = 0;
};

struct State {
    std::map<InstanceName, Instance> instances;
    std::vector<InstanceName> by_creation;  ///< an empty name was removed
    std::map<std::pair<std::string, std::string>, InstanceName> unique_keys;  ///< by type and key
    std::deque<StoredEvent> journal;  ///< the event at position n is at n - 1; position 0: removed
    ItemTable items;
    std::map<ItemId, DeadLetter> dead_letters;
    std::map<ItemId, RecordedEnding> endings;
    std::map<SessionId, Session> sessions;
    std::deque<InboxRow> inbox;                    ///< oldest first
    std::map<std::int64_t, Message> messages;      ///< not delivered, by position
    std::map<std::string, std::int32_t> channels;  ///< how many partitions
    std::map<Partition, PartitionRow> partitions;
    std::set<std::pair<std::string, SessionId>> subscribers;  ///< of a channel
    std::map<std::int64_t, DeadMessage> dead_messages;
    std::map<std::pair<std::string, std::string>, Time> once;  ///< of a channel: until when
    ItemId last_item = 0;
    SessionId last_session = 0;
    std::int64_t last_inbox = 0;
    std::int64_t last_message = 0;
};

}  // namespace pawl::store::memory
