#include "base/url.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

namespace pawl::base {
namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string percent_decoded(std::string_view shown, std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            throw Error{
                Code::invalid,
                fmt::format("store URL \"{}\": a % must be followed by two hexadecimal digits",
                            shown)};
        out += static_cast<char>(high << 4 | low);
        i += 2;
    }
    // The names of files end there, for some who open them.
    if (out.find('\0') != out.npos)
        throw Error{Code::invalid,
                    fmt::format("store URL \"{}\": it contains a zero byte, which no name can have",
                                shown.substr(0, shown.find('\0')))};
    return out;
}

using Parameters = std::map<std::string, std::string, std::less<>>;

Parameters parse_parameters(std::string_view shown, std::string_view query) {
    Parameters parameters;
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const auto equals = part.find('=');
        if (equals == part.npos || equals == 0)
            throw Error{Code::invalid,
                        fmt::format("store URL \"{}\": \"{}\" is not NAME=VALUE", shown, part)};
        parameters[percent_decoded(shown, part.substr(0, equals))] =
            percent_decoded(shown, part.substr(equals + 1));
    }
    return parameters;
}

// Cuts off what stands before the mark, and the mark; nothing if it is not there.
std::string_view cut_before(std::string_view& text, std::size_t mark) {
    if (mark == text.npos) return {};
    const auto before = text.substr(0, mark);
    text.remove_prefix(mark + 1);
    return before;
}

}  // namespace

StoreUrl parse_url(std::string_view url) {
    const auto colon = url.find(':');
    if (colon == url.npos || colon == 0)
        throw Error{
            Code::invalid,
            fmt::format("store URL \"{}\" has no scheme: write sqlite:PATH or memory:", url)};
    StoreUrl out;
    out.scheme = url.substr(0, colon);
    const auto mark = url.find('?', colon);
    out.rest =
        percent_decoded(url, url.substr(colon + 1, mark == url.npos ? mark : mark - colon - 1));
    if (mark != url.npos) out.parameters = parse_parameters(url, url.substr(mark + 1));
    return out;
}

ServerUrl parse_server_url(std::string_view url) {
    ServerUrl out;
    const auto colon = url.find("://");
    if (colon == url.npos || colon == 0)
        throw Error{Code::invalid, "a store URL with a server begins with scheme://"};
    out.scheme = url.substr(0, colon);
    const std::string shown = out.scheme + "://...";
    url.remove_prefix(colon + 3);
    if (const auto mark = url.find('?'); mark != url.npos) {
        out.parameters = parse_parameters(shown, url.substr(mark + 1));
        url = url.substr(0, mark);
    }
    if (const auto slash = url.find('/'); slash != url.npos) {
        out.path = percent_decoded(shown, url.substr(slash + 1));
        url = url.substr(0, slash);
    }
    auto user = cut_before(url, url.rfind('@'));
    if (const auto mark = user.find(':'); mark != user.npos) {
        out.password = percent_decoded(shown, user.substr(mark + 1));
        user = user.substr(0, mark);
    }
    out.user = percent_decoded(shown, user);
    const bool bracketed = url.starts_with('[') && url.find(']') != url.npos;
    const auto port = url.find(':', bracketed ? url.find(']') : 0);
    if (port != url.npos) out.port = url.substr(port + 1);
    auto host = url.substr(0, port);
    if (bracketed) host = host.substr(1, host.find(']') - 1);
    out.host = percent_decoded(shown, host);
    return out;
}

}  // namespace pawl::base
