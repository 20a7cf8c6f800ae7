/// A one-shot signal that a caller waits for with a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pawl/time.hpp>

#include "base/waits.hpp"

namespace pawl::base {

/// Thread-safe. Can be set again after it was waited for.
class Latch {
public:
    void set() {
        // Notified under the lock: the waiter may destroy the latch as soon as it sees it set.
        const std::lock_guard lock{mutex_};
        set_ = true;
        changed_.notify_all();
    }

    /// True once it is set; false when `timeout` passed first. Resets it.
    bool wait_for(Duration timeout) {
        std::unique_lock lock{mutex_};
        const bool was_set =
            changed_.wait_for(lock, at_most_for_ever(timeout), [&] { return set_; });
        set_ = false;
        return was_set;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool set_ = false;
};

/// Time left of a wait, by a clock that nobody sets.
class Countdown {
public:
    explicit Countdown(Duration total) : end_(Clock::now() + at_most_for_ever(total)) {}
    Duration left() const {
        const auto rest = std::chrono::ceil<Duration>(end_ - Clock::now());
        return rest > Duration::zero() ? rest : Duration::zero();
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point end_;
};

}  // namespace pawl::base
