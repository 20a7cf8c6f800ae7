/// Times and durations on the wire.
#pragma once

#include <cstdint>
#include <limits>
#include <pawl/export.hpp>
#include <pawl/json/value.hpp>
#include <pawl/json/writer.hpp>
#include <ratio>

namespace pawl::inline v0::json::detail {

struct Limits {
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
};

template <class T>
inline constexpr Limits limits_of = {std::numeric_limits<T>::lowest(),
                                     std::numeric_limits<T>::max()};

/// `count` units of `nanoseconds` since 1970 as "2024-02-29T12:00:00.000000Z", with nine digits if
/// the unit is finer than a microsecond. Throws outside the years 0 to 9999.
PAWL_API void write_time(Writer& w, std::int64_t count, std::int64_t nanoseconds);
/// The other way; throws unless it is a whole number of units, inside the limits.
PAWL_API std::int64_t read_time(Value v, std::int64_t nanoseconds, Limits limits);

/// `count` units of `microseconds` as an integer of microseconds; throws if 64 bits can't hold it.
PAWL_API void write_duration(Writer& w, std::int64_t count, std::int64_t microseconds);
/// The other way; throws unless it is a whole number of units, inside the limits.
PAWL_API std::int64_t read_duration(Value v, std::int64_t microseconds, Limits limits);

template <class T, class Unit>
inline constexpr std::int64_t units_in = std::ratio_divide<typename T::period, Unit>::num;

}  // namespace pawl::inline v0::json::detail
