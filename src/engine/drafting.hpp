/// From a decision on the wire to the Append that writes it.
#pragma once

#include <pawl/detail/model.hpp>

#include "base/random.hpp"
#include "store/commit.hpp"

namespace pawl::engine {

struct DraftingContext {
    base::Random& random;
    Time now;  ///< of the process: only for the time part of ids
    std::size_t payload_limit = 0;
};

/// Events with their ids, pawl's own for cancelled timers after them, then effects and timers.
/// Throws Error (invalid) if something is over its limit.
store::Append append_of(detail::Draft draft, const DraftingContext& context);

/// The name of the event that records a cancelled timer.
inline constexpr const char* timer_cancelled = "pawl.timer_cancelled";

/// The correlation that an item hands on: its own, or the event that caused it.
std::string correlation_of(const store::Envelope& item);

/// The idempotency key of an effect: the same at every attempt and after a restore.
std::string effect_key(const store::Item& item);

}  // namespace pawl::engine
