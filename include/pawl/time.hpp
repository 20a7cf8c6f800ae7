/// The two words for time: a moment by the store's clock, and a length of time.
#pragma once

#include <chrono>

namespace pawl::inline v0 {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<std::chrono::microseconds>;

/// Any chrono duration, rounded up so that nothing ever comes early. What is longer than a Duration
/// can be is the longest one.
template <class Rep, class Period>
constexpr Duration duration(std::chrono::duration<Rep, Period> d) {
    using Seconds = std::chrono::duration<long double>;
    if (Seconds{d} >= Seconds{Duration::max()}) return Duration::max();
    if (Seconds{d} <= Seconds{Duration::min()}) return Duration::min();
    return std::chrono::ceil<Duration>(d);
}

}  // namespace pawl::inline v0
