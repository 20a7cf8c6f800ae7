/// Several committers beside each other, for stores that write several groups at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/committer.hpp"

namespace pawl::engine {

/// An instance belongs to one lane, so that its Commits stay in order. Thread-safe.
class CommitterLanes {
public:
    /// As many as the store likes; they share the room of one queue.
    CommitterLanes(store::Store& store, base::Pool& callbacks, const Committer::Options& options);

    /// The lane of an instance, by a hash of its name.
    Committer& of(std::size_t hash) { return *lanes_[hash % lanes_.size()]; }
    /// For a Commit that appends to no journal.
    Committer& any() { return of(turn_++); }

    void wake();
    void start();
    void stop();

private:
    std::vector<std::unique_ptr<Committer>> lanes_;
    std::atomic<std::size_t> turn_{0};
};

}  // namespace pawl::engine
