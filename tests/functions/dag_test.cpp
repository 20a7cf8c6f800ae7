// Dags: static graphs that run as durable functions.
#include <atomic>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Report {
    std::string day;
};

class Dags : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    std::vector<std::string> ran;

    auto noting(std::string name) {
        return [this, name = std::move(name)] { ran.push_back(name); };
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Dags, every_store(), name_of);

TEST_P(Dags, RunEachTaskAfterItsPredecessors) {
    Dag dag;
    // Added in another order than they run in.
    auto last = dag.task("last", noting("last"));
    auto left = dag.task("left", noting("left"));
    auto right = dag.task("right", noting("right"));
    auto first = dag.task("first", noting("first"));
    first >> pawl::all(left, right) >> last;
    auto flow = engine->add("flow", dag);
    auto run = flow.start("r");
    engine->run_until_idle();
    EXPECT_TRUE(run.result(0s));
    EXPECT_THAT(ran, ElementsAre("first", "left", "right", "last"));
    ASSERT_EQ(run.steps().size(), 4u);
    EXPECT_EQ(run.steps().front().name, "first");
}

TEST_P(Dags, JoinSeveralTasksWithSeveral) {
    Dag dag;
    auto d = dag.task("d", noting("d"));
    auto c = dag.task("c", noting("c"));
    auto b = dag.task("b", noting("b"));
    auto a = dag.task("a", noting("a"));
    all(a, b) >> all(c, all(d));
    dag.task("alone", noting("alone"));
    auto flow = engine->add("flow", dag);
    flow.start("r");
    engine->run_until_idle();
    EXPECT_THAT(ran, ElementsAre("b", "a", "alone", "d", "c"));
}

TEST_P(Dags, HandTheInputAndTheAttemptToTasksThatAsk) {
    Dag<Report> dag;
    std::string key;
    dag.task("nothing", noting("nothing"));
    dag.task("input", [&](const Report& in) { ran.push_back(in.day); });
    dag.task("attempt", [&](const Attempt& attempt) { key = attempt.key; });
    dag.task("both", [](const Report& in, const Attempt& attempt) {
        return in.day + " " + std::to_string(attempt.number);
    });
    auto flow = engine->add("flow", dag);
    auto run = flow.start("r", Report{"monday"});
    engine->run_until_idle();
    EXPECT_TRUE(run.result(0s));
    EXPECT_THAT(ran, ElementsAre("nothing", "monday"));
    EXPECT_FALSE(key.empty());
    EXPECT_EQ(run.steps().back().result, R"("monday 1")");
}

TEST_P(Dags, GoOnWhereTheyWereAndRepeatNothing) {
    Dag dag;
    int tries = 0;
    auto once = dag.task("once", noting("once"));
    auto flaky = dag.task("flaky", {.attempts = 2, .base = 1min, .jitter = 0}, [&] {
        if (++tries == 1) throw std::runtime_error("not yet");
    });
    auto beside = dag.task("beside", noting("beside"));
    auto last = dag.task("last", noting("last"));
    once >> all(flaky, beside) >> last;
    auto flow = engine->add("flow", dag);
    auto run = flow.start("r");
    engine->run_until_idle();
    EXPECT_THAT(ran, ElementsAre("once", "beside"));
    EXPECT_EQ(run.status(), RunStatus::retrying);
    advance(*engine, 1min);
    EXPECT_TRUE(run.result(0s));
    EXPECT_THAT(ran, ElementsAre("once", "beside", "last"));
}

TEST_P(Dags, EndWithATaskThatFailedWhenThoseBesideItHaveEnded) {
    Dag dag;
    auto bad = dag.task("bad", {.attempts = 1}, [] { throw std::runtime_error("no disk"); });
    auto beside = dag.task("beside", noting("beside"));
    auto last = dag.task("last", noting("last"));
    all(bad, beside) >> last;
    auto flow = engine->add("flow", dag);
    auto run = flow.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(ran, ElementsAre("beside"));
}

TEST_P(Dags, RunTasksOfAWaveAtTheSameTime) {
    Dag dag;
    Watched<int> here;
    for (const char* name : {"a", "b", "c"})
        dag.task(name, {.attempts = 1}, [&] {
            here.change([](int& n) { ++n; });
            if (!here.wait([](int n) { return n == 3; })) throw std::runtime_error("alone");
        });
    Options o;
    o.test.seed = 7;
    auto threaded = open(o);
    auto flow = threaded->add("flow", dag);
    threaded->start();
    EXPECT_TRUE(flow.start("r").result(patience));
}

TEST(DagOrder, ThatIsACircleIsRefusedWithItsTasks) {
    Dag dag;
    auto before = dag.task("before", [] {});
    auto a = dag.task("a", [] {});
    auto b = dag.task("b", [] {});
    auto c = dag.task("c", [] {});
    auto after = dag.task("after", [] {});
    before >> a >> b >> c >> after;
    c >> a;
    testing::Fixture fixture;
    const auto error = error_of([&] { fixture.engine().add("flow", dag); });
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(error.what(), HasSubstr("a >> b >> c >> a"));
}

TEST(DagOrder, OfATaskAfterItselfIsRefused) {
    Dag dag;
    auto a = dag.task("a", [] {});
    a >> a;
    EXPECT_THAT(error_of([&] { (void)dag.function(); }).what(), HasSubstr("circle: a >> a"));
}

TEST(DagOrder, AcrossDagsIsRefused) {
    Dag one;
    Dag other;
    auto a = one.task("a", [] {});
    auto b = other.task("b", [] {});
    EXPECT_EQ(error_of([&] { a >> b; }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { all(a, b); }).code(), Code::misuse);
}

TEST(DagOrder, NeedsTasksWithNamesOfTheirOwn) {
    Dag dag;
    EXPECT_EQ(error_of([&] { (void)dag.function(); }).code(), Code::invalid);
    dag.task("a", [] {});
    EXPECT_EQ(error_of([&] { dag.task("a", [] {}); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { dag.task("", [] {}); }).code(), Code::invalid);
}

TEST(DagOrder, OfARecordedRunIsReplayed) {
    Dag dag;
    dag.task("a", [] {}) >> dag.task("b", [] {});
    testing::Fixture fixture;
    auto flow = fixture.engine().add("flow", dag);
    flow.start("r");
    fixture.run_until_idle();
    const auto journal = flow.run("r").export_journal();
    EXPECT_EQ(testing::replay(dag.function(), journal), 1);
    Dag changed;
    changed.task("b", [] {}) >> changed.task("a", [] {});
    EXPECT_THROW(testing::replay(changed.function(), journal), testing::Mismatch);
}

}  // namespace
}  // namespace pawl::engine_test
