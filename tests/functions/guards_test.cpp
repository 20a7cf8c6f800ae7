// Steps that the program acquires and does by itself.
#include <set>
#include <thread>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Import {
    std::string file;
};
struct Rows {
    int count = 0;
};

class Guards : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Steps<Import, int> imports = engine->add_steps<Import, int>("import");
};
INSTANTIATE_TEST_SUITE_P(Stores, Guards, every_store(), name_of);

TEST_P(Guards, GiveTheRightToExecuteOrTheResult) {
    auto run = imports.open("i-1", {"a.csv"});
    EXPECT_EQ(run.input().file, "a.csv");
    auto step = run.acquire<Rows>("fetch");
    EXPECT_FALSE(step.done());
    EXPECT_EQ(step.attempt(), 1);
    EXPECT_EQ(error_of([&] { (void)step.result(); }).code(), Code::misuse);
    step.succeed({7});
    EXPECT_TRUE(step.done());
    EXPECT_EQ(step.result().count, 7);
    auto again = run.acquire<Rows>("fetch");
    EXPECT_TRUE(again.done());
    EXPECT_EQ(again.result().count, 7);
    EXPECT_EQ(again.key(), step.key());
    EXPECT_NE(run.acquire("store").key(), step.key());
}

TEST_P(Guards, OfOneStepAreOneAtATime) {
    auto run = imports.open("i-1");
    {
        auto step = run.acquire("fetch");
        const auto error = error_of([&] { (void)run.acquire("fetch"); });
        EXPECT_EQ(error.code(), Code::misuse);
        EXPECT_THAT(error.what(), HasSubstr("step \"fetch\" of run \"i-1\""));
    }
    auto step = run.acquire("fetch");  // the first one went without a word
    EXPECT_EQ(step.attempt(), 1);
    auto moved = std::move(step);
    moved.succeed();
    EXPECT_EQ(error_of([&] { step.succeed(); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { moved.fail("too late"); }).code(), Code::misuse);
    EXPECT_THAT(names_of(imports.run("i-1").journal()), ElementsAre("pawl.started", "pawl.step"));
}

TEST_P(Guards, CountTheFailuresThatWereRecorded) {
    auto run = imports.open("i-1");
    auto first = run.acquire("fetch");
    const auto key = first.key();
    first.fail("the server is down");
    EXPECT_EQ(error_of([&] { first.succeed(); }).code(), Code::misuse);
    EXPECT_EQ(imports.run("i-1").steps().front().error, "the server is down");
    auto again = imports.open("i-1");
    auto second = again.acquire("fetch");
    EXPECT_EQ(second.attempt(), 2);
    EXPECT_EQ(second.key(), key);
    second.succeed();
    const auto steps = imports.run("i-1").steps();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].attempts, 2);
    EXPECT_TRUE(steps[0].finished);
}

