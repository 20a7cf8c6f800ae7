/// Checks of text at the edge: ids, keys and names are short, valid UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl::base {

inline constexpr std::size_t longest_id = 255;

bool is_utf8(std::string_view text);

/// Throws pawl::Error (invalid) that names `what` unless `text` is 1 to 255 bytes of UTF-8 without
/// NUL.
void check_id(std::string_view what, std::string_view text);

/// Like check_id, and the empty text is allowed.
void check_optional_id(std::string_view what, std::string_view text);

}  // namespace pawl::base
