// expect: a const field can't travel
#include <pawl/json.hpp>

struct Placed {
    const int quantity = 1;
};

Placed placed = pawl::json::decode<Placed>("{}");
