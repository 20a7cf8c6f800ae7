/// A clock that tests can drive.
#pragma once

#include <mutex>
#include <pawl/export.hpp>
#include <pawl/time.hpp>

namespace pawl::inline v0 {

/// Tells the time. Thread-safe.
class PAWL_API Clock {
public:
    virtual ~Clock() = default;
    /// The time of day. It jumps when the clock is set.
    virtual Time now() const = 0;
    /// Monotonic time since some moment in the past; it goes on while the machine sleeps. pawl
    /// measures leases and timeouts with it.
    virtual Duration elapsed() const = 0;
};

/// The machine's own clock: `elapsed` is CLOCK_BOOTTIME.
PAWL_API const Clock& system_clock();

/// Stands still until it is moved. Thread-safe.
class ManualClock final : public Clock {
public:
    explicit ManualClock(Time start = Time{std::chrono::hours{24 * 365 * 50}}) : now_(start) {}

    Time now() const override {
        const std::lock_guard lock{mutex_};
        return now_;
    }
    Duration elapsed() const override {
        const std::lock_guard lock{mutex_};
        return elapsed_;
    }
    /// Steps the time of day, forward or back. No time has passed.
    void set(Time t) {
        const std::lock_guard lock{mutex_};
        now_ = t;
    }
    /// Time passes: both move.
    template <class Rep, class Period>
    void advance(std::chrono::duration<Rep, Period> d) {
        const std::lock_guard lock{mutex_};
        now_ += duration(d);
        elapsed_ += duration(d);
    }

private:
    mutable std::mutex mutex_;
    Time now_;
    Duration elapsed_{0};
};

}  // namespace pawl::inline v0
