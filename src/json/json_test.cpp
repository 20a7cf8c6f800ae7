#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <pawl/json.hpp>

#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::decode;
using json::encode;

Tree chain(int length) {
    Tree tree;
    Tree* last = &tree;
    for (int i = 1; i < length; ++i) {
        last->next = std::make_unique<Tree>();
        last = last->next.get();
    }
    return tree;
}

TEST(Encode, WritesAStructByItsFields) {
    EXPECT_EQ(encode(Line{"book", 2}), R"({"sku":"book","quantity":2})");
    EXPECT_EQ(encode(Expired{}), "{}");
    EXPECT_EQ(encode(42), "42");
}

TEST(Encode, WritesViewsAndLiterals) {
    struct Viewed {
        std::string_view view;
        const char* pointer = "";
    };
    EXPECT_EQ(encode("literal"), R"("literal")");
    EXPECT_EQ(encode(std::string_view{"view"}), R"("view")");
    EXPECT_EQ(encode(Viewed{"a", "b"}), R"({"view":"a","pointer":"b"})");
}

TEST(Encode, WritesAVariantWithItsTag) {
    EXPECT_EQ(encode(Event{Placed{"book", 2}}), R"({"type":"Placed","sku":"book","quantity":2})");
    EXPECT_EQ(encode(Event{Paid{"r-1"}}), R"({"type":"order.paid.v1","receipt":"r-1"})");
    EXPECT_EQ(encode(Event{Expired{}}), R"({"type":"Expired"})");
    EXPECT_EQ(encode(Event{Failed<Line>{{"book", 2}, "lost"}}),
              R"({"type":"Failed<Line>","what":{"sku":"book","quantity":2},"reason":"lost"})");
}

TEST(Encode, AppendsAndLeavesTheTextAloneWhenItFails) {
    std::string out = "before ";
    json::encode_to(out, Line{"a", 1});
    EXPECT_EQ(out, R"(before {"sku":"a","quantity":1})");
    EXPECT_THROW(json::encode_to(out, std::vector<double>{1, std::nan("")}), Error);
    EXPECT_EQ(out, R"(before {"sku":"a","quantity":1})");
}

TEST(Encode, NamesThePlaceOfWhatCantTravel) {
    struct Order {
        std::vector<Scalars> lines{3};
        std::map<std::string, Status> states;
    };
    Order order;
    order.lines[1].real = std::numeric_limits<double>::infinity();
    EXPECT_EQ(encode_error(order),
              "$.lines[1].real: NaN and infinity can't travel: JSON has no word for them");
    order.lines[1].real = 0;
    order.lines[2].text = "caf\xe9";
    EXPECT_EQ(encode_error(order),
              "$.lines[2].text: a text that isn't UTF-8 can't travel; it begins with \"caf\"");
    order.lines[2].text.clear();
    order.states["two words"] = static_cast<Status>(99);
    EXPECT_EQ(encode_error(order), "$.states[\"two words\"]: the value 99 of Status has no name");
    EXPECT_EQ(encode_error(std::nanf("")),
              "$: NaN and infinity can't travel: JSON has no word for them");
    EXPECT_EQ(encode_error(std::map<std::string, int>{{"\xff", 1}}).substr(0, 30),
              "$[\"\"]: a text that isn't UTF-8");
}

TEST(Encode, RefusesWhatIsNestedTooDeep) {
    EXPECT_EQ(decode<Tree>(encode(chain(json::deepest - 1))).next->next->name, "");
    EXPECT_NE(encode_error(chain(json::deepest + 1)).find("nested deeper than 64"),
              std::string::npos);
    EXPECT_NE(encode_error(chain(1000)).find("nested deeper than 64"), std::string::npos);
}

TEST(Encode, RefusesANullLiteralPointer) {
    const char* nothing = nullptr;
    EXPECT_EQ(encode_error(nothing), "$: a null pointer to text can't travel");
}

