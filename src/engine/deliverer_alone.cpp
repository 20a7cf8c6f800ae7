// How the deliverer delivers messages that may have ended their process: one at a time, alone.
#include <algorithm>
#include <utility>

#include "engine/deliverer.hpp"

namespace pawl::engine {
namespace {

constexpr auto part = ExclusiveTurn::Part::messages;

// One loss has no consequence: processes end for many reasons.
constexpr std::int32_t suspicious_losses = 2;

}  // namespace

bool Deliverer::wants_alone(const Held& held) const {
    return !held.batch.empty() && held.losses >= suspicious_losses && !held.beside &&
           held.losses_alone < options_.losses;
}

// Before `next_moves`, without the lock: it asks the store. The others go on beside a handler that
// takes long, so its loss would not be one that was suffered alone.
void Deliverer::end_long_alone(Duration now) {
    HeldPtr late;
    {
        const std::lock_guard lock{mutex_};
        if (alone_ == Alone::running && sole_->running && now - alone_since_ >= options_.lease)
            late = sole_;
    }
    if (!late) return;
    parts_.store.outbox().accompany(late->partition, late->fence);
    const std::lock_guard lock{mutex_};
    end_alone();
    alone_again_at_ = now + options_.lease;
}

// With the lock held.
void Deliverer::end_alone() {
    if (std::exchange(alone_, Alone::no) == Alone::no) return;
    sole_.reset();
    progressed_ = true;
    parts_.turn.give_back(part);
}

// With the lock held. Decides whether one of the partitions is delivered alone now.
void Deliverer::arrange_alone(Duration now) {
    if (alone_ == Alone::running) {
        if (sole_->running || (sole_->ended && !sole_->lost && !sole_->gives_up)) return;
        alone_ = Alone::draining;
        alone_since_ = now;
        sole_.reset();
    }
    std::vector<HeldPtr> wanting;
    for (const auto& [partition, held] : held_)
        if (held->is_ready() && !held->ended && !held->leaves && !held->stopped &&
            !(held->retries_at && *held->retries_at > now) && wants_alone(*held))
            wanting.push_back(held);
    if (wanting.empty() || stopping_) return end_alone();
    if (alone_ == Alone::no) {
        if (now < alone_again_at_ || !parts_.turn.take(part)) return;
        alone_ = Alone::draining;
        alone_since_ = now;
    }
    if (running_ == 0 && parts_.turn.is_other_idle(part)) {
        alone_ = Alone::running;
        alone_since_ = now;
        sole_ = wanting.front();
        return;
    }
    if (now - alone_since_ < options_.lease) return;
    // Something takes long. The next try comes later; until a message was lost very often, it is
    // delivered beside the others, so that its partition does not stand still for ever.
    for (const auto& held : wanting)
        held->beside = held->losses < held->channel->options.policy.attempts;
    end_alone();
    alone_again_at_ = now + options_.lease;
}

}  // namespace pawl::engine
