// expect: a C array can't travel
#include <pawl/json.hpp>

struct Placed {
    int before = 0;
    char sku[16] = {};
};

std::string text = pawl::json::encode(Placed{});
