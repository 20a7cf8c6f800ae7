#include "base/slots.hpp"

namespace pawl::base {

std::size_t Slots::away() const {
    const std::lock_guard lock{mutex_};
    return away_;
}

void Slots::want_room() {
    {
        const std::lock_guard lock{mutex_};
        is_room_wanted_ = away_ < many();
        if (is_room_wanted_) return;
    }
    if (room_) room_();
}

void Slots::lift_limit(bool is_lifted) {
    {
        const std::lock_guard lock{mutex_};
        is_lifted_ = is_lifted;
    }
    given_back_.notify_all();
}

void Slots::take() {
    std::unique_lock lock{mutex_};
    given_back_.wait(lock, [&] { return taken_ < limit_ || is_lifted_; });
    ++taken_;
}

void Slots::give_back() {
    {
        const std::lock_guard lock{mutex_};
        --taken_;
    }
    given_back_.notify_one();
}

void Slots::leave() {
    bool tell = false;
    {
        const std::lock_guard lock{mutex_};
        --taken_;
        ++away_;
        tell = is_room_wanted_ && away_ >= many();
        if (tell) is_room_wanted_ = false;
    }
    given_back_.notify_one();
    if (tell && room_) room_();
}

void Slots::come_back() {
    std::unique_lock lock{mutex_};
    --away_;
    given_back_.wait(lock, [&] { return taken_ < limit_ || is_lifted_; });
    ++taken_;
}

void Slots::end_away() {
    const std::lock_guard lock{mutex_};
    --away_;
}

}  // namespace pawl::base
