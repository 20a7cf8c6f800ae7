// expect: two alternatives of this variant have the same tag
#include <pawl/json.hpp>

namespace shop {
struct Placed {};
}  // namespace shop
struct Placed {};

std::string text = pawl::json::encode(std::variant<Placed, shop::Placed>{});
