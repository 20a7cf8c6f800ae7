/// Channels that this process knows to be there, so that a group need not add them.
#pragma once

#include <mutex>
#include <unordered_set>

#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// Channels are never removed. Thread-safe.
class DeclaredChannels {
public:
    bool contains(Ref channel) const {
        const std::lock_guard lock{mutex_};
        return channels_.contains(channel);
    }
    void add(Ref channel) {
        const std::lock_guard lock{mutex_};
        channels_.insert(channel);
    }

private:
    mutable std::mutex mutex_;
    std::unordered_set<Ref> channels_;
};

}  // namespace pawl::store::sql
