/// Messages: published in a transaction, delivered in order, at least once.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/delivery.hpp>
#include <pawl/policy.hpp>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <vector>

namespace pawl::inline v0 {

/// How long it is remembered that something was done, unless said otherwise.
inline constexpr Duration once_window = std::chrono::hours{24 * 7};

/// Of one message.
struct PublishOptions {
    /// A message that was committed before another with the same key was published is delivered
    /// first. Messages of overlapping transactions come in either order.
    std::string key{};
    /// The partition itself, instead of a key. Without either, messages are spread.
    std::optional<int> partition{};
    /// Not before this, by the store's clock.
    std::optional<Time> deliver_after{};
    /// Deduplication: while `once_for` lasts, a channel takes one message with this, and drops the
    /// others. What is dropped counts as delivered.
    std::string once{};
    Duration once_for = once_window;
    std::string type{};  ///< empty: the name of the value's type
    std::string recipient{};
    std::string schema{};  ///< a URL that says what the payload looks like
    std::string correlation{};
    std::string conversation{};
    std::string tenant{};
    std::string trace{};  ///< W3C traceparent
};

/// What a handler is told about a message. `key` is the idempotency key, the same at every attempt;
/// `type` the message's, and `id` its key as it was published.
struct Received : Delivery {
    std::string channel{};
    int partition = 0;
    std::int64_t sequence = 0;  ///< in its partition: 1, 2, 3, ...
    Uuid message{};             ///< what `publish` returned
    std::string recipient{};
    std::string schema{};
};

/// What becomes of the first message of a partition when its attempts are used up.
enum class Poison {
    bury,  ///< it becomes a dead message, and those behind it go on
    stop,  ///< nothing of the partition is delivered until `Engine::resume`
};

/// How a channel is delivered. Every number can be set; `low_latency()` and the others are good
/// beginnings.
struct SubscribeOptions {
    /// Of the channel. 0: as many as it has, or 16 if it is new. Another number than it has is an
    /// error.
    int partitions = 0;
    /// Messages of a partition that are taken at a time. After a failure it is one, until it goes
    /// well again.
    std::size_t batch = 100;
    /// No more of them once their payloads have so many bytes, so that what is held in memory is
    /// bounded, also where messages are large.
    std::size_t batch_bytes = 1024 * 1024;
    /// Its `at_once` has no meaning here and must be 0: a partition is delivered by one handler at
    /// a time.
    Policy policy{};
    /// How long a handler may go on after it was asked to stop (Policy::deadline). Then others
    /// deliver its partition.
    Duration grace = std::chrono::seconds{30};
    Poison poison = Poison::bury;
    /// How long to wait at least between two looks for new messages. Those that come meanwhile are
    /// taken together.
    Duration gather{0};
    /// How often to look when nobody tells that there is something.
    Duration poll = std::chrono::seconds{1};
};

/// Few at a time, as soon as they are there.
inline SubscribeOptions low_latency() {
    return {.batch = 10, .policy = {.base = std::chrono::milliseconds{100}}};
}
inline SubscribeOptions balanced() { return {}; }
inline SubscribeOptions high_throughput() {
    return {.batch = 1000, .gather = std::chrono::milliseconds{20}};
}
/// For what may wait: few looks, large batches.
inline SubscribeOptions relaxed() {
    return {.batch = 1000, .gather = std::chrono::seconds{1}, .poll = std::chrono::seconds{10}};
}

/// What has become of a message.
enum class MessageStatus { waiting, delivered, dead };

/// Where a partition stands.
struct PartitionDepth {
    int partition = 0;
    std::int64_t sequence = 0;  ///< of the last message that is done
    std::int64_t waiting = 0;   ///< messages that are not done
    Duration lag{0};            ///< of the oldest of them, since it was due
    int attempts = 0;           ///< begun at the next one
    std::optional<std::string> error{};
    bool stopped = false;  ///< see Poison
};

/// A channel as a whole, at one moment.
struct ChannelStatistics {
    Time at{};
    std::int64_t published = 0;  ///< since it is there
    std::int64_t delivered = 0;  ///< of those; buried ones among them
    std::int64_t waiting = 0;    ///< the others
    Duration lag{0};             ///< of the oldest that waits
    int stopped = 0;             ///< partitions (Poison::stop)
};

/// Messages in a second, between two looks at a channel.
struct ChannelRates {
    double published = 0;
    double delivered = 0;
};
inline ChannelRates rates(const ChannelStatistics& before, const ChannelStatistics& after) {
    const auto seconds = std::chrono::duration<double>(after.at - before.at).count();
    if (seconds <= 0) return {};
    return {.published = static_cast<double>(after.published - before.published) / seconds,
            .delivered = static_cast<double>(after.delivered - before.delivered) / seconds};
}

/// pending, then reprocessing until it is resolved, or its time is over and it is pending again; or
/// discarded. An input of the inbox that its instance refused is rejected: nothing is to be done.
enum class DeadMessageStatus { pending, reprocessing, resolved, discarded, rejected };

/// A message that was not delivered.
struct DeadMessage {
    std::int64_t number = 0;  ///< by which it is named
    Uuid message{};
    std::string channel{};
    int partition = 0;
    std::int64_t sequence = 0;
    std::string key{};
    std::string type{};
    std::string payload{};  ///< JSON
    int attempts = 0;
    std::string reason{};
    Time published_at{};
    Time died_at{};
    DeadMessageStatus status = DeadMessageStatus::pending;
    std::optional<Time> until{};  ///< while it is reprocessed
};

/// Which dead messages. Empty fields do not filter.
struct DeadMessageQuery {
    std::string channel{};
    std::optional<int> partition{};
    std::string type{};
    std::string reason{};  ///< a part of it
    std::optional<Time> died_from{};
    std::optional<Time> died_before{};
    std::optional<DeadMessageStatus> status{};
    std::vector<std::int64_t> messages{};  ///< their numbers
    std::int64_t after = 0;
    std::size_t limit = 100;
};

}  // namespace pawl::inline v0
