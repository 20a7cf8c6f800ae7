// Functions on engines with threads: beside each other, across processes, stopped in the middle.
#include <atomic>
#include <future>

#include "base/points.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

class Threads : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Threads, every_store(), name_of);

TEST_P(Threads, RunManyFunctionsAndWakeWhoWaits) {
    auto engine = open({});
    std::atomic<int> steps{0};
    auto function = engine->add("f", [&](Context& ctx, int in) {
        for (int i = 0; i < 3; ++i) ctx.step("s", [&] { ++steps; });
        return in;
    });
    engine->start();
    std::vector<std::thread> callers;
    std::atomic<int> right{0};
    for (int t = 0; t < 8; ++t)
        callers.emplace_back([&, t] {
            for (int i = 0; i < 25; ++i) {
                const int n = t * 100 + i;
                if (function.start_and_wait("r-" + std::to_string(n), n) == n) ++right;
            }
        });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(right, 200);
    EXPECT_EQ(steps, 600);
}

TEST_P(Threads, ExecuteANewRunOnTheThreadThatWaitsForIt) {
    auto engine = open({});
    std::vector<std::thread::id> seen;
    auto function = engine->add("f", [&](Context& ctx, bool sleeps) {
        seen.push_back(std::this_thread::get_id());
        ctx.step("s", [&] { seen.push_back(std::this_thread::get_id()); });
        if (sleeps) ctx.sleep(10ms);
        if (!sleeps) throw std::runtime_error("out of paper");
        return 1;
    });
    engine->start();
    const auto here = std::this_thread::get_id();
    EXPECT_THAT([&] { function.start_and_wait("fails", false); },
                ThrowsMessage<RunFailed>(HasSubstr("out of paper")));
    EXPECT_THAT(seen, ElementsAre(here, here));
    seen.clear();
    EXPECT_EQ(function.start_and_wait("sleeps", true), 1) << "what suspends it frees the thread";
    ASSERT_GE(seen.size(), 3);
    EXPECT_EQ(seen[1], here);
    EXPECT_NE(seen.back(), here) << "and another one goes on";
    EXPECT_EQ(function.start_and_wait("sleeps", true), 1) << "that it has ended is found";
}

TEST_P(Threads, CountARunOnTheThreadThatWaitsAmongThoseThatExecute) {
    auto engine = open({});
    Watched<bool> go;
    auto function = engine->add("f",
                                [&](Context& ctx, bool waits) {
                                    ctx.step("s", [&] {
                                        if (waits) go.wait([](bool b) { return b; });
                                    });
                                    return 1;
                                },
                                {.at_once = 1});
    engine->start();
    auto first = function.start("first", true);
    auto second =
        std::async(std::launch::async, [&] { return function.start_and_wait("second", false); });
    EXPECT_EQ(second.wait_for(50ms), std::future_status::timeout) << "there is no room for it";
    go.change([](bool& b) { b = true; });
    EXPECT_EQ(second.get(), 1);
    EXPECT_TRUE(first.result(patience));
}

TEST_P(Threads, RunNoMoreBodiesAtATimeThanTheOptionsSay) {
    struct Load {
        int running = 0;
        int most = 0;
    };
    Watched<Load> load;
    auto engine = open({.max_bodies = 2});
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", [&] {
            load.change([](Load& l) { l.most = std::max(l.most, ++l.running); });
            load.wait([](const Load& l) { return l.most >= 2; });
            load.change([](Load& l) { --l.running; });
        });
    });
    engine->start();
    std::vector<pawl::Run<void>> runs;
    for (int i = 0; i < 20; ++i) runs.push_back(function.start("r-" + std::to_string(i)));
    for (const auto& run : runs) EXPECT_TRUE(run.result(patience));
    EXPECT_EQ(load.get().most, 2);
}

