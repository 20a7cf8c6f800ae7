// The user's own rows, messages to others and inputs to workflows: one commit.
#include <map>
#include <pawl/pawl.hpp>

#include "base/points.hpp"
#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"
#include "store/sql/connection.hpp"

namespace pawl::engine_test {
namespace {

struct Transferred {
    std::string from;
    int cents = 0;
};

class OwnTransactions : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        engine = open();  // makes pawl's tables, and where they are
        account = place().table("account");
        place().run("CREATE TABLE " + account +
                    " (id VARCHAR(20) PRIMARY KEY, cents BIGINT NOT NULL)");
        place().run("INSERT INTO " + account + " VALUES ('ada', 100)");
    }
    std::string cents() const { return place().ask("SELECT cents FROM " + account); }
    std::int64_t take(Transaction& tx, int cents) {
        return tx.exec("UPDATE " + account + " SET cents = cents - $1 WHERE id = $2", cents, "ada");
    }

    std::unique_ptr<Engine> engine;
    std::string account;
    std::vector<int> seen;
};
INSTANTIATE_TEST_SUITE_P(Stores, OwnTransactions, shared_stores(), name_of);

TEST_P(OwnTransactions, CommitRowsAndMessagesTogether) {
    engine->subscribe("ledger", [&](const Transferred& t) { seen.push_back(t.cents); });
    auto tx = engine->begin();
    EXPECT_EQ(take(tx, 30), 1);
    tx.publish("ledger", Transferred{"ada", 30}, {.key = "ada"});
    tx.commit();
    EXPECT_EQ(error_of([&] { tx.commit(); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { tx.exec("DELETE FROM x"); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { tx.publish("ledger", Transferred{}); }).code(), Code::misuse);
    engine->run_until_idle();
    EXPECT_EQ(cents(), "70");
    EXPECT_THAT(seen, ElementsAre(30));
}

TEST_P(OwnTransactions, RollBackRowsAndMessagesTogether) {
    engine->subscribe("ledger", [&](const Transferred& t) { seen.push_back(t.cents); });
    {
        auto tx = engine->begin();
        take(tx, 100);
        tx.publish("ledger", Transferred{"ada", 100});
    }
    {
        auto tx = engine->begin();
        tx.publish("ledger", Transferred{"ada", 1});
        EXPECT_EQ(error_of([&] { tx.exec("UPDATE nothing SET x = 1"); }).code(), Code::invalid);
        EXPECT_EQ(error_of([&] { tx.commit(); }).code(), Code::invalid);
    }
    engine->run_until_idle();
    EXPECT_EQ(cents(), "100");
    EXPECT_THAT(seen, IsEmpty());
}

TEST_P(OwnTransactions, SendInputsIfAndOnlyIfTheyCommit) {
    const auto counters = engine->add<Counter>("counter");
    {
        auto tx = engine->begin();
        tx.send(counters, "c", Counter::Add{1});
    }
    auto tx = engine->begin();
    take(tx, 5);
    tx.send(counters, "c", Counter::Add{5});
    tx.send(counters, "c", Counter::Add{7});
    EXPECT_FALSE(counters.state("c"));
    tx.commit();
    engine->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 12);
    EXPECT_EQ(cents(), "95");
}

TEST_P(OwnTransactions, StartRunsIfAndOnlyIfTheyCommit) {
    std::vector<std::string> started;
    const auto function = engine->add("greet", [&](Context& ctx, const std::string& name) {
        ctx.step("say", [&] { started.push_back(name); });
    });
    {
        auto tx = engine->begin();
        tx.start(function, "lost", std::string{"nobody"});
    }
    auto tx = engine->begin();
    tx.start(function, "ada", std::string{"Ada"});
    tx.start(function, "ada", std::string{"Ada again"});
    tx.commit();
    engine->run_until_idle();
    engine->run_until_idle();
    EXPECT_THAT(started, ElementsAre("Ada"));
}

TEST_P(OwnTransactions, OfHandlersAreOneCommitWithTheirMessage) {
    int failures = 2;  // of all of them together, then of the first alone
    engine->subscribe("ledger",
                      [&](Transaction& tx, const Transferred& t) {
                          take(tx, -t.cents);
                          tx.publish("done", t);
                          if (failures-- > 0) throw std::runtime_error("not yet");
                      },
                      {.partitions = 1});
    engine->subscribe("done", [&](const Transferred& t) { seen.push_back(t.cents); });
    for (const int amount : {1, 2, 3}) engine->publish("ledger", Transferred{"ada", amount});
    engine->run_until_idle();
    EXPECT_EQ(cents(), "100") << "what it wrote is undone with it";
    advance(*engine, 10s);
    EXPECT_EQ(cents(), "106");
    EXPECT_EQ(seen.size(), 3u);
    for (const auto& one : engine->partitions("ledger")) EXPECT_EQ(one.waiting, 0);
}

TEST_P(OwnTransactions, OfHandlersBuryTheMessageThatIsAtFault) {
    engine->subscribe("ledger",
                      [&](Transaction& tx, const Transferred& t) {
                          take(tx, -t.cents);
                          if (t.cents == 3) throw Permanent{"not three"};
                      },
                      {.partitions = 1});
    for (const int amount : {1, 2, 3, 4}) engine->publish("ledger", Transferred{"ada", amount});
    engine->run_until_idle();
    EXPECT_EQ(cents(), "107");
    const auto dead = engine->dead_messages();
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_THAT(dead[0].payload, HasSubstr("3"));
}

TEST_P(OwnTransactions, OfHandlersBuryTheMessageWhoseSqlIsWrong) {
    std::map<int, int> calls;
    engine->subscribe("ledger",
                      [&](Transaction& tx, const Transferred& t) {
                          ++calls[t.cents];
                          take(tx, -t.cents);
                          if (t.cents == 2) tx.exec("UPDATE " + account + " SET not_there = 1");
                          if (t.cents == 3) tx.exec("ROLLBACK");
                      },
                      {.partitions = 1, .batch = 1});
    for (const int amount : {1, 2, 3, 4}) engine->publish("ledger", Transferred{"ada", amount});
    engine->run_until_idle();
    EXPECT_EQ(cents(), "105");
    EXPECT_EQ(engine->count_dead_messages(), 2);
    for (const auto& dead : engine->dead_messages()) EXPECT_EQ(dead.attempts, 1);
    for (const int amount : {1, 2, 3, 4}) EXPECT_EQ(calls[amount], 1) << amount;
}

TEST_P(OwnTransactions, OfHandlersAreNotRepeatedWhenTheirAnswerIsLost) {
    bool loses = false;
    auto options = this->options();
    options.test.at_point = [&](std::string_view point) {
        if (point == "group:committed" && std::exchange(loses, false))
            throw store::sql::LostConnection{Code::unavailable, "after the commit"};
    };
    const auto other = open(options);
    other->subscribe("ledger",
                     [&](Transaction& tx, const Transferred& t) {
                         take(tx, -t.cents);
                         loses = t.cents == 2;
                     },
                     {.partitions = 1, .batch = 1});
    for (const int amount : {1, 2, 4}) other->publish("ledger", Transferred{"", amount});
    for (int i = 0; i < 3; ++i) advance(*other, 10s);
    EXPECT_EQ(cents(), "107");
    EXPECT_EQ(other->partitions("ledger")[0].sequence, 3);
}

TEST_P(OwnTransactions, OfFunctionsPublishWithTheirStep) {
    engine->subscribe("ledger", [&](const Transferred& t) { seen.push_back(t.cents); });
    const auto function = engine->add("pay", [&](Context& ctx) {
        ctx.transaction("take", [&](Transaction& tx) {
            take(tx, 10);
            tx.publish("ledger", Transferred{"ada", 10});
        });
    });
    function.start("p");
    engine->run_until_idle();
    engine->run_until_idle();
    EXPECT_EQ(cents(), "90");
    EXPECT_THAT(seen, ElementsAre(10));
}

TEST_P(OwnTransactions, RefuseToWaitForTheEngine) {
    const auto counters = engine->add<Counter>("counter");
    auto tx = engine->begin();
    EXPECT_EQ(error_of([&] { counters.send("c", Counter::Add{1}); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { engine->publish("ledger", Transferred{}); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { (void)engine->begin(); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { counters.post("c", Counter::Add{1}); }).code(), Code::misuse);
}

// What is in doubt once may be again: the partition is not taken anew and delivered at once.
TEST_P(OwnTransactions, AreFollowedByABackoffWhenTheirCommitIsInDoubt) {
    bool is_lost = false;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point == base::points::group_committed && std::exchange(is_lost, false))
            throw store::sql::LostConnection{Code::unavailable, "the test cut it"};
    };
    const auto consumer = open(o);
    consumer->subscribe("ledger", [&](Transaction&, const Transferred& t) {
        seen.push_back(t.cents);
        is_lost = true;
    });
    for (const int cents : {1, 2, 3}) {
        consumer->publish("ledger", Transferred{"ada", cents}, {.key = "ada"});
        consumer->run_until_idle();
    }
    EXPECT_THAT(seen, ElementsAre(1));
    advance(*consumer, 1h);
    EXPECT_THAT(seen, ElementsAre(1, 2, 3)) << "each was committed, and is delivered once";
}

class Posting : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Counter> counters = engine->add<Counter>("counter");
};
INSTANTIATE_TEST_SUITE_P(Stores, Posting, every_store(), name_of);

TEST_P(Posting, AppliesInputsInOrderAndOnce) {
    counters.post("c", Counter::Add{1}, {.input_id = "one"});
    counters.post("c", Counter::Add{1}, {.input_id = "one"});
    counters.post({{"c", Counter::Add{2}}, {"d", Counter::Add{3}}});
    EXPECT_FALSE(counters.state("c")) << "applied later";
    engine->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 3);
    EXPECT_EQ(counters.state("d")->total, 3);
}

