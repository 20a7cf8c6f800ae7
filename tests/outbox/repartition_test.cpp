// A change of the number of partitions, beside a transaction that stays open.
#include <atomic>
#include <pawl/pawl.hpp>
#include <thread>

#include "engine/fixture.hpp"
#include "outbox/client.hpp"
#include "store/sql/delivering.hpp"

namespace pawl::engine_test {
namespace {

struct Note {
    std::string text;
};

// On SQLite nobody else writes beside an open transaction.
class Repartition : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        auto o = options();
        o.test.at_point = [this](std::string_view point) {
            if (point == store::sql::repartition_begun) ++tries;
        };
        changing = open(o);
        engine = open();
        engine->channel("notes", 4);
        engine->subscribe("other", [this](const Note&) { ++delivered; });
        engine->run_until_idle();
    }

    std::atomic<int> tries = 0;
    std::unique_ptr<Engine> changing, engine;
    int delivered = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, Repartition, ::testing::Values("postgres", "mariadb"), name_of);

TEST_P(Repartition, BlocksNobodyBesideAnIdleTransactionThatHasPublished) {
    const auto idle = connect(url());
    idle->run("BEGIN");
    auto joined = idle->join(*engine);
    joined.publish("notes", Note{"a"});
    const auto busy = connect(url());
    // Whatever would have to wait there fails. On PostgreSQL it may wait for a moment.
    if (GetParam() == "mariadb") busy->run("SET SESSION innodb_lock_wait_timeout = 0");

    std::atomic<bool> answered = false;
    std::optional<Error> answer;
    int beside = 0;
    {
        std::jthread other{[&] {
            answer = error_of([&] { changing->repartition("notes", 8); });
            answered = true;
        }};
        while (!answered) {
            const bool has_begun = tries > 0;
            const int before = delivered;
            engine->publish("other", Note{"b"});
            engine->run_until_idle();
            EXPECT_EQ(delivered, before + 1);
            busy->run("BEGIN");
            ASSERT_NO_THROW(busy->join(*engine).publish("notes", Note{"c"}));
            busy->run("ROLLBACK");
            if (has_begun && !answered) ++beside;
        }
    }
    EXPECT_EQ(answer->code(), Code::busy);
    EXPECT_THAT(answer->what(), HasSubstr("cannot repartition channel \"notes\": a transaction "
                                          "that has published is still open"));
    EXPECT_GT(tries, 1);
    EXPECT_GE(beside, 2);

    idle->run("ROLLBACK");
    EXPECT_TRUE(changing->repartition("notes", 8));
}

TEST_P(Repartition, SeesWhatATransactionPublishesThatEndsMeanwhile) {
    const auto idle = connect(url());
    idle->run("BEGIN");
    auto joined = idle->join(*engine);
    joined.publish("notes", Note{"a"});
    bool changed = true;
    {
        std::jthread other{[&] {
            try {
                changed = changing->repartition("notes", 8);
            } catch (const Error& busy) {  // the commit took its time
                EXPECT_EQ(busy.code(), Code::busy) << busy.what();
                changed = changing->repartition("notes", 8);
            }
        }};
        ASSERT_TRUE(eventually([&] { return tries > 0; }));
        idle->run("COMMIT");
    }
    EXPECT_FALSE(changed);
}

}  // namespace
}  // namespace pawl::engine_test
