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

std::string percent_decoded(std::string_view url, std::string_view text) {
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
                            url)};
        out += static_cast<char>(high << 4 | low);
        i += 2;
    }
    return out;
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
    if (mark == url.npos) return out;
    std::string_view query = url.substr(mark + 1);
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const auto equals = part.find('=');
        if (equals == part.npos || equals == 0)
            throw Error{Code::invalid,
                        fmt::format("store URL \"{}\": \"{}\" is not NAME=VALUE", url, part)};
        out.parameters[percent_decoded(url, part.substr(0, equals))] =
            percent_decoded(url, part.substr(equals + 1));
    }
    return out;
}

}  // namespace pawl::base
