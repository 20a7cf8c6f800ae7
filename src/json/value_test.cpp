#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pawl/json/value.hpp>
#include <thread>

#include "json/samples.hpp"

namespace pawl {
namespace {

using json::Document;
using json::Type;
using json::Value;
using samples::error_of;
using ::testing::ElementsAre;

TEST(Values, KnowTheirTypes) {
    const Document document{R"([null,true,1,18446744073709551615,1.0,"a",[],{}])"};
    std::vector<Type> types;
    for (const Value item : document.root().items()) types.push_back(item.type());
    EXPECT_THAT(types, ElementsAre(Type::null, Type::boolean, Type::integer, Type::integer,
                                   Type::number, Type::text, Type::array, Type::object));
    EXPECT_EQ(document.root().size(), 8);
}

TEST(Values, ListTheirMembersInOrder) {
    const Document document{R"({"b":1,"a":{"x":[1,2]},"b":3})"};
    std::vector<std::string> members;
    for (const auto [key, value] : document.root().members())
        members.push_back(std::string{key} + "=" + std::string{value.raw()});
    EXPECT_THAT(members, ElementsAre("b=1", R"(a={"x":[1,2]})", "b=3"));
}

TEST(Values, AreFoundByKey) {
    const Document document{R"({"a":1,"b":{"c":2},"a":3,"":4})"};
    EXPECT_EQ(document.root().find("a")->integer(), 1);
    EXPECT_EQ(document.root().find("b")->find("c")->integer(), 2);
    EXPECT_EQ(document.root().find("")->integer(), 4);
    EXPECT_FALSE(document.root().find("c"));
    EXPECT_THROW(document.root().find("a")->find("b"), Error);
}

TEST(Values, KnowTheirPathAndTheirText) {
    const Document document{R"({"a":[0,{"b c":[[true , {"x":"y"}]]}],"z":-1.5e3})"};
    const auto deep = *document.root().find("a")->items().begin();
    EXPECT_EQ(deep.path(), "$.a[0]");
    const Value second = *++document.root().find("a")->items().begin();
    const Value inner = *second.find("b c")->items().begin();
    const Value last = *++inner.items().begin();
    EXPECT_EQ(last.find("x")->path(), "$.a[1][\"b c\"][0][1].x");
    EXPECT_EQ(last.raw(), R"({"x":"y"})");
    EXPECT_EQ(inner.raw(), R"([true , {"x":"y"}])");
    EXPECT_EQ(document.root().find("z")->raw(), "-1.5e3");
    EXPECT_EQ(second.find("b c")->path(), "$.a[1][\"b c\"]");
    EXPECT_EQ(document.root().path(), "$");
    EXPECT_EQ((*inner.items().begin()).raw(), "true");
}

TEST(Values, AreExactAtTheEndsOfTheirRanges) {
    const Document document{R"([-9223372036854775808,9223372036854775807,18446744073709551615])"};
    auto item = document.root().items().begin();
    EXPECT_EQ((*item).integer(), std::numeric_limits<std::int64_t>::min());
    ++item;
    EXPECT_EQ((*item).integer(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ((*item).unsigned_integer(), 9223372036854775807U);
    ++item;
    EXPECT_EQ((*item).unsigned_integer(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(error_of([&] { (void)(*item).integer(); }),
              "$[2]: expected an integer below 2^63, found the number 18446744073709551615");
}

TEST(Values, GiveTextWithoutItsEscapes) {
    const Document document{R"("\u00e4\ud83d\ude00\n\"\\\/\u0000x")"};
    EXPECT_EQ(document.root().text(), std::string_view("\u00e4\U0001f600\n\"\\/\0x", 12));
}

TEST(Documents, AreOneCompleteValue) {
    for (const auto text : {"",
                            " ",
                            "{",
                            "[1,]",
                            "{\"a\":1,}",
                            "1 2",
                            "[1] x",
                            "nul",
                            "'a'",
                            "01",
                            "1.",
                            "+1",
                            ".5",
                            "\"\t\"",
                            "\"\\x\"",
                            "[1]]",
                            "{\"a\"}",
                            "{1:2}",
                            "\xef\xbb\xbf{}",
                            "NaN",
                            "Infinity",
                            "// c\n1"})
        EXPECT_NE(error_of([&] { Document{text}; }).find("$: not valid JSON: "), std::string::npos)
            << text;
}

TEST(Documents, AreUtf8) {
    EXPECT_NE(error_of([] { Document{"\"caf\xe9\""}; }).find("it isn't UTF-8"), std::string::npos);
    EXPECT_NE(error_of([] { Document{"\"\xed\xa0\x80\""}; }).find("it isn't UTF-8"),
              std::string::npos);
    for (const auto text : {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\ud800x")",
                            R"("\ud800\ud800")", R"({"\udfff":1})"})
        EXPECT_NE(error_of([&] { Document{text}; }).find("not valid JSON"), std::string::npos)
            << text;
}

TEST(Documents, HaveALimitToTheirDepth) {
    const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_NO_THROW(Document{nested(json::deepest)});
    EXPECT_NE(error_of([&] { Document{nested(json::deepest + 1)}; }).find("nested deeper than 64"),
              std::string::npos);
    EXPECT_THROW(Document{std::string(1'000'000, '[')}, Error);
}

TEST(Documents, MayBeLargeManyAndMoved) {
    std::string big = "[\"" + std::string(3'000'000, 'x') + "\"";
    for (int i = 0; i < 1000; ++i) big += "," + std::to_string(i);
    big += "]";
    std::vector<Document> kept;
    for (int i = 0; i < 10; ++i) kept.emplace_back("[" + std::to_string(i) + "]");
    Document large{big};
    const Document moved{std::move(large)};
    std::int64_t sum = 0;
    for (const Value item : moved.root().items())
        if (item.type() == Type::integer) sum += item.integer();
    EXPECT_EQ(sum, 999 * 500);
    for (int i = 0; i < 10; ++i) EXPECT_EQ((*kept[i].root().items().begin()).integer(), i);
}

TEST(Documents, MayMoveToAnotherThread) {
    Document document{"[1]"};
    std::int64_t read = 0;
    std::thread{[&read, moved = std::move(document)] {
        read = (*moved.root().items().begin()).integer();
    }}.join();
    EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace pawl
