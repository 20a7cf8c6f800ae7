/// The role of a store that can say what a session has claimed.
#pragma once

#include <utility>
#include <vector>

#include "store/commit.hpp"

namespace pawl::store {

/// A server that was set back to an earlier state may hold claims for a process that has settled
/// them since. Only the process knows that nobody works on these.
class SessionClaims {
public:
    virtual std::vector<std::pair<ItemId, Fence>> claims_of(SessionId session) = 0;

protected:
    ~SessionClaims() = default;
};

}  // namespace pawl::store
