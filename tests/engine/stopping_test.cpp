// Started engines that stop: what runs is waited for, what has not begun is given back.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

/// A handler that waits inside until it is let out.
struct Room {
    Watched<int> entered;
    Watched<bool> open;
    Watched<int> left;
    void visit() {
        entered.change([](int& n) { ++n; });
        open.wait([](bool is_open) { return is_open; });
        left.change([](int& n) { ++n; });
    }
    bool wait_entered(int count) {
        return entered.wait([count](int n) { return n >= count; });
    }
    void let_out() {
        open.change([](bool& is_open) { is_open = true; });
    }
};

bool do_others_sleep() {
    const auto self = std::to_string(gettid());
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        if (task.path().filename() == self) continue;
        std::ifstream file{task.path() / "stat"};
        std::string stat;
        std::getline(file, stat);
        const auto name_end = stat.rfind(") ");
        if (name_end != std::string::npos && stat[name_end + 2] != 'S') return false;
    }
    return true;
}

/// At a moment when no other thread runs. The allocator of the sanitizers does not know of forks
/// (that of the C library does): a thread that is just then in it would leave its lock to a child
/// in which nobody opens it.
pid_t fork_at_rest() {
    EXPECT_TRUE(eventually(do_others_sleep));
    return fork();
}

class Stopping : public EngineTest {
protected:
    static Options real_time() { return {}; }
};
INSTANTIATE_TEST_SUITE_P(Stores, Stopping, every_store(), name_of);

TEST_P(Stopping, LetsARunningHandlerFinishAndGivesTheRestBackUncharged) {
    Room room;
    auto alone = real_time();
    alone.workers = 1;
    auto engine = open(alone);
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry& e) {
                                             room.visit();
                                             return Courier::Arrived{std::to_string(e.parcel)};
                                         }});
    engine->start();
    couriers.send("c", Courier::Send{"ada", 5});
    ASSERT_TRUE(room.wait_entered(1));
    auto stopped = std::async(std::launch::async, [&] { return engine->stop(20s); });
    // Given back while the first one is still at it.
    EXPECT_TRUE(eventually([&] {
        int back = 0;
        for (const auto& work : couriers.pending("c")) back += work.due_at && work.attempts == 0;
        return back == 4;
    }));
    EXPECT_EQ(stopped.wait_for(0s), std::future_status::timeout);
    room.let_out();
    EXPECT_TRUE(stopped.get());
    EXPECT_EQ(couriers.state("c")->received.size(), 1u);
    EXPECT_EQ(couriers.pending("c").size(), 4u);
    EXPECT_EQ(room.entered.get(), 1);
}

TEST_P(Stopping, AsksHandlersToStopAtTheDeadlineAndTakesTheirLastWord) {
    auto engine = open(real_time());
    Watched<bool> inside;
    Watched<bool> asked;
    auto couriers = engine->add<Courier>(
        "courier", Handlers{[&](const Carry&, const Delivery& d) {
            const std::stop_callback on_stop{
                d.stop, [&] { asked.change([](bool& value) { value = true; }); }};
            inside.change([](bool& value) { value = true; });
            const bool stopped = asked.wait([](bool value) { return value; });
            return Courier::Arrived{stopped ? "stopped" : "hung"};
        }});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    ASSERT_TRUE(inside.wait([](bool value) { return value; }));
    EXPECT_TRUE(engine->stop(10ms));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("stopped"));
}

TEST_P(Stopping, IsNotHeldUpByAHandlerThatIgnoresIt) {
    const auto room = std::make_shared<Room>();
    {
        auto engine = open(real_time());
        auto couriers = engine->add<Courier>("courier", Handlers{[room](const Carry&) {
                                                 room->visit();
                                                 return Courier::Arrived{"late"};
                                             }});
        engine->start();
        couriers.send("c", Courier::Send{"ada"});
        ASSERT_TRUE(room->wait_entered(1));
        EXPECT_FALSE(engine->stop(10ms));
        const auto pending = couriers.pending("c");
        ASSERT_EQ(pending.size(), 1u);
        EXPECT_TRUE(pending[0].due_at);
    }
    room->let_out();
    EXPECT_TRUE(room->left.wait([](int n) { return n == 1; }));
    // The thread holds the last reference to the engine's insides, and to the room.
    EXPECT_TRUE(eventually([&] { return room.use_count() == 1; }));
}