TEST_P(Threads, RunABodyWhileAnotherRunWaitsForItsCommit) {
    Watched<bool> second_is_there;
    Watched<bool> second_has_begun;
    Watched<bool> gate;
    std::atomic<bool> closed{false};
    Options one;
    one.max_bodies = 1;
    one.test.at_point = [&](std::string_view point) {
        if (point == base::points::commit_before && closed)
            gate.wait([](bool is_open) { return is_open; });
    };
    auto engine = open(one);
    auto first = engine->add("first", [&](Context& ctx) {
        ctx.step("s", [&] {
            second_is_there.wait([](bool it_is) { return it_is; });
            closed = true;  // its own record is the next commit
        });
    });
    auto second = engine->add("second", [&](Context& ctx) {
        ctx.step("s", [&] { second_has_begun.change([](bool& it_has) { it_has = true; }); });
    });
    engine->start();
    auto one_run = first.start("r");
    auto other_run = second.start("r");
    second_is_there.change([](bool& it_is) { it_is = true; });
    EXPECT_TRUE(second_has_begun.wait([](bool it_has) { return it_has; }));
    closed = false;
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(one_run.result(patience));
    EXPECT_TRUE(other_run.result(patience));
}

TEST_P(Threads, ExecuteARunForACallerHoweverManyBodiesRun) {
    auto engine = open({.max_bodies = 1});
    Watched<bool> go;
    auto function = engine->add("f", [&](Context& ctx, bool waits) {
        ctx.step("s", [&] {
            if (waits) go.wait([](bool b) { return b; });
        });
        return 1;
    });
    engine->start();
    auto first = function.start("first", true);
    EXPECT_EQ(function.start_and_wait("second", false), 1);
    go.change([](bool& b) { b = true; });
    EXPECT_TRUE(first.result(patience));
}

TEST_P(Threads, StartMoreChildrenAtOnceThanAGroupHolds) {
    auto engine = open({});
    Watched<bool> go;
    auto child = engine->add(
        "child", [&](Context& ctx) { ctx.step("s", [&] { go.wait([](bool b) { return b; }); }); },
        {.at_once = 1});
    auto parent = engine->add("parent", [&](Context& ctx) {
        std::vector<Later<void>> all;
        for (int i = 0; i < 600; ++i) all.push_back(ctx.later_call(child, std::to_string(i)));
        ctx.all(std::move(all));
    });
    engine->start();
    auto run = parent.start("p");
    // Nothing else is written meanwhile: whoever waits for an answer must be woken by it.
    EXPECT_TRUE(eventually([&] { return run.status() == RunStatus::waiting; }));
    go.change([](bool& b) { b = true; });
}

TEST_P(Threads, RefuseToBeStoppedByAFunction) {
    auto engine = open({});
    auto function = engine->add("f", [&](Context&) { engine->stop(); });
    engine->start();
    EXPECT_THAT([&] { function.start_and_wait("r"); },
                ThrowsMessage<RunFailed>(HasSubstr("stop the engine on another thread")));
}

TEST_P(Threads, RunBodiesBesideEachOther) {
    auto engine = open({});
    Watched<int> inside;
    auto function = engine->add("f", [&](Context& ctx) {
        std::vector<Later<int>> all;
        for (int i = 0; i < 4; ++i)
            all.push_back(ctx.later("together", [&inside, i] {
                inside.change([](int& n) { ++n; });
                // Nobody gets out before all are in.
                EXPECT_TRUE(inside.wait([](int n) { return n == 4; }));
                return i;
            }));
        return ctx.all(std::move(all));
    });
    engine->start();
    EXPECT_EQ(function.start_and_wait("r"), (std::vector<int>{0, 1, 2, 3}));
}

TEST_P(Threads, ExecuteNoMoreOfOneFunctionAtOnceThanItsOptionsSay) {
    struct Load {
        int running = 0;
        int most = 0;
    };
    Watched<Load> load;
    auto engine = open({});
    auto function =
        engine->add("f",
                    [&](Context& ctx) {
                        ctx.step("s", [&] {
                            load.change([](Load& l) { l.most = std::max(l.most, ++l.running); });
                            // The first waits for company: two do run beside each other.
                            EXPECT_TRUE(load.wait([](const Load& l) { return l.most >= 2; }));
                            load.change([](Load& l) { --l.running; });
                        });
                    },
                    {.at_once = 2});
    engine->start();
    for (int i = 0; i < 12; ++i) function.start("r-" + std::to_string(i));
    for (int i = 0; i < 12; ++i)
        EXPECT_TRUE(function.run("r-" + std::to_string(i)).result(patience));
    EXPECT_EQ(load.get().most, 2);
}

