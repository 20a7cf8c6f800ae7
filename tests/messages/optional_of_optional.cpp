// expect: an optional of an optional can't travel
#include <pawl/json.hpp>

std::string text = pawl::json::encode(std::optional<std::optional<int>>{});
