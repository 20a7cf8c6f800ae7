/// Every statement that the SQL store runs, by name. Each database has one table of these.
#pragma once

#include <optional>

#include "store/sql/connection.hpp"

namespace pawl::store::sql {

/// The columns of an item, an event and so on stand in one order wherever they are read: the
/// readers in records.hpp count on it. "Bulk" statements run once for each row of parameters.
struct Statements {
    struct Names {
        Statement find;  ///< (name)
        Statement add;   ///< (name): unless it is there
        Statement all;
    } names;

    struct Lines {
        Statement find;  ///< (kind, name of the type, name)
        Statement add;   ///< the same: unless it is there
        Statement all;
    } lines;

    /// Of all names, lines and channels (interned.hpp).
    struct DictionaryToken {
        Statement token;
        Statement renew;  ///< locks it until the transaction ends
    } dictionary;

    struct Instances {
        Statement find;    ///< bulk (type, id): what a guard needs
        Statement lock;    ///< the same, and locks the row
        Statement rows;    ///< bulk (type, id): the whole row
        Statement add;     ///< bulk
        Statement update;  ///< bulk (ref, version, updated_at, finished_at, unique_key, status,
                           ///< head)
        Statement page;
        Statement page_of_prefix;
        Statement finished_since;  ///< (time, limit): finished_at, type, id, in the order of it
        Statement expired;  ///< (finished before, limit): refs of those without work, oldest first
        Statement remove;   ///< bulk (ref)
    } instances;

    /// Of instances that were removed while their events are still there.
    struct Removed {
        Statement add;     ///< bulk (instance)
        Statement events;  ///< (limit): removes some of their events
        Statement forget;  ///< those that have no events left
    } removed;

    struct Events {
        Statement add;           ///< bulk
        Statement load;          ///< bulk (instance, after, up to)
        Statement ids;           ///< bulk (instance, sequence): the event's id
        Statement journal;       ///< (type, id, after, limit)
        Statement journal_back;  ///< (type, id, name, before, limit): newest first
        Statement entries;       ///< bulk (instance, sequence)
        Statement follow;        ///< (position, limit)
    } events;

    struct Snapshots {
        Statement set;     ///< bulk
        Statement load;    ///< bulk (instance, version of the code, up to)
        Statement remove;  ///< bulk (instance)
    } snapshots;

    struct Inputs {
        Statement find;  ///< bulk (instance, input id)
        Statement add;   ///< bulk
        Statement vacuum;
        Statement remove;  ///< bulk (instance)
    } inputs;

    struct UniqueKeys {
        Statement find;    ///< bulk (type, key)
        Statement lock;    ///< the same, and locks the row
        Statement add;     ///< bulk (type, key, instance)
        Statement remove;  ///< bulk (type, key)
    } unique_keys;

    struct Items {
        Statement lock;         ///< bulk (id): what a settlement needs
        Statement lock_keyed;   ///< bulk (instance, key): the timer with this key
        Statement lock_timers;  ///< bulk (instance): all of its timers
        /// Bulk (0 and an item, 1 and an instance, 2 and an instance; for 2 the key): what the
        /// three above do, in one go and in the order of ids. Where rows have locks, two orders are
        /// a deadlock.
        std::optional<Statement> lock_together{};
        Statement runs;  ///< bulk (type, id of an instance): the id of its run; locks nothing
        Statement add;   ///< bulk
        /// The same, with a time or NULL in place of created_at, how much after it it is due in
        /// place of due_at, and the group's time in place of session. NULL: the moment at which the
        /// statement runs, by the server's clock, and not before the group's time.
        Statement add_later;
        Statement remove;  ///< bulk (id)
        /// Bulk (id, time or NULL as above, due how much after, last_error, the group's time)
        Statement retry;
        Statement forget_losses;  ///< bulk (id)
        Statement suspend;        ///< bulk (id, due_at, wakes_at_mail), by id
        Statement mail;           ///< bulk (id, how much, 1 when urgent, now)
        Statement ready;          ///< bulk (line, alone, now, limit): id and due_at, oldest first
        Statement first_due;      ///< bulk (line, alone): the earliest due_at
        /// The same two from a due_at on, the last parameter, where what was claimed before it may
        /// stand in the way (claim_marks.hpp).
        struct FromMark {
            Statement ready;
            Statement first_due;
        };
        std::optional<FromMark> from_mark{};
        Statement claim;            ///< bulk (id, session, fence); the last two are the same in all
        Statement release;          ///< bulk (id, fence, now)
        Statement release_session;  ///< (session, now)
        Statement release_claim;    ///< (session, fence, now)
        Statement of_claim;         ///< (session, fence): the ids
        Statement of_append;        ///< bulk (instance, sequence): index and id
        Statement held;             ///< (session): how many, and how many of them marked alone
        Statement lose;             ///< (session, now, 1 when lost alone)
        /// (now, until, from), after the clock went back: makes due what was due by `until`, but
        /// timers only if they were set by the later clock, and due at once or by `from`.
        Statement mend;
        Statement last;  ///< (): when the item with the highest number was made
        Statement rows;  ///< bulk (id): the whole item
        Statement page;
        Statement page_of_instance;
        Statement waiting;  ///< (now): line, ready, waiting, oldest due
        Statement claimed;  ///< line, claimed
    } items;

