/// A store in memory: the specification that the others are compared with. Nothing outlives it.
#pragma once

#include <memory>
#include <pawl/clock.hpp>

#include "store/store.hpp"

namespace pawl::store {

/// `clock` is the store's own time, and must outlive the store.
std::unique_ptr<Store> open_memory(const Clock& clock);

}  // namespace pawl::store
