/// Several committers beside each other, for stores that write several groups at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/loop.hpp"
#include "engine/committer.hpp"

namespace pawl::engine {

/// Thread-safe.
class CommitterLanes {
public:
    /// As many as the store likes; they share the room of one queue.
    CommitterLanes(store::Store& store, base::Pool& callbacks, const Committer::Options& options);

    /// For a Commit that need not stay behind another which is still on its way. They keep together
    /// while they are few: one group of them costs the store less than two halves. How few depends
    /// on how many processes share the store, because what it does for one of them it does not do
    /// for another.
    Committer& any();

    void wake();
    void start();
    void stop();

private:
    base::Pause look_around();

    store::Store& store_;
    std::vector<std::unique_ptr<Committer>> lanes_;
    std::atomic<std::size_t> company_;   ///< so many Commits are worth a group of their own
    std::atomic<bool> was_used_{false};  ///< since somebody looked around
    base::Loop neighbours_;
};

}  // namespace pawl::engine
