/// The way from the engine's parts to the user's log.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <pawl/clock.hpp>
#include <pawl/log.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/loop.hpp"

namespace pawl::base {

/// Thread-safe. What the user's callback throws is dropped: there is nobody left to tell.
class Log {
public:
    using Callback = std::function<void(const LogRecord&)>;
    Log(Callback callback, const Clock& clock) : callback_(std::move(callback)), clock_(clock) {}

    /// Whether anybody reads it: a part need not build a record for nobody.
    bool is_read() const { return static_cast<bool>(callback_); }
    void say(const LogRecord& record) const noexcept;
    void say(LogLevel level, LogEvent event, std::string text) const noexcept;
    /// Of a failure that may come thousands of times a second. The first is told at once; equal
    /// ones within a second are one record, which `step` tells when the second is over. Equal is
    /// what differs in the id, the attempt, the times and the trace only.
    void count(LogRecord record) noexcept;

    /// Tells what was counted. Returns when there is more to tell.
    Pause step() noexcept;
    /// Tells what was counted, also before its second is over.
    void flush() noexcept;
    /// Called when `step` must be called again.
    void on_wanted(std::function<void()> wanted) { wanted_ = std::move(wanted); }

private:
    using Key = std::tuple<LogEvent, std::string, std::string, std::string>;
    struct Counted {
        Duration ends_at{0};
        int more = 0;  ///< after the one that was told
        LogRecord last = {};
    };
    /// Whether a record is counted instead of told at once.
    enum class Counting : std::uint8_t { no, begins, goes_on };
    Counting add(const LogRecord& record);
    std::vector<LogRecord> take(Duration ended_by);

    const Callback callback_;
    const Clock& clock_;
    std::function<void()> wanted_;
    std::mutex mutex_;
    std::map<Key, Counted> counted_;
};

}  // namespace pawl::base
