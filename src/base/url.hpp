/// The URL that names a store: "sqlite:shop.db?adopt=yes", "memory:".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pawl::base {

struct StoreUrl {
    std::string scheme;
    std::string rest;  ///< between the scheme and the question mark, percent-decoded
    std::map<std::string, std::string, std::less<>> parameters;
};

/// Throws pawl::Error (invalid) that says what is wrong with it.
StoreUrl parse_url(std::string_view url);

}  // namespace pawl::base
