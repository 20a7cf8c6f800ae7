/// The seam between the engine and a database: coarse verbs, each atomic.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <pawl/detail/sql.hpp>
#include <span>
#include <string>
#include <vector>

#include "store/commit.hpp"
#include "store/outbox.hpp"
#include "store/values.hpp"

namespace pawl::store {

struct LoadRequest {
    InstanceName instance{};
    std::int32_t snapshot_version =
        0;  ///< use a snapshot of this version of the code, and no other
    bool use_snapshot = true;
    Version up_to = 0;  ///< 0: all; else the state after this sequence
};

/// An instance as of one moment. Without `row` there is none.
struct Loaded {
    std::optional<InstanceRow> row;
    std::optional<Snapshot> snapshot;
    std::vector<Event> events;  ///< those after the snapshot, pawl's own among them
};

struct InstanceFilter {
    std::string type{};
    std::string id_prefix{};
    std::string tenant{};
    std::optional<bool> finished{};
    std::vector<std::int32_t> statuses{};  ///< any of these; empty: all
    /// Of instances whose run item is claimed, and of those where it waits because its last claim
    /// failed: any of these instead.
    std::optional<std::vector<std::int32_t>> statuses_if_claimed{};
    std::optional<std::vector<std::int32_t>> statuses_if_failed{};
    std::optional<Time> created_from{};
    std::optional<Time> created_before{};
    std::string cursor{};  ///< from the page before; empty at the first
    std::size_t limit = 100;
};

/// An instance and the last entry of its journal. Without `row` there is none.
struct Tail {
    std::optional<InstanceRow> row;
    std::optional<StoredEvent> last;
};

struct InstancePage {
    std::vector<InstanceRow> rows;  ///< oldest first
    std::string next;               ///< empty: this was the last page
};

/// Of events in an order that never skips one, and keeps each instance's own.
struct Followed {
    std::vector<StoredEvent> events;
    std::string cursor;
};

struct ItemFilter {
    std::optional<ItemKind> kind{};
    std::string type{};
    std::string id{};    ///< of the instance; needs `type`
    std::string name{};  ///< tag of the effect or of the timer's input
    ItemId after = 0;    ///< paging by id
    std::size_t limit = 100;
};

struct DeadLetterFilter {
    std::vector<ItemId> items{};  ///< empty: any
    std::optional<ItemKind> kind{};
    std::string type{};
    std::string id{};  ///< of the instance; needs `type`
    std::string name{};
    std::string reason{};  ///< a part of it
    std::optional<Time> died_from{};
    std::optional<Time> died_before{};
    ItemId after = 0;
    std::size_t limit = 100;
};

/// How many items wait in a line, so that an operator sees what nobody handles.
struct LineDepth {
    Line line;
    std::int64_t ready = 0;
    std::int64_t waiting = 0;  ///< due later
    std::int64_t claimed = 0;
    std::optional<Time> oldest_due;
};

struct ClaimRequest {
    Claim claim{};  ///< the session, and a fresh fence for everything claimed by this call
    struct Interest {
        Line line;
        std::size_t limit = 0;  ///< of this line
    };
    std::vector<Interest> interests{};
    std::size_t limit = 0;  ///< in all
    /// Items that were lost with a process more than once are offered alone: this asks for one such
    /// item and nothing else. A call without it never returns one.
    bool lost_ones = false;
};

struct Claimed {
    std::vector<Item> items{};
    std::optional<Time> next_due{};  ///< earliest time at which one of these lines has work again
    bool lost_ones_wait = false;     ///< there are due items that must be offered alone
    Time now{};
};

struct SessionOptions {
    Duration lease{};
    std::string owner{};  ///< host and process, for operators
};

struct VacuumRequest {
    std::optional<Duration> input_ids_older_than{};
    std::optional<Duration> endings_older_than{};
    std::optional<Duration> dead_letters_older_than{};
    /// Instances that finished longer ago, with everything that belongs to them, unless an item or
    /// a dead letter of theirs is left. Their ids are free for new instances.
    std::optional<Duration> finished_older_than{};
    std::size_t limit = 1000;  ///< rows of each table in this pass
};

struct Vacuumed {
    std::int64_t removed = 0;  ///< input ids, endings, dead letters and instances
    bool more = false;         ///< another pass would find something to remove
};

/// Hears of commits by other processes. Used by one thread; `interrupt` by any.
class Watch {
public:
    virtual ~Watch() = default;
    /// True when something may have changed, false when `timeout` passed or it was interrupted.
    virtual bool wait(Duration timeout) = 0;
    virtual void interrupt() = 0;
};

/// SQL of the user's own that is open. Used by one thread at a time. Rolls back unless it is
/// committed; whoever holds it keeps others waiting.
class UserTransaction : public detail::SqlSession {
public:
    virtual ~UserTransaction() = default;

    /// Applies one Commit in the same transaction and commits everything; if its fate is not
    /// `committed`, nothing. It is over then, and also when this throws: pawl::Error, `in_doubt`
    /// where the connection was lost while it was committed.
    /// `advance`: in the same commit, without fetching. A partition that is somebody else's makes
    /// the fate `fence_lost`.
    virtual Answer commit(const Commit& commit, const Advance* advance = nullptr) = 0;
    /// Of one that has failed: it was given up because of others that ran beside it, or the
    /// connection was lost before the commit. The same from its beginning may succeed.
    virtual bool may_be_repeated() const = 0;
};

/// An instance that nobody else changes until its transaction is over.
struct Held {
    std::unique_ptr<UserTransaction> transaction;
    Loaded instance;
};

/// A journal, its work and its dead letters. Thread-safe, except that `commit` calls for one
/// instance must not overlap. Every verb is one transaction; it throws pawl::Error and then has
/// changed nothing (commit: or says that it is in doubt).
class Store {
public:
    virtual ~Store() = default;

