// How the dispatcher performs items that may have ended their process: one at a time, alone.
#include "base/points.hpp"
#include "engine/dispatcher.hpp"

namespace pawl::engine {
namespace {

constexpr auto part = ExclusiveTurn::Part::items;

}  // namespace

Dispatcher::Claiming Dispatcher::claim_alone(Duration now) {
    bool too_long = false;
    {
        const std::lock_guard lock{mutex_};
        if (held_ > 0 || !parts_.turn.is_other_idle(part)) {
            if (now - alone_since_ < options_.lease)
                return {0, options_.lease - (now - alone_since_)};
            // Something takes long. The others go on beside it; the next try comes later.
            too_long = true;
            alone_again_at_ = now + options_.lease;
        }
    }
    if (too_long) {
        end_alone();
        return {0, Duration::zero()};
    }
    auto request = claim_request(nullptr, 1);
    request.lost_ones = true;
    point(base::points::alone_before);
    auto claimed = parts_.store.claim(request);
    if (!claimed.items.empty()) point(base::points::alone_after);
    const std::size_t count = claimed.items.size();
    if (count == 0) {
        end_alone();
        return {0, Duration::zero()};
    }
    {
        const std::lock_guard lock{mutex_};
        alone_ = Alone::running;
        alone_since_ = now;
    }
    take_all(std::move(claimed.items));
    return {count, options_.lease};
}

void Dispatcher::end_alone() {
    {
        const std::lock_guard lock{mutex_};
        alone_ = Alone::no;
    }
    parts_.turn.give_back(part);
}

}  // namespace pawl::engine
