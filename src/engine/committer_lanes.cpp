#include "engine/committer_lanes.hpp"

#include <algorithm>

namespace pawl::engine {
namespace {

// For a process that has the store to itself the second group is worth it early: the store would
// do nothing while those who waited for the first are told, and come back.
constexpr std::size_t company_of_one = 25;
constexpr std::size_t most_company = 64;
constexpr Duration between_looks = std::chrono::milliseconds{500};

}  // namespace

CommitterLanes::CommitterLanes(store::Store& store, base::Pool& callbacks,
                               const Committer::Options& options)
    : store_(store),
      company_(company_of_one),
      neighbours_("pawl-lanes", [this] { return look_around(); }) {
    const std::size_t count = std::max<std::size_t>(store.writers(), 1);
    Committer::Options each = options;
    each.queue = (options.queue + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i)
        lanes_.push_back(std::make_unique<Committer>(store, callbacks, each));
}

Committer& CommitterLanes::any() {
    auto* best = lanes_.front().get();
    if (lanes_.size() == 1) return *best;
    if (!was_used_) was_used_ = true;
    auto least = best->load();
    const std::size_t company = company_;
    for (std::size_t i = 1; i < lanes_.size() && least >= company; ++i) {
        const auto load = lanes_[i]->load();
        if (load >= least) continue;
        best = lanes_[i].get();
        least = load;
    }
    return *best;
}

base::Pause CommitterLanes::look_around() {
    if (!was_used_.exchange(false)) return between_looks;
    try {
        company_ = std::clamp(store_.sessions() * company_of_one, company_of_one, most_company);
    } catch (const std::exception&) {
        // It is as it was. If the store can't be reached, the Commits say so.
    }
    return between_looks;
}

void CommitterLanes::wake() {
    for (auto& lane : lanes_) lane->wake();
}

void CommitterLanes::start() {
    for (auto& lane : lanes_) lane->start();
    if (lanes_.size() > 1) neighbours_.start();
}

void CommitterLanes::stop() {
    neighbours_.stop();
    for (auto& lane : lanes_) lane->stop();
}

}  // namespace pawl::engine