TEST_P(Stopping, WaitsInTheDestructor) {
    Room room;
    auto engine = open(real_time());
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry&) { room.visit(); }});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    ASSERT_TRUE(room.wait_entered(1));
    auto gone = std::async(std::launch::async, [&] { engine.reset(); });
    EXPECT_EQ(gone.wait_for(10ms), std::future_status::timeout);
    room.let_out();
    gone.get();
    EXPECT_EQ(room.left.get(), 1);
}

TEST_P(Stopping, AnswersEveryPendingSend) {
    std::vector<std::future<Outcome<Counter>>> sent;
    {
        auto engine = open(real_time());
        auto counters = engine->add<Counter>("counter");
        engine->start();
        for (int i = 0; i < 500; ++i)
            sent.push_back(counters.send_async("c-" + std::to_string(i % 50), Counter::Add{1}));
    }
    for (auto& one : sent) {
        ASSERT_EQ(one.wait_for(patience), std::future_status::ready);
        EXPECT_TRUE(one.get().accepted());
    }
}

TEST_P(Stopping, IsFollowedByAnotherStart) {
    auto engine = open(real_time());
    Watched<int> carried;
    auto couriers = engine->add<Courier>(
        "courier", Handlers{[&](const Carry&) { carried.change([](int& n) { ++n; }); }});
    EXPECT_TRUE(engine->stop());  // never started
    for (int round = 1; round <= 3; ++round) {
        engine->start();
        EXPECT_EQ(error_of([&] { engine->start(); }).code(), Code::misuse);
        EXPECT_EQ(error_of([&] { engine->run_until_idle(); }).code(), Code::misuse);
        EXPECT_EQ(error_of([&] { engine->add<Counter>("late"); }).code(), Code::misuse);
        couriers.send("c", Courier::Send{"ada"});
        EXPECT_TRUE(carried.wait([&](int n) { return n == round; }));
        EXPECT_TRUE(engine->stop());
        couriers.send("d", Courier::Send{"bob", 0});
    }
    EXPECT_THAT(couriers.pending("c"), IsEmpty());
}

TEST_P(Stopping, LeavesWorkToTheNextStart) {
    auto engine = open(real_time());
    Watched<int> carried;
    auto couriers = engine->add<Courier>(
        "courier", Handlers{[&](const Carry&) { carried.change([](int& n) { ++n; }); }});
    couriers.send("c", Courier::Send{"ada", 3});
    EXPECT_EQ(couriers.pending("c").size(), 3u);
    engine->start();
    EXPECT_TRUE(carried.wait([](int n) { return n == 3; }));
}

TEST_P(Stopping, IsNoConcernOfAForkedChild) {
    auto engine = open(real_time());
    auto counters = engine->add<Counter>("counter");
    engine->start();
    const pid_t child = fork_at_rest();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);
        int wrong = 0;
        const auto misused = [&](auto&& f) {
            try {
                f();
                ++wrong;
            } catch (const Error& e) {
                if (e.code() != Code::misuse || !strstr(e.what(), "fork")) ++wrong;
            }
        };
        misused([&] { counters.send("c", Counter::Add{1}); });
        misused([&] { counters.send_async("c", Counter::Add{1}); });
        misused([&] { (void)counters.state("c"); });
        misused([&] { (void)engine->instances(); });
        misused([&] { engine->stop(); });
        misused([&] { engine->start(); });
        engine.reset();
        _exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(counters.send("c", Counter::Add{1}).accepted());
}

