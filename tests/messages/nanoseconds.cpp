// expect: this duration can't travel exactly
#include <pawl/json.hpp>

std::string text = pawl::json::encode(std::chrono::nanoseconds{1});
