/// Where a reader stands, as text, and how much it wants.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace pawl::store::sql {

/// The number of the last row that was seen, in digits; 0 for the empty text. Throws pawl::Error
/// (invalid) for anything else.
std::int64_t parse_cursor(const std::string& cursor);

inline constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t limit_of(std::size_t limit) {
    return limit > static_cast<std::size_t>(no_limit) ? no_limit : static_cast<std::int64_t>(limit);
}

}  // namespace pawl::store::sql
