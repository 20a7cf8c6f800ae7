// Engines with threads: limits, deadlines, executors, wake-ups, callers on many threads.
#include <future>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class Started : public EngineTest {
protected:
    static Options real_time() { return {}; }
};
INSTANTIATE_TEST_SUITE_P(Stores, Started, every_store(), name_of);

TEST_P(Started, RunsNoMoreOfOneHandlerAtOnceThanItsPolicySays) {
    struct Load {
        int running = 0;
        int most = 0;
        int done = 0;
    };
    Watched<Load> load;
    auto engine = open(real_time());
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.at_once = 2}, [&](const Carry&) {
            load.change([](Load& l) { l.most = std::max(l.most, ++l.running); });
            // The first waits for company: two do run beside each other.
            load.wait([](const Load& l) { return l.most >= 2; });
            load.change([](Load& l) {
                --l.running;
                ++l.done;
            });
        })});
    engine->start();
    for (int i = 0; i < 10; ++i) couriers.send("c-" + std::to_string(i), Courier::Send{"ada", 3});
    EXPECT_TRUE(load.wait([](const Load& l) { return l.done == 30; }));
    EXPECT_EQ(load.get().most, 2);
}

TEST_P(Started, AsksAHandlerToStopAtItsDeadline) {
    auto engine = open(real_time());
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.attempts = 2, .base = 1ms, .deadline = 20ms},
                                 [](const Carry&, const Delivery& d) {
                                     if (d.attempt == 2) return Courier::Arrived{"second"};
                                     Watched<bool> asked;
                                     const std::stop_callback on_stop{
                                         d.stop,
                                         [&] { asked.change([](bool& value) { value = true; }); }};
                                     asked.wait([](bool value) { return value; });
                                     throw std::runtime_error{"stopped by the deadline"};
                                 })});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("second"));
}

TEST_P(Started, GivesUpAHandlerThatHangsAndIgnoresItsLateWord) {
    Watched<bool> open_gate;
    Watched<int> returned;
    auto impatient = real_time();
    impatient.lease = 1s;
    impatient.workers = 1;
    auto engine = open(impatient);
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.base = 1ms, .deadline = 20ms},
                                 [&](const Carry&, const Delivery& d) -> Courier::Input {
                                     if (d.attempt == 1)
                                         open_gate.wait([](bool is_open) { return is_open; });
                                     returned.change([](int& n) { ++n; });
                                     return Courier::Arrived{std::to_string(d.attempt)};
                                 })});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("2"));
    open_gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(returned.wait([](int n) { return n == 2; }));
    EXPECT_TRUE(engine->stop());
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("2"));
}

TEST_P(Started, GivesEveryHandlerCallToTheUsersExecutor) {
    struct Queue {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<Task> tasks;
    } queue;
    auto with_executor = real_time();
    with_executor.executor = [&](Task task) {
        const std::lock_guard lock{queue.mutex};
        queue.tasks.push_back(std::move(task));
        queue.changed.notify_all();
    };
    auto engine = open(with_executor);
    std::vector<std::thread::id> where;
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&) {
                                             where.push_back(std::this_thread::get_id());
                                             return Courier::Arrived{"ok"};
                                         }});
    engine->start();
    couriers.send("c", Courier::Send{"ada", 10});
    while (where.size() < 10) {
        std::unique_lock lock{queue.mutex};
        ASSERT_TRUE(queue.changed.wait_for(lock, patience, [&] { return !queue.tasks.empty(); }));
        auto tasks = std::move(queue.tasks);
        queue.tasks.clear();
        lock.unlock();
        for (auto& task : tasks) task();
    }
    EXPECT_THAT(where, ::testing::Each(std::this_thread::get_id()));
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_EQ(couriers.state("c")->received.size(), 10u);
    EXPECT_TRUE(engine->stop());
}

