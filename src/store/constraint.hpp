/// A constraint that the user's own tables have.
#pragma once

#include <pawl/error.hpp>

namespace pawl::store {

/// A constraint or a trigger has refused what the user's SQL would have changed (`invalid`). The
/// same statement may succeed when other rows have changed, unlike one that is wrong.
class ConstraintViolated : public Error {
public:
    using Error::Error;
};

}  // namespace pawl::store
