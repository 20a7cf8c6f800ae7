// expect: this map's key can't travel
#include <map>
#include <pawl/json.hpp>

std::string text = pawl::json::encode(std::map<double, int>{});