TEST_P(Threads, WaitForAValueThatIsSetLater) {
    auto engine = open({});
    auto function = engine->add("f", [](Context& ctx) {
        ctx.set("half", ctx.wait<int>("number") / 2);
        ctx.wait<int>("never");
    });
    engine->start();
    auto run = function.start("r");
    EXPECT_FALSE(run.value<int>("half", 1ms));
    auto waiting = std::async(std::launch::async, [&] { return run.value<int>("half", patience); });
    run.signal("number", 10);
    EXPECT_EQ(waiting.get(), 5);
}

TEST_P(Threads, StopTheOthersWhenAnyIsDone) {
    auto engine = open({});
    std::atomic<bool> stopped{false};
    auto function = engine->add("f", [&](Context& ctx) {
        auto first = ctx.any(ctx.later("slow",
                                       [&](const Attempt& attempt) {
                                           Watched<bool> asked;
                                           const std::stop_callback on_stop{
                                               attempt.stop,
                                               [&] { asked.change([](bool& b) { b = true; }); }};
                                           stopped = asked.wait([](bool b) { return b; });
                                           return 1;
                                       }),
                             ctx.later("quick", [] { return 2; }));
        return static_cast<int>(first.index());
    });
    engine->start();
    EXPECT_EQ(function.start_and_wait("r"), 1);
    EXPECT_TRUE(stopped);
}

TEST_P(Threads, EndAnAnyByTimeWhileABodyRuns) {
    auto engine = open({});
    auto function = engine->add("f", [&](Context& ctx) {
        auto first = ctx.any(ctx.later("endless",
                                       [&](const Attempt& attempt) {
                                           Watched<bool> asked;
                                           const std::stop_callback on_stop{
                                               attempt.stop,
                                               [&] { asked.change([](bool& b) { b = true; }); }};
                                           asked.wait([](bool b) { return b; });
                                           throw std::runtime_error("asked to stop");
                                       }),
                             ctx.later_sleep(50ms));
        return static_cast<int>(first.index());
    });
    engine->start();
    EXPECT_EQ(function.start_and_wait("r"), 1);
    EXPECT_THAT(function.run("r").steps(), IsEmpty());
}

TEST_P(Threads, PauseARunOnlyWhenTheBodiesOfItsAnyHaveReturned) {
    auto engine = open({});
    struct Body {
        bool begun = false;
        bool asked = false;
        bool may_return = false;
    };
    Watched<Body> body;
    auto function = engine->add("f", [&](Context& ctx) {
        auto first = ctx.any(
            ctx.later("endless",
                      [&](const Attempt& attempt) {
                          const std::stop_callback on_stop{
                              attempt.stop, [&] { body.change([](Body& b) { b.asked = true; }); }};
                          body.change([](Body& b) { b.begun = true; });
                          body.wait([](const Body& b) { return b.asked && b.may_return; });
                          return 1;
                      }),
            ctx.later_wait<int>("enough"));
        ctx.step("after", [] {});
        return static_cast<int>(first.index());
    });
    engine->start();
    auto run = function.start("r");
    ASSERT_TRUE(body.wait([](const Body& b) { return b.begun; }));
    run.pause();
    run.signal("enough", 1);
    ASSERT_TRUE(body.wait([](const Body& b) { return b.asked; }));
    EXPECT_EQ(run.status(), RunStatus::running) << "somebody else could begin it anew";
    body.change([](Body& b) { b.may_return = true; });
    EXPECT_TRUE(eventually([&] { return run.status() == RunStatus::paused; }));
    EXPECT_THAT(run.steps(), IsEmpty());
    run.resume();
    EXPECT_EQ(run.result(patience), 1);
}

