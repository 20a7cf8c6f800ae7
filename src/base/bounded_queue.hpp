/// A queue that makes its producers wait when it is full.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <pawl/time.hpp>
#include <utility>
#include <vector>

#include "base/waits.hpp"

namespace pawl::base {

/// Many producers, one consumer at a time. Thread-safe.
template <class T>
class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

    /// False, and `value` untouched, if there was no room within `timeout`. `turn` is that of the
    /// next `take` that finds something: it takes the value unless it stops before.
    bool push(T& value, Duration timeout, std::uint64_t* turn = nullptr) {
        std::unique_lock lock{mutex_};
        if (size() >= capacity_ &&
            !room_.wait_for(lock, at_most_for_ever(timeout), [&] { return size() < capacity_; }))
            return false;
        values_.push_back(std::move(value));
        if (turn) *turn = turn_;
        return true;
    }

    /// Moves values to the end of `out` while `fits` says so. Returns its turn, if it found any.
    template <class Fits>
    std::optional<std::uint64_t> take(std::vector<T>& out, Fits fits) {
        bool was_full = false;
        std::uint64_t turn = 0;
        {
            const std::lock_guard lock{mutex_};
            if (size() == 0) return std::nullopt;
            turn = turn_++;
            was_full = size() >= capacity_;
            while (head_ < values_.size() && fits(values_[head_]))
                out.push_back(std::move(values_[head_++]));
            if (head_ == values_.size()) {
                values_.clear();
                head_ = 0;
            } else if (head_ > capacity_) {
                values_.erase(values_.begin(), values_.begin() + static_cast<long>(head_));
                head_ = 0;
            }
        }
        if (was_full) room_.notify_all();
        return turn;
    }

    bool empty() const { return count() == 0; }
    std::size_t count() const {
        const std::lock_guard lock{mutex_};
        return size();
    }

    /// Of the next `take` that finds something.
    std::uint64_t turn() const {
        const std::lock_guard lock{mutex_};
        return turn_;
    }

private:
    std::size_t size() const { return values_.size() - head_; }

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::condition_variable room_;
    std::vector<T> values_;
    std::size_t head_ = 0;
    std::uint64_t turn_ = 0;
};

}  // namespace pawl::base
