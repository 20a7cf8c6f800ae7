#include "base/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

namespace pawl::base {
namespace {

constexpr std::size_t longest_shown = 40;
constexpr std::string_view server_form = "write {}://user:password@host:port/database";

[[noreturn]] void refuse(std::string_view scheme, std::string_view why) {
    throw Error{Code::invalid, fmt::format("invalid store URL \"{}:...\": {}", scheme, why)};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool has_any(std::string_view text, std::string_view characters) {
    return text.find_first_of(characters) != text.npos || std::ranges::any_of(text, is_control);
}

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string percent_decoded(std::string_view scheme, std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            refuse(scheme, "a % must be followed by two hexadecimal digits; write % itself as %25");
        out += static_cast<char>(high << 4 | low);
        i += 2;
    }
    // The names of files end there, for some who open them.
    if (out.find('\0') != out.npos)
        refuse(scheme, "it contains a zero byte, which no name can have");
    return out;
}

struct Parameter {
    std::string_view name;   // as it stands there
    std::string_view value;  // likewise
};

std::vector<Parameter> split_query(std::string_view scheme, std::string_view query) {
    std::vector<Parameter> parameters;
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const auto equals = part.find('=');
        if (equals == part.npos || equals == 0)
            refuse(scheme, fmt::format("parameter {} is not NAME=VALUE", parameters.size() + 1));
        parameters.push_back({part.substr(0, equals), part.substr(equals + 1)});
    }
    return parameters;
}

void add(UrlParameters& parameters, std::string_view scheme, std::string name,
         std::string_view value) {
    const auto [at, is_new] = parameters.emplace(std::move(name), percent_decoded(scheme, value));
    if (!is_new) refuse(scheme, fmt::format("parameter {} is there twice", shown(at->first)));
}

// Cuts off what stands before the mark, and the mark; nothing if it is not there.
std::string_view cut_before(std::string_view& text, std::size_t mark) {
    if (mark == text.npos) return {};
    const auto before = text.substr(0, mark);
    text.remove_prefix(mark + 1);
    return before;
}

// host, host:port, [::1] or [::1]:port
ServerUrl::Host host_of(std::string_view scheme, std::string_view text) {
    std::string_view name = text;
    const bool bracketed = text.starts_with('[');
    if (bracketed) {
        const auto end = text.find(']');
        if (end == text.npos) refuse(scheme, "a [ before an address needs a ] behind it");
        name = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
    } else {
        name = text.substr(0, text.find(':'));
        text.remove_prefix(name.size());
    }
    const auto can_be_there = [&](char c) {
        return is_word(c) || c == '.' || c == '-' || c == '~' || c == '%' ||
               (bracketed && c == ':');
    };
    const bool has_port = text.starts_with(':');
    const auto port = has_port ? text.substr(1) : std::string_view{};
    if (!std::ranges::all_of(name, can_be_there) || (!text.empty() && !has_port))
        refuse(scheme, "a host has letters, digits, dots and dashes only; write others as %XX");
    if (!std::ranges::all_of(port, is_digit))
        refuse(scheme,
               fmt::format("the port is not a number; {}", fmt::format(server_form, scheme)));
    auto decoded = percent_decoded(scheme, name);
    if (!is_name(decoded)) refuse(scheme, "a host has letters, digits, dots and dashes only");
    return {.name = std::move(decoded), .port = std::string{port}};
}

std::string database_of(std::string_view scheme, std::string_view path) {
    if (!has_any(path, "/=;&\"' ")) {
        auto decoded = percent_decoded(scheme, path);
        if (is_name(decoded)) return decoded;
    }
    refuse(scheme, "the database is not a name; parameters begin with ? and are joined by &");
}

UrlParameters parameters_of(std::string_view scheme, std::string_view query) {
    UrlParameters parameters;
    std::size_t number = 0;
    for (const auto& [name, value] : split_query(scheme, query)) {
        ++number;
        if (!std::ranges::all_of(name, is_word) || has_any(value, "=\"' "))
            refuse(scheme, fmt::format("parameter {} is not NAME=VALUE; in the value write others "
                                       "than letters and digits as %XX",
                                       number));
        add(parameters, scheme, std::string{name}, value);
    }
    return parameters;
}

}  // namespace

