// Settings at the ends of their ranges, and parts of the outside world that fail at a bad moment.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <future>

#include "engine/fixture.hpp"
#include "engine/slow.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class Extremes : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Extremes, every_store(), name_of);

/// Sets a timer as far away as its input says.
struct Far {
    struct Set {
        Duration in{};
    };
    struct SetAt {
        Time at{};
    };
    struct Ring {};
    using Input = std::variant<Set, SetAt, Ring>;
    struct WasSet {};
    struct Rang {};
    using Event = std::variant<WasSet, Rang>;

    int rings = 0;
    void evolve(const WasSet&) {}
    void evolve(const Rang&) { ++rings; }
    Decision<Far> decide(const Set& in) const {
        return Decision<Far>{WasSet{}}.after(in.in, Ring{});
    }
    Decision<Far> decide(const SetAt& in) const {
        return Decision<Far>{WasSet{}}.at(in.at, Ring{});
    }
    Decision<Far> decide(const Ring&) const { return Rang{}; }
};

TEST_P(Extremes, OfATimerAreNeverAndAtOnce) {
    auto engine = open();
    auto far = engine->add<Far>("far");
    far.send("never", Far::Set{Duration::max()});
    far.send("never", Far::SetAt{Time::max()});
    far.send("now", Far::Set{Duration::min()});
    far.send("now", Far::SetAt{Time::min()});
    engine->run_until_idle();
    EXPECT_EQ(far.state("never")->rings, 0);
    EXPECT_EQ(far.pending("never").size(), 2u);
    EXPECT_EQ(far.state("now")->rings, 2);
}

TEST_P(Extremes, OfTimeoutsAndDeadlinesAreForEver) {
    Watched<bool> inside;
    Watched<bool> gate;
    auto engine = open(Options{});
    auto couriers = engine->add<Courier>(
        "courier",
        Handlers{with({.deadline = Duration::max()}, [&](const Carry&, const Delivery& d) {
            inside.change([](bool& value) { value = true; });
            gate.wait([](bool is_open) { return is_open; });
            return Courier::Arrived{d.stop.stop_requested() ? "stopped" : "in peace"};
        })});
    engine->start();
    EXPECT_TRUE(couriers.send("c", Courier::Send{"ada"}, {.timeout = Duration::max()}).accepted());
    ASSERT_TRUE(inside.wait([](bool value) { return value; }));
    auto stopped = std::async(std::launch::async, [&] { return engine->stop(Duration::max()); });
    EXPECT_EQ(stopped.wait_for(20ms), std::future_status::timeout);
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(stopped.get());
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("in peace"));
}

TEST_P(Extremes, OfOptionsThatWouldStandStillAreRefused) {
    const auto refused = [&](auto change) {
        auto wrong = options();
        change(wrong);
        const auto error = error_of([&] { open(wrong); });
        EXPECT_EQ(error.code(), Code::invalid);
        return std::string{error.what()};
    };
    EXPECT_THAT(refused([](Options& o) { o.workers = 0; }), HasSubstr("workers"));
    EXPECT_THAT(refused([](Options& o) { o.queue = 0; }), HasSubstr("queue"));
    EXPECT_THAT(refused([](Options& o) { o.lease = 0s; }), HasSubstr("lease"));
    EXPECT_THAT(refused([](Options& o) { o.lease = Duration::max(); }), HasSubstr("lease"));
    EXPECT_THAT(refused([](Options& o) { o.losses = 0; }), HasSubstr("losses"));
    EXPECT_THAT(refused([](Options& o) { o.input_id_retention = -1s; }),
                HasSubstr("input_id_retention"));
    EXPECT_THAT(refused([](Options& o) { o.ending_retention = -1s; }),
                HasSubstr("ending_retention"));
    auto only_sends = options();
    only_sends.workers = 0;
    only_sends.claims = 0;
    only_sends.input_id_retention = Duration::max();
    auto engine = open(only_sends);
    auto counters = engine->add<Counter>("counter");
    EXPECT_TRUE(counters.send("c", Counter::Add{1}, {.input_id = "i"}).accepted());
    engine->run_until_idle();
    EXPECT_TRUE(counters.send("c", Counter::Add{1}, {.input_id = "i"}).duplicate());
}

TEST_P(Extremes, OfASmallQueueHoldUpNoHotInstance) {
    Watched<bool> inside;
    Watched<bool> gate;
    Slow::inside = &inside;
    Slow::gate = &gate;
    auto tight = Options{};
    tight.queue = 1;
    auto engine = open(tight);
    auto slow = engine->add<Slow>("slow");
    engine->start();
    auto first = std::async(std::launch::async, [&] { return slow.send("s", Slow::Step{}); });
    ASSERT_TRUE(inside.wait([](bool value) { return value; }));
    std::vector<std::future<Outcome<Slow>>> behind;
    for (int i = 0; i < 20; ++i)
        behind.push_back(slow.send_async("s", Slow::Step{}, {.timeout = 1s}));
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(first.get().accepted());
    for (auto& one : behind) EXPECT_TRUE(one.get().accepted());
}

