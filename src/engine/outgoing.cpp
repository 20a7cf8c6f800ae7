#include "engine/outgoing.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>
#include <pawl/json.hpp>

#include "base/text.hpp"
#include "base/waits.hpp"
#include "engine/inbox_records.hpp"
#include "engine/router.hpp"
#include "store/outbox.hpp"

namespace pawl::engine {
namespace {

constexpr std::string_view reserved = "pawl.";

void check(const store::Message& message, std::size_t payload_limit) {
    base::check_id("name of a channel", message.channel);
    base::check_optional_id("key of a message", message.key);
    base::check_optional_id("deduplication key of a message", message.once);
    if (!message.once.empty() && message.once_for <= Duration::zero())
        throw Error{Code::invalid,
                    fmt::format("a message to channel \"{}\" is to be there once for no time at "
                                "all: once_for is positive",
                                message.channel)};
    base::check_optional_id("type of a message", message.type);
    base::check_optional_id("recipient of a message", message.recipient);
    base::check_optional_id("schema of a message", message.schema);
    base::check_optional_id("correlation", message.envelope.correlation);
    base::check_optional_id("conversation", message.envelope.conversation);
    base::check_optional_id("tenant", message.envelope.tenant);
    base::check_optional_id("trace", message.envelope.trace);
    if (message.partition && *message.partition < 0)
        throw Error{Code::invalid, fmt::format("a message to channel \"{}\" has partition {}: they "
                                               "are counted from 0",
                                               message.channel, *message.partition)};
    if (message.payload.bytes.size() > payload_limit)
        throw Error{Code::invalid,
                    fmt::format("a message to channel \"{}\" has {} bytes, the limit "
                                "is {} (Options::payload_limit)",
                                message.channel, message.payload.bytes.size(), payload_limit)};
}

}  // namespace

bool is_own(std::string_view name) { return name.starts_with(reserved); }

void check_not_own(std::string_view what, std::string_view name) {
    if (is_own(name))
        throw Error{Code::invalid, fmt::format("{} \"{}\": names that begin with \"{}\" are "
                                               "pawl's own",
                                               what, name, reserved)};
}

std::string inbox_channel(std::string_view type) {
    return fmt::format("{}inbox.{}", reserved, type);
}

bool is_inbox(std::string_view channel) { return channel.starts_with(inbox_channel("")); }

void check_partitions(std::string_view channel, int partitions) {
    base::check_id("name of a channel", channel);
    check_not_own("channel", channel);
    if (partitions < 1 || partitions > store::most_partitions)
        throw Error{Code::invalid, fmt::format("channel \"{}\" can't have {} partitions: 1 to {}",
                                               channel, partitions, store::most_partitions)};
}

void OutgoingBuffer::check_open() const {
    if (closed_) throw Error{Code::misuse, "the transaction is over"};
}

Uuid OutgoingBuffer::add(store::Message message) {
    check_open();
    message.id = options_.fresh_id();
    check(message, options_.payload_limit);
    messages_.push_back(std::move(message));
    return messages_.back().id;
}

Uuid OutgoingBuffer::publish(detail::OutgoingMessage from) {
    if (!options_.to_own_channels) check_not_own("channel", from.channel);
    store::Message message;
    auto& options = from.options;
    message.channel = std::move(from.channel);
    message.payload.bytes = std::move(from.payload);
    message.key = std::move(options.key);
    message.partition = options.partition;
    // What was due before all clocks began is due now.
    if (options.deliver_after > Time{}) message.deliver_after = options.deliver_after;
    message.once = std::move(options.once);
    message.once_for = base::at_most_for_ever(options.once_for);
    message.type = std::move(options.type);
    message.recipient = std::move(options.recipient);
    message.schema = std::move(options.schema);
    message.envelope.correlation = std::move(options.correlation);
    message.envelope.conversation = std::move(options.conversation);
    message.envelope.tenant = std::move(options.tenant);
    message.envelope.trace = std::move(options.trace);
    return add(std::move(message));
}

// Inputs of one instance are in one partition: they are applied in the order of the commits.
void OutgoingBuffer::post(detail::OutgoingInput input) {
    if (input.tag) input = to_router(std::move(input));
    base::check_id("instance id", input.id);
    base::check_optional_id("input id", input.options.input_id);
    auto& posted = posted_[input.type];
    if (options_.before_post) options_.before_post(input.type, posted);
    store::Message message;
    message.channel = inbox_channel(input.type);
    message.key = input.id;
    message.envelope.correlation = std::move(input.options.correlation);
    message.envelope.conversation = std::move(input.options.conversation);
    message.envelope.tenant = std::move(input.options.tenant);
    message.envelope.trace = std::move(input.options.trace);
    message.payload.bytes =
        json::encode_enveloped(records::Posted{.id = std::move(input.id),
                                               .input_id = std::move(input.options.input_id),
                                               .starts = input.starts,
                                               .input = {std::move(input.input)}});
    add(std::move(message));
    ++posted;
}

detail::OnceKey OutgoingBuffer::once(std::string_view consumer, std::string_view id) {
    check_open();
    base::check_id("id of what is done once", id);
    auto scope = fmt::format("{}once.{}", reserved, consumer);
    base::check_id("name of a consumer", consumer.empty() ? consumer : scope);
    return {.scope = std::move(scope), .id = std::string{id}, .token = options_.fresh_id()};
}

void OutgoingBuffer::add_to(store::Commit& commit) const {
    commit.messages.insert(commit.messages.end(), messages_.begin(), messages_.end());
}

}  // namespace pawl::engine
