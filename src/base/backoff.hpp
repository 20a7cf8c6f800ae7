/// How long to wait before trying again.
#pragma once

#include <pawl/policy.hpp>

#include "base/random.hpp"

namespace pawl::base {

/// The wait after failed attempt number `attempt` (from 1): doubling, capped, with real jitter.
/// Always between (1 - jitter) and 1 of the full wait.
Duration backoff(const Policy& policy, int attempt, Random& random);

}  // namespace pawl::base
