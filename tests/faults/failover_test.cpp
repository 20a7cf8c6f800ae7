// A primary with a synchronous standby: the primary is killed under load, the standby is promoted,
// and the same processes follow by themselves, with everything that was ever answered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

class Failover : public testing::Test {
protected:
    void SetUp() override {
        if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
        primary.emplace();
        primary->start();
        standby.emplace(*primary, "standby");
        standby->start();
        primary->ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        primary->ask("SELECT pg_reload_conf()");
        const auto follows = [&] {
            return primary->ask("SELECT sync_state FROM pg_stat_replication") == "sync";
        };
        ASSERT_TRUE(crash::await(follows, 30s));
    }

    /// Names both: whoever can write is the primary.
    std::string url() const {
        return fmt::format(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write"
            "&statement_timeout=5",
            primary->port(), standby->port());
    }

    std::optional<PostgresServer> primary;
    std::optional<PostgresServer> standby;
};

TEST_F(Failover, ToASynchronousStandbyLosesNothing) {
    // What the scene asks at the end, it asks of the one that is left.
    crash::Scene scene{place_on(*standby, url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{url()};
    ASSERT_TRUE(caller.gets_through(10s));
    primary->kill();
    pass(1s);  // nobody can write
    standby->promote();
    standby->ask("ALTER SYSTEM RESET synchronous_standby_names");
    standby->ask("SELECT pg_reload_conf()");
    EXPECT_TRUE(caller.gets_through(30s));
    ASSERT_TRUE(load.goes_on());
    caller.check();
    load.settle_and_check();
}

// The primary answers no COMMIT while its standby is away, but has written it: whoever gives up
// waiting must not say that it is safe, also when a resend finds it there.
TEST_F(Failover, DoesNotLoseWhatWasWrittenWhileTheStandbyWasAway) {
    const auto url = this->url();
    Caller caller{url, 20s};
    ASSERT_TRUE(caller.gets_through(10s));
    standby->stop_immediately();
    // Until the caller's own deadlines have passed, and it has asked again.
    const auto failed = [&] { return !caller.failures().empty(); };
    EXPECT_TRUE(crash::await(failed, 60s));
    primary->kill();
    standby->start();
    standby->promote();
    standby->ask("ALTER SYSTEM RESET synchronous_standby_names");
    standby->ask("SELECT pg_reload_conf()");
    EXPECT_TRUE(caller.gets_through(60s));
    caller.check();
}

}  // namespace
}  // namespace pawl::faults
