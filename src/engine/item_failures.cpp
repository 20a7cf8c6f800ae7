// Attempts at effects and timers that failed: tried again, or buried; and the log of it.
#include <fmt/format.h>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "engine/dispatcher.hpp"
#include "engine/log_records.hpp"

namespace pawl::engine {

void Dispatcher::failed(const HeldPtr& held, std::string_view message, bool permanent) {
    const auto& item = held->item;
    const auto error = base::readable(message);  // what exceptions say may be any bytes
    const auto& policy = held->lane->policy;
    if (permanent) return bury(held, error);
    // A claim that was lost with its process is no attempt that failed: `losses` bounds those.
    const int spoken = item.attempts - item.losses;
    if (spoken >= policy.attempts)
        return bury(held,
                    fmt::format("attempt {} of {} failed: {}", spoken, policy.attempts, error));
    if (parts_.store.now() - item.created_at >= policy.age)
        return bury(held, fmt::format("it is too old to be tried again: {}", error));
    const auto pause = base::backoff(policy, spoken, parts_.random);
    auto record = record_of(LogLevel::warning, LogEvent::attempt_failed, item);
    record.attempt = spoken;
    record.error = error;
    record.next_at = parts_.store.now() + pause;
    record.text = fmt::format("attempt {} of {} at {} failed, the next one is {}: {}", spoken,
                              policy.attempts, shown(item), shown_pause(pause), error);
    parts_.log.count(std::move(record));
    settle(held, {.item = item.id,
                  .fence = item.fence,
                  .verdict = store::Verdict::retry,
                  .retry_after = pause,
                  .reason = error});
}

void Dispatcher::bury(const HeldPtr& held, const std::string& reason) {
    const auto& item = held->item;
    auto record = record_of(LogLevel::error, LogEvent::buried, item);
    record.error = reason;
    record.text = fmt::format("{} is buried: {}", shown(item), reason);
    parts_.log.count(std::move(record));
    const store::Settlement word{
        .item = item.id, .fence = item.fence, .verdict = store::Verdict::bury, .reason = reason};
    std::unique_ptr<detail::Asked> input;
    try {
        if (item.line.kind == store::ItemKind::effect)
            input = held->lane->workflow->model->failed(item.line.name, item.payload.bytes, reason,
                                                        item.attempts);
    } catch (const std::exception& e) {
        log_untold(held, e.what());
    } catch (...) {
        log_untold(held, "something that is not a std::exception");
    }
    if (input)
        send(held, std::move(input), word);
    else
        settle(held, word);
}

void Dispatcher::log_untold(const HeldPtr& held, std::string_view why) const {
    auto record = record_of(LogLevel::error, LogEvent::callback_threw, held->item);
    record.error = base::readable(why);
    record.text = fmt::format("the workflow can't be told that {} is buried: {}", shown(held->item),
                              record.error);
    parts_.log.say(record);
}

void Dispatcher::log_taken_over(const HeldPtr& held) const {
    auto record = record_of(LogLevel::warning, LogEvent::ownership_lost, held->item);
    record.text = fmt::format(
        "the claim of {} had been taken over, or the timer replaced: its result changes nothing",
        shown(held->item));
    parts_.log.say(record);
}

}  // namespace pawl::engine
