// URLs of stores that are wrong: what is said of them, and that it never has a password in it.
#include <filesystem>
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

/// What each use of the URL is refused with, as `invalid`.
std::vector<std::string> refusals(const std::string& url) {
    std::vector<std::string> all;
    for (const auto& use : uses) {
        const auto error = error_of([&] { use.with(url); });
        EXPECT_EQ(error.code(), Code::invalid) << use.name << " of " << url << error.what();
        all.emplace_back(error.what());
    }
    return all;
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
             "sqlite://ada:hunter2@db1/shop.db",
             "sqlite://hunter2",
             "memory:hunter2",
             "memory:?password=hunter2",
             "memory://ada:hunter2@db1/shop",
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

TEST(StoreUrls, OfAFileHaveOneColonOrThreeSlashes) {
    const store::conformance::TemporaryDirectory directory;
    const auto path = directory.path() / "shop.db";
    {
        const Engine engine{"sqlite:" + path.string()};
    }
    EXPECT_TRUE(std::filesystem::remove(path));
    {
        const Engine engine{"sqlite://" + path.string()};
    }
    EXPECT_TRUE(std::filesystem::remove(path)) << "the path begins with a slash";
}

TEST(StoreUrls, OfAFileHaveNoHost) {
    const bool was_there = std::filesystem::exists("/shop.db");
    for (const char* url : {"sqlite://shop.db", "sqlite://data/shop.db", "sqlite://localhost/shop",
                            "sqlite://", "sqlite://?adopt=yes", "sqlite:%2F%2Fshop.db"})
        for (const auto& said : refusals(url)) {
            EXPECT_THAT(said, HasSubstr("sqlite:shop.db for a file in the working directory"));
            EXPECT_THAT(said, HasSubstr("sqlite:///var/lib/shop.db"));
        }
    EXPECT_EQ(std::filesystem::exists("/shop.db"), was_there);
    for (const auto& said : refusals("sqlite:file:shop.db?adopt=yes"))
        EXPECT_THAT(said, HasSubstr("without file:"));
    EXPECT_FALSE(std::filesystem::exists("file:shop.db"));
}

TEST(StoreUrls, OfMemoryHaveNoName) {
    for (const char* url : {"memory:x", "memory://", "memory:///x"})
        for (const auto& said : refusals(url)) EXPECT_THAT(said, HasSubstr("write memory:"));
}

TEST(StoreUrls, WithAParameterThatIsNotThereAreRefusedWithThoseThatAre) {
    struct Store {
        std::string url;
        const char* known;
    };
    for (const auto& [url, known] : {
             Store{"memory:", "and no other"},
             Store{"sqlite:never.db", "there are adopt and full_sync"},
             Store{"postgres://127.0.0.1:1/shop", "patience, pooler, port, requirepeer, schema"},
             Store{"mariadb://127.0.0.1:1/shop",
                   "there are connections, prefix, socket, ssl, ssl_ca and statement_timeout"},
         })
        for (const char* query : {"?foo=bar", "?connections=3&foo=bar", "?Adopt=yes"})
            for (const auto& said : refusals(url + query)) {
                EXPECT_THAT(said, HasSubstr("there is no parameter"));
                EXPECT_THAT(said, HasSubstr(known));
            }
    EXPECT_FALSE(std::filesystem::exists("never.db"));
    for (const auto& said : refusals("postgres://127.0.0.1:1/shop?replication=database"))
        EXPECT_THAT(said, HasSubstr("\"replication\""));
}

TEST(StoreUrls, WithAParameterTwiceAreRefused) {
    for (const char* url : {"sqlite:never.db?adopt=yes&adopt=no",
                            "postgres://127.0.0.1:1/shop?connections=3&connections=4",
                            "mariadb://127.0.0.1:1/shop?connections=3&connections=3"})
        for (const auto& said : refusals(url)) EXPECT_THAT(said, HasSubstr("is there twice"));
}

}  // namespace
}  // namespace pawl::engine_test
