#include "engine/drafting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>
#include <pawl/json.hpp>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "base/waits.hpp"

namespace pawl::engine {
namespace {

struct TimerCancelled {
    std::string key;
};

void check_size(const char* what, const detail::Encoded& value, std::size_t limit) {
    if (value.bytes.size() > limit)
        throw Error{Code::invalid,
                    fmt::format("{} {} has {} bytes, the limit is {} (Options::payload_limit)",
                                what, value.name, value.bytes.size(), limit)};
}

store::Event event_of(std::string name, std::string bytes, store::EventKind kind,
                      const DraftingContext& context) {
    store::Event event;
    event.id = base::uuid7(context.now, context.random);
    event.name = std::move(name);
    event.payload.bytes = std::move(bytes);
    event.kind = kind;
    return event;
}

}  // namespace

store::Append append_of(detail::Draft draft, const DraftingContext& context) {
    store::Append append;
    append.events.reserve(draft.events.size() + draft.cancels.size());
    for (auto& e : draft.events) {
        check_size("event", e, context.payload_limit);
        append.events.push_back(
            event_of(std::move(e.name), std::move(e.bytes), store::EventKind::user, context));
    }
    for (auto& key : draft.cancels) {
        base::check_id("timer key", key);
        append.events.push_back(event_of(timer_cancelled, json::encode(TimerCancelled{key}),
                                         store::EventKind::engine, context));
        append.cancels.push_back(std::move(key));
    }
    append.puts.reserve(draft.effects.size() + draft.timers.size());
    for (auto& e : draft.effects) {
        check_size("effect", e, context.payload_limit);
        auto& put = append.puts.emplace_back();
        put.kind = store::ItemKind::effect;
        put.name = std::move(e.name);
        put.payload.bytes = std::move(e.bytes);
    }
    for (auto& t : draft.timers) {
        check_size("timer", t.input, context.payload_limit);
        base::check_optional_id("timer key", t.key);
        auto& put = append.puts.emplace_back();
        put.kind = store::ItemKind::timer;
        put.name = std::move(t.input.name);
        put.key = std::move(t.key);
        put.payload.bytes = std::move(t.input.bytes);
        if (t.at) put.at = std::max(*t.at, Time{});  // what has passed is due, however long ago
        put.after = std::max(base::at_most_for_ever(t.after), Duration::zero());
    }
    append.finished = draft.finished;
    return append;
}

std::string correlation_of(const store::Envelope& item) {
    return item.correlation.empty() ? item.causation.text() : item.correlation;
}

std::string effect_key(const store::Item& item) {
    // Neither can contain a NUL: two instances never share a key.
    return idempotency_key({.process = item.instance.type + '\0' + item.instance.id,
                            .step = std::to_string(item.sequence),
                            .recipient = std::to_string(item.index),
                            .version = "1"})
        .text();
}

}  // namespace pawl::engine
