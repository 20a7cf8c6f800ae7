#include "engine/exclusive_turn.hpp"

namespace pawl::engine {

bool ExclusiveTurn::enter(Part part) {
    const std::lock_guard lock{mutex_};
    if (taken_by_ && *taken_by_ != part) return false;
    ++running_[index(part)];
    return true;
}

void ExclusiveTurn::add(Part part) {
    const std::lock_guard lock{mutex_};
    ++running_[index(part)];
}

void ExclusiveTurn::leave(Part part) {
    {
        const std::lock_guard lock{mutex_};
        if (--running_[index(part)] > 0 || !taken_by_ || *taken_by_ == part) return;
    }
    if (wake_) wake_();
}

bool ExclusiveTurn::take(Part part) {
    const std::lock_guard lock{mutex_};
    if (taken_by_ && *taken_by_ != part) return false;
    taken_by_ = part;
    return true;
}

void ExclusiveTurn::give_back(Part part) {
    {
        const std::lock_guard lock{mutex_};
        if (taken_by_ != part) return;
        taken_by_.reset();
    }
    if (wake_) wake_();
}

bool ExclusiveTurn::is_other_idle(Part part) const {
    const std::lock_guard lock{mutex_};
    return running_[other(part)] == 0;
}

}  // namespace pawl::engine
