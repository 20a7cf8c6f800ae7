// What becomes of inputs that were posted and not applied, and an inbox that is full.
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

class Inbox : public EngineTest {
protected:
    void open_with(Options given) {
        engine = open(std::move(given));
        counters.emplace(engine->add<Counter>("counter"));
    }
    std::unique_ptr<Engine> engine;
    std::optional<Workflow<Counter>> counters;
};
INSTANTIATE_TEST_SUITE_P(Stores, Inbox, every_store(), name_of);

TEST_P(Inbox, RecordsWhatWasRejected) {
    open_with(options());
    counters->post({{"c", Counter::Add{5}},
                    {"c", Counter::Add{-1}},
                    {"c", Counter::Add{2000}},
                    {"c", Counter::Add{1}},
                    {"d", Counter::Add{1}}});
    engine->run_until_idle();
    EXPECT_EQ(counters->state("c")->total, 2005);
    EXPECT_EQ(counters->state("d")->total, 1);
    const auto dead = engine->dead_messages({.channel = "pawl.inbox.counter"});
    ASSERT_EQ(dead.size(), 2u);
    for (const auto& one : dead) EXPECT_EQ(one.status, DeadMessageStatus::rejected);
    EXPECT_EQ(dead[0].reason, "negative on 5");
    EXPECT_EQ(dead[1].reason, "the instance is finished");
    EXPECT_THAT(dead[0].payload, HasSubstr("-1"));
    EXPECT_THAT(engine->replay_dead_messages({}, 1min), IsEmpty()) << "there is nothing to do";
    EXPECT_EQ(engine->redeliver_dead_messages({}), 0);
    EXPECT_EQ(engine->count_dead_messages({.status = DeadMessageStatus::rejected}), 2);
}

/// Can't be paid before it is placed, and is broken now and then.
struct Purchase {
    struct Place {};
    struct Pay {};
    struct Break {};
    using Input = std::variant<Place, Pay, Break>;
    struct Placed {};
    struct Paid {};
    using Event = std::variant<Placed, Paid>;

    static inline int breaks = 0;
    bool placed = false;
    bool paid = false;
    void evolve(const Placed&) { placed = true; }
    void evolve(const Paid&) { paid = true; }
    Decision<Purchase> decide(const Place&) const { return Placed{}; }
    Decision<Purchase> decide(const Pay&) const {
        if (!placed) return reject("not placed");
        return Paid{};
    }
    Decision<Purchase> decide(const Break&) const {
        if (breaks-- > 0) throw std::runtime_error("broken");
        return Placed{};
    }
};

// Some of them are in the partition of the one that fails, and come again with it.
TEST_P(Inbox, DecidesWhatWasRejectedNoSecondTimeBehindItsSuccessors) {
    engine = open();
    const auto purchases = engine->add<Purchase>("purchase");
    Purchase::breaks = 1;
    std::vector<std::pair<std::string, Purchase::Input>> inputs{{"broken", Purchase::Break{}}};
    for (int i = 0; i < 64; ++i) {
        inputs.emplace_back("p-" + std::to_string(i), Purchase::Pay{});
        inputs.emplace_back("p-" + std::to_string(i), Purchase::Place{});
    }
    purchases.post(inputs);
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_TRUE(purchases.state("broken")->placed);
    for (int i = 0; i < 64; ++i) {
        const auto state = purchases.state("p-" + std::to_string(i));
        ASSERT_TRUE(state) << i;
        EXPECT_TRUE(state->placed) << i;
        EXPECT_FALSE(state->paid) << i << ": it was paid before it was placed";
    }
    EXPECT_EQ(engine->count_dead_messages({.status = DeadMessageStatus::rejected}), 64);
}

