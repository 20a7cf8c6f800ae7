/// What a memory store keeps for operators, and what it forgets: dead letters and vacuum.
#pragma once

#include "store/memory/state.hpp"
#include "store/store.hpp"

namespace pawl::store::memory {

std::vector<DeadLetter> list_dead_letters(const State& state, const DeadLetterFilter& filter);
std::int64_t count_dead_letters(const State& state, const DeadLetterFilter& filter);
std::int64_t retry_dead_letters(State& state, Time now, const DeadLetterFilter& filter);
std::int64_t discard_dead_letters(State& state, const DeadLetterFilter& filter);

Vacuumed vacuum(State& state, Time now, const VacuumRequest& request);

}  // namespace pawl::store::memory