struct Words {
    struct Say {
        std::string word;
    };
    using Input = std::variant<Say>;
    struct Said {
        std::string word;
    };
    using Event = std::variant<Said>;
    std::string all;
    void evolve(const Said& e) { all += e.word; }
    Decision<Words> decide(const Say& in) const {
        if (in.word == "a" && std::exchange(fails, false)) throw std::runtime_error("once");
        return Said{in.word};
    }
    static inline bool fails = false;
};

TEST_P(Posting, KeepsTheOrderOfAnInstanceWhenOneFails) {
    const auto words = engine->add<Words>("words");
    Words::fails = true;
    for (const char* word : {"a", "b", "c"}) words.post("w", Words::Say{word});
    engine->run_until_idle();
    EXPECT_FALSE(words.state("w")) << "those behind it wait";
    advance(*engine, 10s);
    EXPECT_EQ(words.state("w")->all, "abc");
}

TEST_P(Posting, AppliesWhatWasPostedToAnEngineThatRuns) {
    const auto started = open(Options{});
    const auto all = started->add<Counter>("counter");
    started->start();
    for (int i = 0; i < 50; ++i) all.post("c" + std::to_string(i % 5), Counter::Add{1});
    EXPECT_TRUE(eventually([&] {
        int total = 0;
        for (int i = 0; i < 5; ++i)
            if (const auto state = all.state("c" + std::to_string(i))) total += state->total;
        return total == 50;
    }));
}

}  // namespace
}  // namespace pawl::engine_test
