// expect: a view can be encoded and not decoded
#include <pawl/json.hpp>

struct Placed {
    std::string_view sku;
};

Placed placed = pawl::json::decode<Placed>("{}");
