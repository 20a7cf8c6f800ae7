// expect: this time point can't travel: only those of the system clock can
#include <pawl/json.hpp>

std::string text = pawl::json::encode(std::chrono::steady_clock::time_point{});
