// When the deliverer has something to do: as it was told, and by itself.
#include <algorithm>

#include "engine/deliverer.hpp"

namespace pawl::engine {

void Deliverer::heard() {
    {
        const std::lock_guard lock{mutex_};
        if (stopping_ || channels_.empty()) return;
        Time wanted_at = own_at_;
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
                own_at_ = Time{};
    }
    heard();
}

void Deliverer::published_by_others() {
    {
        const std::lock_guard lock{mutex_};
        own_at_ = Time{};
    }
    heard();
}

base::Pause Deliverer::next_pause(Time now) {
    const std::lock_guard lock{mutex_};
    Time next = stopping_ ? Time::max() : own_at_;
    if (!stopping_)
        for (const auto& channel : channels_) next = std::min(next, next_look(*channel));
    for (const auto& [partition, held] : held_) {
        if (held->running) {
            next = std::min(next, held->deadline);
            continue;
        }
        if (!held->is_ready()) continue;
        const Time soon = next_move(*held->channel);
        if (held->ended) next = std::min(next, soon);
        if (stopping_ || held->stopped) continue;
        if (held->retry_at)
            next = std::min(next, *held->retry_at);
        else if (!held->batch.empty() || held->may_have_more)
            next = std::min(next, soon);
        if (held->next_due) next = std::min(next, *held->next_due);
    }
    wakes_at_ = next;
    if (next == Time::max()) return std::nullopt;
    return std::max(next - now, Duration::zero());
}

}  // namespace pawl::engine