TEST_P(Started, FiresTimersAndRetriesPromptly) {
    auto engine = open(real_time());
    auto alarms = engine->add<Alarm>("alarm");
    Watched<int> carried;
    auto couriers = engine->add<Courier>(
        "courier", Handlers{with({.base = 1ms, .cap = 1ms}, [&](const Carry&, const Delivery& d) {
            if (d.attempt < 3) throw std::runtime_error{"again"};
            carried.change([](int& n) { ++n; });
        })});
    engine->start();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= 10; ++i) {
        const auto id = std::to_string(i);
        alarms.send(id, Alarm::SetAt{"k", engine->now() + 1ms});
        EXPECT_TRUE(eventually([&] { return !alarms.state(id)->rings.empty(); }));
        couriers.send(id, Courier::Send{"ada"});
        EXPECT_TRUE(carried.wait([&](int n) { return n == i; }));
    }
    // A poll would take a second each.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_P(Started, SendsFromHandlersAndCallbacks) {
    auto engine = open(real_time());
    auto counters = engine->add<Counter>("counter");
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry& e) {
                                             counters.send("total", Counter::Add{e.parcel});
                                         }});
    engine->start();
    Watched<int> called;
    couriers.send_async("c", Courier::Send{"ada", 4}, {},
                        [&](std::optional<Outcome<Courier>> outcome, std::exception_ptr) {
                            EXPECT_TRUE(outcome && outcome->accepted());
                            EXPECT_TRUE(counters.send("total", Counter::Add{100}).accepted());
                            called.change([](int& n) { ++n; });
                        });
    EXPECT_TRUE(called.wait([](int n) { return n == 1; }));
    EXPECT_TRUE(eventually([&] { return counters.state("total")->total == 110; }));
}

TEST_P(Started, SendsFromHandlersInsideRunUntilIdleToo) {
    auto engine = open();
    auto counters = engine->add<Counter>("counter");
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry& e) {
                                             counters.send("total", Counter::Add{e.parcel});
                                             return Courier::Arrived{"ok"};
                                         }});
    couriers.send("c", Courier::Send{"ada", 4});
    engine->run_until_idle();
    EXPECT_EQ(counters.state("total")->total, 10);
    EXPECT_EQ(couriers.state("c")->received.size(), 4u);
}

TEST_P(Started, IsNotNeededForSendsOfManyThreads) {
    auto engine = open(real_time());
    auto counters = engine->add<Counter>("counter");
    std::atomic<int> sent{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 100; ++i) {
                    const std::string id = i % 2 ? "hot" : "c-" + std::to_string(t);
                    if (t % 2) {
                        auto future = counters.send_async(id, Counter::Add{1});
                        ASSERT_EQ(future.wait_for(patience), std::future_status::ready);
                        sent += future.get().accepted();
                    } else {
                        sent += counters.send(id, Counter::Add{1}).accepted();
                    }
                }
            });
    }
    EXPECT_EQ(sent, 400);
    EXPECT_EQ(counters.state("hot")->total, 200);
}

/// Its `decide` waits in a room of the test's.
struct Slow {
    static inline Watched<bool>* gate = nullptr;
    static inline Watched<int>* inside = nullptr;
    struct Go {
        bool wait = false;
    };
    using Input = std::variant<Go>;
    struct Gone {};
    using Event = std::variant<Gone>;
    int gone = 0;
    void evolve(const Gone&) { ++gone; }
    Decision<Slow> decide(const Go& in) const {
        if (in.wait) {
            inside->change([](int& n) { ++n; });
            gate->wait([](bool is_open) { return is_open; });
        }
        return Gone{};
    }
};

TEST_P(Started, LetsNoSlowDecideDelayAnotherInstance) {
    Watched<bool> gate;
    Watched<int> inside;
    Slow::gate = &gate;
    Slow::inside = &inside;
    auto engine = open(real_time());
    auto slow = engine->add<Slow>("slow");
    engine->start();
    auto waiting =
        std::async(std::launch::async, [&] { return slow.send("a", Slow::Go{true}).version(); });
    ASSERT_TRUE(inside.wait([](int n) { return n == 1; }));
    auto behind = slow.send_async("a", Slow::Go{});
    EXPECT_EQ(slow.send("b", Slow::Go{}).version(), 1);
    EXPECT_EQ(slow.send_async("c", Slow::Go{}).get().version(), 1);
    EXPECT_EQ(behind.wait_for(0s), std::future_status::timeout);
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_EQ(waiting.get(), 1);
    EXPECT_EQ(behind.get().version(), 2);
}

}  // namespace
}  // namespace pawl::engine_test
