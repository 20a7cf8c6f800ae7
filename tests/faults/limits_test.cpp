// A server that is there and can't serve: no connection is free, it is only starting, or it only
// reads. The error says so in time, and the same engine goes on when it can.
#include <gtest/gtest.h>

#include "faults/load.hpp"
#include "faults/proxy.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

class Limits : public FaultsOn {
protected:
    bool is_postgres() const { return GetParam().name == "postgres"; }
    std::string with_short_deadlines(const std::string& url) const {
        return url + "?statement_timeout=2" + (is_postgres() ? "&patience=2" : "");
    }
};

INSTANTIATE_TEST_SUITE_P(Servers, Limits, testing::ValuesIn(servers_under_test()),
                         [](const auto& server) { return server.param.name; });

TEST_P(Limits, OfConnectionsAreAClearErrorUntilOneIsFree) {
    const auto server = GetParam().create({"max_connections=20"});
    server->start();
    Proxy proxy{server->port()};
    Caller caller{with_short_deadlines(server->url(proxy.port()))};
    ASSERT_TRUE(caller.gets_through(10s));
    // Others take all of them while the caller has none.
    proxy.refuse();
    std::vector<std::shared_ptr<void>> others;
    const auto all_taken = [&] {
        auto other = server->visit();
        if (!other) return true;
        others.push_back(std::move(other));
        return false;
    };
    ASSERT_TRUE(crash::await(all_taken, 30s));
    const auto before = caller.failures().size();
    proxy.heal();
    ASSERT_TRUE(crash::await([&] { return caller.failures().size() >= before + 3; }, 60s));
    const auto last = caller.failures().back();
    EXPECT_TRUE(last.code == Code::busy || last.code == Code::unavailable) << last.message;
    EXPECT_NE(last.message.find("max_connections"), std::string::npos) << last.message;
    EXPECT_LT(caller.longest(), 15s);
    others.clear();
    EXPECT_TRUE(caller.gets_through(30s));
    caller.check();
}

TEST_P(Limits, OfAServerThatIsStartingAreWaitedFor) {
    const auto server = GetParam().create({});
    server->start();
    Caller{server->url()}.gets_through(10s);
    server->kill();
    if (is_postgres()) pass(1s);  // what it leaves behind keeps the next from starting
    server->launch();
    Caller caller{server->url()};
    EXPECT_TRUE(caller.gets_through(30s));
    caller.check();
}

TEST(Standby, IsNoPrimaryAndSaysSo) {
    if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
    PostgresServer primary;
    primary.start();
    Caller{primary.url()}.gets_through(10s);
    PostgresServer standby{primary, "standby"};
    standby.start();
    for (const auto* parameters : {"?patience=1", "?patience=1&target_session_attrs=read-write"}) {
        const auto begun = Steady::now();
        try {
            Caller caller{standby.url() + parameters};
            ASSERT_TRUE(crash::await([&] { return !caller.failures().empty(); }, 30s));
            throw Error{*caller.failures().front().code, caller.failures().front().message};
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), Code::unavailable);
            EXPECT_NE(std::string{e.what()}.find("standby"), std::string::npos) << e.what();
        }
        EXPECT_LT(Steady::now() - begun, 15s);
    }
}

}  // namespace
}  // namespace pawl::faults
