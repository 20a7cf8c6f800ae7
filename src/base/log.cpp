#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::base {
namespace {

constexpr Duration window = std::chrono::seconds{1};
// Errors that each say something else are told one by one: counting them would only cost memory.
constexpr std::size_t most_kinds = 256;

}  // namespace

void Log::say(const LogRecord& record) const noexcept {
    if (!callback_) return;
    try {
        callback_(record);
    } catch (...) {
        // There is nobody left to tell.
    }
}

void Log::say(LogLevel level, LogEvent event, std::string text) const noexcept {
    say(LogRecord{.level = level, .event = event, .text = std::move(text)});
}

void Log::count(LogRecord record) noexcept try {
    if (!callback_) return;
    const auto counted = add(record);
    if (counted == Counting::no) say(record);
    if (counted == Counting::begins && wanted_) wanted_();
} catch (...) {
    // A record that can't be built is lost; what it tells of is not.
}

Log::Counting Log::add(const LogRecord& record) {
    const auto now = clock_.elapsed();
    const std::lock_guard lock{mutex_};
    if (counted_.size() >= most_kinds)
        std::erase_if(counted_, [&](const auto& entry) {
            return entry.second.more == 0 && entry.second.ends_at <= now;
        });
    const Key key{record.event, record.type, record.item, record.error};
    const auto at = counted_.find(key);
    if (at == counted_.end()) {
        if (counted_.size() < most_kinds) counted_.emplace(key, Counted{.ends_at = now + window});
        return Counting::no;
    }
    auto& counted = at->second;
    if (counted.more == 0 && counted.ends_at <= now) {
        counted.ends_at = now + window;
        return Counting::no;
    }
    counted.last = record;
    return ++counted.more == 1 ? Counting::begins : Counting::goes_on;
}

std::vector<LogRecord> Log::take(Duration ended_by) {
    std::vector<LogRecord> records;
    const std::lock_guard lock{mutex_};
    for (auto& [key, counted] : counted_) {
        if (counted.more == 0 || counted.ends_at > ended_by) continue;
        auto& record = records.emplace_back(std::move(counted.last));
        record.count = std::exchange(counted.more, 0);
        if (record.count > 1) record.text += fmt::format(" ({} like this)", record.count);
        counted.ends_at += window;  // one that goes on is told once a second
    }
    return records;
}

Pause Log::step() noexcept try {
    const auto now = clock_.elapsed();
    for (const auto& record : take(now)) say(record);
    Pause pause;
    const std::lock_guard lock{mutex_};
    for (const auto& [key, counted] : counted_)
        if (counted.more > 0)
            pause = std::min(pause.value_or(window), std::max(counted.ends_at - now, Duration{0}));
    return pause;
} catch (...) {
    return window;
}

void Log::flush() noexcept try {
    for (const auto& record : take(Duration::max())) say(record);
} catch (...) {
    // There is no memory for them.
}

}  // namespace pawl::base

namespace pawl::inline v0 {

const char* name(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error";
    }
    return "?";
}

const char* name(LogEvent event) {
    switch (event) {
        case LogEvent::attempt_failed:
            return "attempt_failed";
        case LogEvent::run_failed:
            return "run_failed";
        case LogEvent::buried:
            return "buried";
        case LogEvent::partition_stopped:
            return "partition_stopped";
        case LogEvent::put_off:
            return "put_off";
        case LogEvent::handler_late:
            return "handler_late";
        case LogEvent::ownership_lost:
            return "ownership_lost";
        case LogEvent::journal_limit:
            return "journal_limit";
        case LogEvent::store_failed:
            return "store_failed";
        case LogEvent::callback_threw:
            return "callback_threw";
    }
    return "?";
}

}  // namespace pawl::inline v0
