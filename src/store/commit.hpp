/// A Commit: guards, then writes, applied together or not at all. A plain value.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "store/values.hpp"

namespace pawl::store {

/// The right to work on an item: it ends with the session's lease, and the fence names it.
struct Claim {
    SessionId session = 0;
    Fence fence = 0;
};

/// A new item. Due at `at`, or `after` from the commit by the store's clock.
struct Put {
    ItemKind kind = ItemKind::effect;
    std::string name;
    std::string key;  ///< timers: replaces the pending one of this instance and key
    Payload payload;
    std::optional<Time> at;
    Duration after{0};
    /// By the process that releases it; counts as its first attempt. Ignored if that session was
    /// reaped: nobody would ever give the item back.
    std::optional<Claim> born_claimed;
};

/// The word of a claimant on its item. A lost fence fails the whole Commit.
enum class Verdict : std::uint8_t {
    ack,    ///< done: the item and its failures are removed
    retry,  ///< again after `retry_after`; `reason` joins the item's failures
    bury,   ///< never again: it becomes a dead letter, `reason` joins its failures
};

struct Settlement {
    ItemId item = 0;
    Fence fence = 0;
    Verdict verdict = Verdict::ack;
    Duration retry_after{0};
    std::string reason;
    Ending ending = Ending::applied;  ///< with ack: recorded, with `ending_reason`, unless applied
    std::string ending_reason;
};

/// What is appended to one instance's journal.
struct Append {
    InstanceName instance;
    /// The version this was decided on. 0: the instance must not exist, and is created if there are
    /// events. Without events the Commit only confirms that this version is current.
    Version expected = 0;
    std::vector<Event> events;
    std::string unique_key;            ///< taken for this instance until it is finished
    std::string input_id;              ///< applied at most once for this instance
    std::vector<std::string> cancels;  ///< keys of timers to remove, before the puts
    std::vector<Put> puts;
    bool finished =
        false;  ///< with these events; removes the instance's timers, frees its unique key
    std::optional<Snapshot> snapshot;
};

struct Commit {
    std::optional<Append> append;
    std::vector<Settlement> settlements;
    std::vector<InboxRow> inbox;
    std::vector<Message> messages;
    Envelope envelope;  ///< of the events; items get it with their causing event
};

/// What became of one Commit of a group.
enum class Fate : std::uint8_t {
    committed,
    stale,             ///< another version is current, or a Commit before it in the chain failed
    duplicate,         ///< its input id was applied before: `version` is the one it led to
    unique_key_taken,  ///< by the active instance `holder`
    fence_lost,        ///< a claim it settles is not held any more
    failed,            ///< `error` says why; nothing of it was written
};

struct Answer {
    Fate fate = Fate::failed;
    Version version = 0;        ///< of the instance after the Commit, or the current one when stale
    std::vector<ItemId> items;  ///< of `append->puts`, in their order
    std::string holder;
    Time at{};  ///< the store's time of the group
    std::exception_ptr error;
};

}  // namespace pawl::store
