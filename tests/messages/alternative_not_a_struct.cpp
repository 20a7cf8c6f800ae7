// expect: an alternative of a variant must be a plain struct
#include <pawl/json.hpp>

std::string text = pawl::json::encode(std::variant<int, std::string>{});
