// Engines that were not started: clients that start runs and wait for them, and programs that have
// forgotten it.
#include <atomic>
#include <future>

#include "base/points.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

class Unstarted : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open({});
};
INSTANTIATE_TEST_SUITE_P(Stores, Unstarted, every_store(), name_of);

int three_steps(Context& ctx) {
    int sum = 0;
    for (const int n : {1, 2, 3}) sum += ctx.step("add", [&] { return n; });
    return sum;
}

TEST_P(Unstarted, ExecuteARunOnTheThreadThatWaitsForIt) {
    std::vector<std::thread::id> seen;
    const auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", [&] { seen.push_back(std::this_thread::get_id()); });
        return three_steps(ctx);
    });
    for (const auto* id : {"one", "two"}) EXPECT_EQ(function.start_and_wait(id), 6);
    EXPECT_EQ(function.start_and_wait("one"), 6) << "it has ended";
    EXPECT_EQ(seen, std::vector(2, std::this_thread::get_id()));
    engine->start();
    EXPECT_EQ(function.start_and_wait("three"), 6);
    EXPECT_TRUE(engine->stop());
}

TEST_P(Unstarted, ExecuteStepsBesideEachOtherOneAfterTheOther) {
    const auto function = engine->add("f", [](Context& ctx) {
        std::vector<Later<int>> all;
        for (const int n : {1, 2, 3}) all.push_back(ctx.later("s", [n] { return n; }));
        int sum = 0;
        for (const int n : ctx.all(std::move(all))) sum += n;
        return sum;
    });
    EXPECT_EQ(function.start_and_wait("r"), 6);
}

TEST_P(Unstarted, WaitNoLongerThanTheTimeoutForARunThatIsSuspended) {
    const auto function = engine->add("f", [](Context& ctx) {
        ctx.sleep(1h);
        return 1;
    });
    const auto error = error_of([&] { function.start_and_wait("r", {}, {.timeout = 10ms}); });
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("run \"r\" of \"f\" waits, and did not end in time "
                                        "(StartOptions::timeout): this engine was not started"));
    EXPECT_EQ(function.run("r").status(), RunStatus::waiting);
    EXPECT_FALSE(function.run("r").result(10ms));
}

TEST_P(Unstarted, RefuseToWaitWithoutEndForARunThatNobodyExecutes) {
    const auto function = engine->add("f", three_steps);
    const auto run = function.start("r");
    const auto error = error_of([&] { (void)run.result(); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("call Engine::start, or wait with a timeout"));
    engine->run_until_idle();
    EXPECT_EQ(run.result(), 6);
}

TEST_P(Unstarted, RefuseToWaitForARunInTheMiddleOfAnother) {
    std::vector<std::string> errors;
    const auto other = engine->add("other", three_steps);
    const auto waiting = [&](const auto& wait) {
        try {
            wait();
        } catch (const Error& e) {
            errors.emplace_back(e.code() == Code::misuse ? e.what() : "another code");
        }
    };
    const auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", [&] {
            waiting([&] { (void)other.run("o").result(1s); });
            waiting([&] { (void)other.start_and_wait("p"); });
            waiting([&] { (void)other.run("o").value<int>("v", 1s); });
            (void)other.start("o").result(0s);
            (void)other.run("o").value<int>("v");
        });
        waiting([&] { (void)other.run("o").result(); });
        return 1;
    });
    EXPECT_EQ(function.start_and_wait("r"), 1);
    ASSERT_EQ(errors.size(), 4u);
    EXPECT_THAT(errors[0],
                HasSubstr("step \"s\" of run \"r\" waits for run \"o\" of \"other\": that would "
                          "hold a thread which the other may need"));
    EXPECT_THAT(errors[3], HasSubstr("run \"r\" waits for run \"o\" of \"other\""));
}

// Otherwise each would be a commit of its own, on the thread that sends.
TEST_P(Unstarted, SendWithoutWaitingForEachCommit) {
    std::atomic<int> commits{0};
    Watched<bool> may_commit;
    Options options;
    options.test.at_point = [&](std::string_view point) {
        if (point != base::points::commit_before) return;
        ++commits;
        may_commit.wait([](bool it_may) { return it_may; });
    };
    engine = open(options);
    const auto couriers = engine->add<Courier>("courier");
    std::vector<std::future<Outcome<Courier>>> outcomes;
    for (int i = 0; i < 200; ++i)
        outcomes.push_back(couriers.send_async("c-" + std::to_string(i), Courier::Send{"ada"}));
    may_commit.change([](bool& it_may) { it_may = true; });
    for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().accepted());
    EXPECT_LT(commits, 20);
}

TEST_P(Unstarted, DoEverythingOnOneThreadOnceTheyAreDriven) {
    engine = open(options());
    const auto couriers = engine->add<Courier>("courier");
    couriers.send_async("a", Courier::Send{"ada"});
    engine->run_until_idle();
    EXPECT_TRUE(couriers.state("a"));
    std::thread::id called;
    couriers.send_async("b", Courier::Send{"ada"}, {},
                        [&](auto, std::exception_ptr) { called = std::this_thread::get_id(); });
    EXPECT_EQ(called, std::this_thread::get_id());
}

class SharedUnstarted : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedUnstarted, shared_stores(), name_of);

TEST_P(SharedUnstarted, HearOfTheEndOfARunThatAnotherEngineExecutes) {
    const auto shape = [](Context& ctx) {
        const int more = ctx.wait<int>("more");
        ctx.set("more", more);
        ctx.wait<void>("go");
        return more;
    };
    auto worker = open({});
    worker->add("f", shape);
    worker->start();
    auto client = open({});
    const auto run = client->add("f", shape).start("r");
    run.signal("more", 7);
    EXPECT_EQ(run.value<int>("more", patience), 7);
    EXPECT_FALSE(run.result(10ms));
    run.signal("go");
    EXPECT_EQ(run.result(patience), 7);
}

TEST_P(SharedUnstarted, LeaveARunThatTheyHaveSuspendedToOthers) {
    const auto shape = [](Context& ctx) {
        ctx.sleep(1ms);
        return three_steps(ctx);
    };
    auto worker = open({});
    worker->add("f", shape);
    worker->start();
    auto client = open({});
    EXPECT_EQ(client->add("f", shape).start_and_wait("r"), 6);
}

}  // namespace
}  // namespace pawl::engine_test