TEST_P(Threads, AskABodyToStopAtItsDeadlineOrWhenItsHeartStandsStill) {
    auto engine = open({});
    const auto until_asked = [](const Attempt& attempt) {
        Watched<bool> asked;
        const std::stop_callback on_stop{attempt.stop,
                                         [&] { asked.change([](bool& b) { b = true; }); }};
        return asked.wait([](bool b) { return b; });
    };
    auto function = engine->add("f", [&](Context& ctx) {
        const bool late = ctx.step("late", {.deadline = 20ms}, until_asked);
        const bool still = ctx.step("still", {.heartbeat = 20ms}, [&](const Attempt& attempt) {
            attempt.beat();
            return until_asked(attempt);
        });
        return late && still;
    });
    engine->start();
    EXPECT_TRUE(function.start_and_wait("r"));
}

TEST_P(Threads, AskABodyToStopWhenItsRunIsCancelled) {
    auto engine = open({});
    Watched<bool> begun;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.compensate("undo", [] {});
        ctx.step("long", [&](const Attempt& attempt) {
            Watched<bool> asked;
            const std::stop_callback on_stop{attempt.stop,
                                             [&] { asked.change([](bool& b) { b = true; }); }};
            begun.change([](bool& b) { b = true; });
            if (asked.wait([](bool b) { return b; })) throw std::runtime_error("asked to stop");
        });
    });
    engine->start();
    auto run = function.start("r");
    ASSERT_TRUE(begun.wait([](bool b) { return b; }));
    run.cancel("too late");
    EXPECT_THAT([&] { run.result(patience); }, ThrowsMessage<RunFailed>(HasSubstr("too late")));
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_THAT(run.steps().back().name, "undo") << "what was done is undone";
}

TEST_P(Threads, GiveARunBackAtItsNextStepWhenTheEngineStops) {
    if (GetParam() == "memory") GTEST_SKIP() << "nothing of it outlives its engine";
    std::atomic<int> steps{0};
    Watched<bool> stopping;
    const auto shape = [&](Context& ctx) {
        for (int i = 0; i < 3; ++i)
            ctx.step("s", [&, i] {
                ++steps;
                if (i == 1 && !stopping.get()) stopping.change([](bool& b) { b = true; });
            });
        return 7;
    };
    {
        auto engine = open({});
        auto function = engine->add("f", [&](Context& ctx) {
            ctx.step("s", [&] { ++steps; });
            ctx.step("s", [&] {
                ++steps;
                stopping.change([](bool& b) { b = true; });
                // Long enough for the stop to be under way when this returns.
                EXPECT_TRUE(stopping.wait([](bool b) { return !b; }));
            });
            ctx.step("s", [&] { ++steps; });
            return 7;
        });
        engine->start();
        function.start("r");
        ASSERT_TRUE(stopping.wait([](bool b) { return b; }));
        std::thread stop{[&] { EXPECT_TRUE(engine->stop(patience)); }};
        // A start that comes while it stops shows that it does.
        ASSERT_TRUE(eventually([&] {
            return engine->backlog().size() == 1 && engine->backlog().front().claimed == 1;
        }));
        std::this_thread::yield();
        stopping.change([](bool& b) { b = false; });
        stop.join();
    }
    EXPECT_GE(steps, 2);
    auto engine = open({});
    auto function = engine->add("f", shape);
    stopping.change([](bool& b) { b = true; });
    engine->start();
    EXPECT_EQ(function.run("r").result(patience), 7);
    EXPECT_EQ(steps, 3);
}

