// expect: a C array can't travel
#include <pawl/json.hpp>

struct Placed {
    int counts[1] = {};
};

std::string text = pawl::json::encode(Placed{});
