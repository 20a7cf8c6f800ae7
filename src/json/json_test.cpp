#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <pawl/error.hpp>
#include <pawl/json.hpp>

#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::decode;
using json::encode;

template <class F>
std::string error_of(F&& f) {
    try {
        f();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::codec);
        return e.what();
    }
    return "no error";
}

template <class T>
std::string decode_error(std::string_view text) {
    return error_of([&] { decode<T>(text); });
}

template <class T>
std::string encode_error(const T& value) {
    return error_of([&] { encode(value); });
}

TEST(Encode, WritesAStructByItsFields) {
    EXPECT_EQ(encode(Line{"book", 2}), R"({"sku":"book","quantity":2})");
    EXPECT_EQ(encode(Expired{}), "{}");
    EXPECT_EQ(encode("literal"), R"("literal")");
    EXPECT_EQ(encode(std::string_view{"view"}), R"("view")");
    EXPECT_EQ(encode(42), "42");
}

TEST(Encode, WritesAVariantWithItsTag) {
    EXPECT_EQ(encode(Event{Placed{"book", 2}}), R"({"type":"Placed","sku":"book","quantity":2})");
    EXPECT_EQ(encode(Event{Paid{"r-1"}}), R"({"type":"order.paid.v1","receipt":"r-1"})");
    EXPECT_EQ(encode(Event{Expired{}}), R"({"type":"Expired"})");
    EXPECT_EQ(encode(Event{Failed<Line>{{"book", 2}, "lost"}}),
              R"({"type":"Failed<Line>","what":{"sku":"book","quantity":2},"reason":"lost"})");
}

TEST(Decode, GivesBackWhatWasEncoded) {
    const Event events[] = {Placed{"book", 2}, Paid{"r"}, Expired{}, Failed<Line>{{"x", 1}, "y"}};
    for (const auto& event : events) EXPECT_EQ(decode<Event>(encode(event)), event);
}

TEST(Decode, KeepsTheDefaultsOfMissingFieldsAndIgnoresUnknownOnes) {
    EXPECT_EQ(decode<Line>("{}"), (Line{"", 1}));
    EXPECT_EQ(decode<Line>(R"({"color":{"deep":[1]},"sku":"a"})"), (Line{"a", 1}));
}

TEST(Decode, TakesFieldsInAnyOrder) {
    EXPECT_EQ(decode<Line>(R"({"quantity":5,"sku":"a"})"), (Line{"a", 5}));
    EXPECT_EQ(decode<Event>(R"({"quantity":5,"sku":"a","type":"Placed"})"), Event(Placed{"a", 5}));
}

TEST(Decode, TakesTheFirstOfDuplicateKeys) {
    EXPECT_EQ(decode<Line>(R"({"quantity":1,"sku":"a","quantity":2,"sku":"b"})"), (Line{"a", 1}));
    EXPECT_EQ(decode<Line>(R"({"sku":"a","sku":"b","quantity":3})"), (Line{"a", 3}));
    EXPECT_EQ((decode<std::map<std::string, int>>(R"({"a":1,"a":2})")),
              (std::map<std::string, int>{{"a", 1}}));
    EXPECT_EQ(decode<Event>(R"({"type":"Expired","type":"Placed"})"), Event(Expired{}));
}

}  // namespace
}  // namespace pawl
