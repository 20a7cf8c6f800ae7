/// Places in a JSON document as people read them, as in $.lines[3].quantity: how a path is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::inline v0::json {

/// Appends `.sku`, or `["two words"]` for a key that isn't a plain name.
void append_key(std::string& path, std::string_view key);
void append_index(std::string& path, std::size_t index);

/// The place that comes next in JSON text that breaks off after a key, a bracket or a comma.
std::string path_after(std::string_view unfinished);

/// `text` in quotes, shortened to a length that fits a message.
std::string quoted_excerpt(std::string_view text);

}  // namespace pawl::inline v0::json
