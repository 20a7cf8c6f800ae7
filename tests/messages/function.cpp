// expect: this type can't travel: make it a plain struct
// expect: cannot_travel.*function<void ?\(\)>.*Placed.*("then"|116, 104, 101, 110)
#include <functional>
#include <pawl/json.hpp>

struct Placed {
    std::string sku;
    std::function<void()> then;
};

std::string text = pawl::json::encode(Placed{});
