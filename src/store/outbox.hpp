/// The ordered outbox of a store: channels, their partitions, and the processes that deliver them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/commit.hpp"
#include "store/foreign.hpp"
#include "store/values.hpp"

namespace pawl::store {

/// Of a channel that nobody has declared when the first message is published to it.
inline constexpr std::int32_t default_partitions = 16;
inline constexpr std::int32_t most_partitions = 1024;

/// FNV-1a of the key, or of the id of a message without one. The remainder by the number of
/// partitions is the message's: it never changes.
inline std::int64_t partition_hash(const Message& message) {
    std::uint32_t hash = 2166136261u;
    const auto mix = [&](auto c) { hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u; };
    if (message.key.empty())
        for (const auto c : message.id.bytes) mix(c);
    else
        for (const char c : message.key) mix(c);
    // The low bits of similar keys are alike.
    hash ^= hash >> 16;
    return hash & 0x7fffffff;
}

struct Partition {
    std::string channel{};
    std::int32_t index = 0;
    friend auto operator<=>(const Partition&, const Partition&) = default;
};

/// Whether the owner of a partition has the first message of its batch in a handler, or is about
/// to.
enum class Begun : std::uint8_t {
    no = 0,
    beside_others = 1,  ///< other work may run in the same process
    alone = 2,          ///< nothing else runs in the process
};

/// A partition as whoever takes it over finds it. `begun`: the owner before has ended with the
/// first of the batch in a handler; one that gave the partition back has not.
struct OwnedPartition {
    Partition partition;
    std::int64_t sequence = 0;      ///< of the last message that is done
    std::vector<Message> batch;     ///< those that have got the numbers behind it and are not done
    std::int32_t attempts = 0;      ///< begun at the first of the batch
    std::int32_t losses = 0;        ///< of those: ended with their process, before the last owner
    std::int32_t losses_alone = 0;  ///< of those: nothing else ran in the process
    Begun begun = Begun::no;
    std::optional<Time> retry_at;
    std::optional<std::string> stopped;  ///< why nothing of it is delivered
};

/// What a process that delivers a channel has got.
struct Ownership {
    std::vector<OwnedPartition> taken{};
    std::vector<std::int32_t> held{};  ///< all that the session has, those just taken among them
    std::size_t share = 0;  ///< of this channel's partitions; who holds more gives some back
};

struct Burial {
    std::int64_t position = 0;
    std::int64_t sequence = 0;
    std::int32_t attempts = 0;
    std::string reason{};
    bool rejected = false;  ///< nothing is to be done about it
};

/// What the owner of a partition has done, and what it wants next.
struct Advance {
    Partition partition{};
    Fence fence = 0;
    std::int64_t sequence = 0;         ///< of the last message that is done
    std::vector<std::int64_t> done{};  ///< positions: delivered, or buried
    std::vector<Burial> buried{};      ///< of those
    std::vector<std::int64_t> left{};  ///< positions that have numbers and are not done, in order
    std::int32_t attempts = 0;         ///< begun at the first that is left
    std::int32_t losses = 0;           ///< see OwnedPartition
    std::int32_t losses_alone = 0;
    Begun begun = Begun::no;             ///< the first that is left or, if none is, that is fetched
    std::optional<Time> retry_at{};      ///< not before this
    std::optional<std::string> error{};  ///< of the last attempt
    bool stopped = false;                ///< until somebody has it go on
    bool ripen = false;                  ///< those that were for later and are due come, too
    std::size_t fetch = 0;               ///< so many more get numbers, and count as begun
    /// No more of them once their payloads have so many bytes.
    std::size_t fetch_bytes = std::numeric_limits<std::size_t>::max();
};

struct Advanced {
    bool lost = false;             ///< it is somebody else's now, and nothing was written
    std::vector<Message> fetched;  ///< with the numbers behind those that are left
};

/// Where a partition stands, for operators.
struct PartitionDepth {
    Partition partition{};
    std::int64_t sequence = 0;
    std::int64_t waiting = 0;  ///< messages that are not done, those for later among them
    std::optional<Time> oldest{};
    std::int32_t attempts = 0;
    std::optional<std::string> error{};
    bool stopped = false;
    SessionId owner = 0;
};

/// Where a message that died is on its way.
enum class DeadStatus : std::uint8_t {
    pending = 0,
    reprocessing = 1,  ///< somebody has taken it, until a time
    resolved = 2,
    discarded = 3,
    rejected = 4,  ///< so it died
};

struct DeadMessage {
    Message message;
    std::int64_t sequence = 0;
    std::int32_t attempts = 0;
    std::string reason;
    Time died_at{};
    DeadStatus status = DeadStatus::pending;
    std::optional<Time> until;  ///< while it is reprocessed
};

struct DeadMessageFilter {
    std::string channel{};
    std::optional<std::int32_t> partition{};
    std::string type{};
    std::string reason{};  ///< a part of it
    std::optional<Time> died_from{};
    std::optional<Time> died_before{};
    std::optional<DeadStatus> status{};
    std::vector<std::int64_t> positions{};  ///< empty: any
    std::int64_t after = 0;                 ///< paging by position
    std::size_t limit = 100;
};

/// What has become of a message.
enum class Delivered : std::uint8_t { no, yes, dead };

/// Thread-safe. Every verb is one transaction, unless it says otherwise.
class Outbox {
public:
    /// Makes sure that the channel is there with so many partitions; 0: with as many as it has.
    /// Returns how many it has. Throws Error (invalid) if it has others.
    virtual std::int32_t declare(const std::string& channel, std::int32_t partitions) = 0;
    /// Changes the number of a channel's partitions. False while it has messages that are not done:
    /// nothing is changed then.
    virtual bool repartition(const std::string& channel, std::int32_t partitions) = 0;