    /// The time by which everything here is due: the database's own.
    virtual Time now() = 0;

    /// Applies a group in one transaction. Each Commit has its own fate: a failed guard drops it
    /// and the later ones of its instance in this group, and touches no other. Guards see the
    /// Commits before them. Writes go in the order settlements, cancels, puts. `answers` has the
    /// group's size.
    virtual void commit(std::span<const Commit> group, std::span<Answer> answers) = 0;
    /// How many groups it likes to be given at a time.
    virtual std::size_t writers() const { return 1; }

    /// For SQL of the user's own, beside what pawl writes, on the same database. It fails if it
    /// takes longer than `limit`: a statement where the database can tell, else at the next one or
    /// at its end. Error (misuse) where there is no SQL.
    virtual std::unique_ptr<UserTransaction> begin(Duration limit) = 0;
    /// Whether this thread has begun one that is not over: it must not wait for others who write.
    virtual bool is_in_transaction() const { return false; }

    virtual std::vector<Loaded> load(std::span<const LoadRequest> requests) = 0;
    /// Takes the instance away from others, for a writer that they never let through; those who
    /// want the same stand in line. One that is not there yet can't be taken, and somebody else may
    /// make it first. None where nobody else can write, as in memory.
    virtual std::optional<Held> hold(const LoadRequest& request, Duration limit) {
        (void)request, (void)limit;
        return std::nullopt;
    }
    /// Up to `limit` entries of the journal after sequence `after`.
    virtual std::vector<StoredEvent> journal(const InstanceName& instance, Version after,
                                             std::size_t limit) = 0;
    /// The last up to `limit` entries with this event name before sequence `before` (0: the end),
    /// newest first.
    virtual std::vector<StoredEvent> journal_back(const InstanceName& instance,
                                                  const std::string& name, Version before,
                                                  std::size_t limit) = 0;
    virtual std::vector<Tail> tails(std::span<const InstanceName> instances) = 0;
    /// Up to `limit` instances that finished at this time or later, in the order in which they did.
    /// What is committed by others may come to be there a little behind its time.
    virtual std::vector<FinishedRow> finished_since(Time since, std::size_t limit) = 0;
    virtual InstancePage instances(const InstanceFilter& filter) = 0;
    /// The empty cursor is the beginning.
    virtual Followed follow(const std::string& cursor, std::size_t limit) = 0;

    /// A session holds claims until its lease passes; renewing it renews them all.
    virtual SessionId open_session(const SessionOptions& options) = 0;
    /// False: the lease had passed and somebody took the claims. Never waits behind a group.
    virtual bool renew(SessionId session, Duration lease) = 0;
    /// Gives back what is still claimed, without charging an attempt, and ends the session.
    virtual void close_session(SessionId session) = 0;
    /// How many have not passed: this process and those that share the store with it.
    virtual std::size_t sessions() = 0;

    /// Takes due items of these lines, counts the attempt, and first gives back what expired
    /// sessions held. From the second loss on, an item that was lost with its session is marked to
    /// be offered alone: the first one may be anybody's fault, and a process that died with many
    /// items must not be made up for one by one. A loss counts as suffered alone if the session had
    /// claimed the item by `lost_ones` and held nothing else. Lines are served in turn, in the
    /// order of the interests. A session that was reaped, or whose own lease has passed, can't
    /// claim: Code::unknown.
    virtual Claimed claim(const ClaimRequest& request) = 0;
    /// Gives claimed items back as if they had never been claimed. Lost fences are ignored.
    virtual void release(std::span<const std::pair<ItemId, Fence>> items) = 0;

    virtual std::vector<Item> items(const ItemFilter& filter) = 0;
    virtual std::vector<LineDepth> depths() = 0;
    virtual std::vector<RecordedEnding> endings(const ItemFilter& filter) = 0;

    /// Oldest id first.
    virtual std::vector<DeadLetter> dead_letters(const DeadLetterFilter& filter) = 0;
    virtual std::int64_t count_dead_letters(const DeadLetterFilter& filter) = 0;
    /// Makes up to `limit` dead letters items again, due now, attempts and losses at zero, age
    /// from now, failures kept. Returns how many.
    virtual std::int64_t retry_dead_letters(const DeadLetterFilter& filter) = 0;
    virtual std::int64_t discard_dead_letters(const DeadLetterFilter& filter) = 0;

    /// Oldest first.
    virtual std::vector<InboxRow> inbox(const InstanceName& to, std::size_t limit) = 0;
    virtual std::vector<Message> messages(const std::string& channel, std::int64_t after,
                                          std::size_t limit) = 0;

    virtual Outbox& outbox() = 0;

    /// Removes what retention no longer keeps, oldest first, a bounded number of rows.
    virtual Vacuumed vacuum(const VacuumRequest& request) = 0;

    virtual std::unique_ptr<Watch> watch() = 0;
};

}  // namespace pawl::store