TEST(Decode, GivesBackWhatWasEncoded) {
    const Event events[] = {Placed{"book", 2}, Paid{"r"}, Expired{}, Failed<Line>{{"x", 1}, "y"}};
    for (const auto& event : events) EXPECT_EQ(decode<Event>(encode(event)), event);
    EXPECT_EQ(decode<std::list<int>>("[1,2]"), (std::list<int>{1, 2}));
}

TEST(Decode, KeepsTheDefaultsOfMissingFieldsAndIgnoresUnknownOnes) {
    EXPECT_EQ(decode<Line>("{}"), (Line{"", 1}));
    EXPECT_EQ(decode<Line>(R"({"color":{"deep":[1]},"sku":"a"})"), (Line{"a", 1}));
    struct Defaults {
        std::optional<int> number = 7;
        std::vector<int> list = {1, 2};
        Line line{"default", 9};
    };
    const auto kept = decode<Defaults>(R"({"line":{"quantity":3}})");
    EXPECT_EQ(kept.number, 7);
    EXPECT_EQ(kept.list, (std::vector{1, 2}));
    EXPECT_EQ(kept.line, (Line{"default", 3}));
    const auto replaced = decode<Defaults>(R"({"number":null,"list":[]})");
    EXPECT_EQ(replaced.number, std::nullopt);
    EXPECT_TRUE(replaced.list.empty());
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

TEST(Decode, NamesThePlaceAndWhatItFound) {
    struct Order {
        std::vector<Line> lines;
        std::map<std::string, int> counts;
    };
    EXPECT_EQ(decode_error<Order>(R"({"lines":[{},{},{},{"sku":"a","quantity":"x"}]})"),
              "$.lines[3].quantity: expected an integer, found the text \"x\"");
    EXPECT_EQ(decode_error<Order>(R"({"counts":{"a":1,"b c":null}})"),
              "$.counts[\"b c\"]: expected an integer, found null");
    EXPECT_EQ(decode_error<Order>(R"({"lines":{}})"),
              "$.lines: expected an array, found an object");
    EXPECT_EQ(decode_error<Order>("[ ]"), "$: expected an object, found an array");
    EXPECT_EQ(decode_error<Line>(R"({"sku":1.50})"),
              "$.sku: expected a text, found the number 1.50");
    EXPECT_EQ(decode_error<bool>("0"), "$: expected true or false, found the number 0");
    EXPECT_EQ(decode_error<int>("1.0"), "$: expected an integer, found the number 1.0");
    EXPECT_EQ(decode_error<double>("true"), "$: expected a number, found true");
}

TEST(Decode, RefusesIntegersOutOfRange) {
    EXPECT_EQ(decode<std::int8_t>("-128"), -128);
    EXPECT_EQ(decode_error<std::int8_t>("128"),
              "$: expected an integer from -128 to 127, found the number 128");
    EXPECT_EQ(decode_error<std::uint32_t>("-1"),
              "$: expected an integer from 0 to 4294967295, found the number -1");
    EXPECT_EQ(decode_error<std::uint64_t>("-1"),
              "$: expected an integer of 0 or more, found the number -1");
    EXPECT_EQ(decode_error<std::int64_t>("9223372036854775808"),
              "$: expected an integer below 2^63, found the number 9223372036854775808");
    EXPECT_NE(decode_error<std::uint64_t>("18446744073709551616").find("more than 64 bits"),
              std::string::npos);
    EXPECT_NE(decode_error<double>("1e999").find("too large"), std::string::npos);
    EXPECT_EQ(decode_error<float>("1e39"),
              "$: expected a number that a float can hold, found the number 1e39");
}

TEST(Decode, RefusesUnknownNamesAndListsTheKnownOnes) {
    EXPECT_EQ(decode_error<Status>(R"("gone")"),
              "$: unknown name \"gone\"; known are lost, fresh, placed, paid");
    EXPECT_EQ(decode_error<Event>(R"({"type":"Gone"})"),
              "$.type: unknown name \"Gone\"; known are Placed, order.paid.v1, Expired, "
              "Failed<Line>");
    EXPECT_EQ(decode_error<Event>(R"({"sku":"a"})"),
              "$: \"type\" is missing; it is one of Placed, order.paid.v1, Expired, Failed<Line>");
    EXPECT_EQ(decode_error<Event>(R"({"type":1})"), "$.type: expected a text, found the number 1");
}

TEST(Decode, RefusesArraysOfTheWrongSize) {
    EXPECT_EQ((decode_error<std::array<int, 3>>("[1,2]")), "$: expected 3 items, found 2");
    EXPECT_EQ((decode_error<std::pair<int, int>>("[1,2,3]")), "$: expected 2 items, found 3");
}

TEST(Decode, ReadsDocumentsInsideDocuments) {
    const auto outer = decode<Envelope>(
        R"({"id":"00000000-0000-0000-0000-000000000000","payload":{"sku":"a","quantity":3}})");
    const json::Document one{R"(["first"])"};
    const json::Document two{outer.payload.text};
    EXPECT_EQ((*one.root().items().begin()).text(), "first");
    EXPECT_EQ(two.root().find("quantity")->integer(), 3);
}

TEST(Maybe, IsNullWhenEmpty) {
    EXPECT_EQ(encode(Maybes{}),
              R"({"number":null,"line":null,"texts":[],"last":null,"nothing":null})");
    const Maybes full{5, Line{"a", 1}, {"x", std::nullopt}, Placed{"b", 2}, {}};
    EXPECT_EQ(decode<Maybes>(encode(full)), full);
    EXPECT_EQ(decode<Maybes>(encode(Maybes{})), Maybes{});
    EXPECT_EQ(*decode<std::unique_ptr<int>>("5"), 5);
    EXPECT_EQ(decode<std::shared_ptr<Line>>("null"), nullptr);
}

TEST(Times, AreTextAndDurationsAreMicroseconds) {
    using namespace std::chrono_literals;
    using std::chrono::sys_days;
    const sys_days day{std::chrono::year{2024} / 2 / 29};
    const Times times{day + 12h + 1us, day + 1ns, day, 90s, 5us, 2h};
    EXPECT_EQ(encode(times),
              R"({"at":"2024-02-29T12:00:00.000001Z","precise":"2024-02-29T00:00:00.000000001Z",)"
              R"("day":"2024-02-29T00:00:00.000000Z","timeout":90000000,"pause":5,)"
              R"("age":7200000000})");
    EXPECT_EQ(decode<Times>(encode(times)), times);
    EXPECT_EQ(encode(Time{-1us}), R"("1969-12-31T23:59:59.999999Z")");
    EXPECT_EQ(decode<Time>(R"("1969-12-31T23:59:59.999999Z")"), Time{-1us});
    EXPECT_EQ(decode<Time>(R"("2024-02-29T00:00:00Z")"), Time{day});
}

TEST(Times, AreRefusedWhenTheyAreMalformedOrDontFit) {
    using namespace std::chrono;
    EXPECT_EQ(encode_error(Time::max()), "$: a time outside the years 0 to 9999 can't travel");
    EXPECT_EQ(encode_error(hours::max()),
              "$: a duration of more than 2^63 microseconds can't travel");
    for (const auto text :
         {"2024-02-30T00:00:00Z", "2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T00:00:00",
          "2024-02-29T00:00:00.Z", "2024-02-29T00:00:00.1234567890Z", "2024-02-29 00:00:00Z",
          "24-02-29T00:00:00Z", "2024-02-29T00:00:60Z", "", "Z"})
        EXPECT_NE(decode_error<Time>(encode(text)).find("expected a time like"), std::string::npos)
            << text;
    EXPECT_NE(decode_error<sys_days>(R"("2024-02-29T12:00:00Z")").find("can hold"),
              std::string::npos);
    EXPECT_NE(decode_error<Time>(R"("2024-02-29T12:00:00.0000001Z")").find("can hold"),
              std::string::npos);
    EXPECT_NE(decode_error<seconds>("1500000").find("can hold"), std::string::npos);
    EXPECT_NE(decode_error<Time>("5").find("expected a time like"), std::string::npos);
}

TEST(Bytes, AreBase64) {
    const auto bytes = [](std::string_view text) {
        std::vector<std::byte> out;
        for (const char c : text) out.push_back(static_cast<std::byte>(c));
        return out;
    };
    EXPECT_EQ(encode(bytes("")), R"("")");
    EXPECT_EQ(encode(bytes("f")), R"("Zg==")");
    EXPECT_EQ(encode(bytes("fo")), R"("Zm8=")");
    EXPECT_EQ(encode(bytes("foo")), R"("Zm9v")");
    EXPECT_EQ(encode(bytes("foobar")), R"("Zm9vYmFy")");
    for (const auto text : {"", "f", "fo", "foo", "foob", "\xff\xfe\xfd"})
        EXPECT_EQ(decode<std::vector<std::byte>>(encode(bytes(text))), bytes(text));
    for (const auto text : {"Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "====", "Z===", "Zm 8", "Zm8-"})
        EXPECT_NE(decode_error<std::vector<std::byte>>(encode(text)).find("expected base64"),
                  std::string::npos)
            << text;
    EXPECT_NE((decode_error<std::array<std::byte, 2>>(R"("Zm9v")").find("2 bytes")),
              std::string::npos);
}

TEST(Uuids, AreText) {
    const auto text = R"("0192f0c1-0000-7000-8000-00000000abcd")";
    EXPECT_EQ(encode(decode<Uuid>(text)), text);
    EXPECT_EQ(decode_error<Uuid>(R"("0192")"), "$: expected a UUID, found the text \"0192\"");
    EXPECT_EQ(decode_error<Uuid>("1"), "$: expected a UUID, found the number 1");
}

TEST(Maps, HaveTextIntegersOrEnumeratorsAsKeys) {
    using ByStatus = std::map<Status, int>;
    using ById = std::map<std::int16_t, int>;
    using ByBig = std::map<std::uint64_t, int>;
    EXPECT_EQ(encode(ByStatus{{Status::paid, 1}}), R"({"paid":1})");
    EXPECT_EQ(decode<ByStatus>(R"({"paid":1})"), (ByStatus{{Status::paid, 1}}));
    EXPECT_EQ(encode(ById{{-5, 1}}), R"({"-5":1})");
    EXPECT_EQ(decode<ById>(R"({"-5":1})"), (ById{{-5, 1}}));
    EXPECT_EQ(decode<ByBig>(encode(ByBig{{~0ULL, 1}})), (ByBig{{~0ULL, 1}}));
    EXPECT_EQ(decode_error<ById>(R"({"40000":1})"),
              "$.40000: expected an integer from -32768 to 32767 as key, found \"40000\"");
    EXPECT_NE(decode_error<ById>(R"({"5x":1})").find("as key, found \"5x\""), std::string::npos);
    EXPECT_NE(decode_error<ByBig>(R"({"-1":1})").find("as key, found \"-1\""), std::string::npos);
    EXPECT_NE(decode_error<ByStatus>(R"({"x":1})").find("unknown name \"x\""), std::string::npos);
}

TEST(RawJson, PassesThroughUnchanged) {
    const std::string text =
        R"({"id":"00000000-0000-0000-0000-000000000000","payload":{ "n" : 1.50, "s":"\u00e4,]" }})";
    const auto envelope = decode<Envelope>(text);
    EXPECT_EQ(envelope.payload.text, R"({ "n" : 1.50, "s":"\u00e4,]" })");
    EXPECT_EQ(encode(envelope), text);
    EXPECT_EQ((decode<std::vector<json::Raw>>(R"([ 1 ,"a,b" , [2,[]],{}, null ,1e2])")),
              (std::vector<json::Raw>{{"1"}, {"\"a,b\""}, {"[2,[]]"}, {"{}"}, {"null"}, {"1e2"}}));
    EXPECT_EQ(decode<json::Raw>(" 12 ").text, "12");
    EXPECT_EQ(decode<json::Raw>(" [12] ").text, "[12]");
}

TEST(RawJson, IsCheckedBeforeItIsWritten) {
    struct Holder {
        json::Raw raw;
    };
    EXPECT_NE(encode_error(Holder{{"{"}}).find("$.raw: raw text"), std::string::npos);
    EXPECT_NE(encode_error(json::Raw{}).find("it is empty"), std::string::npos);
    EXPECT_NE(encode_error(json::Raw{"1 2"}).find("not valid JSON"), std::string::npos);
    const std::string deep = std::string(64, '[') + std::string(64, ']');
    EXPECT_EQ(encode_error(json::Raw{deep}), "no error");
    EXPECT_NE(encode_error(Holder{{deep}}).find("nested deeper"), std::string::npos);
    EXPECT_EQ(
        encode_error(Holder{{R"("[[[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")"}}),
        "no error");
}

TEST(Codec, BringsATypesOwnJson) {
    const Price price{Money{250}, {Money{1}, Money{-2}}};
    EXPECT_EQ(encode(price), R"({"net":"250 ct","parts":["1 ct","-2 ct"]})");
    EXPECT_EQ(decode<Price>(encode(price)), price);
    EXPECT_EQ(decode_error<Price>(R"({"parts":["1 ct","2"]})"),
              "$.parts[1]: expected an amount like \"250 ct\", found the text \"2\"");
    EXPECT_EQ(decode_error<Price>(R"({"net":"x ct"})"), "$.net: stoll");
}

class Silent {};

}  // namespace
}  // namespace pawl

template <>
struct pawl::json::Codec<pawl::Silent> {
    static void write(Writer&, const Silent&) {}
    static void read(Value, Silent&) {}
};

namespace pawl {
namespace {

TEST(Codec, ThatWritesNothingIsAnError) {
    EXPECT_EQ(encode_error(Silent{}), "$: its Codec did not write one value");
    EXPECT_EQ(encode_error(std::vector<Silent>(2)), "$[0]: its Codec did not write one value");
}

struct WithFunction {
    std::function<void()> call;
};
struct WithView {
    std::string_view view;
};
struct WithArray {
    char name[8];
};
struct Derived : Line {
    int x = 0;
};

TEST(Travels, TellsWhatCanBeEncodedAndDecoded) {
    static_assert(json::travels<Event>);
    static_assert(json::travels<Containers>);
    static_assert(json::travels<Maybes>);
    static_assert(json::travels<Tree>);
    static_assert(json::travels<Times>);
    static_assert(json::travels<Price>);
    static_assert(!json::travels<WithFunction>);
    static_assert(!json::travels<std::vector<WithFunction>>);
    static_assert(!json::travels<std::optional<std::map<std::string, WithFunction>>>);
    static_assert(!json::travels<WithView>);
    static_assert(!json::travels<WithArray>);
    static_assert(!json::travels<Derived>);
    static_assert(!json::travels<std::mutex>);
    static_assert(!json::travels<int*>);
    static_assert(!json::travels<int&>);
    static_assert(!json::travels<void>);
    static_assert(!json::travels<void()>);
    static_assert(!json::travels<std::byte>);
    static_assert(!json::travels<long double>);
    static_assert(!json::travels<std::variant<int, Line>>);
    static_assert(!json::travels<std::multimap<int, int>>);
    static_assert(!json::travels<std::weak_ptr<int>>);
}

}  // namespace
}  // namespace pawl
