/// Channels that this process knows to be there, so that a group need not add them.
#pragma once

#include <mutex>
#include <unordered_set>

#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// Channels are never removed, but a server can lose them with the commit that added them: what is
/// known counts for one generation of the dictionary (interned.hpp). Thread-safe.
class DeclaredChannels {
public:
    bool contains(Ref channel, std::uint64_t generation) const {
        const std::lock_guard lock{mutex_};
        return generation == generation_ && channels_.contains(channel);
    }
    void add(Ref channel, std::uint64_t generation) {
        const std::lock_guard lock{mutex_};
        if (generation < generation_) return;
        if (generation > generation_) channels_.clear();
        generation_ = generation;
        channels_.insert(channel);
    }

private:
    mutable std::mutex mutex_;
    std::uint64_t generation_ = 0;
    std::unordered_set<Ref> channels_;
};

}  // namespace pawl::store::sql
