/// Several committers beside each other, for stores that write several groups at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/committer.hpp"

namespace pawl::engine {

/// Thread-safe.
class CommitterLanes {
public:
    /// As many as the store likes; they share the room of one queue.
    CommitterLanes(store::Store& store, base::Pool& callbacks, const Committer::Options& options);

    /// For a Commit that need not stay behind another which is still on its way. They keep together
    /// while they are few: one group of them costs less than two halves.
    Committer& any();

    void wake();
    void start();
    void stop();

private:
    std::vector<std::unique_ptr<Committer>> lanes_;
};

}  // namespace pawl::engine
