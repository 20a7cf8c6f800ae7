// Claims whose answer is lost: what they took is known by the next, or given back; nothing is held
// by a claim that nobody knows of.
#include <gtest/gtest.h>

#include <future>
#include <pawl/clock.hpp>
#include <pawl/error.hpp>

#include "base/points.hpp"
#include "conformance/builders.hpp"
#include "crash/scene.hpp"
#include "faults/proxy.hpp"
#include "faults/server.hpp"
#include "store/sql/postgres/postgres_store.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;
using namespace store;
using namespace store::conformance;

class LostCommits : public testing::Test {
protected:
    void SetUp() override {
        if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
        server.emplace();
        server->start();
        proxy.emplace(server->port());
        auto options = parse_postgres_url(server->url(proxy->port()));
        options.schema = "pawl";
        options.clock = &clock;
        options.at_point = [this](std::string_view point) {
            if (at_point) at_point(point);
        };
        store = open_postgres(options);
        session = store->open_session({.lease = 15s, .owner = "x"});
        const Commit commit = on(order("1"), 0).event("Created").effect("Mail");
        Answer answer;
        store->commit({&commit, 1}, {&answer, 1});
        ASSERT_EQ(answer.fate, Fate::committed);
    }
    std::size_t claim(Fence fence) {
        const ClaimRequest request{
            .claim = {session, fence}, .interests = {{effects("Mail"), 10}}, .limit = 10};
        return store->claim(request).items.size();
    }

    /// The first Commit that does this takes two seconds.
    void slow_down(const std::string& what) {
        server->ask("CREATE SEQUENCE slowly_once");
        server->ask(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN "
            "IF nextval(''public.slowly_once'') = 1 THEN PERFORM pg_sleep(2); END IF; "
            "RETURN NULL; END'");
        server->ask(server->spelled("CREATE CONSTRAINT TRIGGER slow AFTER " + what +
                                    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "
                                    "public.slowly()"));
    }
    void cut_while_it_commits() {
        ASSERT_TRUE(crash::await(
            [&] {
                return server->ask(
                           "SELECT count(*) FROM pg_stat_activity WHERE wait_event = "
                           "'PgSleep'") == "1";
            },
            30s));
        proxy->cut();
    }

    std::optional<PostgresServer> server;
    std::optional<Proxy> proxy;
    ManualClock clock;
    std::function<void(std::string_view)> at_point;
    std::unique_ptr<Store> store;
    SessionId session = 0;
};

TEST_F(LostCommits, OfClaimsAreGivenBackAlsoIfTheLeaseHadPassedWhenTheyWereTriedAgain) {
    int begun = 0;
    at_point = [&](std::string_view point) {
        if (point != base::points::claim_begun) return;
        proxy->cut_commits(++begun == 1 ? 1 : 0);
        if (begun == 2) clock.advance(1min);
    };
    EXPECT_THROW(claim(1), Error);
    ASSERT_EQ(proxy->commits_cut(), 1u);
    at_point = {};
    EXPECT_TRUE(store->renew(session, 15s)) << "nobody has noticed";
    EXPECT_EQ(claim(2), 1u);
}

TEST_F(LostCommits, OfClaimsAreWaitedFor) {
    slow_down("UPDATE ON pawl_item");
    auto first = std::async(std::launch::async, [&] { return claim(1); });
    cut_while_it_commits();
    EXPECT_EQ(first.get(), 1u) << "it is found when it has committed";
    EXPECT_EQ(claim(2), 0u);
}

TEST_F(LostCommits, OfMessagesAreWaitedFor) {
    store->outbox().declare("notes", 1);
    slow_down("INSERT ON pawl_message");
    Commit commit;
    auto& message = commit.messages.emplace_back();
    message.id = fresh_id();
    message.channel = "notes";
    message.payload.bytes = "1";
    Answer answer;
    auto published =
        std::async(std::launch::async, [&] { store->commit({&commit, 1}, {&answer, 1}); });
    cut_while_it_commits();
    published.get();
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(store->messages("notes", 0, 10).size(), 1u);
}

}  // namespace
}  // namespace pawl::faults
