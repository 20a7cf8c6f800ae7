#include "base/text.hpp"

#include <fmt/format.h>

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

}  // namespace

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const int length = sequence_length(lead);
        if (length == 0 || i + length > text.size()) return false;
        for (int k = 1; k < length; ++k)
            if (!is_continuation(text[i + k])) return false;
        if (length > 1 && !is_second_byte_allowed(lead, static_cast<unsigned char>(text[i + 1])))
            return false;
        i += length;
    }
    return true;
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
