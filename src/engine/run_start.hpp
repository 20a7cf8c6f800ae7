/// A start that somebody waits for.
#pragma once

#include "engine/runs.hpp"

namespace pawl::engine {

struct Runs::Start : Awaited {
    bool lends = false;  ///< the thread that waits executes what was started
    HeldPtr lent;        ///< with this
    Dispatcher::For whom() const { return lends ? Dispatcher::For::caller : Dispatcher::For::pool; }
};

}  // namespace pawl::engine
