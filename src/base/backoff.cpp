#include "base/backoff.hpp"

#include <algorithm>

namespace pawl::base {

Duration backoff(const Policy& policy, int attempt, Random& random) {
    auto wait = static_cast<double>(policy.base.count());
    const auto cap = static_cast<double>(policy.cap.count());
    for (int i = 1; i < attempt && wait < cap; ++i) wait *= 2;
    wait = std::min(wait, cap);
    const double share = static_cast<double>(random.next() >> 11) / static_cast<double>(1ULL << 53);
    const double jitter = std::clamp(policy.jitter, 0.0, 1.0);
    return Duration{static_cast<Duration::rep>(wait * (1.0 - jitter * share))};
}

}  // namespace pawl::base
