/// Everything a memory store holds. Plain data: the verbs are in the files beside it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/memory/item_table.hpp"
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
    std::string owner;
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
    std::deque<InboxRow> inbox;    ///< oldest first
    std::deque<Message> messages;  ///< position n is at n - 1
    ItemId last_item = 0;
    SessionId last_session = 0;
    std::int64_t last_inbox = 0;
};

}  // namespace pawl::store::memory
