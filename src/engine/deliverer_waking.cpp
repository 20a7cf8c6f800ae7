// When the deliverer has something to do: as it was told, and by itself.
#include <algorithm>

#include "engine/deliverer.hpp"

namespace pawl::engine {

void Deliverer::heard() {
    {
        const std::lock_guard lock{mutex_};
        if (stopping_ || channels_.empty()) return;
        auto wanted_at = own_at_;
        for (auto& channel : channels_) {
            channel->told = true;
            wanted_at = std::min(wanted_at, next_look(*channel));
        }
        if (wanted_at >= wakes_at_) return;
    }
    if (wanted_) wanted_();
}

void Deliverer::published(std::span<const store::Message> messages) {
    {
        const std::lock_guard lock{mutex_};
        for (const auto& channel : channels_)
            if (!channel->is_there &&
                std::ranges::count(messages, channel->name, &store::Message::channel) > 0)
                own_at_ = long_ago;
    }
    heard();
}

void Deliverer::published_by_others() {
    {
        const std::lock_guard lock{mutex_};
        own_at_ = long_ago;
    }
    heard();
}

base::Pause Deliverer::next_pause(Now now) {
    const std::lock_guard lock{mutex_};
    auto next = stopping_ ? Duration::max() : own_at_;
    if (!stopping_)
        for (const auto& channel : channels_) next = std::min(next, next_look(*channel));
    for (const auto& [partition, held] : held_) {
        if (held->running) {
            next = std::min(next, held->deadline);
            continue;
        }
        if (!held->is_ready()) continue;
        const auto soon = next_move(*held->channel);
        if (held->ended) next = std::min(next, soon);
        if (stopping_ || held->stopped) continue;
        if (alone_ != Alone::no || !begins_) continue;
        if (wants_alone(*held) && alone_again_at_ > now.at)
            next = std::min(next, alone_again_at_);
        else if (held->retries_at)
            next = std::min(next, *held->retries_at);
        else if (!held->batch.empty() || held->may_have_more)
            next = std::min(next, soon);
        const bool is_looked_at = held->batch.empty() && !held->may_have_more;
        if (is_looked_at && held->next_due && *held->next_due - now.due < base::for_ever)
            next = std::min(next, now.at + (*held->next_due - now.due));
    }
    if (alone_ != Alone::no) next = std::min(next, alone_since_ + options_.lease);
    // The one that was alone has returned: it goes on, or makes room.
    if (alone_ == Alone::running && !sole_->running)
        next = std::min(next, next_move(*sole_->channel));
    wakes_at_ = next;
    if (next == Duration::max()) return std::nullopt;
    return std::max(next - now.at, Duration::zero());
}

}  // namespace pawl::engine
