/// Making ids: version 7 (ordered by time) and version 5 (derived from a name).
#pragma once

#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string_view>

#include "base/random.hpp"

namespace pawl::base {

/// A UUIDv7. Its time part is only there to keep index pages warm; it is never compared.
Uuid uuid7(Time now, Random& random);

/// The UUIDv5 of `name` in the name space `space`.
Uuid uuid5(const Uuid& space, std::string_view name);

}  // namespace pawl::base
