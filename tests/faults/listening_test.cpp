// The one connection that only listens: when it is dead without a word, work of another process is
// found by looking, and a new one listens soon.
#include <gtest/gtest.h>

#include <pawl/json.hpp>

#include "crash/workflows.hpp"
#include "faults/load.hpp"
#include "faults/proxy.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;
using crash::Account;

class Listening : public testing::Test {
protected:
    void SetUp() override {
        if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
        server.emplace();
        server->start();
        proxy.emplace(server->port());
    }

    std::optional<PostgresServer> server;
    std::optional<Proxy> proxy;
};

TEST_F(Listening, ThatDiedWithoutAWordIsReplacedAndNothingWaitsForIt) {
    const store::conformance::TemporaryDirectory directory;
    const crash::Ledger ledger{directory.path()};
    // One works by way of the proxy, the other only sends, straight to the server.
    crash::Shop works{{.url = server->url(proxy->port()), .failures = false}, ledger};
    works.engine().start();
    crash::Shop sends{{.url = server->url(), .handlers = false}, ledger};
    int sent = 0;
    const auto is_performed_soon = [&] {
        const auto tag = "t-" + std::to_string(++sent);
        sends.send({tag, "account", "a", json::encode(Account::Input{Account::Add{1, tag, 10}})});
        const auto performed = [&] { return ledger.performed().size() == std::size_t(sent); };
        return crash::await(performed, 10s);
    };
    ASSERT_TRUE(is_performed_soon());
    ASSERT_EQ(proxy->listeners(), 1u);

    proxy->silence_listeners();
    ASSERT_EQ(proxy->listeners(), 0u);
    // While the loss is not known, and while it is.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_performed_soon());
    EXPECT_TRUE(crash::await([&] { return proxy->listeners() == 1; }, 30s));
    EXPECT_TRUE(is_performed_soon());
    EXPECT_TRUE(works.engine().stop(10s));
}

}  // namespace
}  // namespace pawl::faults
