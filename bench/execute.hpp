/// The execute scenario in pieces, for the scenarios that are measured against it.
#pragma once

#include <functional>
#include <string>

#include "place.hpp"
#include "workflows.hpp"

namespace pawl::bench {

struct Execution {
    std::chrono::milliseconds length{0};
    long count = -1;  ///< of inputs, instead of a length of time
    long first = 0;
    std::function<std::string(long)> id = [](long n) { return numbered("parcel-", n); };
};

/// 256 inputs in flight, each to a new instance.
Sample execute_on(const Workflow<Parcel>& parcels, const Execution& how);
Sample execute_fresh(const Settings& settings);

/// How a rival divides what is in flight.
struct Batches {
    int in_flight = 256;
    int connections = 1;
    int each() const { return in_flight / connections; }
};

/// The same rows by hand, a batch to a transaction.
Sample execute_raw(Place& place, const Batches& batches, const Execution& how);
Sample execute_raw_fresh(const Settings& settings, const Batches& batches);
/// With 256 in flight.
int best_connections_of_execute(const Settings& settings);

/// So many of the same, before a measurement.
void fill(Rival& rival, long count);

struct Cycling {
    std::chrono::milliseconds length{0};
    int in_flight = 256;
    std::string prefix = "parcel-";
    std::function<void()> begin = [] {};  ///< called when the engine is ready
};

/// Input, effect, handler, result, finished.
Sample cycle_on(const std::string& url, const Cycling& how);

}  // namespace pawl::bench
