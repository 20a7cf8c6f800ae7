/// From a URL to a store.
#pragma once

#include <memory>
#include <pawl/options.hpp>
#include <string_view>

#include "store/store.hpp"

namespace pawl::engine {

/// Throws Error (invalid) for a URL that names no store, and what opening throws.
std::unique_ptr<store::Store> open_store(std::string_view url, const Options& options);

}  // namespace pawl::engine
