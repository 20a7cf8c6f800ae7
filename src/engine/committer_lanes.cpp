#include "engine/committer_lanes.hpp"

#include <algorithm>

namespace pawl::engine {
namespace {

// So many Commits are worth a group of their own.
constexpr std::size_t company = 64;

}  // namespace

CommitterLanes::CommitterLanes(store::Store& store, base::Pool& callbacks,
                               const Committer::Options& options) {
    const std::size_t count = std::max<std::size_t>(store.writers(), 1);
    Committer::Options each = options;
    each.queue = (options.queue + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i)
        lanes_.push_back(std::make_unique<Committer>(store, callbacks, each));
}

Committer& CommitterLanes::any() {
    auto* best = lanes_.front().get();
    auto least = best->load();
    for (std::size_t i = 1; i < lanes_.size() && least >= company; ++i) {
        const auto load = lanes_[i]->load();
        if (load >= least) continue;
        best = lanes_[i].get();
        least = load;
    }
    return *best;
}

void CommitterLanes::wake() {
    for (auto& lane : lanes_) lane->wake();
}

void CommitterLanes::start() {
    for (auto& lane : lanes_) lane->start();
}

void CommitterLanes::stop() {
    for (auto& lane : lanes_) lane->stop();
}

}  // namespace pawl::engine
