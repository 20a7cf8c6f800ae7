// A server that is restarted, crashes or ends connections under load: what was answered stays, and
// the same processes go on by themselves.
#include <gtest/gtest.h>

#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(Servers, FaultsOn, testing::ValuesIn(servers_under_test()),
                         [](const auto& server) { return server.param.name; });

// Fails and heals a few times under load.
void suffer(const ServerUnderTest& kind, int times,
            const std::function<void(Server& server, int time)>& fault) {
    const auto server = kind.create({});
    server->start();
    crash::Scene scene{place_on(*server, server->url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{server->url()};
    for (int i = 0; i < times; ++i) {
        fault(*server, i);
        EXPECT_TRUE(caller.gets_through(30s));
        ASSERT_TRUE(load.goes_on()) << "after fault " << i + 1;
    }
    caller.check();
    load.settle_and_check();
}

TEST_P(FaultsOn, RestartsInGoodOrderLoseNothing) {
    suffer(GetParam(), 3, [](Server& server, int) {
        server.stop();
        server.start();
    });
}

TEST_P(FaultsOn, ImmediateStopsLoseNothing) {
    suffer(GetParam(), 3, [](Server& server, int) {
        server.stop_immediately();
        server.start();
    });
}

TEST_P(FaultsOn, KillsOfTheServerLoseNothing) {
    suffer(GetParam(), 3, [](Server& server, int time) {
        server.kill();
        // A longer one than the leases.
        if (time == 1) pass(3s);
        server.start();
    });
}

TEST_P(FaultsOn, ConnectionsThatAreEndedAreReplaced) {
    suffer(GetParam(), 3, [](Server& server, int) {
        for (int i = 0; i < 10; ++i) {
            server.end_connections();
            pass(200ms);
        }
    });
}

}  // namespace
}  // namespace pawl::faults
