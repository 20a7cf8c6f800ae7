#include "base/text.hpp"

#include <gtest/gtest.h>

#include <pawl/error.hpp>
#include <string>

namespace pawl::base {
namespace {

TEST(Utf8, AcceptsWellFormedText) {
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("order-1"));
    EXPECT_TRUE(is_utf8("\u00e4\u20ac\U0001f600"));
}

TEST(Utf8, RefusesOverlongSurrogateTruncatedAndTooLarge) {
    EXPECT_FALSE(is_utf8("\xc0\xaf"));
    EXPECT_FALSE(is_utf8("\xe0\x80\xaf"));
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
    EXPECT_FALSE(is_utf8("\xe2\x82"));
    EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
    EXPECT_FALSE(is_utf8("\x80"));
}

TEST(Readable, KeepsGoodTextAndReplacesTheRest) {
    EXPECT_EQ(readable(""), "");
    EXPECT_EQ(readable("\u00e4\u20ac\U0001f600"), "\u00e4\u20ac\U0001f600");
    EXPECT_EQ(readable("a\xff\xe2\x82z"), "a\ufffd\ufffd\ufffdz");
    EXPECT_EQ(readable(std::string_view("a\0b", 3)), "a\ufffdb");
}

TEST(Readable, IsCutAtACharacter) {
    EXPECT_EQ(readable("12345", 5), "12345");
    EXPECT_EQ(readable("123456", 5), "12...");
    EXPECT_EQ(readable("1\u20ac\u20ac", 6), "1...");
    EXPECT_EQ(readable(std::string(10'000, 'x')).size(), 8192u);
    EXPECT_TRUE(is_utf8(readable(std::string(10'000, '\xff'))));
}

TEST(CheckId, NamesWhatIsWrong) {
    EXPECT_NO_THROW(check_id("instance id", std::string(255, 'x')));
    try {
        check_id("instance id", std::string(256, 'x'));
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::invalid);
        EXPECT_NE(std::string{e.what()}.find("instance id has 256 bytes"), std::string::npos);
    }
    EXPECT_THROW(check_id("instance id", ""), Error);
    EXPECT_THROW(check_id("instance id", std::string_view("a\0b", 3)), Error);
    EXPECT_THROW(check_id("instance id", "\xff"), Error);
    EXPECT_NO_THROW(check_optional_id("tenant", ""));
}

}  // namespace
}  // namespace pawl::base
