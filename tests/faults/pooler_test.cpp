// pgbouncer lends a connection for one transaction: with pooler=yes nothing of pawl's outlives one.
#include <gtest/gtest.h>

#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

class BehindAPooler : public testing::Test {
protected:
    void SetUp() override {
        if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
        if (!Pooler::is_installed()) GTEST_SKIP() << "pgbouncer is not installed";
        server.emplace();
        server->start();
        pooler.emplace(*server);
        pooler->start();
    }

    std::optional<PostgresServer> server;
    std::optional<Pooler> pooler;
};

TEST_F(BehindAPooler, ProcessesWorkTogetherAndNothingIsLost) {
    crash::Scene scene{place_on(*server, pooler->url() + "?pooler=yes"),
                       crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{pooler->url() + "?pooler=yes"};
    ASSERT_TRUE(caller.gets_through(10s));
    EXPECT_TRUE(caller.failures().empty()) << caller.failures().front().message;
    // The connections behind it are few, and end without those before it.
    for (int i = 0; i < 5; ++i) {
        server->end_connections();
        pass(200ms);
    }
    EXPECT_TRUE(caller.gets_through(30s));
    ASSERT_TRUE(load.goes_on());
    pooler->stop();
    pooler->start();
    EXPECT_TRUE(caller.gets_through(30s));
    ASSERT_TRUE(load.goes_on());
    EXPECT_EQ(server->ask("SELECT count(*) <= 4 FROM pg_stat_activity WHERE backend_type = "
                          "'client backend' AND pid <> pg_backend_pid()"),
              "t");
    caller.check();
    load.settle_and_check();
}

}  // namespace
}  // namespace pawl::faults
