/// How often, how long and how many at once.
#pragma once

#include <pawl/time.hpp>

namespace pawl::inline v0 {

/// What happens when an attempt fails. Waits grow from `base` by doubling up to `cap`; `jitter` is
/// the share of each wait that is random, so that what failed together does not come back together.
struct Policy {
    int attempts = 10;                      ///< then it is buried
    Duration age = std::chrono::hours{72};  ///< an item older than this is buried when it fails
    Duration base = std::chrono::seconds{1};
    Duration cap = std::chrono::minutes{5};
    double jitter = 0.5;
    Duration deadline = std::chrono::minutes{5};  ///< of one attempt; then its `stop` is requested
    int at_once = 0;  ///< in this process; 0: as many as there are workers
};

}  // namespace pawl::inline v0