    struct Failures {
        Statement add;     ///< bulk (item, attempt, at, error)
        Statement remove;  ///< bulk (item)
        Statement of;      ///< bulk (item)
    } failures;

    struct DeadLetters {
        /// Bulk (id): locks their instances and then them. Nothing where writers take turns.
        std::optional<Statement> lock{};
        Statement bury;  ///< bulk (item, reason, at): copies the item
        /// Bulk (id, now): copies it back, unless its timer is set, or its instance runs, again.
        Statement revive;
        Statement remove;          ///< bulk (id)
        Statement remove_revived;  ///< bulk (id): only if the item is there
        Statement page;
        Statement rows;  ///< bulk (id), with the filter
        Statement count;
        Statement expired;  ///< (died before, limit): ids, oldest first
    } dead_letters;

    struct Endings {
        Statement add;  ///< bulk
        Statement page;
        Statement vacuum;
        Statement remove;  ///< bulk (instance)
    } endings;

    struct Inbox {
        Statement add;  ///< bulk
        Statement page;
        Statement take;   ///< bulk (position, type, id)
        Statement clear;  ///< bulk (type, id)
    } inbox;

    struct Channels {
        Statement find;   ///< (name): ref and partitions
        Statement names;  ///< of all
        Statement add;    ///< (ref, partitions): unless it is there
        Statement hold;   ///< (ref): partitions; nobody changes how many until the commit
        /// (ref): the same, and nobody holds it meanwhile. Waits for nobody where those who come
        /// behind would wait, too: raises then.
        Statement lock;
        Statement set;  ///< (ref, partitions)
        /// Nobody publishes until the commit, and who has is waited for. Not where `lock`, or the
        /// turn to write, does that.
        std::optional<Statement> quiesce;
        /// (milliseconds): what waits longer for a lock in this transaction raises. There where
        /// locks are waited for and whoever comes behind waits, too.
        std::optional<Statement> hurry;
    } channels;

    struct Partitions {
        Statement add;      ///< bulk (channel, part): unless it is there
        Statement lock;     ///< (channel): locks all of them
        Statement remove;   ///< (channel)
        Statement owners;   ///< (channel, now): part, session, 1 if that one lives
        Statement free;     ///< (channel, now, limit): those that no live session has; locked
        Statement take;     ///< bulk (channel, part, session, fence)
        Statement rows;     ///< bulk (channel, part): sequence, attempts, losses, losses_alone, ...
        Statement hold;     ///< bulk (channel, part, fence): something where it is so; locked
        Statement advance;  ///< bulk (channel, part, sequence, attempts, losses, losses_alone, ...)
        Statement accompany;  ///< (channel, part, fence): what was begun alone is not any more
        Statement give_back;  ///< bulk (channel, part, fence)
        Statement depths;     ///< (channel): part, sequence, attempts, stopped, error, session
        Statement resume;     ///< (channel): those that stopped are taken anew
    } partitions;

    struct Subscribers {
        Statement add;     ///< (channel, session): unless it is there
        Statement live;    ///< (channel, now): the sessions that live
        Statement forget;  ///< (channel): those whose session is gone
    } subscribers;

