// expect: a pointer can't travel
#include <pawl/json.hpp>

struct Placed {
    int* quantity = nullptr;
};

std::string text = pawl::json::encode(Placed{});
