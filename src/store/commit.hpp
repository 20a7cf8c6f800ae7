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
    std::string name{};
    std::string key{};  ///< timers: replaces the pending one of this instance and key
    Payload payload{};
    std::optional<Time> at{};
    Duration after{0};
    /// By the process that releases it; counts as its first attempt. Ignored if that session was
    /// reaped: nobody would ever give the item back.
    std::optional<Claim> born_claimed{};
};

/// The word of a claimant on its item. A lost fence fails the whole Commit.
enum class Verdict : std::uint8_t {
    ack,      ///< done: the item and its failures are removed
    retry,    ///< again after `retry_after`; `reason` joins the item's failures
    bury,     ///< never again: it becomes a dead letter, `reason` joins its failures
    hold,     ///< not done: the claim goes on, and only its fence is confirmed
    suspend,  ///< not done: it waits until `wake.at` or for mail, as if it had never been claimed
};

/// What ends the wait of a suspended item, whichever comes first.
struct Wake {
    std::optional<Time> at{};  ///< without one only mail does
    std::int64_t mail = 1;     ///< so much of it; an urgent one alone does, too
};

struct Settlement {
    ItemId item = 0;
    Fence fence = 0;
    Verdict verdict = Verdict::ack;
    Duration retry_after{0};
    Wake wake{};
    /// How much mail its claimant knows of. With `ack` and `suspend` more of it fails the Commit
    /// (mail_waits): nothing that was sent to it may be passed over. Without a value nobody asks.
    std::optional<std::int64_t> seen_mail{};
    /// With `hold`: its losses are forgotten, because its claimant has got further than those who
    /// were lost.
    bool got_further = false;
    std::string reason{};
    /// False: no attempt at it has ever failed, its claimant knows, and no failure is looked for.
    bool failed_before = true;
    Ending ending = Ending::applied;  ///< with ack: recorded, with `ending_reason`, unless applied
    std::string ending_reason{};
};

/// What is appended to one instance's journal.
struct Append {
    InstanceName instance{};
    /// The version this was decided on. 0: the instance must not exist, and is created if there are
    /// events. Without events the Commit confirms that this version is current, and changes the
    /// status of an instance that is there, if it names one; nothing else.
    Version expected = 0;
    /// The head it was decided on. After a failover that lost commits another event may stand at
    /// this version: then the Commit is stale. Without a value only the version is compared.
    std::optional<Head> expected_head{};
    std::vector<Event> events{};
    std::string unique_key{};            ///< taken for this instance until it is finished
    std::string input_id{};              ///< applied at most once for this instance
    std::vector<std::string> cancels{};  ///< keys of timers to remove, before the puts
    std::vector<Put> puts{};
    bool finished =
        false;  ///< with these events; removes the instance's timers, frees its unique key
    bool has_timers = true;             ///< false: it is known to have none, and none is looked for
    std::int32_t status = 0;            ///< what the instance row says from now on; 0: as before
    std::vector<std::int64_t> taken{};  ///< positions of inbox rows that go: the events hold them
    /// Removes the instance's run item whoever holds it, and all its inbox rows.
    bool ends_run = false;
    std::optional<Snapshot> snapshot{};
};

struct Commit {
    std::optional<Append> append{};
    std::vector<Settlement> settlements{};
    std::vector<InboxRow> inbox{};
    std::vector<Message> messages{};
    Envelope envelope{};  ///< of the events; items get it with their causing event
};

/// What became of one Commit of a group.
enum class Fate : std::uint8_t {
    committed,
    stale,             ///< another version is current, or a Commit before it in the chain failed
    duplicate,         ///< its input id was applied before: `version` is the one it led to
    unique_key_taken,  ///< by the active instance `holder`
    fence_lost,        ///< a claim it settles is not held any more
    mail_waits,        ///< a claim it ends has mail that its claimant does not know of: `mail`
    no_run,            ///< mail is for an instance without a run item
    failed,            ///< `error` says why; nothing of it was written
};

struct Answer {
    Fate fate = Fate::failed;
    Version version = 0;  ///< of the instance after the Commit, or the current one when stale
    std::vector<ItemId> items{};  ///< of `append->puts`, in their order
    std::int64_t mail = 0;        ///< that the item of the last settlement has got
    std::string holder{};
    Time at{};  ///< the store's time of the group
    std::exception_ptr error{};
};

/// Whether it is without events, and does more than to confirm a version.
inline bool changes_status(const Append& append) {
    return append.events.empty() && append.expected != 0 && append.status != 0;
}

/// Or does nothing.
inline bool only_publishes(const Commit& commit) {
    return !commit.append && commit.settlements.empty() && commit.inbox.empty();
}

}  // namespace pawl::store
