// expect: a reference can't travel
#include <pawl/json.hpp>

int global = 0;
struct Placed {
    std::string sku;
    int& quantity = global;
};

std::string text = pawl::json::encode(Placed{});
