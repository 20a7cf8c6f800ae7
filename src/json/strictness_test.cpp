#include <gtest/gtest.h>

#include <pawl/json.hpp>

#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::Strictness;

struct Basket {
    std::vector<Line> lines;
    std::array<Line, 2> pair{};
    std::tuple<int, Line> tuple;
    std::map<std::string, Line> by_name;
    std::map<int, Line> by_number;
    std::optional<Line> maybe;
    std::unique_ptr<Line> pointed;
    Event event = Expired{};
    std::variant<std::monostate, Placed> last;
    json::Raw raw{"null"};
    Money money;
};

template <class T>
std::string error_when(Strictness strictness, std::string_view text) {
    return error_of([&] { json::decode<T>(text, strictness); });
}
template <class T>
std::string exact_error(std::string_view text) {
    return error_when<T>(Strictness::exact, text);
}

TEST(Strictness, ExactRefusesUnknownFieldsWithTheirPath) {
    const std::string known = ": unknown field; known are sku, quantity";
    const auto error = exact_error<Basket>;
    EXPECT_EQ(exact_error<Line>(R"({"sku":"a","qty":2})"), "$.qty" + known);
    EXPECT_EQ(error(R"({"lines":[{"sku":"a"},{"sku":"b","x":1}]})"), "$.lines[1].x" + known);
    EXPECT_EQ(error(R"({"pair":[{"x":1},{}]})"), "$.pair[0].x" + known);
    EXPECT_EQ(error(R"({"tuple":[1,{"x":1}]})"), "$.tuple[1].x" + known);
    EXPECT_EQ(error(R"({"by_name":{"two words":{"x":1}}})"), "$.by_name[\"two words\"].x" + known);
    EXPECT_EQ(error(R"({"maybe":{"x":1}})"), "$.maybe.x" + known);
    EXPECT_EQ(error(R"({"pointed":{"x":1}})"), "$.pointed.x" + known);
}

TEST(Strictness, ExactKnowsTheTypeOfAnAlternativeAndNothingElse) {
    EXPECT_EQ(exact_error<Event>(R"({"type":"Placed","sku":"a","quantity":1})"), "no error");
    EXPECT_EQ(exact_error<Event>(R"({"quantity":1,"type":"Placed","sku":"a"})"), "no error");
    EXPECT_EQ(exact_error<Event>(R"({"type":"Placed","x":1})"),
              "$.x: unknown field; known are sku, quantity");
    EXPECT_EQ(exact_error<Event>(R"({"type":"Expired","x":1})"),
              "$.x: unknown field: none is known here");
    EXPECT_EQ(exact_error<Event>(R"({"type":"Failed<Line>","what":{"type":"Line"}})"),
              "$.what.type: unknown field; known are sku, quantity");
    EXPECT_EQ(exact_error<Basket>(R"({"last":{"type":"Placed","x":null}})"),
              "$.last.x: unknown field; known are sku, quantity");
    EXPECT_EQ(exact_error<Basket>(R"({"last":null,"event":{"type":"Expired"}})"), "no error");
}

TEST(Strictness, ExactLetsMissingFieldsAndKeysOfMapsPass) {
    EXPECT_EQ(exact_error<Basket>("{}"), "no error");
    EXPECT_EQ(exact_error<Basket>(R"({"by_name":{"any":{},"thing":{}},"by_number":{"7":{}}})"),
              "no error");
    EXPECT_EQ(exact_error<Basket>(R"({"raw":{"any":[{"thing":1}]},"money":"3 ct"})"), "no error");
}

TEST(Strictness, RefusesEqualKeysUnlessItIsLenient) {
    for (const auto strictness : {Strictness::unique, Strictness::exact}) {
        const auto error = [&](std::string_view text) {
            return error_when<Basket>(strictness, text);
        };
        const std::string twice = ": duplicate key";
        EXPECT_EQ(error(R"({"lines":[],"lines":[]})"), "$.lines" + twice);
        EXPECT_EQ(error(R"({"lines":[{},{"sku":"a","quantity":1,"sku":"a"}]})"),
                  "$.lines[1].sku" + twice);
        EXPECT_EQ(error(R"({"by_name":{"a":{},"b":{},"a":{}}})"), "$.by_name.a" + twice);
        EXPECT_EQ(error(R"({"by_number":{"1":{},"01":{}}})"), "$.by_number.01" + twice);
        EXPECT_EQ(error(R"({"maybe":{"sku":"a","s\u006bu":"b"}})"), "$.maybe.sku" + twice);
        EXPECT_EQ(error(R"({"event":{"type":"Expired","type":"Placed"}})"), "$.event.type" + twice);
        EXPECT_EQ(error(R"({"raw":{"x":[{"y":1,"y":2}]}})"), "$.raw.x[0].y" + twice);
    }
    EXPECT_EQ(error_when<Basket>(Strictness::unique, R"({"x":1,"maybe":{"y":2}})"), "no error");
    EXPECT_EQ(error_when<Basket>(Strictness::unique, R"({"x":{"y":1,"y":2}})"),
              "$.x.y: duplicate key");
}

TEST(Strictness, HoldsInWhatACodecHandsOn) {
    EXPECT_EQ(exact_error<std::vector<Boxed>>(R"([{"line":{"sku":"a"},"own":1}])"), "no error");
    EXPECT_EQ(exact_error<std::vector<Boxed>>(R"([{"line":{"x":1}}])"),
              "$[0].line.x: unknown field; known are sku, quantity");
    EXPECT_EQ(exact_error<std::vector<Boxed>>(R"([{"own":1,"own":2}])"), "$[0].own: duplicate key");
}

TEST(Strictness, IsLenientUnlessAskedFor) {
    const auto line = json::decode<Line>(R"({"sku":"a","sku":"b","x":1})");
    EXPECT_EQ(line.sku, "a");
    // A parser that was used for strict text is used again.
    EXPECT_EQ(exact_error<Line>(R"({"x":1})"), "$.x: unknown field; known are sku, quantity");
    EXPECT_EQ(decode_error<Line>(R"({"x":1,"x":2})"), "no error");
    EXPECT_EQ(decode_error<Basket>(R"({"by_number":{"1":{},"01":{}}})"), "no error");
}

TEST(Strictness, IsCheckedInLargeObjects) {
    std::string text = "{";
    for (int i = 0; i < 100'000; ++i) text += "\"k" + std::to_string(i) + "\":{},";
    EXPECT_EQ((exact_error<std::map<std::string, Line>>(text + "\"last\":{}}")), "no error");
    EXPECT_EQ((exact_error<std::map<std::string, Line>>(text + "\"k7\":{}}")),
              "$.k7: duplicate key");
}

}  // namespace
}  // namespace pawl
