// expect: a struct whose base class has fields can't travel
#include <pawl/json.hpp>

struct Entity {
    int id = 0;
};
struct Placed : Entity {
    std::string sku;
};

std::string text = pawl::json::encode(Placed{});
