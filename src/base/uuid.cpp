#include "base/uuid.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/sha1.hpp"

namespace pawl::inline v0 {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool dash_after(std::size_t byte) { return byte == 3 || byte == 5 || byte == 7 || byte == 9; }

// The name space of pawl's own keys. It is part of the wire format: it never changes.
constexpr Uuid key_space{{0x70, 0x61, 0x77, 0x6c, 0x2d, 0x6b, 0x55, 0x79, 0x8d, 0x1e, 0x6f, 0x2a,
                          0x91, 0xc4, 0x3b, 0x07}};

}  // namespace

std::string Uuid::text() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    out.reserve(36);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out += digits[bytes[i] >> 4];
        out += digits[bytes[i] & 15];
        if (dash_after(i)) out += '-';
    }
    return out;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    Uuid id;
    std::size_t at = 0;
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        const int high = hex_digit(text[at]);
        const int low = hex_digit(text[at + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        id.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
        at += 2;
        if (dash_after(i) && text[at++] != '-') return std::nullopt;
    }
    return id;
}

Uuid idempotency_key(const IdempotencyParts& parts) {
    // Lengths stand before the parts, so that ("ab", "c") and ("a", "bc") differ.
    std::string name;
    for (const std::string_view part :
         {parts.process, parts.step, parts.recipient, parts.version}) {
        name += std::to_string(part.size());
        name += ':';
        name += part;
    }
    return base::uuid5(key_space, name);
}

}  // namespace pawl::inline v0

namespace pawl::base {

Uuid uuid7(Time now, Random& random) {
    using std::chrono::milliseconds;
    const auto ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count());
    const std::uint64_t a = random.next();
    const std::uint64_t b = random.next();
    Uuid id;
    for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
    id.bytes[6] = static_cast<std::uint8_t>(0x70 | (a >> 8 & 0x0f));
    id.bytes[7] = static_cast<std::uint8_t>(a);
    std::memcpy(&id.bytes[8], &b, sizeof b);
    id.bytes[8] = static_cast<std::uint8_t>(0x80 | (id.bytes[8] & 0x3f));
    return id;
}

Uuid uuid5(const Uuid& space, std::string_view name) {
    std::string text(reinterpret_cast<const char*>(space.bytes.data()), space.bytes.size());
    text += name;
    const auto digest = sha1(text);
    Uuid id;
    std::copy_n(digest.begin(), id.bytes.size(), id.bytes.begin());
    id.bytes[6] = static_cast<std::uint8_t>(0x50 | (id.bytes[6] & 0x0f));
    id.bytes[8] = static_cast<std::uint8_t>(0x80 | (id.bytes[8] & 0x3f));
    return id;
}

}  // namespace pawl::base
