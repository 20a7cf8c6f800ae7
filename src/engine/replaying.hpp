/// Recorded journals against new code, without a store: for the user's own tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/values.hpp"

namespace pawl::engine {

/// One entry of an exported journal: a line of JSON.
std::string exported(const store::StoredEvent& entry);

}  // namespace pawl::engine
