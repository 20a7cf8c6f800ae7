// expect: an alternative of this variant has a field called `type`
#include <pawl/json.hpp>

struct Placed {
    std::string type;
};

std::string text = pawl::json::encode(std::variant<Placed>{});
