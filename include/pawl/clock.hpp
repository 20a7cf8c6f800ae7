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
    virtual Time now() const = 0;
};

/// The machine's own clock.
PAWL_API const Clock& system_clock();

/// Stands still until it is moved. Thread-safe.
class ManualClock final : public Clock {
public:
    explicit ManualClock(Time start = Time{std::chrono::hours{24 * 365 * 50}}) : now_(start) {}

    Time now() const override {
        const std::lock_guard lock{mutex_};
        return now_;
    }
    void set(Time t) {
        const std::lock_guard lock{mutex_};
        now_ = t;
    }
    template <class Rep, class Period>
    void advance(std::chrono::duration<Rep, Period> d) {
        const std::lock_guard lock{mutex_};
        now_ += duration(d);
    }

private:
    mutable std::mutex mutex_;
    Time now_;
};

}  // namespace pawl::inline v0
