/// What a transaction gives to the engine beside the user's own SQL.
#pragma once

#include <optional>
#include <pawl/detail/sql.hpp>
#include <pawl/json.hpp>
#include <pawl/options.hpp>
#include <pawl/outbox.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace pawl::inline v0 {

template <class W>
class Workflow;
template <class In, class Out>
class Function;

}  // namespace pawl::inline v0

namespace pawl::inline v0::detail {

struct OutgoingMessage {
    std::string channel{};
    std::string payload{};
    PublishOptions options{};  ///< `type` is set
};

/// The name of its type on the wire; of a variant, that of what it holds.
template <class T>
std::string message_type(const T& value) {
    if constexpr (requires { std::variant_size<T>::value; })
        return std::visit([](const auto& held) { return message_type(held); }, value);
    else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>)
        return std::string{reflect::tag<T>()};
    else
        return {};
}

/// A value as a message; its type is the name on the wire, unless another one is given.
template <class T>
OutgoingMessage outgoing_message(std::string_view channel, const T& value, PublishOptions options) {
    static_assert(json::travels<T>, "pawl: a message can't travel as JSON");
    if (options.type.empty()) options.type = message_type(value);
    return {.channel = std::string{channel},
            .payload = json::encode(value),
            .options = std::move(options)};
}

template <class T, class F>
std::vector<OutgoingMessage> outgoing_messages(std::string_view channel,
                                               const std::vector<T>& values, F& options) {
    std::vector<OutgoingMessage> messages;
    messages.reserve(values.size());
    for (const auto& value : values)
        messages.push_back(outgoing_message(channel, value, options(value)));
    return messages;
}

/// An input for a workflow, or the start of a run.
struct OutgoingInput {
    std::string type{};
    std::string id{};
    std::optional<std::string> tag{};  ///< instead of an id: for those who listen to it
    std::string input{};               ///< encoded
    bool starts = false;
    SendOptions options{};
};

/// That an instance listens to a tag from now on, or no longer.
struct Listening {
    std::string tag{};
    bool listens = true;
};

template <class W, class I>
OutgoingInput outgoing_input(const Workflow<W>& workflow, std::string_view id, const I& input,
                             SendOptions options) {
    return {.type = workflow.name(),
            .id = std::string{id},
            .input = json::encode(typename W::Input(input)),
            .options = std::move(options)};
}

template <class W, class I>
OutgoingInput outgoing_route(const Workflow<W>& workflow, std::string_view tag, const I& input,
                             SendOptions options) {
    auto outgoing = outgoing_input(workflow, {}, input, std::move(options));
    outgoing.tag = std::string{tag};
    return outgoing;
}

template <class In, class Out, class I>
OutgoingInput outgoing_start(const Function<In, Out>& function, std::string_view id,
                             const I& input) {
    return {.type = function.name(),
            .id = std::string{id},
            .input = json::encode(In(input)),
            .starts = true};
}

/// Collects; nothing happens before the commit.
class Outgoing {
public:
    virtual Uuid publish(OutgoingMessage message) = 0;
    virtual void post(OutgoingInput input) = 0;
    /// What is asked of the database when a consumer wants to know whether it is the first.
    virtual OnceKey once(std::string_view consumer, std::string_view id) = 0;

protected:
    ~Outgoing() = default;
};

}  // namespace pawl::inline v0::detail
