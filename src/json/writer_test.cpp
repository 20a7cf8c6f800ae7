#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <pawl/json/writer.hpp>

#include "json/samples.hpp"

namespace pawl {
namespace {

using json::decode;
using json::encode;
using json::Writer;
using samples::error_of;

TEST(Writer, SeparatesItemsAndMembers) {
    std::string out;
    Writer w{out};
    w.open_object();
    w.key("a");
    w.open_array();
    w.integer(1);
    w.null();
    w.open_object();
    w.close_object();
    w.boolean(false);
    w.close_array();
    w.key("b\n");
    w.text("c");
    w.close_object();
    EXPECT_EQ(out, R"({"a":[1,null,{},false],"b\n":"c"})");
}

TEST(Writer, EscapesWhatJsonAsksFor) {
    EXPECT_EQ(encode("\"\\\n\r\t\x01\x1f/"), R"("\"\\\n\r\t\u0001\u001f/")");
    EXPECT_EQ(encode(std::string_view("a\0b", 3)), R"("a\u0000b")");
    EXPECT_EQ(encode("\u00e4\U0001f600\x7f"), "\"\u00e4\U0001f600\x7f\"");
    // Each position inside the eight that are looked at together, and after them.
    for (std::size_t at = 0; at < 20; ++at)
        for (const char c : {'"', '\\', '\n', '\x1f'}) {
            std::string text(20, '~');
            text[at] = c;
            EXPECT_EQ(decode<std::string>(encode(text)), text);
        }
}

TEST(Writer, RefusesTextThatIsNotUtf8WhereverItStands) {
    for (std::size_t at = 0; at < 20; ++at) {
        std::string text(20, 'x');
        text[at] = '\xc3';
        EXPECT_NE(error_of([&] { encode(text); }).find("isn't UTF-8"), std::string::npos);
    }
}

TEST(Writer, WritesTheShortestNumberThatReadsBackTheSame) {
    EXPECT_EQ(encode(0.1), "0.1");
    EXPECT_EQ(encode(1.0), "1.0");
    EXPECT_EQ(encode(-0.0), "-0.0");
    EXPECT_EQ(encode(0.1F), "0.1");
    EXPECT_EQ(encode(1e300), "1e+300");
    for (const double x : {123456789012345680000.0, 1e22, 5e-324, 1.7976931348623157e308,
                           9007199254740993.0, 0.1 + 0.2, 1e21, -1e15})
        EXPECT_EQ(decode<double>(encode(x)), x) << encode(x);
    EXPECT_TRUE(std::signbit(decode<double>("-0.0")));
    for (const float x : {0.1F, 7.03853069e-26F, 3.4028235e38F, 1e-45F, 16777216.0F, 8.5e9F})
        EXPECT_EQ(decode<float>(encode(x)), x);
}

TEST(Writer, NamesThePlaceInUnfinishedText) {
    std::string out = "earlier {[";
    Writer w{out};
    w.open_array();
    w.text("],{\"\\");
    w.open_object();
    w.key("x");
    w.open_array();
    w.close_array();
    w.key("y");
    EXPECT_EQ(error_of([&] { w.fail("wrong"); }), "$[1].y: wrong");
}

}  // namespace
}  // namespace pawl
