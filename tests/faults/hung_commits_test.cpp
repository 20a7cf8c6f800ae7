// Commits that the server has begun and does not answer, because it waits for a replica that is not
// there: each is in doubt, takes effect, and does so once, also when it is sent again.
#include <gtest/gtest.h>

#include <pawl/pawl.hpp>
#include <thread>

#include "crash/workflows.hpp"
#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;
using crash::Account;

class HungCommits : public FaultsOn {
protected:
    void SetUp() override {
        FaultsOn::SetUp();
        if (IsSkipped()) return;
        is_postgres = GetParam().name == "postgres";
        server = GetParam().create({});
        server->start();
    }

    std::string url() const {
        return server->url() + "?statement_timeout=1" + (is_postgres ? "&patience=1" : "");
    }
    void hang() {
        if (is_postgres) {
            server->ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
            server->ask("SELECT pg_reload_conf()");
            EXPECT_TRUE(crash::await(
                [&] { return server->ask("SHOW synchronous_standby_names") == "nobody"; }, 30s));
            return;
        }
        server->ask("SET GLOBAL rpl_semi_sync_master_timeout = 3600000");
        server->ask("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    }
    void heal() {
        if (is_postgres) {
            server->ask("ALTER SYSTEM RESET synchronous_standby_names");
            server->ask("SELECT pg_reload_conf()");
            return;
        }
        server->ask("SET GLOBAL rpl_semi_sync_master_enabled = OFF");
    }

    static std::optional<Code> code_of(const std::function<void()>& call) {
        try {
            call();
            return std::nullopt;
        } catch (const Error& error) {
            last_message = error.what();
            last_input_id = error.input_id();
            return error.code();
        }
    }
    /// Until the server takes commits again.
    static void insist(const std::function<void()>& call) {
        EXPECT_TRUE(crash::await([&] { return !code_of(call); }, 60s)) << last_message;
    }
    std::string count(const std::string& table) const {
        return server->ask(server->spelled("SELECT count(*) FROM " + table));
    }

    static inline std::string last_message;
    static inline std::string last_input_id;
    bool is_postgres = false;
    std::unique_ptr<Server> server;
};

// A server that waits after its commit has let the rows go; one that waits before it has not.
ServerUnderTest mariadb_that_waits(const std::string& point) {
    auto server = mariadb_under_test();
    server.name += "_" + point;
    server.create = [point](const Settings&) {
        return std::make_unique<MariadbServer>(
            Settings{"log-bin", "rpl_semi_sync_master_wait_point=" + point});
    };
    return server;
}

INSTANTIATE_TEST_SUITE_P(Servers, HungCommits,
                         testing::Values(postgres_under_test(), mariadb_that_waits("AFTER_COMMIT"),
                                         mariadb_that_waits("AFTER_SYNC")),
                         [](const auto& server) { return server.param.name; });

TEST_P(HungCommits, OfSendsAreInDoubtAndAResendChangesNothing) {
    Engine engine{url(), {}};
    auto accounts = engine.add<Account>("account");
    const auto send = [&](const std::string& id) {
        accounts.send("a", Account::Note{id, ""}, {.input_id = id, .timeout = 60s});
    };
    send("before");
    hang();
    EXPECT_EQ(code_of([&] { send("hung"); }), Code::in_doubt) << last_message;
    EXPECT_EQ(last_input_id, "hung");
    heal();
    insist([&] { send("hung"); });
    insist([&] { send("after"); });
    EXPECT_EQ(accounts.state("a")->noted, 3);
    EXPECT_EQ(count("pawl_event"), "3");
}

TEST_P(HungCommits, OfPublishedMessagesAreInDoubtAndTakeEffectOnce) {
    Engine engine{url(), {}};
    const PublishOptions once{.key = "k", .once = "hung"};
    engine.publish("notes", 1, {.key = "k"});
    hang();
    EXPECT_EQ(code_of([&] { engine.publish("notes", 2, once); }), Code::in_doubt) << last_message;
    heal();
    insist([&] { engine.publish("notes", 2, once); });
    EXPECT_EQ(count("pawl_message"), "2");
}

TEST_P(HungCommits, OfTransactionsAreInDoubt) {
    server->ask("CREATE TABLE booked (id VARCHAR(40) PRIMARY KEY)");
    Engine engine{url(), {}};
    engine.publish("notes", 1, {.key = "k"});
    hang();
    auto tx = engine.begin();
    tx.exec("INSERT INTO booked (id) VALUES ($1)", "hung");
    tx.publish("notes", 2, {.key = "k"});
    EXPECT_EQ(code_of([&] { tx.commit(); }), Code::in_doubt) << last_message;
    heal();
    EXPECT_TRUE(crash::await([&] { return count("booked") == "1"; }, 30s));
    EXPECT_EQ(count("pawl_message"), "2");
}

TEST_P(HungCommits, OfFunctionsTakeEffectOnce) {
    server->ask("CREATE TABLE booked (id VARCHAR(40))");
    Engine engine{url(), {.max_bodies = 2}};
    std::atomic<bool> hung{false};
    auto function = engine.add("book", [&](Context& ctx) {
        ctx.transaction("book", [&](Transaction& tx) {
            tx.exec("INSERT INTO booked (id) VALUES ($1)", ctx.id());
            if (!hung.exchange(true)) hang();
        });
        return ctx.step("count", [] { return 1; });
    });
    engine.start();
    auto run = function.start("r");
    ASSERT_TRUE(crash::await([&] { return hung.load(); }, 30s));
    pass(3s);  // the commit's own limit
    heal();
    EXPECT_EQ(run.result(60s), 1);
    EXPECT_EQ(count("booked"), "1");
}

}  // namespace
}  // namespace pawl::faults
