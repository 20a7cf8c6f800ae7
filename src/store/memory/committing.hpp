/// Applying a group of Commits to a memory store: guards, then writes, one Commit after the other.
#pragma once

#include <span>

#include "store/commit.hpp"
#include "store/memory/state.hpp"

namespace pawl::store::memory {

void commit_group(State& state, Time now, std::span<const Commit> group, std::span<Answer> answers);

}  // namespace pawl::store::memory
