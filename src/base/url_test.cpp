#include "base/url.hpp"

#include <gtest/gtest.h>

#include <pawl/error.hpp>

namespace pawl::base {
namespace {

std::string message_of(std::string_view url) {
    try {
        parse_url(url);
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::invalid);
        return e.what();
    }
    return "";
}

TEST(StoreUrl, HasASchemeAPathAndParameters) {
    const auto url = parse_url("sqlite:/var/lib/my%20shop.db?adopt=yes&full_sync=no");
    EXPECT_EQ(url.scheme, "sqlite");
    EXPECT_EQ(url.rest, "/var/lib/my shop.db");
    EXPECT_EQ(url.parameters.at("adopt"), "yes");
    EXPECT_EQ(url.parameters.at("full_sync"), "no");
    EXPECT_EQ(parse_url("memory:").rest, "");
}

TEST(StoreUrl, SaysWhatIsWrong) {
    EXPECT_NE(message_of("shop.db").find("has no scheme"), std::string::npos);
    EXPECT_NE(message_of(":shop.db").find("has no scheme"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a?adopt").find("\"adopt\" is not NAME=VALUE"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a%2").find("two hexadecimal digits"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a%zz").find("two hexadecimal digits"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a%00b").find("zero byte"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a?adopt=%00").find("zero byte"), std::string::npos);
    EXPECT_NE(message_of({"sqlite:a\0b", 10}).find("zero byte"), std::string::npos);
}

}  // namespace
}  // namespace pawl::base
