// A store whose clock is set back or forward by an hour, and the process's own with it: what is due
// now is done now, and no time has passed.
#include <map>
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"
#include "engine/inbox_limit.hpp"
#include "engine/outgoing.hpp"
#include "engine/stop_timers.hpp"
#include "engine/workflows.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::engine_test {
namespace {

constexpr Duration steps[] = {-1h, 1h};

class ClockSteps : public EngineTest {
protected:
    void step(Duration by) { clock.set(clock.now() + by); }
    Options in_threads() {
        auto o = options();
        o.test.seed = 0;
        return o;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, ClockSteps, every_store(), name_of);

TEST_P(ClockSteps, KeepNoMessageWaiting) {
    auto engine = open();
    std::vector<int> seen;
    engine->subscribe("notes", [&](int number) { seen.push_back(number); });
    int number = 0;
    for (const auto by : steps) {
        for (int times = 0; times < 2; ++times) {
            engine->publish("notes", ++number, {.key = "k"});
            engine->run_until_idle();
            engine->publish("notes", ++number, {.key = "k"});
            step(by);
            engine->publish("notes", ++number, {.key = "k"});
            engine->run_until_idle();
            EXPECT_EQ(seen.size(), static_cast<std::size_t>(number)) << by.count();
        }
    }
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    for (const auto& one : engine->partitions("notes")) EXPECT_GE(one.lag, 0s);
}

TEST_P(ClockSteps, KeepNoMessageWaitingForItsNextAttempt) {
    for (const auto by : steps) {
        auto engine = open();
        const auto channel = "notes" + std::to_string(by.count());
        int calls = 0;
        engine->subscribe(channel,
                          [&](int) {
                              if (++calls == 1) throw std::runtime_error{"not yet"};
                          },
                          {.partitions = 1, .policy = {.base = 1s, .cap = 2s, .jitter = 0}});
        engine->publish(channel, 1);
        engine->run_until_idle();
        step(by);
        advance(*engine, 1s);
        EXPECT_EQ(calls, 2) << by.count();
    }
}

// As above, by the process that had the first attempt.
TEST_P(ClockSteps, CountForNothingBetweenTwoAttemptsAtAMessage) {
    Watched<int> calls;
    auto engine = open(in_threads());
    engine->subscribe("notes",
                      [&](int) {
                          int number = 0;
                          calls.change([&](int& n) { number = ++n; });
                          if (number == 1) throw std::runtime_error{"not yet"};
                      },
                      {.partitions = 1, .policy = {.base = 1s, .cap = 2s, .jitter = 0}});
    engine->start();
    engine->publish("notes", 1);
    ASSERT_TRUE(eventually([&] { return engine->partitions("notes")[0].error.has_value(); }));
    step(-1h);
    clock.advance(1s);
    EXPECT_TRUE(calls.wait([](int n) { return n == 2; }));
    EXPECT_TRUE(engine->stop());
}

TEST_P(ClockSteps, KeepNoPostedInputWaiting) {
    auto engine = open();
    const auto counters = engine->add<Counter>("counter");
    int sum = 0;
    for (const auto by : steps) {
        counters.post("c", Counter::Add{1});
        engine->run_until_idle();
        counters.post("c", Counter::Add{1});
        step(by);
        counters.post("c", Counter::Add{1});
        engine->run_until_idle();
        EXPECT_EQ(counters.state("c")->total, sum += 3) << by.count();
    }
}

TEST_P(ClockSteps, KeepNoStartOrSendInATransactionWaiting) {
    if (GetParam() == "memory") GTEST_SKIP() << "there is no SQL";
    auto engine = open();
    const auto counters = engine->add<Counter>("counter");
    const auto function = engine->add("f", [](Context&, int number) { return number; });
    int sum = 0;
    for (const auto by : steps) {
        for (const bool is_before : {true, false}) {
            engine->run_until_idle();
            if (!is_before) step(by);
            const auto id = "r" + std::to_string(++sum);
            auto tx = engine->begin();
            tx.send(counters, "c", Counter::Add{1});
            tx.start(function, id, sum);
            tx.commit();
            if (is_before) step(by);
            engine->run_until_idle();
            EXPECT_EQ(counters.state("c")->total, sum) << by.count();
            EXPECT_EQ(function.run(id).result(0s), sum) << by.count();
        }
    }
}

TEST_P(ClockSteps, KeepNoEffectWaiting) {
    for (const auto by : steps) {
        for (const bool had_session : {true, false}) {
            auto engine = open();
            const auto couriers = engine->add<Courier>(
                "courier", Handlers{[](const Courier::Carry&) { return Courier::Arrived{"ok"}; }});
            const auto id = std::to_string(by.count()) + (had_session ? "with" : "without");
            if (had_session) engine->run_until_idle();
            couriers.send(id, Courier::Send{"ada", 3});
            step(by);
            engine->run_until_idle();
            EXPECT_EQ(couriers.state(id)->received.size(), 3u) << id;
        }
    }
}

TEST_P(ClockSteps, RingTimersByTheStoresTime) {
    auto engine = open();
    const auto alarms = engine->add<Alarm>("alarm");
    engine->run_until_idle();
    alarms.send("back", Alarm::Set{"k", 30min, "rung"});
    step(-1h);
    engine->run_until_idle();
    advance(*engine, 89min);
    EXPECT_THAT(alarms.state("back")->rings, IsEmpty()) << "a timer must not ring early";
    advance(*engine, 1min);
    EXPECT_THAT(alarms.state("back")->rings, ElementsAre("rung"));
    alarms.send("forward", Alarm::Set{"k", 30min, "rung"});
    step(1h);
    engine->run_until_idle();
    EXPECT_THAT(alarms.state("forward")->rings, ElementsAre("rung"));
}

TEST_P(ClockSteps, KeepNoRunWaiting) {
    for (const auto by : steps) {
        auto engine = open();
        const auto name = "f" + std::to_string(by.count());
        const auto function = engine->add(name, [](Context& ctx) {
            ctx.step("s", [] {});
            return ctx.wait<int>("word");
        });
        function.start("r");
        step(by);
        engine->run_until_idle();
        EXPECT_EQ(function.run("r").steps().size(), 1u) << by.count();
        function.run("r").signal("word", 7);
        step(by);
        engine->run_until_idle();
        EXPECT_EQ(function.run("r").result(0s), 7) << by.count();
    }
}

TEST_P(ClockSteps, AskTheHandlerOfAnEffectToStopInTime) {
    Watched<int> begun;
    auto engine = open(in_threads());
    const auto couriers = engine->add<Courier>(
        "courier",
        Handlers{with({.deadline = 10s}, [&](const Courier::Carry&, const Delivery& delivery) {
            begun.change([](int& n) { ++n; });
            EXPECT_TRUE(eventually([&] { return delivery.stop.stop_requested(); }));
            return Courier::Arrived{"stopped"};
        })});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    ASSERT_TRUE(begun.wait([](int n) { return n == 1; }));
    step(-1h);
    clock.advance(10s);
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_TRUE(engine->stop());
}

TEST_P(ClockSteps, AskTheHandlerOfAMessageToStopInTime) {
    Watched<int> begun;
    Watched<int> stopped;
    auto engine = open(in_threads());
    engine->subscribe("notes",
                      [&](int, const Received& received) {
                          begun.change([](int& n) { ++n; });
                          if (eventually([&] { return received.stop.stop_requested(); }))
                              stopped.change([](int& n) { ++n; });
                      },
                      {.partitions = 1, .policy = {.deadline = 10s}, .grace = 1h});
    engine->start();
    engine->publish("notes", 1);
    ASSERT_TRUE(begun.wait([](int n) { return n == 1; }));
    step(-1h);
    clock.advance(10s);
    EXPECT_TRUE(stopped.wait([](int n) { return n == 1; }));
    EXPECT_TRUE(engine->stop());
}

TEST(ClockStepsOfStopTimers, CountForNothing) {
    for (const auto by : steps) {
        for (const bool beats : {false, true}) {
            ManualClock clock;
            const auto store = store::open_memory(clock);
            engine::StopTimers timers{*store, clock};
            std::stop_source stop;
            const engine::StopTimers::Watch watch{
                timers, nullptr, stop,
                beats ? StepOptions{.heartbeat = 10s} : StepOptions{.deadline = 10s}};
            clock.set(clock.now() + by);
            timers.step();
            EXPECT_FALSE(stop.stop_requested()) << by.count();
            clock.advance(9s);
            timers.step();
            EXPECT_FALSE(stop.stop_requested()) << by.count();
            clock.advance(1s);
            timers.step();
            EXPECT_TRUE(stop.stop_requested()) << by.count();
        }
    }
}

TEST(ClockStepsOfInboxLimits, CountForNothing) {
    for (const auto by : steps) {
        ManualClock clock;
        const auto store = store::open_memory(clock);
        engine::InboxLimit limit{*store, clock, 100};
        limit.check("t", 0);
        for (int i = 0; i < 100; ++i) {
            store::Commit commit;
            auto& message = commit.messages.emplace_back();
            message.channel = engine::inbox_channel("t");
            message.id.bytes[0] = static_cast<std::uint8_t>(i);
            store::Answer answer;
            store->commit({&commit, 1}, {&answer, 1});
            ASSERT_EQ(answer.fate, store::Fate::committed);
        }
        clock.set(clock.now() + by);
        limit.check("t", 0);  // it was counted a moment ago
        clock.advance(1s);
        EXPECT_EQ(error_of([&] { limit.check("t", 0); }).code(), Code::busy) << by.count();
    }
}

}  // namespace
}  // namespace pawl::engine_test
