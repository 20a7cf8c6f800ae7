// Messages whose process ended while their handler ran: what is charged, and what is delivered
// alone.
#include <algorithm>
#include <atomic>
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"
#include "engine/open_store.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using store::Begun;

struct Note {
    std::string text;
};

class Losses : public SharedEngineTest {
protected:
    /// A process takes the channel, begins the first message of each partition that has one, and
    /// dies. What it counts is what an engine counts.
    void die(const std::string& channel, Begun begun = Begun::beside_others) {
        begin_and_die(*open_store(), 10s, channel, begun);
        clock.advance(11s);
    }
    void begin_and_die(store::Store& store, Duration lease, const std::string& channel,
                       Begun begun) {
        const store::Claim claim{store.open_session({.lease = lease}), ++fence};
        std::vector<store::Advance> all;
        for (const auto& taken : store.outbox().own(claim, channel).taken) {
            auto& one = all.emplace_back();
            one.partition = taken.partition;
            one.fence = fence;
            one.sequence = taken.sequence;
            for (const auto& message : taken.batch) one.left.push_back(message.position);
            if (one.left.empty()) one.fetch = 100;
            one.attempts = taken.attempts + 1;
            one.losses = taken.losses + (taken.begun == Begun::no ? 0 : 1);
            one.losses_alone = taken.losses_alone + (taken.begun == Begun::alone ? 1 : 0);
            one.begun = begun;
        }
        store.outbox().advance(all);
    }
    void die_often(int times, const std::string& channel, Begun begun = Begun::beside_others) {
        for (int i = 0; i < times; ++i) die(channel, begun);
    }

    store::Fence fence = 1000;
};
INSTANTIATE_TEST_SUITE_P(Stores, Losses, shared_stores(), name_of);

TEST_P(Losses, AreNoAttemptsThatFailed) {
    const auto engine = open();
    std::vector<std::string> seen;
    engine->subscribe("notes",
                      [&](const Note& note, const Delivery& delivery) {
                          seen.push_back(note.text + std::to_string(delivery.attempt));
                          if (delivery.attempt < 15 && note.text == "a")
                              throw std::runtime_error{"not yet"};
                      },
                      {.policy = {.attempts = 3, .base = 1s}});
    for (const char* text : {"a", "b"}) engine->publish("notes", Note{text}, {.key = "k"});
    die_often(12, "notes");
    for (int i = 0; i < 4; ++i) advance(*engine, 1min);
    EXPECT_THAT(seen, ElementsAre("a13", "a14", "a15", "b1"));
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(Losses, BuryAMessageThatSufferedThemAlone) {
    const auto engine = open();
    std::vector<std::string> seen;
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    for (const char* text : {"a", "b"}) engine->publish("notes", Note{text}, {.key = "k"});
    die_often(2, "notes");
    die_often(3, "notes", Begun::alone);
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("b"));
    const auto dead = engine->dead_messages();
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_EQ(dead[0].payload, R"({"text":"a"})");
    EXPECT_EQ(dead[0].reason, "its handler ended its process 3 times");
    EXPECT_EQ(dead[0].attempts, 5);
}

TEST_P(Losses, StopAPartitionWhereItsPoisonDoes) {
    const auto engine = open();
    int calls = 0;
    engine->subscribe("notes", [&](const Note&) { ++calls; }, {.poison = Poison::stop});
    engine->publish("notes", Note{"a"}, {.key = "k"});
    die_often(2, "notes");
    die_often(3, "notes", Begun::alone);
    engine->run_until_idle();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(engine->resume("notes"), 1);
    advance(*engine, 1min);
    EXPECT_EQ(calls, 1) << "a new round";
}

TEST_P(Losses, AreNotForgottenWhenAPartitionIsGivenBackBeforeItsMessageBegins) {
    const auto store = open_store();
    {
        const auto leaving = open();
        leaving->subscribe("notes", [](const Note&) { FAIL() << "it is for later"; },
                           {.partitions = 1});
        leaving->publish("notes", Note{"a"}, {.key = "k"});
        const store::Claim claim{store->open_session({.lease = 10s}), ++fence};
        const auto taken = store->outbox().own(claim, "notes").taken;
        ASSERT_EQ(taken.size(), 1U);
        store::Advance advance{.partition = taken[0].partition, .fence = fence, .fetch = 1};
        const auto fetched = store->outbox().advance({&advance, 1})[0].fetched;
        ASSERT_EQ(fetched.size(), 1U);
        advance.fetch = 0;
        advance.left = {fetched[0].position};
        advance.attempts = 1;
        advance.begun = Begun::alone;
        advance.retry_at = clock.now() + 1min;
        store->outbox().advance({&advance, 1});
        clock.advance(11s);
        leaving->start();
        EXPECT_TRUE(eventually([&] {
            const auto owner = store->outbox().depths("notes")[0].owner;
            return owner != 0 && owner != claim.session;
        }));
        EXPECT_TRUE(leaving->stop());
    }
    const auto next = store->outbox().own({store->open_session({.lease = 10s}), ++fence}, "notes");
    ASSERT_EQ(next.taken.size(), 1U);
    EXPECT_EQ(next.taken[0].losses, 1);
    EXPECT_EQ(next.taken[0].losses_alone, 1);
    EXPECT_EQ(next.taken[0].begun, Begun::no);
}