TEST_P(Threads, LetThoseGoWhoWouldWaitForEverWhenTheEngineStops) {
    auto engine = open({});
    Watched<bool> begun;
    Watched<bool> go;
    auto function = engine->add("f", [](Context& ctx) {
        ctx.step("s", [] {});
        return ctx.wait<int>("number");
    });
    auto last = engine->add("last", [&](Context& ctx) {
        return ctx.step("s", [&] {
            begun.change([](bool& b) { b = true; });
            go.wait([](bool b) { return b; });
            return 3;
        });
    });
    engine->start();
    auto run = function.start("r");
    const auto async = [](auto wait) { return std::async(std::launch::async, wait); };
    std::vector<std::future<int>> waiting;
    waiting.push_back(async([&] { return run.result(); }));
    waiting.push_back(async([&] { return function.start_and_wait("other"); }));
    waiting.push_back(async([&] { return run.value<int>("value", Duration::max()).value_or(0); }));
    auto ends = async([&] { return last.start_and_wait("last"); });
    EXPECT_TRUE(begun.wait([](bool b) { return b; }));
    EXPECT_TRUE(eventually(
        [&] { return function.runs({.statuses = {RunStatus::waiting}}).runs.size() == 2; }));
    auto stop = async([&] { return engine->stop(patience) ? 1 : 0; });
    std::vector<bool> told;
    for (auto& one : waiting) told.push_back(one.wait_for(patience) == std::future_status::ready);
    go.change([](bool& b) { b = true; });
    EXPECT_EQ(stop.get(), 1);
    EXPECT_EQ(ends.get(), 3) << "what ends while the engine stops is heard of";
    EXPECT_FALSE(run.result(0s)) << "those with a timeout see it pass";
    // Whoever was not told gets what it waits for now, so that this ends.
    engine->start();
    for (const auto* id : {"r", "other"}) function.run(id).signal("number", 5);
    EXPECT_THAT(told, ElementsAre(true, true, true));
    for (auto& one : waiting) {
        const auto error = error_of([&] { one.get(); });
        EXPECT_EQ(error.code(), Code::unavailable);
        EXPECT_THAT(error.what(), HasSubstr("the engine was stopped"));
    }
    EXPECT_EQ(run.result(), 5) << "and an engine that works again is worth waiting for";
    EXPECT_TRUE(engine->stop(patience));
    EXPECT_EQ(run.result(), 5);
}

TEST_P(Threads, OfAnExecutorMayBeThoseThatAskIt) {
    std::atomic<int> refusals{3};
    Options given;
    given.executor = [&](Task task) {
        const int left = refusals--;
        if (left == 3) throw "no room";
        if (left > 0) throw std::runtime_error{"no room"};
        task();
    };
    auto engine = open(given);
    auto function = engine->add("f", [](Context& ctx, int in) {
        const int more = ctx.step("one", [&] { return in + 1; });
        const auto both =
            ctx.all(ctx.later("two", [&] { return more; }), ctx.later("three", [] { return 1; }));
        return std::get<0>(both) + std::get<1>(both);
    });
    engine->start();
    std::vector<std::thread> callers;
    std::atomic<int> right{0};
    for (int i = 0; i < 8; ++i)
        callers.emplace_back(
            [&, i] { right += function.start_and_wait("r-" + std::to_string(i), i) == i + 2; });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(right, 8);
    EXPECT_TRUE(engine->stop());
}

TEST_P(Threads, OfAnExecutorMayBeOneAlsoForAnyOfSteps) {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Task> tasks;
    bool over = false;
    std::thread only{[&] {
        for (std::unique_lock lock{mutex};;) {
            changed.wait(lock, [&] { return over || !tasks.empty(); });
            if (tasks.empty()) return;
            Task task = std::move(tasks.front());
            tasks.erase(tasks.begin());
            lock.unlock();
            task();
            lock.lock();
        }
    }};
    {
        Options given;
        given.executor = [&](Task task) {
            const std::lock_guard lock{mutex};
            tasks.push_back(std::move(task));
            changed.notify_all();
        };
        auto engine = open(given);
        auto function = engine->add("f", [](Context& ctx) {
            auto first =
                ctx.any(ctx.later("a", [] { return 1; }), ctx.later("b", [] { return 2; }));
            return static_cast<int>(first.index());
        });
        engine->start();
        EXPECT_EQ(function.start("r").result(patience), 0);
        EXPECT_TRUE(engine->stop(patience));
    }
    {
        const std::lock_guard lock{mutex};
        over = true;
        changed.notify_all();
    }
    only.join();
}

