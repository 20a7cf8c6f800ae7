#include "store/sql/mariadb/mariadb_url.hpp"

#include <fmt/format.h>

#include <charconv>
#include <pawl/error.hpp>

#include "base/url.hpp"

namespace pawl::store::sql::mariadb {
namespace {

constexpr std::string_view form = "write mariadb://user:password@host:port/database";
constexpr std::size_t most_connections = 1000;
constexpr std::size_t most_seconds = 1'000'000;

[[noreturn]] void refuse(const std::string& why) {
    throw Error{Code::invalid, fmt::format("MariaDB's store URL {}", why)};
}

std::size_t number_of(std::string_view what, std::string_view digits, std::size_t most) {
    std::size_t number = 0;
    const auto end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || at != end || number == 0 || number > most)
        refuse(fmt::format("has {} {}: it must be a number from 1 to {}", what, base::shown(digits),
                           most));
    return number;
}

Address::Ssl ssl_of(const std::string& value) {
    if (value == "off") return Address::Ssl::off;
    if (value == "on") return Address::Ssl::on;
    if (value == "verify") return Address::Ssl::verify;
    refuse(fmt::format("has ssl {}: it must be off, on or verify", base::shown(value)));
}

}  // namespace

Address address_of(std::string_view url) {
    const auto parsed = base::parse_server_url(url);
    base::check_parameters(
        parsed.scheme, parsed.parameters,
        {"connections", "prefix", "socket", "ssl", "ssl_ca", "statement_timeout"});
    if (parsed.hosts.size() != 1) refuse(fmt::format("names several hosts: {}", form));
    const auto& [host, port] = parsed.hosts.front();
    Address address{
        .host = host, .user = parsed.user, .password = parsed.password, .database = parsed.path};
    if (!port.empty()) address.port = static_cast<unsigned>(number_of("port", port, 65535));
    for (const auto& [name, value] : parsed.parameters) {
        if (name == "socket")
            address.socket = value;
        else if (name == "ssl")
            address.ssl = ssl_of(value);
        else if (name == "ssl_ca")
            address.ssl_ca = value;
    }
    if (address.database.empty()) refuse(fmt::format("names no database: {}", form));
    if (address.host.empty() && address.socket.empty())
        refuse(fmt::format("names no host and no socket: {}", form));
    if (!base::is_name(address.socket)) refuse("has a socket that is not a path");
    // The library takes this name for the socket that was set when it was built.
    if (address.host == "localhost" && address.socket.empty()) address.host = "127.0.0.1";
    if (!address.socket.empty()) address.host = "localhost";
    return address;
}

MariadbOptions with_parameters_of_url(MariadbOptions options) {
    const auto parsed = base::parse_server_url(options.url);
    if (const auto at = parsed.parameters.find("prefix"); at != parsed.parameters.end())
        options.prefix = at->second;
    if (const auto at = parsed.parameters.find("connections"); at != parsed.parameters.end())
        options.connections = number_of("connections", at->second, most_connections);
    if (const auto at = parsed.parameters.find("statement_timeout"); at != parsed.parameters.end())
        options.deadline =
            std::chrono::seconds{number_of("statement_timeout", at->second, most_seconds)};
    return options;
}

}  // namespace pawl::store::sql::mariadb
