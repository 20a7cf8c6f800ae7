#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <pawl/error.hpp>

namespace pawl::base {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the sequence that `lead` begins; 0 for a byte that can't begin one.
int sequence_length(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return 2;
    if (lead >= 0xe0 && lead <= 0xef) return 3;
    if (lead >= 0xf0 && lead <= 0xf4) return 4;
    return 0;
}

// Overlong forms, surrogates and code points above U+10FFFF have a bad second byte.
bool is_second_byte_allowed(unsigned char lead, unsigned char second) {
    switch (lead) {
        case 0xe0:
            return second >= 0xa0;
        case 0xed:
            return second <= 0x9f;
        case 0xf0:
            return second >= 0x90;
        case 0xf4:
            return second <= 0x8f;
        default:
            return true;
    }
}

// Bytes of the valid sequence that `text` begins with; 0 if it begins with none.
std::size_t valid_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const auto length = static_cast<std::size_t>(sequence_length(lead));
    if (length > text.size()) return 0;
    for (std::size_t k = 1; k < length; ++k)
        if (!is_continuation(text[k])) return 0;
    if (length > 1 && !is_second_byte_allowed(lead, static_cast<unsigned char>(text[1]))) return 0;
    return length;
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = valid_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string readable(std::string_view text, std::size_t limit) {
    constexpr std::string_view replacement = "\xef\xbf\xbd";
    constexpr std::string_view cut = "...";
    std::string out;
    std::size_t fits = 0;  // what can stay if the text must be cut
    while (!text.empty() && out.size() <= limit) {
        const auto length = text[0] == '\0' ? 0 : valid_length(text);
        out += length == 0 ? replacement : text.substr(0, length);
        if (out.size() + cut.size() <= limit) fits = out.size();
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    if (out.size() > limit) out.replace(fits, out.npos, cut);
    return out;
}

void check_id(std::string_view what, std::string_view text) {
    if (text.empty())
        throw Error{Code::invalid,
                    fmt::format("{} is empty: give it 1 to {} bytes", what, longest_id)};
    check_optional_id(what, text);
}

void check_optional_id(std::string_view what, std::string_view text) {
    if (text.size() > longest_id)
        throw Error{Code::invalid,
                    fmt::format("{} has {} bytes, at most {} are allowed; it begins with \"{}\"",
                                what, text.size(), longest_id,
                                is_utf8(text.substr(0, 32)) ? text.substr(0, 32) : "")};
    if (!is_utf8(text)) throw Error{Code::invalid, fmt::format("{} is not valid UTF-8", what)};
    if (text.find('\0') != text.npos)
        throw Error{Code::invalid, fmt::format("{} contains a NUL byte", what)};
}

}  // namespace pawl::base
