/// Lengths of time that can be added to a clock: "for ever" is a long time, never an overflow.
#pragma once

#include <algorithm>
#include <pawl/time.hpp>

namespace pawl::base {

/// Longer than any process lives, and short enough to be counted in nanoseconds.
inline constexpr Duration for_ever = std::chrono::hours{24 * 365 * 100};

constexpr Duration at_most_for_ever(Duration d) { return std::min(d, for_ever); }

}  // namespace pawl::base
