/// Claims that may have been made although their maker never heard of it.
#pragma once

#include <mutex>
#include <vector>

#include "store/commit.hpp"

namespace pawl::store::sql {

/// A claim whose commit is in doubt would hold its items as long as the session lives: the next
/// call of that session gives them back. Thread-safe.
class StrayClaims {
public:
    void add(const Claim& claim) {
        const std::lock_guard lock{mutex_};
        claims_.push_back(claim);
    }
    std::vector<Claim> of(SessionId session) const {
        const std::lock_guard lock{mutex_};
        std::vector<Claim> found;
        for (const auto& claim : claims_)
            if (claim.session == session) found.push_back(claim);
        return found;
    }
    void forget(const std::vector<Claim>& gone) {
        const std::lock_guard lock{mutex_};
        for (const auto& claim : gone)
            std::erase_if(claims_, [&](const Claim& c) { return c.fence == claim.fence; });
    }

private:
    mutable std::mutex mutex_;
    std::vector<Claim> claims_;
};

}  // namespace pawl::store::sql