std::string_view scheme_of(std::string_view url) {
    const auto scheme = url.substr(0, url.find(':'));
    const auto can_be_there = [](char c) { return is_letter(c) || is_digit(c) || c == '+'; };
    if (scheme.size() == url.size() || scheme.empty() || scheme.size() > longest_shown ||
        !is_letter(scheme.front()) || !std::ranges::all_of(scheme, can_be_there))
        throw Error{Code::invalid,
                    "invalid store URL: it has no scheme. Write sqlite:PATH, "
                    "postgres://HOST/DATABASE, mariadb://HOST/DATABASE or memory:"};
    return scheme;
}

std::string shown(std::string_view text) {
    const auto harmless = [](char c) { return is_word(c) || c == '.' || c == '-'; };
    const bool is_short = !text.empty() && text.size() <= longest_shown;
    if (is_short && std::ranges::all_of(text, harmless)) return fmt::format("\"{}\"", text);
    return "a value that is not shown here";
}

bool is_name(std::string_view text) { return !has_any(text, "=;"); }

void check_parameters(std::string_view scheme, const UrlParameters& parameters,
                      const std::vector<std::string>& known) {
    for (const auto& [name, value] : parameters) {
        if (std::ranges::find(known, name) != known.end()) continue;
        if (known.empty())
            refuse(scheme, fmt::format("there is no parameter {}, and no other", shown(name)));
        std::string names = known.front();
        for (std::size_t i = 1; i < known.size(); ++i)
            names += (i + 1 < known.size() ? ", " : " and ") + known[i];
        refuse(scheme, fmt::format("there is no parameter {}; there are {}", shown(name), names));
    }
}

StoreUrl parse_url(std::string_view url) {
    StoreUrl out;
    out.scheme = scheme_of(url);
    url.remove_prefix(out.scheme.size() + 1);
    const auto path = url.substr(0, url.find('?'));
    url.remove_prefix(std::min(path.size() + 1, url.size()));
    if (path.find("://") != path.npos)
        refuse(out.scheme, "the path contains ://, as the URL of another store does");
    if (path.find(';') != path.npos)
        refuse(out.scheme,
               "parameters begin with ? and are joined by &; write a ; of the path as %3B");
    out.rest = percent_decoded(out.scheme, path);
    for (const auto& [name, value] : split_query(out.scheme, url))
        add(out.parameters, out.scheme, percent_decoded(out.scheme, name), value);
    return out;
}

ServerUrl parse_server_url(std::string_view url) {
    ServerUrl out;
    out.scheme = scheme_of(url);
    const std::string_view scheme = out.scheme;
    url.remove_prefix(scheme.size() + 1);
    if (!url.starts_with("//")) refuse(scheme, fmt::format(server_form, scheme));
    url.remove_prefix(2);
    auto authority = url.substr(0, url.find_first_of("/?"));
    url.remove_prefix(authority.size());
    const auto mark = authority.find('@');
    if (mark != authority.rfind('@') || url.find('@') != url.npos)
        refuse(scheme,
               "an @ stands before the host, and nowhere else; in the user and the password write "
               "@ as %40, / as %2F and ? as %3F");
    auto user = cut_before(authority, mark);
    if (const auto colon = user.find(':'); colon != user.npos) {
        out.password = percent_decoded(scheme, user.substr(colon + 1));
        user = user.substr(0, colon);
    }
    out.user = percent_decoded(scheme, user);
    for (std::size_t comma = 0; comma != authority.npos;) {
        comma = authority.find(',');
        out.hosts.push_back(host_of(scheme, authority.substr(0, comma)));
        cut_before(authority, comma);
    }
    const auto query = url.find('?');
    if (query != url.npos) out.parameters = parameters_of(scheme, url.substr(query + 1));
    url = url.substr(0, query);
    if (!url.empty()) out.path = database_of(scheme, url.substr(1));
    return out;
}

}  // namespace pawl::base
