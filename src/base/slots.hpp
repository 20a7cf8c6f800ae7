/// How many threads do something at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace pawl::base {

/// Thread-safe. One who works has a slot, and leaves it while he waits for something that needs no
/// processor: those who wait keep nobody from working.
class Slots {
public:
    explicit Slots(std::size_t limit) : limit_(limit) {}

    std::size_t limit() const { return limit_; }
    /// How many have left their slot for a while.
    std::size_t away() const;
    /// Asks to be told, once, when many slots have been left.
    void want_room();
    void on_room(std::function<void()> room) { room_ = std::move(room); }
    /// While it is lifted nobody waits for a slot: an engine that stops lets them go.
    void lift_limit(bool is_lifted);

private:
    friend class Slot;
    void take();
    void give_back();
    void leave();
    void come_back();
    void end_away();
    std::size_t many() const { return limit_ / 4 + 1; }

    const std::size_t limit_;
    std::function<void()> room_;
    mutable std::mutex mutex_;
    std::condition_variable given_back_;
    std::size_t taken_ = 0;
    std::size_t away_ = 0;
    bool is_lifted_ = false;
    bool is_room_wanted_ = false;
};

/// The slot of one thread. Without `slots` it works whatever the others do.
class Slot {
public:
    explicit Slot(Slots* slots) : slots_(slots) {
        if (slots_) slots_->take();
    }
    ~Slot() {
        if (slots_) is_away_ ? slots_->end_away() : slots_->give_back();
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    void leave() {
        if (slots_ && !std::exchange(is_away_, true)) slots_->leave();
    }
    /// Waits until there is one.
    void come_back() {
        if (slots_ && std::exchange(is_away_, false)) slots_->come_back();
    }

private:
    Slots* const slots_;
    bool is_away_ = false;
};

}  // namespace pawl::base
