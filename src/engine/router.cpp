#include "engine/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <pawl/detail/typed.hpp>
#include <pawl/error.hpp>

#include "base/text.hpp"
#include "engine/inbox_records.hpp"
#include "engine/outgoing.hpp"

namespace pawl::engine {
namespace {

// The type and the tag, as they are read. The first slash ends the type, so it has none itself.
std::string router_id(const Address& address) {
    base::check_id("tag", address.tag);
    std::string id;
    for (const char c : address.type) {
        if (c == '/')
            id += "%2F";
        else if (c == '%')
            id += "%25";
        else
            id += c;
    }
    id += '/';
    const auto most = base::longest_id - std::min(base::longest_id, id.size());
    if (address.tag.size() > most)
        throw Error{Code::invalid,
                    fmt::format("a tag of workflow \"{}\" has {} bytes: with the name "
                                "of the workflow, at most {} fit into an id",
                                address.type, address.tag.size(), most)};
    return id + address.tag;
}

// The recipient tells those who apply it that it was routed, and by what.
void hand_over(Router::Decision& decision, const Address& address, const std::string& instance,
               const Routed& routed) {
    decision.publish(
        inbox_channel(address.type),
        records::Posted{
            .id = instance, .input_id = routed.input_id, .starts = false, .input = routed.input},
        {.key = instance,
         .recipient = address.tag,
         .correlation = routed.correlation,
         .conversation = routed.conversation,
         .tenant = routed.tenant,
         .trace = routed.trace});
}

}  // namespace

void Router::evolve(const Listens& e) {
    if (!listens(e.instance)) listeners.push_back(e.instance);
    waiting.clear();
}

void Router::evolve(const ListensNoMore& e) { std::erase(listeners, e.instance); }

// What is said twice is no rejection: somebody would have to look after it.
Router::Decision Router::decide(const Listen& in) const {
    if (listeners.size() >= most_listeners && !listens(in.instance))
        return reject(
            fmt::format("\"{}\" can't listen to tag \"{}\" of workflow \"{}\": {} others "
                        "do already",
                        in.instance, in.address.tag, in.address.type, most_listeners));
    Decision decision{Listens{in.instance}};
    for (const auto& routed : waiting) hand_over(decision, in.address, in.instance, routed);
    return decision;
}

Router::Decision Router::decide(const Route& in) const {
    if (listeners.empty()) {
        if (has_room_for(in.routed)) return Waits{in.routed};
        return reject(
            fmt::format("too much waits for somebody to listen to tag \"{}\" of workflow "
                        "\"{}\": {} inputs",
                        in.address.tag, in.address.type, waiting.size()));
    }
    Decision decision{HandedOver{static_cast<int>(listeners.size())}};
    for (const auto& instance : listeners) hand_over(decision, in.address, instance, in.routed);
    return decision;
}

bool Router::listens(const std::string& instance) const {
    return std::ranges::count(listeners, instance) > 0;
}

bool Router::has_room_for(const Routed& routed) const {
    const auto add = [](std::size_t sum, const Routed& one) { return sum + one.input.text.size(); };
    const auto bytes = std::accumulate(waiting.begin(), waiting.end(), add(0, routed), add);
    return waiting.empty() || (waiting.size() < most_waiting && bytes <= most_waiting_bytes);
}

std::unique_ptr<detail::Model> router_model() {
    return std::make_unique<detail::TypedModel<Router>>(std::tuple<>{});
}

detail::OutgoingInput to_router(detail::OutgoingInput input) {
    Router::Route route{.address = {std::move(input.type), std::move(*input.tag)},
                        .routed = {.input_id = input.options.input_id,
                                   .correlation = input.options.correlation,
                                   .conversation = input.options.conversation,
                                   .tenant = input.options.tenant,
                                   .trace = input.options.trace,
                                   .input = {std::move(input.input)}}};
    auto id = router_id(route.address);
    return {.type = router_type,
            .id = std::move(id),
            .tag = {},
            .input = json::encode(Router::Input{std::move(route)}),
            .starts = false,
            .options = std::move(input.options)};
}

detail::OutgoingInput to_router(const Address& address, const std::string& instance, bool listens) {
    const auto input = listens ? Router::Input{Router::Listen{address, instance}}
                               : Router::Input{Router::Unlisten{instance}};
    return {.type = router_type,
            .id = router_id(address),
            .tag = {},
            .input = json::encode(input),
            .starts = false,
            .options = {}};
}

}  // namespace pawl::engine
