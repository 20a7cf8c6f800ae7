#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::decode;
using json::encode;

// Text of any code points but surrogates, with those that need an escape well represented.
std::string any_text() {
    const auto points = *rc::gen::container<std::vector<char32_t>>(rc::gen::oneOf(
        rc::gen::inRange<char32_t>(0, 0x80), rc::gen::inRange<char32_t>(0x80, 0xd800),
        rc::gen::inRange<char32_t>(0xe000, 0x110000), rc::gen::element(U'"', U'\\', U'\n', U'/')));
    std::string text;
    for (const char32_t c : points) {
        if (c < 0x80) {
            text += static_cast<char>(c);
        } else if (c < 0x800) {
            text += static_cast<char>(0xc0 | c >> 6);
            text += static_cast<char>(0x80 | (c & 63));
        } else if (c < 0x10000) {
            text += static_cast<char>(0xe0 | c >> 12);
            text += static_cast<char>(0x80 | (c >> 6 & 63));
            text += static_cast<char>(0x80 | (c & 63));
        } else {
            text += static_cast<char>(0xf0 | c >> 18);
            text += static_cast<char>(0x80 | (c >> 12 & 63));
            text += static_cast<char>(0x80 | (c >> 6 & 63));
            text += static_cast<char>(0x80 | (c & 63));
        }
    }
    return text;
}

template <class T>
T any() {
    return *rc::gen::arbitrary<T>();
}

Line any_line() { return {any_text(), any<int>()}; }

Status any_status() {
    return *rc::gen::element(Status::fresh, Status::placed, Status::paid, Status::lost);
}

Event any_event() {
    switch (*rc::gen::inRange(0, 4)) {
        case 0:
            return Placed{any_text(), any<int>()};
        case 1:
            return Paid{any_text()};
        case 2:
            return Expired{};
        default:
            return Failed<Line>{any_line(), any_text()};
    }
}

RC_GTEST_PROP(RoundTrip, HoldsForText, ()) {
    const auto text = any_text();
    RC_ASSERT(decode<std::string>(encode(text)) == text);
    const std::map<std::string, std::string> map{{text, text}};
    RC_ASSERT((decode<std::map<std::string, std::string>>(encode(map)) == map));
}

RC_GTEST_PROP(RoundTrip, HoldsForEveryIntegerType, ()) {
    const Scalars x{any<bool>(),
                    any<std::int8_t>(),
                    any<std::uint8_t>(),
                    any<std::int16_t>(),
                    any<std::uint32_t>(),
                    any<std::int64_t>(),
                    any<std::uint64_t>(),
                    0,
                    0,
                    any_text(),
                    any_status()};
    RC_ASSERT(decode<Scalars>(encode(x)) == x);
}

RC_GTEST_PROP(RoundTrip, HoldsForEveryBitPatternOfADouble, (std::uint64_t bits)) {
    const auto x = std::bit_cast<double>(bits * 0x9e3779b97f4a7c15ULL);
    RC_PRE(std::isfinite(x));
    RC_ASSERT(std::bit_cast<std::uint64_t>(decode<double>(encode(x))) ==
              std::bit_cast<std::uint64_t>(x));
}

RC_GTEST_PROP(RoundTrip, HoldsForEveryBitPatternOfAFloat, (std::uint32_t bits)) {
    const auto x = std::bit_cast<float>(bits * 0x9e3779b9U);
    RC_PRE(std::isfinite(x));
    RC_ASSERT(decode<float>(encode(x)) == x);
}

RC_GTEST_PROP(RoundTrip, HoldsForVariants, ()) {
    std::vector<Event> events(*rc::gen::inRange(0, 8));
    for (auto& event : events) event = any_event();
    RC_ASSERT(decode<std::vector<Event>>(encode(events)) == events);
}

RC_GTEST_PROP(RoundTrip, HoldsForContainers, ()) {
    Containers x;
    x.lines.resize(*rc::gen::inRange(0, 5));
    for (auto& line : x.lines) line = any_line();
    x.flags = any<std::vector<bool>>();
    x.three = any<std::array<int, 3>>();
    x.queue = {any_text(), any_text()};
    x.ids = any<std::set<int>>();
    x.counts[any_text()] = any<int>();
    x.names[any_status()] = any_text();
    for (const auto id : any<std::set<std::int64_t>>()) x.by_id[id] = any_text();
    x.pair = {any<int>(), any_text()};
    x.tuple = {any<bool>(), 0.5, any_line()};
    for (const auto byte : any<std::vector<std::uint8_t>>())
        x.bytes.push_back(static_cast<std::byte>(byte));
    RC_ASSERT(decode<Containers>(encode(x)) == x);
}

RC_GTEST_PROP(RoundTrip, HoldsForTimes, ()) {
    using namespace std::chrono;
    constexpr std::int64_t end_of_9999 = 253402300799;
    constexpr std::int64_t year_0 = -62167219200;
    const auto second = *rc::gen::inRange(year_0, end_of_9999);
    const auto fraction = *rc::gen::inRange(0, 1'000'000);
    Times x;
    x.at = Time{seconds{second}} + microseconds{fraction};
    x.precise = sys_time<nanoseconds>{nanoseconds{any<std::int64_t>()}};
    x.day = floor<days>(x.at);
    x.pause = microseconds{any<std::int64_t>()};
    x.timeout = seconds{any<std::int32_t>()};
    x.age = hours{any<std::int16_t>()};
    RC_ASSERT(decode<Times>(encode(x)) == x);
}

}  // namespace
}  // namespace pawl
