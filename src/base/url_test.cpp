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
    EXPECT_NE(message_of("sqlite:a?adopt").find("parameter 1 is not NAME=VALUE"),
              std::string::npos);
    EXPECT_NE(message_of("sqlite:a%2").find("two hexadecimal digits"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a%zz").find("two hexadecimal digits"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a%00b").find("zero byte"), std::string::npos);
    EXPECT_NE(message_of("sqlite:a?adopt=%00").find("zero byte"), std::string::npos);
    EXPECT_NE(message_of({"sqlite:a\0b", 10}).find("zero byte"), std::string::npos);
}

TEST(ServerUrl, HasItsParts) {
    const auto url = parse_server_url(
        "postgres://ada:s%40c:ret@db1:5433,[::1]:5434,db3,%2Frun/shop%20of%20ada"
        "?sslmode=require&application_name=a%3Db");
    EXPECT_EQ(url.scheme, "postgres");
    EXPECT_EQ(url.user, "ada");
    EXPECT_EQ(url.password, "s@c:ret");
    ASSERT_EQ(url.hosts.size(), 4u);
    EXPECT_EQ(url.hosts[0].name, "db1");
    EXPECT_EQ(url.hosts[0].port, "5433");
    EXPECT_EQ(url.hosts[1].name, "::1");
    EXPECT_EQ(url.hosts[1].port, "5434");
    EXPECT_EQ(url.hosts[2].name, "db3");
    EXPECT_EQ(url.hosts[2].port, "");
    EXPECT_EQ(url.hosts[3].name, "/run");
    EXPECT_EQ(url.path, "shop of ada");
    EXPECT_EQ(url.parameters.at("sslmode"), "require");
    EXPECT_EQ(url.parameters.at("application_name"), "a=b");
}

TEST(ServerUrl, MayHaveNoneOfThem) {
    for (const char* text : {"postgres://", "postgres:///", "postgres://?", "postgres:///?"}) {
        const auto url = parse_server_url(text);
        ASSERT_EQ(url.hosts.size(), 1u) << text;
        EXPECT_EQ(url.hosts[0].name + url.hosts[0].port + url.user + url.password + url.path, "");
        EXPECT_TRUE(url.parameters.empty()) << text;
    }
    EXPECT_EQ(parse_server_url("mariadb://ada@/shop?socket=/run/mysqld.sock").user, "ada");
    EXPECT_EQ(parse_server_url("mariadb://:b64==@db1/shop").password, "b64==");
}

TEST(ServerUrl, IsRefusedWhereItCanBeDividedInTwoWays) {
    for (const char* text : {"postgres:shop",
                             "postgres:/db1/shop",
                             "postgres://a:b@c@db1/shop",
                             "postgres://a:b/c@db1/shop",
                             "postgres://a:b?c@db1/shop",
                             "postgres://db1/shop?user=a@b",
                             "postgres://db1:x/shop",
                             "postgres://::1/shop",
                             "postgres://[::1/shop",
                             "postgres://[::1]5/shop",
                             "postgres://db1/shop/more",
                             "postgres://db1/shop;user=a",
                             "postgres://db1/shop user=a",
                             "postgres://db1 user=a/shop",
                             "postgres://db1;user=a/shop",
                             "postgres://db1/shop?user=a=b",
                             "postgres://db1/shop?user=a b",
                             "postgres://db1/shop%3Da",
                             "postgres://db1/shop%zz",
                             "postgres://db1%00/shop"}) {
        try {
            parse_server_url(text);
            ADD_FAILURE() << text;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), Code::invalid) << text;
            EXPECT_EQ(std::string{e.what()}.find("db1"), std::string::npos) << e.what();
        }
    }
}

TEST(StoreUrl, ShowsOnlyWhatIsANameOrANumber) {
    EXPECT_EQ(shown("statement-timeout_5.0"), "\"statement-timeout_5.0\"");
    for (const char* text : {"", "a b", "a=b", "a;b", "a@b", "a:b", "a/b", "a'b", "\xc3\xa4"})
        EXPECT_EQ(shown(text), "a value that is not shown here") << text;
    EXPECT_EQ(shown(std::string(41, 'a')), "a value that is not shown here");
}

}  // namespace
}  // namespace pawl::base