TEST_P(Stopping, LeavesNothingOfTheEngineBehindWithAHandlerThatIgnoresIt) {
    const auto room = std::make_shared<Room>();
    {
        auto crowded = real_time();
        crowded.workers = 1;
        auto engine = open(crowded);
        auto couriers =
            engine->add<Courier>("courier", Handlers{[room](const Carry&) { room->visit(); }});
        engine->start();
        couriers.send("c", Courier::Send{"ada", 5});
        ASSERT_TRUE(room->wait_entered(1));
        EXPECT_FALSE(engine->stop(10ms));
    }
    room->let_out();
    // What waited for the one worker holds nothing alive.
    EXPECT_TRUE(eventually([&] { return room.use_count() == 1; }));
    EXPECT_EQ(room->entered.get(), 1);
}

TEST_P(Stopping, AnswersWhatIsQueuedBehindACallerThatCommits) {
    Watched<int> reached;
    Watched<bool> gate;
    auto gated = real_time();
    gated.test.at_point = [&](std::string_view point) {
        if (point != "commit:before") return;
        reached.change([](int& n) { ++n; });
        gate.wait([](bool is_open) { return is_open; });
    };
    auto engine = open(gated);
    auto counters = engine->add<Counter>("counter");
    engine->start();
    auto first =
        std::async(std::launch::async, [&] { return counters.send("c", Counter::Add{1}); });
    ASSERT_TRUE(reached.wait([](int n) { return n == 1; }));
    // To the same instance: on every store it waits in the same lane.
    auto second = counters.send_async("c", Counter::Add{1});
    EXPECT_TRUE(engine->stop());
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(first.get().accepted());
    ASSERT_EQ(second.wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(second.get().accepted());
}

TEST_P(Stopping, KeepsWhatItsProcessHoldsWhenAForkedChildDestroysItsCopy) {
    Room room;
    auto engine = open(real_time());
    auto couriers = engine->add<Courier>("courier", Handlers{[&](const Carry& e) {
                                             room.visit();
                                             return Courier::Arrived{e.to};
                                         }});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    ASSERT_TRUE(room.wait_entered(1));
    const pid_t child = fork_at_rest();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);
        engine.reset();
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    // Still claimed: the child did not close the session, nor give anything back.
    const auto pending = couriers.pending("c");
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_FALSE(pending[0].due_at);
    room.let_out();
    EXPECT_TRUE(eventually([&] { return couriers.pending("c").empty(); }));
    EXPECT_THAT(couriers.state("c")->received, ElementsAre("ada"));
    EXPECT_TRUE(engine->stop());
    EXPECT_EQ(room.entered.get(), 1);
}

class SharedStopping : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedStopping, shared_stores(), name_of);

TEST_P(SharedStopping, IsNotHeldUpByAnEffectThatIsNotReleasedAfterAll) {
    Watched<int> reached;
    Watched<bool> gate;
    Options gated;
    gated.test.at_point = [&](std::string_view point) {
        if (point != "commit:before") return;
        reached.change([](int& n) { ++n; });
        gate.wait([](bool is_open) { return is_open; });
    };
    auto other = open(Options{});
    auto there = other->add<Courier>("courier");
    auto engine = open(gated);
    auto here = engine->add<Courier>("courier", Handlers{[](const Carry&) {}});
    engine->start();
    // Decided on a version that another engine then takes: its effect is reserved, and lost.
    auto sent =
        std::async(std::launch::async, [&] { return here.send("c", Courier::Send{"ada"}); });
    ASSERT_TRUE(reached.wait([](int n) { return n == 1; }));
    there.send("c", Courier::Send{"meanwhile", 0});
    const auto begin = std::chrono::steady_clock::now();
    auto stopped = std::async(std::launch::async, [&] { return engine->stop(patience); });
    EXPECT_EQ(stopped.wait_for(50ms), std::future_status::timeout);
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(stopped.get());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, patience / 2);
    EXPECT_TRUE(sent.get().accepted());
    EXPECT_EQ(here.pending("c").size(), 1u);
}

}  // namespace
}  // namespace pawl::engine_test