TEST_P(Losses, AreThoseOfOneMessage) {
    const auto engine = open();
    std::vector<std::string> seen;
    engine->subscribe("notes", [&](const Note& note) {
        seen.push_back(note.text);
        if (note.text == "b") throw std::runtime_error{"not yet"};
    });
    for (const char* text : {"a", "b"}) engine->publish("notes", Note{text}, {.key = "k"});
    die_often(2, "notes");
    die_often(2, "notes", Begun::alone);
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("a", "b"));
    clock.advance(2min);
    auto store = open_store();
    const store::Claim claim{store->open_session({.lease = 10s}), ++fence};
    for (const auto& taken : store->outbox().own(claim, "notes").taken) {
        if (taken.batch.empty()) continue;
        EXPECT_EQ(taken.losses, 0);
        EXPECT_EQ(taken.losses_alone, 0);
        EXPECT_EQ(taken.begun, Begun::no) << "its attempt failed";
        EXPECT_EQ(taken.attempts, 1);
    }
}

TEST_P(Losses, OfPostedInputsAreCountedLikewise) {
    const auto engine = open();
    const auto counters = engine->add<Counter>("counter");
    counters.post("a", Counter::Add{5});
    die_often(12, "pawl.inbox.counter");
    engine->run_until_idle();
    EXPECT_EQ(counters.state("a")->total, 5);
    counters.post("b", Counter::Add{7});
    die_often(2, "pawl.inbox.counter");
    die_often(3, "pawl.inbox.counter", Begun::alone);
    engine->run_until_idle();
    EXPECT_FALSE(counters.state("b"));
    const auto dead = engine->dead_messages();
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_EQ(dead[0].reason, "its handler ended its process 3 times");
}

TEST_P(Losses, HaveTheMessageDeliveredAlone) {
    const auto publisher = open();
    publisher->channel("notes", 4);
    for (int part = 0; part < 4; ++part)
        publisher->publish("notes", Note{"lost"}, {.partition = part});
    die_often(2, "notes");
    const auto engine = open();
    std::atomic<int> running = 0;
    std::atomic<int> beside_a_lost_one = 0;
    Watched<int> done;
    const auto run = [&](bool lost) {
        const int before = running += lost ? 100 : 1;
        std::this_thread::yield();
        if (before > 100 || (lost && running.load() > 100)) ++beside_a_lost_one;
        running -= lost ? 100 : 1;
        done.change([](int& count) { ++count; });
    };
    engine->subscribe("notes", [&](const Note& note) { run(note.text == "lost"); });
    const auto couriers =
        engine->add<Courier>("courier", Handlers{[&](const Courier::Carry&) { run(false); }});
    for (int i = 0; i < 10; ++i) {
        couriers.send("c" + std::to_string(i), Courier::Send{"ada", 3});
        for (int part = 0; part < 4; ++part)
            engine->publish("notes", Note{"other"}, {.partition = part});
    }
    engine->start();
    EXPECT_TRUE(done.wait([](int count) { return count == 74; }));
    EXPECT_TRUE(engine->stop());
    EXPECT_EQ(beside_a_lost_one, 0);
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(Losses, DoNotStopAPartitionWhereOthersTakeLong) {
    Options options;  // by the system's clock
    options.lease = 300ms;
    open(options)->publish("notes", Note{"lost"}, {.partition = 0});
    die("notes");
    // Its lease lasts until the effect runs.
    begin_and_die(*engine::open_store(url(), Options{}), 2s, "notes", Begun::beside_others);
    Watched<bool> seen;
    Watched<bool> carries;
    const auto engine = open(options);
    engine->subscribe("notes", [&](const Note&) { seen.change([](bool& is) { is = true; }); });
    const auto couriers =
        engine->add<Courier>("courier", Handlers{[&](const Courier::Carry&) {
                                 carries.change([](bool& is) { is = true; });
                                 EXPECT_TRUE(seen.wait([](bool is) { return is; }));
                             }});
    engine->start();
    couriers.send("c", Courier::Send{"ada", 1});
    EXPECT_TRUE(carries.wait([](bool is) { return is; }));
    EXPECT_TRUE(seen.wait([](bool is) { return is; }));
    EXPECT_TRUE(engine->stop());
}

}  // namespace
}  // namespace pawl::engine_test
