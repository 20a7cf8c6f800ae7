// URLs of stores that are wrong: what is said of them, and that it never has a password in it.
#include <functional>
#include <pawl/migrate.hpp>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

// Parts of passwords that contain what divides a URL.
constexpr const char* secrets[] = {"hunter2", "tiger7", "zebra3"};

struct Use {
    const char* name;
    bool connects;
    std::function<void(const std::string& url)> with;
};

const Use uses[] = {
    {"Engine", true, [](const std::string& url) { Engine engine{url}; }},
    {"migrate", true, [](const std::string& url) { migrate(url); }},
    {"migration_sql", false, [](const std::string& url) { migration_sql(url); }},
};

void expect_no_secret(const std::string& text, const std::string& where) {
    for (const auto* secret : secrets)
        EXPECT_EQ(text.find(secret), text.npos) << where << ": " << text;
}

/// All that is thrown for the URL, by each use of it. `at_once`: it is refused without a server.
void expect_hidden(const std::string& url, bool at_once = true) {
    for (const auto& use : uses) {
        std::string said;
        try {
            use.with(url);
        } catch (const Error& e) {
            said = e.what();
            if (at_once) {
                EXPECT_EQ(e.code(), Code::invalid) << use.name << " of " << url << ": " << said;
            }
        }
        if (at_once && use.connects) {
            EXPECT_NE(said, "") << use.name << " takes " << url;
        }
        expect_no_secret(said, use.name + (" of " + url));
    }
}

TEST(StoreUrls, WithoutASchemeHideThePassword) {
    for (const char* url : {
             "",
             ":",
             "shop.db",
             "host=db1 password=hunter2",
             "host=db1 dbname=shop user=ada password=hunter2",
             "password=hunter2 host=db1:5432",
             "password='hunter2 tiger7' host=db1",
             "password = 'hunter2' hostaddr=::1",
             "//ada:hunter2@db1/shop",
             ":hunter2@db1/shop",
             " postgres://ada:hunter2@db1/shop",
             "\"postgres://ada:hunter2@db1/shop\"",
             "'mariadb://ada:hunter2@db1/shop'",
             "url=postgres://ada:hunter2@db1/shop",
             "Server=db1;Port=3306;Uid=ada;Pwd=hunter2;Database=shop",
             "Data Source=shop.db;Password=hunter2",
             "ada:hunter2@db1/shop",
             "jdbc:mariadb://db1/shop?user=ada&password=hunter2",
             "mysql+pymysql://ada:hunter2@db1/shop",
             "postgresql+psycopg2://ada:hunter2@db1/shop",
             "Postgres://ada:hunter2@db1/shop",
         })
        expect_hidden(url);
}

TEST(StoreUrls, OfAServerHideThePasswordThatDividesThem) {
    for (const char* scheme : {"postgres", "postgresql", "mariadb", "mysql"})
        for (const char* rest : {
                 ":ada:hunter2@db1/shop",
                 ":/ada:hunter2@db1/shop",
                 ":host=db1 password=hunter2",
                 ":password=hunter2",
                 "://ada:hunter2",
                 "://ada:hunter2/shop",
                 "://ada:hunter2@tiger7@127.0.0.1:1/shop",
                 "://ada:hunter2/tiger7@127.0.0.1:1/shop",
                 "://ada:hunter2?tiger7@127.0.0.1:1/shop",
                 "://ada:17/tiger7@127.0.0.1:1/shop",
                 "://ada:17?tiger7=zebra3@127.0.0.1:1/shop",
                 "://ada:17/tiger7?zebra3=1@127.0.0.1:1/shop",
                 "://ada:hunter2%@127.0.0.1:1/shop",
                 "://ada:hunter2%zz@127.0.0.1:1/shop",
                 "://ada:hunter2%00@127.0.0.1:1/shop",
                 "://ada:hunter2@127.0.0.1:tiger7/shop",
                 "://ada:hunter2@127.0.0.1:1:tiger7/shop",
                 "://ada:hunter2@127.0.0.1:1/shop?tiger7",
                 "://ada:hunter2@127.0.0.1:1/shop?=tiger7",
                 "://ada:hunter2@127.0.0.1:1/shop?password",
                 "://127.0.0.1:1/shop?password=hunter2=tiger7",
                 "://127.0.0.1:1/shop?password=hunter2%zz",
                 "://127.0.0.1:1/shop?password=hunter2@tiger7",
                 "://127.0.0.1:1/shop?password=hunter2 connections=3",
                 "://127.0.0.1:1/shop?%70assword=hunter2",
                 "://127.0.0.1:1/shop?connections=3;password=hunter2",
                 "://127.0.0.1:1/shop?connections=3;pwd:hunter2",
                 "://127.0.0.1:1/shop?statement_timeout=1;pwd:hunter2",
                 "://127.0.0.1:1/shop?host=db1;password=hunter2",
                 "://127.0.0.1:1/shop?host=db1%3Bpassword%3Dhunter2",
                 "://127.0.0.1:1/shop;password=hunter2",
                 "://127.0.0.1:1/shop password=hunter2",
                 "://127.0.0.1:1/shop%20password%3Dhunter2",
                 "://127.0.0.1;password=hunter2/shop",
                 "://127.0.0.1 password='hunter2'/shop",
                 "://[::1/shop?password=hunter2",
                 "://[hunter2",
             })
            expect_hidden(scheme + std::string{rest});
}

TEST(StoreUrls, OfAFileHideThePassword) {
    for (const char* url : {
             "sqlite:?password=hunter2",
             "sqlite:shop.db?password=hunter2",
             "sqlite:shop.db?hunter2",
             "sqlite:shop.db?adopt=hunter2;tiger7",
             "sqlite:shop.db?password=hunter2%zz",
             "sqlite:shop.db;Password=hunter2",
             "sqlite:postgres://ada:hunter2@127.0.0.1:1/shop",
             "sqlite:hunter2%zz",
         })
        expect_hidden(url);
}

TEST(StoreUrls, OfAServerThatIsAwayHideThePassword) {
    for (const char* url : {
             "postgres://ada:hunter2@127.0.0.1:1/shop?patience=1",
             "postgres://ada:hunter2%2Ftiger7%40zebra3@127.0.0.1:1/shop?patience=1",
             "postgres://127.0.0.1:1,127.0.0.1:1/shop?user=ada&password=hunter2&patience=1",
             "mariadb://ada:hunter2@127.0.0.1:1/shop?statement_timeout=1",
             "mariadb://ada:hunter2%2Ftiger7%40zebra3@127.0.0.1:1/shop?statement_timeout=1",
             "mysql://ada:hunter2@127.0.0.1:1/shop?statement_timeout=1",
         })
        expect_hidden(url, false);
}

}  // namespace
}  // namespace pawl::engine_test
