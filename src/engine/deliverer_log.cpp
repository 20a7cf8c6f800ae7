// What the deliverer tells the log. It is told when the lock is free: its reader may publish.
#include <fmt/format.h>

#include "engine/deliverer.hpp"
#include "engine/log_records.hpp"

namespace pawl::engine {

LogRecord Deliverer::record_of(LogLevel level, LogEvent event, const Held& held) {
    return {.level = level, .event = event, .type = held.partition.channel};
}

LogRecord Deliverer::record_of(LogLevel level, LogEvent event, const Held& held,
                               const store::Message& message) {
    auto record = record_of(level, event, held);
    record.id = message.key;
    record.item = message.type;
    record.trace = message.envelope.trace;
    return record;
}

void Deliverer::log_failed(const Held& held, const store::Advance& advance,
                           const store::Message& message, int failures, Duration wait) {
    auto record = record_of(LogLevel::warning, LogEvent::attempt_failed, held, message);
    record.attempt = failures;
    record.error = *advance.error;
    record.next_at = advance.retry_at;
    record.text = fmt::format(
        "attempt {} of {} at message {} of partition {} of channel \"{}\" failed, the next one is "
        "{}: {}",
        failures, held.channel->options.policy.attempts, advance.sequence + 1, held.partition.index,
        held.partition.channel, shown_pause(wait), record.error);
    log_later(std::move(record));
}

void Deliverer::log_now() {
    std::vector<LogRecord> said;
    {
        const std::lock_guard lock{mutex_};
        said.swap(said_);
    }
    for (auto& record : said) {
        if (record.event == LogEvent::attempt_failed || record.event == LogEvent::buried)
            parts_.log.count(std::move(record));
        else
            parts_.log.say(record);
    }
}

}  // namespace pawl::engine
