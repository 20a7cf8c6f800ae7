#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <pawl/json/read.hpp>

#include "json/path.hpp"

namespace pawl::inline v0::json::detail {
namespace {

constexpr std::int8_t not_base64 = -1;

constexpr auto base64_values = [] {
    std::array<std::int8_t, 256> values{};
    values.fill(not_base64);
    std::int8_t next = 0;
    for (char c = 'A'; c <= 'Z'; ++c) values[static_cast<unsigned char>(c)] = next++;
    for (char c = 'a'; c <= 'z'; ++c) values[static_cast<unsigned char>(c)] = next++;
    for (char c = '0'; c <= '9'; ++c) values[static_cast<unsigned char>(c)] = next++;
    values['+'] = next++;
    values['/'] = next++;
    return values;
}();

std::size_t padding_of(std::string_view text) {
    return text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
}

template <class Integer>
bool parse_key(std::string_view key, Integer& value) {
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), value);
    return error == std::errc{} && end == key.data() + key.size() && !key.empty();
}

std::string list(Known known) {
    return fmt::format("{}", fmt::join(known.names, known.names + known.count, ", "));
}

}  // namespace

std::int64_t read_integer(Value v, Limits limits) {
    const auto value = v.integer();
    if (value < limits.lowest || value > limits.highest)
        v.fail_expected(fmt::format("an integer from {} to {}", limits.lowest, limits.highest));
    return value;
}

float read_float(Value v) {
    const auto value = static_cast<float>(v.number());  // rounds, so compare afterwards
    if (std::isinf(value)) v.fail_expected("a number that a float can hold");
    return value;
}

std::int64_t read_integer_key(Value v, std::string_view key, Limits limits) {
    std::int64_t value = 0;
    if (!parse_key(key, value) || value < limits.lowest || value > limits.highest)
        v.fail(fmt::format("expected an integer from {} to {} as key, found {}", limits.lowest,
                           limits.highest, quoted_excerpt(key)));
    return value;
}

std::uint64_t read_unsigned_key(Value v, std::string_view key) {
    std::uint64_t value = 0;
    if (!parse_key(key, value))
        v.fail(
            fmt::format("expected an integer of 0 or more as key, found {}", quoted_excerpt(key)));
    return value;
}

Uuid read_uuid(Value v) {
    if (v.type() == Type::text)
        if (const auto id = Uuid::parse(v.text())) return *id;
    v.fail_expected("a UUID");
}

std::size_t size_of_bytes(Value v) {
    const auto text = v.text();
    if (text.size() % 4 != 0) v.fail_expected("base64");
    return text.size() / 4 * 3 - padding_of(text);
}

void read_bytes(Value v, std::byte* out) {
    auto text = v.text();
    text.remove_suffix(padding_of(text));
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const auto value = base64_values[static_cast<unsigned char>(c)];
        if (value == not_base64) v.fail_expected("base64");
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        *out++ = static_cast<std::byte>(bits >> count);
    }
    // One text for one value: the bits that are left over must be unset.
    if ((bits & ((1U << count) - 1)) != 0) v.fail_expected("base64");
}

Items items_exactly(Value v, std::size_t count) {
    const auto items = v.items();
    std::size_t found = 0;
    for ([[maybe_unused]] const Value item : items) ++found;
    if (found != count) v.fail(fmt::format("expected {} items, found {}", count, found));
    return items;
}

void fail_unknown(Value v, std::string_view name, Known known) {
    v.fail(fmt::format("unknown name {}; known are {}", quoted_excerpt(name), list(known)));
}

void fail_untyped(Value v, Known known) {
    v.fail(fmt::format("\"type\" is missing; it is one of {}", list(known)));
}

void refuse_unknown_fields(Value v, Known known, bool has_type) {
    const auto* const end = known.names + known.count;
    for (const auto [key, value] : v.members()) {
        if (has_type && key == "type") continue;
        if (std::find(known.names, end, key) != end) continue;
        value.fail(known.count == 0 ? std::string{"unknown field: none is known here"}
                                    : fmt::format("unknown field; known are {}", list(known)));
    }
}

void refuse_equal_key(Value v) {
    if (v.strictness() != Strictness::lenient) v.fail("duplicate key");
}

}  // namespace pawl::inline v0::json::detail
