// Runs that have failed, or that this process can't go on with now.
#include <fmt/format.h>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "engine/log_records.hpp"
#include "engine/runs.hpp"

namespace pawl::engine {
namespace {

// A run that no process here can go on with is offered again after this long, then longer.
constexpr Policy while_code_is_replaced{
    .base = std::chrono::seconds{1}, .cap = std::chrono::minutes{1}, .jitter = 0};
constexpr Policy after_failure{
    .base = std::chrono::milliseconds{200}, .cap = std::chrono::minutes{1}, .jitter = 0.5};

}  // namespace

void Runs::log_failed(const store::Item& item, const std::string& error) const {
    auto record = record_of(LogLevel::warning, LogEvent::run_failed, item);
    record.error = error;
    record.text = fmt::format("{} has failed: {}", shown(item), error);
    parts_.log.count(std::move(record));
}

void Runs::put_off(const HeldPtr& held, const std::string& why) {
    const auto pause = base::backoff(while_code_is_replaced, held->item.attempts, parts_.random);
    auto record = record_of(LogLevel::error, LogEvent::put_off, held->item);
    record.next_at = parts_.store.now() + pause;
    record.error = base::readable(why);
    record.text = record.error;
    parts_.log.count(std::move(record));
    offer_again(held, why, pause);
}

// What has failed now may fail again at once. A process that stops leaves it to the others.
void Runs::try_later(const HeldPtr& held, const std::string& why) {
    const auto pause = base::backoff(after_failure, held->item.attempts, parts_.random);
    auto record = record_of(LogLevel::warning, LogEvent::put_off, held->item);
    record.next_at = parts_.store.now() + pause;
    record.error = base::readable(why);
    record.text = fmt::format("{} can't go on in the engine, it is tried again {}: {}",
                              shown(held->item), shown_pause(pause), record.error);
    parts_.log.count(std::move(record));
    if (!is_stopping(held->is_lent)) return offer_again(held, why, pause);
    waiters_.left(held->item.instance);
    parts_.dispatcher.give_back({held});
}

void Runs::offer_again(const HeldPtr& held, const std::string& why, Duration pause) {
    waiters_.left(held->item.instance);
    parts_.dispatcher.settle(held, {.item = held->item.id,
                                    .fence = held->item.fence,
                                    .verdict = store::Verdict::retry,
                                    .retry_after = pause,
                                    .reason = base::readable(why)});
}

}  // namespace pawl::engine
