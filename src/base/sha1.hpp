/// SHA-1, which UUIDv5 is defined with. Not for security.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pawl::base {

std::array<std::uint8_t, 20> sha1(std::string_view text);

}  // namespace pawl::base
