// expect: this enum can't travel
#include <pawl/json.hpp>

enum class Id : unsigned {};

std::string text = pawl::json::encode(Id{7});
