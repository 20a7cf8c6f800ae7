#include "engine/committer_lanes.hpp"

#include <algorithm>

namespace pawl::engine {

CommitterLanes::CommitterLanes(store::Store& store, base::Pool& callbacks,
                               const Committer::Options& options) {
    const std::size_t count = std::max<std::size_t>(store.writers(), 1);
    Committer::Options each = options;
    each.queue = (options.queue + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i)
        lanes_.push_back(std::make_unique<Committer>(store, callbacks, each));
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