    /// Their columns are read by `read_message`.
    struct Messages {
        Statement add;  ///< bulk (channel, part or NULL, hash, ...)
        /// Where `add` takes long to find the partition: the same with (channel, part, part, ...).
        std::optional<Statement> add_placed;
        Statement page;
        /// bulk (channel, part, limit, bytes): those that are due, in order. Where they are all
        /// read before the first is seen, no more once their payloads have so many bytes.
        Statement next;
        Statement rows;       ///< bulk (position)
        Statement remove;     ///< bulk (position)
        Statement ripen;      ///< bulk (channel, part, now): those that became due count from then
        Statement first_due;  ///< bulk (channel, part): when the first is due; 0: now
        Statement waiting;    ///< (channel): part, how many, the oldest
        /// Where messages that were removed may stand in the way (message_marks.hpp). `next`,
        /// `first_due` and `waiting`, which is then bulk (channel, part), have three parameters
        /// more, a mark, transactions and floors, and one column more: the first position behind
        /// the mark of what was never for later; NULL: none.
        struct Marks {
            Statement position;  ///< the last one that was given
            Statement snapshot;  ///< what is committed, and the number of the next transaction
        };
        std::optional<Marks> marks;
        Statement any;   ///< (channel): one, if there is one
        Statement find;  ///< bulk (id): something where it is there
    } messages;

    struct DeadMessages {
        Statement bury;       ///< bulk (position, sequence, attempts, reason, now, status)
        Statement page;       ///< (after, now, then what is filtered, limit)
        Statement lock;       ///< bulk (position): locks them
        Statement reprocess;  ///< bulk (position, until)
        Statement settle;     ///< bulk (position, status, reason or NULL)
        Statement count;      ///< as page, whatever the limit
        Statement clean_up;   ///< (died before, limit)
        Statement find;       ///< bulk (id): something where it is there and not resolved
    } dead_messages;

    struct Once {
        /// bulk (scope, id, at, until, token): the token of whoever was first, and whose time is
        /// not over. Waits for those who have not decided yet.
        Statement take;
        Statement vacuum;  ///< (until, limit)
    } once;

    /// Of transactions whose answer may be lost (receipts.hpp). Not where none can be.
    struct Receipts {
        Statement add;     ///< (at, token, try): a Collision if one of its tries is there
        Statement find;    ///< (at, token): the try
        Statement vacuum;  ///< (before, limit)
    };
    std::optional<Receipts> receipts;

    /// Each raises a Collision unless all of its rows are as they are presumed, and locks them.
    /// Where they are there, a group that nobody is in the way of needs one round trip.
    struct Presumed {
        Statement instances;  ///< bulk (ref, version, head or NULL), by ref
        Statement sessions;   ///< bulk (id)
        Statement items;      ///< bulk (id, fence, mail, instance or NULL), by id
        /// The same in one with what is written. Without them it is locked first.
        struct Writing {
            Statement dictionary;  ///< bulk (token)
            /// Bulk (ref, version, then as in instances.update, with the expected head or NULL
            /// before the new one).
            Statement instances;
            Statement items;  ///< bulk (as items, then 1: removed, 0: locked)
        };
        std::optional<Writing> writing{};
        /// For groups that finish instances, end runs or send mail to them.
        struct OfInstances {
            /// Bulk (how, number, fence or NULL, mail or NULL, id or NULL, turn), locked in one go:
            /// 0 an item as above; 1 and 2 the timers and the run of the instance with this ref;
            /// 3 the run of the instance with this type and id. `turn` is the place in the group:
            /// what an earlier Commit removed or sent mail to can't be settled by a later one.
            Statement lock;
            Statement remove_timers;  ///< bulk (instance): and their failures
            Statement remove_runs;    ///< bulk (instance): and their failures
            Statement mail;           ///< bulk (type, id, how much, 1 when urgent, now)
        };
        std::optional<OfInstances> of_instances{};
    };
    std::optional<Presumed> presumed{};
    /// Writes something that nobody reads, so that the commit of a group that finds itself written
    /// waits for the replicas, too.
    std::optional<Statement> replicate{};

    struct Sessions {
        Statement add;           ///< (id, until, owner, lease)
        Statement find;          ///< (id)
        Statement hold;          ///< bulk (id): the same; it can't be reaped until the commit
        Statement lock;          ///< (id): nobody can hold it until the commit
        Statement renew;         ///< (id, until, lease)
        Statement ahead;         ///< (then): those that were renewed after that
        Statement expired;       ///< (now, then): those whose lease has passed, and the same
        Statement lock_expired;  ///< (now, then): the same, their until and their lease, of those
                                 ///< that nobody else is at
        Statement remove;        ///< (id)
        Statement count;         ///< (now): how many have not passed
    } sessions;
};

/// Of the row that counts, where numbers are taken from one (numbers.hpp).
struct CounterStatements {
    Statement lock;  ///< instance, position, item, inbox; locked
    Statement set;   ///< the same four
    Statement next_session;
};

}  // namespace pawl::store::sql