class SharedThreads : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedThreads, shared_stores(), name_of);

TEST_P(SharedThreads, HearOfARunThatIsTerminatedElsewhereWhileItsBodyHangsHere) {
    Watched<bool> entered;
    Watched<bool> open_up;
    auto here = open({});
    const auto shape = [&](Context& ctx) {
        ctx.step("hangs", [&] {
            entered.change([](bool& it_is) { it_is = true; });
            open_up.wait([](bool it_is) { return it_is; });
        });
    };
    auto function = here->add("f", shape);
    here->start();
    auto run = function.start("r");
    ASSERT_TRUE(entered.wait([](bool it_is) { return it_is; }));
    auto there = open({.max_bodies = 0});
    there->add("f", shape).run("r").terminate("it hangs");
    EXPECT_THROW(run.result(patience / 2), RunFailed) << "and not when its body has returned";
    open_up.change([](bool& it_is) { it_is = true; });
    EXPECT_TRUE(here->stop());
}

TEST_P(SharedThreads, ExecuteARunWhoseClaimCouldNotBeGivenBackAtOnce) {
    std::atomic<int> commits_fail{0};
    Options failing;
    failing.test.at_point = [&](std::string_view point) {
        if (point != base::points::group_begun || commits_fail == 0) return;
        --commits_fail;
        throw Error{Code::corrupt, "not now"};
    };
    auto engine = open(failing);
    std::atomic<int> bodies{0};
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] {
            if (++bodies == 1) commits_fail = 3;  // the step, and twice the word on the run
        });
        return ctx.step("two", [] { return 2; });
    });
    engine->start();
    EXPECT_EQ(function.start("r").result(patience), 2);
    EXPECT_EQ(bodies, 2);
    EXPECT_EQ(commits_fail, 0);
    EXPECT_TRUE(engine->stop());
}

TEST_P(SharedThreads, WaitForARunThatAnotherEngineExecutes) {
    auto worker = open({});
    const auto shape = [](Context& ctx, int in) {
        const int more = ctx.wait<int>("more");
        return ctx.step("sum", [&] { return in + more; });
    };
    worker->add("f", shape);
    worker->start();
    auto client = open({.max_bodies = 0});  // it only sends
    auto function = client->add("f", shape);
    client->start();
    auto run = function.start("r", 1);
    EXPECT_FALSE(run.result(10ms));
    run.signal("more", 2);
    EXPECT_EQ(run.result(patience), 3);
}

TEST_P(SharedThreads, SpreadTheChildrenOfOneParentOverAllProcesses) {
    Watched<std::map<std::string, int>> handled;
    std::vector<std::unique_ptr<Engine>> engines;
    std::vector<Function<int, int>> children;
    std::vector<Function<std::monostate, int>> parents;
    children.reserve(2);
    for (const std::string name : {"one", "two"}) {
        auto& engine = *engines.emplace_back(open({.max_bodies = 4}));
        children.push_back(engine.add("child", [&handled, name](Context& ctx, int in) {
            return ctx.step("s", [&] {
                handled.change([&](auto& all) { ++all[name]; });
                // Nobody does all of them alone.
                handled.wait([](const auto& all) { return all.size() == 2; });
                return in;
            });
        }));
        const auto* child = &children.back();
        parents.push_back(engine.add("parent", [child](Context& ctx) {
            std::vector<Later<int>> all;
            for (int i = 0; i < 60; ++i)
                all.push_back(ctx.later_call(*child, "c-" + std::to_string(i), i));
            int sum = 0;
            for (const int n : ctx.all(std::move(all))) sum += n;
            return sum;
        }));
    }
    for (auto& engine : engines) engine->start();
    EXPECT_EQ(parents.front().start("p").result(patience), 60 * 59 / 2);
    EXPECT_EQ(handled.get().size(), 2u);
}

}  // namespace
}  // namespace pawl::engine_test
