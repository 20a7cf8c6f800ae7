/// The plain values that the engine and a store exchange. Payloads are bytes to a store.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <vector>

namespace pawl::store {

/// By so much at most, two processes differ in what they take for the store's time.
inline constexpr Duration clock_noise = std::chrono::seconds{1};

/// When an item is due that only mail can wake: the last moment that every database can store.
inline constexpr Time never{Duration{253'402'300'799'000'000}};

/// Sequence of an instance's last event; 0 is an instance that does not exist.
using Version = std::int64_t;
/// Tells two instances apart that have one name and one version, in histories of which one was
/// lost: the last eight bytes of the id of the last event, which are random. 0: there is no event.
using Head = std::int64_t;
using ItemId = std::int64_t;
using SessionId = std::int64_t;
/// Tells an old claim from a new one: a random token, never derived from a stored counter.
using Fence = std::int64_t;

/// How a payload is encoded. Stored with every payload; the numbers never change.
enum class Encoding : std::uint8_t { json = 1 };

struct Payload {
    std::string bytes;
    Encoding encoding = Encoding::json;
    friend bool operator==(const Payload&, const Payload&) = default;
};

inline Head head_of(const Uuid& id) {
    std::uint64_t head = 0;
    for (std::size_t i = 8; i < id.bytes.size(); ++i) head = head << 8 | id.bytes[i];
    return static_cast<Head>(head);
}

struct InstanceName {
    std::string type;
    std::string id;
    friend auto operator<=>(const InstanceName&, const InstanceName&) = default;
    friend bool operator==(const InstanceName&, const InstanceName&) = default;
};

/// What flows from an input to the events, to the items, and to the inputs those cause.
/// Empty texts mean "none given". An event without a correlation has its own id as correlation;
/// an item without one has the id of the event that caused it.
struct Envelope {
    std::string correlation{};
    std::string conversation{};
    std::string tenant{};
    std::string trace{};  ///< W3C traceparent
    Uuid causation{};     ///< the event that caused this; nil for an input from outside
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// Whose entry of the journal it is. pawl's own never reach `evolve`. The numbers never change.
enum class EventKind : std::uint8_t { user = 0, engine = 1 };

struct Event {
    Uuid id;
    std::string name;  ///< tag of the event on the wire; "pawl.*" for the engine's own
    Payload payload;
    EventKind kind = EventKind::user;
    friend bool operator==(const Event&, const Event&) = default;
};

/// An event as it stands in the journal.
struct StoredEvent {
    InstanceName instance;
    Version sequence = 0;
    std::int64_t position = 0;  ///< global; only its order means anything
    Event event;
    Envelope envelope;
    Time at{};
};

struct Snapshot {
    Version sequence = 0;      ///< it holds the state after this event
    std::int32_t version = 0;  ///< of the workflow's code; another one is never loaded
    Payload payload;
};

/// Statuses are numbers from 0 to this, so that a set of them is a word of bits.
inline constexpr std::int32_t highest_status = 62;

/// What the run item of an instance is doing.
struct RunItem {
    std::int32_t attempts = 0;     ///< claims since it was suspended last
    std::optional<Time> due_at{};  ///< absent while it is claimed
    std::string last_error{};      ///< of the last claim that failed
    std::string owner{};           ///< of the session that has claimed it
    bool is_claimed = false;
};

/// An instance that has finished, and when.
struct FinishedRow {
    InstanceName name;
    Time at{};
};

/// What an instance is, without its events.
struct InstanceRow {
    InstanceName name{};
    Version version = 0;
    std::string tenant{};
    std::string unique_key{};
    Head head = 0;
    std::int32_t status = 0;  ///< a number that the engine gave it; 0: none
    Time created_at{};
    Time updated_at{};
    std::optional<Time> finished_at{};
    std::optional<RunItem> run{};  ///< in a list of instances alone, of those that have one
};

/// Sorts of claimable work. The numbers never change.
/// A run is what is claimed to execute a durable function; its instance has one until it finishes.
enum class ItemKind : std::uint8_t { effect = 1, timer = 2, run = 3 };

/// Where items wait: a worker claims only from the lines it can handle.
struct Line {
    ItemKind kind = ItemKind::effect;
    std::string type;  ///< of the workflow
    std::string name;  ///< tag of the effect, or of the timer's input; version of the function
    friend auto operator<=>(const Line&, const Line&) = default;
    friend bool operator==(const Line&, const Line&) = default;
};

/// A piece of claimable work as it is stored.
struct Item {
    ItemId id = 0;
    Line line{};
    InstanceName instance{};
    Version sequence = 0;    ///< of the last event of the commit that released it
    std::int32_t index = 0;  ///< among the items of that commit
    std::string key{};       ///< of a keyed timer
    Payload payload{};
    Envelope envelope{};
    Time created_at{};
    std::optional<Time> due_at{};    ///< absent while claimed
    std::int32_t attempts = 0;       ///< claims so far
    std::int32_t losses = 0;         ///< claims that ended without a word
    std::int32_t losses_alone = 0;   ///< those of them where nothing else was claimed with it
    std::int64_t mail = 0;           ///< inbox rows `to_run` since it was suspended last
    std::int64_t wakes_at_mail = 0;  ///< so much mail makes it due
    std::string last_error{};
    SessionId session = 0;  ///< 0 while it is not claimed
    Fence fence = 0;
    bool born_claimed = false;  ///< this claim came with the commit that released it
};

/// One failed attempt, kept with the item and then with its dead letter.
struct Failure {
    std::int32_t attempt = 0;
    Time at{};
    std::string error;
    friend bool operator==(const Failure&, const Failure&) = default;
};

struct DeadLetter {
    Item item{};
    std::string reason{};
    Time died_at{};
    std::vector<Failure> failures{};
};

/// How the input of an acknowledged item ended where it changed nothing.
enum class Ending : std::uint8_t { applied = 0, rejected = 1, finished = 2 };

struct RecordedEnding {
    ItemId item = 0;
    Line line;
    InstanceName instance;
    std::string key;
    Ending ending = Ending::applied;
    std::string reason;
    Time at{};
};

/// A durable input that waits for its instance.
struct InboxRow {
    std::int64_t position = 0;
    InstanceName to{};
    /// Mail for a run: the instance must have a run item, which counts it, and becomes due if it is
    /// suspended and has enough of it, or if this one is `urgent`.
    bool to_run = false;
    bool urgent = false;
    std::string input_id{};
    std::string name{};
    Payload payload{};
    Envelope envelope{};
    Time at{};
};

/// A message of the ordered outbox as it is published.
struct Message {
    std::int64_t position = 0;
    Uuid id{};  ///< made by whoever publishes it
    std::string channel{};
    /// Messages with one key are in one partition. Without a key, or an index, they are spread.
    std::string key{};
    std::optional<std::int32_t>
        partition{};  ///< instead of the key's; always there when it is read
    std::string type{};
    std::string recipient{};
    std::string schema{};
    Payload payload{};
    Envelope envelope{};
    std::optional<Time> deliver_after{};
    /// Not empty: it is dropped if the channel got one with this for less than `once_for` before.
    std::string once{};
    Duration once_for{0};
    Time at{};
};

}  // namespace pawl::store
