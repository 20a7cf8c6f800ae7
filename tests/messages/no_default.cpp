// expect: this type can't travel: T\{\} must compile
#include <pawl/json.hpp>

struct Placed {
    std::string sku;
    const int& quantity;
};

Placed placed = pawl::json::decode<Placed>("{}");
