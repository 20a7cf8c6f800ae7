/// The execute scenario in pieces, for the scenarios that are measured against it.
#pragma once

#include <functional>
#include <string>

#include "harness.hpp"
#include "raw_sqlite.hpp"
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

/// The same rows by hand, `batch` to a transaction.
Sample execute_raw(RawSqlite& db, int batch, const Execution& how);
Sample execute_raw_fresh(const Settings& settings, int batch);

struct Cycling {
    std::chrono::milliseconds length{0};
    int in_flight = 256;
    std::string prefix = "parcel-";
    std::function<void()> begin = [] {};  ///< called when the engine is ready
};

/// Input, effect, handler, result, finished.
Sample cycle_on(const std::string& url, const Cycling& how);

}  // namespace pawl::bench
