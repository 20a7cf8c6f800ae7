/// The URL that names a store: "sqlite:shop.db?adopt=yes", "postgres://ada:secret@db1/shop".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

using UrlParameters = std::map<std::string, std::string, std::less<>>;

/// "sqlite" of "sqlite:shop.db". Throws pawl::Error (invalid), which shows nothing of the URL.
std::string_view scheme_of(std::string_view url);

/// A text out of a URL for a message: in quotes if it can be nothing but a name or a number. What
/// is not, can be a password that stands in the wrong place, and is not shown.
std::string shown(std::string_view text);

/// Throws pawl::Error (invalid), with those there are, for a parameter that is not among `known`.
void check_parameters(std::string_view scheme, const UrlParameters& parameters,
                      const std::vector<std::string>& known);

struct StoreUrl {
    std::string scheme;
    std::string rest;  ///< between the scheme and the question mark, percent-decoded
    UrlParameters parameters;
};

/// Throws pawl::Error (invalid) that says what is wrong with it.
StoreUrl parse_url(std::string_view url);

/// scheme://user:password@host:port,host:port/path?parameters. Every part may be absent. Names of
/// parameters are not encoded.
struct ServerUrl {
    struct Host {
        std::string name;  ///< without the brackets of [::1]
        std::string port;  ///< digits
    };
    std::string scheme;
    std::string user;
    std::string password;
    std::vector<Host> hosts;  ///< at least one, which may be empty
    std::string path;         ///< without its first slash
    UrlParameters parameters;
};

/// Throws pawl::Error (invalid) that says what is wrong, and shows nothing of the URL: it may hold
/// a password. A URL that can be divided in two ways is refused. So no part of a password is ever
/// taken for a host, a database or a parameter, which stand in messages of the clients' libraries.
ServerUrl parse_server_url(std::string_view url);

/// Whether text that was decoded can be a name in a URL, of a host or a database, and not a list
/// of settings such as "host=db1 password=secret".
bool is_name(std::string_view text);

}  // namespace pawl::base