TEST_P(Guards, AreTakenOverByWhoeverOpensTheRun) {
    auto before = imports.open("i-1", {"a.csv"});
    before.acquire<Rows>("fetch").succeed({7});
    auto held = before.acquire("store");
    auto after = imports.open("i-1", {"other.csv"});
    EXPECT_EQ(after.input().file, "a.csv");
    EXPECT_EQ(after.acquire<Rows>("fetch").result().count, 7);
    auto store = after.acquire("store");
    const auto error = error_of([&] { held.succeed(); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_FALSE(error.retryable());
    EXPECT_THAT(error.what(), HasSubstr("opened by somebody else"));
    EXPECT_EQ(error_of([&] { before.finish(1); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { (void)before.acquire("index"); }).code(), Code::misuse);
    EXPECT_TRUE(before.acquire<Rows>("fetch").done());
    store.succeed();
    after.finish(2);
    EXPECT_EQ(imports.run("i-1").result(0s), 2);
}

TEST_P(Guards, OfAFinishedRunOnlyShowResults) {
    auto run = imports.open("i-1");
    run.acquire<Rows>("fetch").succeed({7});
    EXPECT_EQ(imports.run("i-1").status(), RunStatus::running);
    EXPECT_FALSE(imports.run("i-1").result(0s));
    run.finish(42);
    EXPECT_TRUE(run.finished());
    EXPECT_EQ(imports.run("i-1").result(0s), 42);
    EXPECT_EQ(imports.run("i-1").status(), RunStatus::succeeded);
    auto late = imports.open("i-1");
    EXPECT_TRUE(late.finished());
    EXPECT_EQ(late.acquire<Rows>("fetch").result().count, 7);
    EXPECT_THAT(error_of([&] { (void)late.acquire("other"); }).what(), HasSubstr("has ended"));
    EXPECT_EQ(error_of([&] { late.finish(1); }).code(), Code::misuse);
    EXPECT_EQ(imports.runs({.statuses = {RunStatus::succeeded}}).runs.size(), 1u);
}

TEST_P(Guards, CanFailTheirRun) {
    imports.open("i-1").fail("the file is empty");
    try {
        (void)imports.run("i-1").result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_EQ(e.status(), RunStatus::failed);
        EXPECT_EQ(e.reason(), "the file is empty");
    }
}

TEST_P(Guards, LoseARunThatIsTerminated) {
    auto run = imports.open("i-1");
    auto step = run.acquire("fetch");
    imports.run("i-1").terminate("not needed");
    EXPECT_THAT(error_of([&] { step.succeed(); }).what(), HasSubstr("ended by somebody else"));
    EXPECT_EQ(imports.run("i-1").status(), RunStatus::terminated);
    EXPECT_TRUE(imports.open("i-1").finished());
}

TEST_P(Guards, CannotBeToldAnything) {
    (void)imports.open("i-1");
    const auto run = imports.run("i-1");
    EXPECT_EQ(error_of([&] { run.signal("go"); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { run.cancel(); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { run.pause(); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { run.restart_from("fetch", "i-2"); }).code(), Code::misuse);
}

TEST_P(Guards, AreUsedByManyThreadsAtOnce) {
    engine->start();
    auto run = imports.open("i-1");
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([run, i] {
            for (int j = 0; j < 5; ++j)
                run.acquire<int>("part-" + std::to_string(i * 5 + j)).succeed(i * 5 + j);
        });
    threads.clear();
    EXPECT_EQ(imports.run("i-1").steps().size(), 40u);
    auto again = imports.open("i-1");
    int sum = 0;
    for (int i = 0; i < 40; ++i) sum += again.acquire<int>("part-" + std::to_string(i)).result();
    EXPECT_EQ(sum, 40 * 39 / 2);
    std::jthread waiter{[&] { EXPECT_EQ(imports.run("i-1").result(patience), sum); }};
    again.finish(sum);
}

TEST_P(Guards, HaveOneOwnerWhenManyOpenAtOnce) {
    Watched<int> succeeded;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&] {
            for (;;) {
                auto run = imports.open("i-1");
                if (run.finished()) return;
                try {
                    auto step = run.acquire<int>("once");
                    if (!step.done()) {
                        step.succeed(1);
                        succeeded.change([](int& n) { ++n; });
                    }
                    run.finish(1);
                } catch (const Error& e) {
                    EXPECT_EQ(e.code(), Code::misuse) << e.what();
                }
            }
        });
    threads.clear();
    EXPECT_EQ(succeeded.get(), 1);
    EXPECT_EQ(imports.run("i-1").result(0s), 1);
}

TEST_P(Guards, RefuseResultsOverTheLimitAndGoOn) {
    auto o = options();
    o.payload_limit = 1000;
    auto small = open(o);
    auto texts = small->add_steps<Import>("text");
    auto run = texts.open("t-1");
    auto step = run.acquire<std::string>("fetch");
    EXPECT_THAT(error_of([&] { step.succeed(std::string(2000, 'x')); }).what(),
                HasSubstr("the limit is 1000"));
    step.succeed("short");
    run.finish();
    EXPECT_TRUE(texts.run("t-1").result(0s));
}

class SharedGuards : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedGuards, shared_stores(), name_of);

TEST_P(SharedGuards, GoOnInAnotherEngine) {
    {
        auto first = open();
        auto run = first->add_steps<Import, int>("import").open("i-1", {"a.csv"});
        run.acquire<Rows>("fetch").succeed({7});
        auto lost = run.acquire("store");
    }
    auto second = open();
    auto run = second->add_steps<Import, int>("import").open("i-1");
    EXPECT_EQ(run.acquire<Rows>("fetch").result().count, 7);
    EXPECT_FALSE(run.acquire("store").done());
}

TEST_P(SharedGuards, AreNotOpenedOnRunsThatPawlExecutes) {
    {
        auto first = open();
        first->add("import", [](Context& ctx, const Import&) { ctx.step("fetch", [] {}); })
            .start("i-1");
    }
    auto second = open();
    auto imports = second->add_steps<Import>("import");
    EXPECT_THAT(error_of([&] { (void)imports.open("i-1"); }).what(), HasSubstr("executed by pawl"));
}

}  // namespace
}  // namespace pawl::engine_test