TEST_P(Extremes, OfManyFirstCallersFindEveryLaneReady) {
    for (int round = 0; round < 20; ++round) {
        auto engine = open(Options{});
        Watched<int> carried;
        auto couriers = engine->add<Courier>(
            "courier", Handlers{[&](const Carry&) { carried.change([](int& n) { ++n; }); }});
        constexpr int callers = 4;
        std::barrier together{callers + 1};
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < callers; ++i)
                threads.emplace_back([&, i] {
                    together.arrive_and_wait();
                    couriers.send(std::to_string(round) + "-" + std::to_string(i),
                                  Courier::Send{"ada"});
                });
            together.arrive_and_wait();
            engine->start();
        }
        EXPECT_TRUE(carried.wait([](int n) { return n == callers; }));
        EXPECT_TRUE(engine->stop());
    }
}

TEST_P(Extremes, OfAnExecutorThatRefusesLeaveNothingStuck) {
    std::atomic<int> asked{0};
    auto refusing = Options{};
    refusing.executor = [&](Task task) {
        if (++asked <= 2) throw std::runtime_error{"no room"};
        task();
    };
    auto engine = open(refusing);
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.base = 1ms, .cap = 1ms},
                                 [](const Carry&) { return Courier::Arrived{"ok"}; })});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("ok"));
    EXPECT_TRUE(engine->stop());
}

TEST_P(Extremes, OfWakeUpsDuringALookAreNotLost) {
    Watched<int> looked;
    std::atomic<int> wanted{0};
    std::function<void()> meanwhile;
    Options hooked;
    hooked.test.at_point = [&](std::string_view point) {
        if (point != "claim:after" || wanted == 0 || --wanted > 0) return;
        meanwhile();
        looked.change([](int& n) { ++n; });
    };
    auto engine = open(hooked);
    auto alarms = engine->add<Alarm>("alarm");
    int round = 0;
    // Set by another thread while this one has looked and found nothing.
    meanwhile = [&] {
        std::async(std::launch::async, [&] {
            alarms.send(std::to_string(round), Alarm::SetAt{"k", engine->now()});
        }).get();
    };
    engine->start();
    const auto begin = std::chrono::steady_clock::now();
    for (round = 1; round <= 10; ++round) {
        wanted = 2;  // the first look finds something, the second nothing
        const auto id = std::to_string(round);
        alarms.send("other-" + id, Alarm::SetAt{"k", engine->now()});
        EXPECT_TRUE(looked.wait([&](int n) { return n == round; }));
        EXPECT_TRUE(eventually([&] { return !alarms.state(id)->rings.empty(); }));
    }
    // A poll would take a second each.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

class SharedExtremes : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedExtremes, shared_stores(), name_of);

TEST_P(SharedExtremes, OfOpenFilesFailTheStartAndNotTheNextOne) {
#ifdef PAWL_UBSAN
    GTEST_SKIP() << "UBSan needs files of its own to look at an exception; TSan does not";
#endif
    auto engine = open(Options{});
    Watched<int> carried;
    auto couriers = engine->add<Courier>(
        "courier", Handlers{[&](const Carry&) { carried.change([](int& n) { ++n; }); }});
    couriers.send("c", Courier::Send{"ada"});
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = dup(0);
    ASSERT_GE(next, 0);
    close(next);
    const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
    const auto error = error_of([&] { engine->start(); });
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(error.code(), Code::unavailable);
    engine->start();
    EXPECT_TRUE(carried.wait([](int n) { return n == 1; }));
    EXPECT_TRUE(engine->stop());
}

TEST_P(SharedExtremes, OfAStoreThatFailsAreNoFaultOfAHandlerThatCameBack) {
    std::atomic<bool> failing{false};
    Watched<int> failures;
    Watched<std::vector<std::string>> log;
    Options fragile;
    fragile.lease = 100ms;
    fragile.test.at_point = [&](std::string_view point) {
        if (point != "group:begun" || !failing) return;
        failures.change([](int& n) { ++n; });
        throw Error{Code::unavailable, "the disk is out"};
    };
    fragile.log = [&](const LogRecord& record) {
        if (record.level == LogLevel::error)
            log.change([&](auto& lines) { lines.push_back(record.text); });
    };
    auto engine = open(fragile);
    std::atomic<int> calls{0};
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.attempts = 1, .deadline = 10ms}, [&](const Carry&) {
            ++calls;
            failing = true;
            return Courier::Arrived{"ok"};
        })});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    // Given again every 200 ms: its deadline and its grace have passed long since.
    EXPECT_TRUE(failures.wait([](int n) { return n >= 4; }));
    failing = false;
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("ok"));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(engine->count_dead_letters(), 0);
    EXPECT_THAT(log.get(), IsEmpty());
}

TEST_P(SharedExtremes, OfAClockThatGoesBackPostponeNoWordForLong) {
    std::atomic<bool> failing{false};
    Watched<int> postponed;
    auto fragile = options();
    fragile.test.at_point = [&](std::string_view point) {
        if (point == "group:begun" && failing.exchange(false))
            throw Error{Code::unavailable, "the disk is out"};
    };
    fragile.log = [&](const LogRecord& record) {
        if (record.event == LogEvent::put_off) postponed.change([](int& n) { ++n; });
    };
    auto engine = open(fragile);
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&) {
                                             failing = true;
                                             return Courier::Arrived{"ok"};
                                         }});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    EXPECT_TRUE(postponed.wait([](int n) { return n == 1; }));
    clock.set(clock.now() - 1h);
    EXPECT_TRUE(eventually([&] {
        clock.advance(1ms);
        return couriers.pending("c").empty();
    }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("ok"));
}

}  // namespace
}  // namespace pawl::engine_test
