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

/// scheme://user:password@host:port/path?parameters. Every part may be absent.
struct ServerUrl {
    std::string scheme;
    std::string user;
    std::string password;
    std::string host;  ///< without the brackets of [::1]
    std::string port;
    std::string path;  ///< without its first slash
    std::map<std::string, std::string, std::less<>> parameters;
};

/// Throws pawl::Error (invalid) that says what is wrong, and shows nothing of the URL: it may hold
/// a password.
ServerUrl parse_server_url(std::string_view url);

}  // namespace pawl::base