    /// The session takes part in delivering the channel, and takes what is free of its share, those
    /// in `except` excepted.
    virtual Ownership own(const Claim& claim, const std::string& channel,
                          std::span<const std::int32_t> except = {}) = 0;
    /// Gives partitions back: nothing of them is begun any more. Lost fences are ignored.
    virtual void disown(std::span<const Partition> partitions, Fence fence) = 0;
    /// When the first message of each is due, those that have numbers among them: a time that has
    /// passed if it is at once, nothing if there is none.
    virtual std::vector<std::optional<Time>> look(std::span<const Partition> partitions) = 0;
    /// One answer for each.
    virtual std::vector<Advanced> advance(std::span<const Advance> all) = 0;
    /// What was begun alone is begun beside others from now on. A lost fence is ignored.
    virtual void accompany(const Partition& partition, Fence fence) = 0;

    /// The names of all channels.
    virtual std::vector<std::string> channels() = 0;
    virtual std::vector<PartitionDepth> depths(const std::string& channel) = 0;
    virtual std::vector<Delivered> delivered(std::span<const Uuid> messages) = 0;
    /// Has stopped partitions of the channel go on: whoever had them loses them. Returns how many.
    virtual std::int64_t resume(const std::string& channel) = 0;

    /// Oldest position first.
    virtual std::vector<DeadMessage> dead(const DeadMessageFilter& filter) = 0;
    virtual std::int64_t count_dead(const DeadMessageFilter& filter) = 0;
    /// Takes those that are pending, or whose time is over, until `until`.
    virtual std::vector<DeadMessage> reprocess(const DeadMessageFilter& filter, Time until) = 0;
    /// Of those that are being reprocessed, or pending: gives them this status and reason (where
    /// there is one). Returns how many.
    virtual std::int64_t settle_dead(std::span<const std::int64_t> positions, DeadStatus status,
                                     const std::string& reason) = 0;
    /// Those that are pending are published again, as the last of their partition, and resolved.
    /// Returns how many.
    virtual std::int64_t redeliver(const DeadMessageFilter& filter) = 0;
    /// Removes up to `limit` that were resolved, discarded or rejected and died before `before`.
    virtual std::int64_t clean_up_dead(Time before, std::size_t limit) = 0;

    /// For messages in a transaction that is open on somebody else's connection to this database.
    /// Error (misuse) if there is none, or it leads elsewhere.
    virtual std::unique_ptr<ForeignTransaction> join(const ForeignHandle& handle) = 0;
    /// What writes the message, for whoever runs it in a transaction of his own. Makes sure that
    /// the channel is there.
    virtual SpelledStatement spell(const Message& message, Marks marks) = 0;
    /// Tells other processes that somebody else's transaction may have left messages.
    virtual void announce() noexcept = 0;

protected:
    ~Outbox() = default;
};

}  // namespace pawl::store
