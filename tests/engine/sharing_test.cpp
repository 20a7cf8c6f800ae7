// Several engines on one database, as several processes would be.
#include <future>
#include <map>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class Sharing : public SharedEngineTest {
protected:
    /// Claims everything that is due for a session that then goes silent.
    void lose(const std::string& type, const std::string& effect, std::size_t limit, bool alone) {
        auto store = open_store();
        const auto session = store->open_session({.lease = 10s});
        const store::Line line{store::ItemKind::effect, type, effect};
        const auto claimed = store->claim({.claim = {session, ++fence},
                                           .interests = {{line, limit}},
                                           .limit = limit,
                                           .lost_ones = alone});
        EXPECT_EQ(claimed.items.size(), limit);
        clock.advance(11s);
    }
    store::Fence fence = 1000;
};
INSTANTIATE_TEST_SUITE_P(Stores, Sharing, shared_stores(), name_of);

TEST_P(Sharing, HandlesEachEffectOnce) {
    Watched<std::map<std::string, int>> handled;
    std::vector<std::unique_ptr<Engine>> engines;
    std::vector<Workflow<Courier>> couriers;
    for (int i = 0; i < 2; ++i) {
        engines.push_back(open(Options{}));
        couriers.push_back(
            engines.back()->add<Courier>("courier", Handlers{[&](const Carry&, const Delivery& d) {
                                             handled.change([&](auto& by_key) { ++by_key[d.key]; });
                                             return Courier::Arrived{d.key};
                                         }}));
        engines.back()->start();
    }
    for (int i = 0; i < 100; ++i)
        couriers[static_cast<std::size_t>(i % 2)].send("c-" + std::to_string(i % 10),
                                                       Courier::Send{"ada", 3});
    EXPECT_TRUE(handled.wait([](const auto& by_key) { return by_key.size() == 300; }));
    EXPECT_TRUE(eventually([&] { return engines[0]->pending().empty(); }));
    for (const auto& [key, count] : handled.get()) EXPECT_EQ(count, 1) << key;
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(couriers[1].state("c-" + std::to_string(i))->received.size(), 30u);
}

TEST_P(Sharing, WakesAnotherEngineForEffectsAndTimers) {
    auto sender = open(Options{});
    auto here = sender->add<Courier>("courier");
    auto set = sender->add<Alarm>("alarm");
    auto worker = open(Options{});
    Watched<int> carried;
    worker->add<Courier>("courier",
                         Handlers{[&](const Carry&) { carried.change([](int& n) { ++n; }); }});
    auto alarms = worker->add<Alarm>("alarm");
    worker->start();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= 10; ++i) {
        here.send("c", Courier::Send{"ada"});
        EXPECT_TRUE(carried.wait([&](int n) { return n == i; }));
        set.send(std::to_string(i), Alarm::SetAt{"k", sender->now() + 1ms});
        EXPECT_TRUE(eventually([&] { return !alarms.state(std::to_string(i))->rings.empty(); }));
    }
    // A poll would take a second each.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_P(Sharing, LeavesToOthersWhatItHasNoHandlerFor) {
    auto first = open();
    auto sender = first->add<Courier>("courier");
    auto second = open();
    int carried = 0;
    second->add<Courier>("courier", Handlers{[&](const Carry&) { ++carried; }});
    sender.send("c", Courier::Send{"ada"});
    first->run_until_idle();
    EXPECT_EQ(carried, 0);
    EXPECT_EQ(first->backlog().at(0).ready, 1);
    second->run_until_idle();
    EXPECT_EQ(carried, 1);
    EXPECT_THAT(first->backlog(), IsEmpty());
}

TEST_P(Sharing, DecidesAResultAgainWithoutRunningItsHandlerAgain) {
    auto other = open();
    auto there = other->add<Courier>("courier");
    auto engine = open();
    int calls = 0;
    auto here = engine->add<Courier>("courier", Handlers{[&](const Carry&) {
                                         ++calls;
                                         there.send("c", Courier::Send{"meanwhile", 0});
                                         return Courier::Arrived{"ok"};
                                     }});
    here.send("c", Courier::Send{"ada"});
    engine->run_until_idle();
    EXPECT_EQ(calls, 1);
    EXPECT_THAT(names_of(here.journal("c")), ElementsAre("Sent", "Sent", "Received"));
    EXPECT_THAT(here.pending("c"), IsEmpty());
}

