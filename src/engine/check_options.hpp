/// Settings with which an engine would stand still, or forget what it promised to remember.
#pragma once

#include <pawl/options.hpp>

namespace pawl::engine {

/// Throws Error (invalid) that names the field.
void check_options(const Options& options);

}  // namespace pawl::engine
