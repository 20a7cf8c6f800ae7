/// What the records of log have in common: about which work they are.
#pragma once

#include <pawl/log.hpp>

#include "store/store.hpp"

namespace pawl::engine {

/// About an effect, a timer or a run. Its error and its text are left to the caller.
LogRecord record_of(LogLevel level, LogEvent event, const store::Item& item);
/// "effect \"Charge\" of \"order\" \"o-1\"", "run \"r-1\" of \"onboard\"".
std::string shown(const store::Item& item);
/// "in 250 ms", "in 12 s".
std::string shown_pause(Duration pause);

}  // namespace pawl::engine
