/// Moments as text: how ISO 8601 writes them, and how databases do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <pawl/time.hpp>
#include <string>
#include <string_view>

namespace pawl::base {

struct Moment {
    std::chrono::seconds since_1970{};
    std::int64_t nanoseconds = 0;  ///< less than a second
};

/// "2024-02-29T12:00:00.000000Z", with up to nine digits after the point.
std::optional<Moment> parse_wire_moment(std::string_view text);
/// The same, also with a blank for the T, and with an offset ("+01", "+05:30") or nothing instead
/// of the Z; without one it is UTC. Rounded down to microseconds.
std::optional<Time> parse_time(std::string_view text);

/// As it stands on the wire, with six digits after the point, or nine. Nothing outside of the years
/// 0 to 9999.
std::optional<std::string> moment_text(const Moment& moment, int digits);
std::optional<std::string> time_text(Time time);

}  // namespace pawl::base
