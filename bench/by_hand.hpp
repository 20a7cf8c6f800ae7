/// Lets rivals work: several connections at once, and as many as serve them best.
#pragma once

#include <functional>

#include "place.hpp"

namespace pawl::bench {

struct ByHand {
    std::chrono::milliseconds length{0};
    int connections = 1;
};

/// Each connection does `work`, which returns how many it has done, until the time is over or there
/// was nothing left to do. The latencies are those of `work`.
Sample by_hand(Place& place, const ByHand& how, const std::function<long(Rival&)>& work);

/// The number of connections with which `rival(connections)` is fastest, found anew on every
/// machine; one where writers take turns.
int best_connections(const Settings& settings, const std::function<Sample(int)>& rival);

}  // namespace pawl::bench