// Whoever has the instance in memory is always faster than who must read it first.
TEST_P(Sharing, LetsThroughWhoLosesEveryRace) {
    auto other = open();
    auto there = other->add<Courier>("courier");
    there.send("c", Courier::Send{"first", 0});
    int lost = 0;
    auto slow = options();
    slow.test.at_point = [&](std::string_view point) {
        if (point == "commit:before")
            there.send("c", Courier::Send{"meanwhile " + std::to_string(++lost), 0});
    };
    auto engine = open(slow);
    int carried = 0;
    auto here = engine->add<Courier>("courier", Handlers{[&](const Carry&) { ++carried; }});
    EXPECT_TRUE(here.send("c", Courier::Send{"ada", 1}).accepted());
    EXPECT_THAT(lost, ::testing::AllOf(::testing::Ge(2), ::testing::Le(4)));
    EXPECT_EQ(here.journal("c").size(), static_cast<std::size_t>(lost) + 2);
    EXPECT_NE(here.journal("c").back().payload.find("ada"), std::string::npos);
    // What is behind it goes on as ever, on the state that it left.
    EXPECT_TRUE(there.send("c", Courier::Send{"last", 0}).accepted());
    engine->run_until_idle();
    EXPECT_EQ(carried, 1);
    EXPECT_THAT(here.pending("c"), IsEmpty());
}

TEST_P(Sharing, TakesOverWhatAnotherEngineLost) {
    auto engine = open();
    std::vector<int> attempts;
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&, const Delivery& d) {
                                             attempts.push_back(d.attempt);
                                         }});
    couriers.send("c", Courier::Send{"ada", 3});
    lose("courier", "Carry", 3, false);
    engine->run_until_idle();
    EXPECT_THAT(attempts, ElementsAre(2, 2, 2));
    EXPECT_THAT(couriers.pending("c"), IsEmpty());
}

TEST_P(Sharing, PerformsOneByOneWhatWasLostTwice) {
    auto engine = open();
    std::vector<int> attempts;
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&, const Delivery& d) {
                                             attempts.push_back(d.attempt);
                                             EXPECT_EQ(engine->backlog().at(0).claimed, 1);
                                         }});
    couriers.send("c", Courier::Send{"ada", 3});
    for (int i = 0; i < 2; ++i) lose("courier", "Carry", 3, false);
    engine->run_until_idle();
    EXPECT_THAT(attempts, ElementsAre(3, 3, 3));
    EXPECT_THAT(couriers.pending("c"), IsEmpty());
}

TEST_P(Sharing, BuriesWhatEndedItsProcessAloneTooOften) {
    auto engine = open();
    int carried = 0;
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&) { ++carried; }});
    couriers.send("c", Courier::Send{"ada"});
    for (int i = 0; i < 2; ++i) lose("courier", "Carry", 1, false);
    for (int i = 0; i < 3; ++i) lose("courier", "Carry", 1, true);
    engine->run_until_idle();
    EXPECT_EQ(carried, 0);
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].reason, "its handler ended its process 3 times");
}

TEST_P(Sharing, NeedsNoThreadsForRacesOfSynchronousAndAsynchronousSends) {
    auto first = open(Options{});
    auto second = open(Options{});
    auto here = first->add<Counter>("counter");
    auto there = second->add<Counter>("counter");
    {
        std::vector<std::jthread> threads;
        for (auto* counters : {&here, &there}) {
            threads.emplace_back([counters] {
                for (int i = 0; i < 50; ++i)
                    EXPECT_TRUE(counters->send("c", Counter::Add{1}).accepted());
            });
            threads.emplace_back([counters] {
                for (int i = 0; i < 50; ++i) {
                    auto sent = counters->send_async("c", Counter::Add{1});
                    ASSERT_EQ(sent.wait_for(patience), std::future_status::ready);
                    EXPECT_TRUE(sent.get().accepted());
                }
            });
        }
    }
    EXPECT_EQ(here.state("c")->total, 200);
}

TEST_P(Sharing, AppliesInputsOfTwoEnginesToOneInstanceOneAfterTheOther) {
    auto first = open(Options{});
    auto second = open(Options{});
    auto here = first->add<Counter>("counter");
    auto there = second->add<Counter>("counter");
    first->start();
    second->start();
    {
        std::vector<std::jthread> threads;
        for (auto* counters : {&here, &there, &here, &there})
            threads.emplace_back([counters] {
                for (int i = 0; i < 50; ++i)
                    EXPECT_TRUE(counters->send("c", Counter::Add{1}).accepted());
            });
    }
    EXPECT_EQ(here.state("c")->total, 200);
    const auto journal = there.journal("c");
    ASSERT_EQ(journal.size(), 200u);
    for (std::size_t i = 0; i < journal.size(); ++i)
        EXPECT_EQ(journal[i].sequence, static_cast<std::int64_t>(i) + 1);
}

}  // namespace
}  // namespace pawl::engine_test
