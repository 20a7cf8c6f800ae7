#include "store/sql/mariadb/mariadb_url.hpp"

#include <gtest/gtest.h>

#include <pawl/error.hpp>

namespace pawl::store::sql::mariadb {
namespace {

std::string complaint(const std::string& url) {
    try {
        address_of(url);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::invalid);
        return error.what();
    }
    return "";
}

TEST(MariadbUrl, HasItsParts) {
    const auto address = address_of("mariadb://ada:s%40cret%2F@db.example:3307/shop?ssl=verify");
    EXPECT_EQ(address.user, "ada");
    EXPECT_EQ(address.password, "s@cret/");
    EXPECT_EQ(address.host, "db.example");
    EXPECT_EQ(address.port, 3307u);
    EXPECT_EQ(address.database, "shop");
    EXPECT_EQ(address.ssl, Address::Ssl::verify);
    EXPECT_EQ(address.text(), "db.example:3307/shop") << "without the password";
}

TEST(MariadbUrl, MayLeaveThePortAndTheUserOut) {
    const auto address = address_of("mysql://[::1]/shop");
    EXPECT_EQ(address.host, "::1");
    EXPECT_EQ(address.port, 3306u);
    EXPECT_EQ(address.user, "");
}

TEST(MariadbUrl, NamesASocketInsteadOfAHost) {
    const auto address = address_of("mariadb://ada@/shop?socket=/run/mysqld/mysqld.sock");
    EXPECT_EQ(address.socket, "/run/mysqld/mysqld.sock");
    EXPECT_EQ(address.user, "ada");
}

TEST(MariadbUrl, SetsOptionsOfTheStore) {
    const auto options = with_parameters_of_url({.url = "mariadb://h/shop?prefix=a_&connections=9"
                                                        "&statement_timeout=7"});
    EXPECT_EQ(options.prefix, "a_");
    EXPECT_EQ(options.connections, 9u);
    EXPECT_EQ(options.deadline, std::chrono::seconds{7});
    EXPECT_EQ(with_parameters_of_url({.url = "mariadb://h/shop", .prefix = "b_"}).prefix, "b_");
}

TEST(MariadbUrl, SaysWhatIsWrong) {
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_TRUE(
        has(complaint("mariadb://h/shop?color=red"),
            "no parameter \"color\"; there are connections, prefix, socket, ssl, ssl_ca and "
            "statement_timeout"));
    EXPECT_TRUE(has(complaint("mariadb://h"), "names no database"));
    EXPECT_TRUE(has(complaint("mariadb:///shop"), "names no host and no socket"));
    EXPECT_TRUE(has(complaint("mariadb://h:0/shop"), "from 1 to 65535"));
    EXPECT_TRUE(has(complaint("mariadb://h/shop?ssl=maybe"), "off, on or verify"));
    EXPECT_TRUE(has(complaint("mariadb:shop"), "write mariadb://"));
    for (const char* url : {"mariadb://ada:secret@h:x/shop", "mariadb://ada:secret%zz@h/shop",
                            "mariadb://ada:secret@h/shop?x"})
        EXPECT_FALSE(has(complaint(url), "secret")) << url;
}

}  // namespace
}  // namespace pawl::store::sql::mariadb
