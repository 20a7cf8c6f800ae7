/// Checks of text at the edge: ids, keys and names are short, valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::base {

inline constexpr std::size_t longest_id = 255;

bool is_utf8(std::string_view text);

/// Throws pawl::Error (invalid) that names `what` unless `text` is 1 to 255 bytes of UTF-8 without
/// NUL.
void check_id(std::string_view what, std::string_view text);

/// Like check_id, and the empty text is allowed.
void check_optional_id(std::string_view what, std::string_view text);

/// A text from outside, such as the message of an exception, as every store can keep it: at most
/// `limit` bytes, with U+FFFD for what is not UTF-8 and for NUL.
std::string readable(std::string_view text, std::size_t limit = 8192);

}  // namespace pawl::base