TEST_P(Inbox, ForgetsWhatWasRejectedInTheEnd) {
    open_with(options());
    counters->post("c", Counter::Add{-1});
    engine->run_until_idle();
    EXPECT_EQ(engine->clean_up_dead_messages(1h), 0);
    clock.advance(2h);
    EXPECT_EQ(engine->clean_up_dead_messages(1h), 1);
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(Inbox, PushesBackWhenItIsFull) {
    auto limited = options();
    limited.inbox_limit = 10;
    open_with(limited);
    for (int i = 0; i < 10; ++i) counters->post("c", Counter::Add{1});
    const auto full = error_of([&] { counters->post("c", Counter::Add{1}); });
    EXPECT_EQ(full.code(), Code::busy);
    EXPECT_THAT(full.what(), HasSubstr("the inbox of \"counter\" is full: 10 inputs wait"));
    EXPECT_THAT(full.what(), HasSubstr("inbox_limit"));
    engine->run_until_idle();
    EXPECT_EQ(counters->state("c")->total, 10) << "what was taken is applied";
    counters->post("c", Counter::Add{1});
    engine->run_until_idle();
    EXPECT_EQ(counters->state("c")->total, 11) << "there is room again";
}

TEST_P(Inbox, TakesNothingOfABatchThatItHasNoRoomFor) {
    auto limited = options();
    limited.inbox_limit = 3;
    open_with(limited);
    const std::vector<std::pair<std::string, Counter::Input>> four(4, {"c", Counter::Add{1}});
    EXPECT_EQ(error_of([&] { counters->post(four); }).code(), Code::busy);
    engine->run_until_idle();
    EXPECT_FALSE(counters->state("c"));
}

class SharedInbox : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedInbox, shared_stores(), name_of);

TEST_P(SharedInbox, PushesBackInATransactionToo) {
    auto limited = options();
    limited.inbox_limit = 2;
    const auto engine = open(limited);
    const auto counters = engine->add<Counter>("counter");
    counters.post("c", Counter::Add{1});
    {
        auto tx = engine->begin();
        tx.send(counters, "c", Counter::Add{1});
        EXPECT_EQ(error_of([&] { tx.send(counters, "c", Counter::Add{1}); }).code(), Code::busy);
        tx.commit();  // of what it took
    }
    engine->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 2);
}

TEST_P(SharedInbox, IsVacuumedOfWhatNothingIsToBeDoneAbout) {
    const auto engine = open();
    const auto counters = engine->add<Counter>("counter");
    engine->subscribe("notes", [](const Counter::Add&) { throw Permanent("no"); });
    counters.post("c", Counter::Add{-1});  // is rejected
    for (int i = 0; i < 3; ++i) engine->publish("notes", Counter::Add{i}, {.key = "k"});
    engine->run_until_idle();
    const auto dead = engine->dead_messages({.channel = "notes"});
    ASSERT_EQ(dead.size(), 3u);
    engine->discard_dead_messages({dead[0].number});
    engine->resolve_dead_messages({dead[1].number});
    ASSERT_EQ(engine->count_dead_messages(), 4);
    open_store()->vacuum({});
    EXPECT_EQ(engine->count_dead_messages(), 4) << "not without a retention";
    clock.advance(2h);
    open_store()->vacuum({.endings_older_than = 1h});
    const auto left = engine->dead_messages();
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].number, dead[2].number) << "what is pending stays";
}

// As a process leaves it that ends between the input and the word that it is done; then nobody who
// knows the type works for longer than input ids are kept, and somebody else cleans up.
TEST_P(SharedInbox, KeepsTheInputIdsOfWhatStillWaitsInIt) {
    auto o = options();
    o.input_id_retention = 1h;
    {
        const auto engine = open(o);
        const auto counters = engine->add<Counter>("counter");
        counters.post("c", Counter::Add{5});
        const auto waiting = open_store()->messages("pawl.inbox.counter", 0, 9);
        ASSERT_EQ(waiting.size(), 1u);
        counters.send("c", Counter::Add{5}, {.input_id = waiting.front().id.text()});
        counters.send("c", Counter::Add{1}, {.input_id = "another"});
    }
    clock.advance(48h);
    for (int i = 0; i < 2; ++i) {
        const auto cleaner = open(o);
        cleaner->run_until_idle();
    }
    const auto engine = open(o);
    const auto counters = engine->add<Counter>("counter");
    engine->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 6) << "it was applied twice";
    EXPECT_THAT(open_store()->messages("pawl.inbox.counter", 0, 9), IsEmpty());
    // And no longer.
    engine->run_until_idle();
    EXPECT_FALSE(counters.send("c", Counter::Add{1}, {.input_id = "another"}).duplicate());
}

}  // namespace
}  // namespace pawl::engine_test
