// Children: called, spawned, fanned out, cancelled with their parent.
#include <set>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

class Children : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Children, every_store(), name_of);

TEST_P(Children, GiveTheirResultToTheirParent) {
    auto child = engine->add("child", [](Context& ctx, int in) {
        ctx.sleep(1h);
        return ctx.step("double", [&] { return in * 2; });
    });
    auto parent = engine->add("parent", [&](Context& ctx, int in) {
        const int a = ctx.call(child, "c-1", in);
        const int b = ctx.call(child, "c-2", a);
        return a + b;
    });
    auto run = parent.start("p", 10);
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::suspended);
    advance(*engine, 1h);
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), 60);
    EXPECT_EQ(child.run("c-1").result(0s), 20);
}

TEST_P(Children, ThatFailAreThrownIntoTheirParent) {
    auto child = engine->add(
        "child", [](Context& ctx) { ctx.step("s", [] { throw Permanent("broken"); }); });
    auto parent = engine->add("parent", [&](Context& ctx) -> std::string {
        try {
            ctx.call(child, "c");
        } catch (const ChildFailed& e) {
            return e.id() + " " + e.status() + " " + e.reason();
        }
        return "";
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    EXPECT_THAT(*run.result(0s), HasSubstr("c failed step \"s\" failed after 1 attempt: broken"));
}

TEST_P(Children, InGreatNumberDoNotWakeTheirParentEach) {
    constexpr int count = 300;
    int executions = 0;
    auto child = engine->add(
        "child", [](Context& ctx, int in) { return ctx.step("s", [&] { return in; }); });
    auto parent = engine->add("parent", [&](Context& ctx) {
        ++executions;
        std::vector<Later<int>> all;
        for (int i = 0; i < count; ++i)
            all.push_back(ctx.later_call(child, "c-" + std::to_string(i), i));
        int sum = 0;
        for (const int n : ctx.all(std::move(all))) sum += n;
        return sum;
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), count * (count - 1) / 2);
    EXPECT_LE(executions, 3);
}

TEST_P(Children, AreBoundedInNumber) {
    constexpr int count = 40;
    std::set<std::string> started;
    int most = 0;
    std::set<std::string> sleeping;
    auto child = engine->add("child", [&](Context& ctx) {
        sleeping.insert(ctx.id());
        most = std::max(most, static_cast<int>(sleeping.size()));
        ctx.sleep(1min);
        ctx.step("s", [&] { sleeping.erase(ctx.id()); });
        started.insert(ctx.id());
    });
    auto parent = engine->add("parent", [&](Context& ctx) {
        std::vector<Later<void>> all;
        for (int i = 0; i < count; ++i)
            all.push_back(ctx.later_call(child, "c-" + std::to_string(i)));
        ctx.all(std::move(all), {.at_once = 8});
    });
    auto run = parent.start("p");
    for (int i = 0; i < 30; ++i) advance(*engine, 1min);
    EXPECT_TRUE(run.result(0s));
    EXPECT_EQ(started.size(), static_cast<std::size_t>(count));
    EXPECT_LE(most, 8);
}

TEST_P(Children, AreCancelledWithTheirParent) {
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(24h); });
    auto parent = engine->add("parent", [&](Context& ctx) {
        ctx.spawn(child, "spawned");
        ctx.all(ctx.later_call(child, "c-1"), ctx.later_call(child, "c-2"));
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    EXPECT_EQ(child.run("c-1").status(), RunStatus::suspended);
    run.cancel("enough");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("c-1").status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("c-2").status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("spawned").status(), RunStatus::suspended);
}

TEST_P(Children, OfWhichAnyIsEnoughAreCancelled) {
    auto child = engine->add("child", [](Context& ctx, int hours) {
        ctx.sleep(std::chrono::hours{hours});
        return hours;
    });
    auto parent = engine->add("parent", [&](Context& ctx) {
        auto first = ctx.any(ctx.later_call(child, "slow", 5), ctx.later_call(child, "quick", 1));
        return static_cast<int>(first.index());
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), 1);
    EXPECT_EQ(child.run("slow").status(), RunStatus::cancelled);
}

TEST_P(Children, ThatAreTerminatedAreThrownIntoTheirParent) {
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(24h); });
    auto parent = engine->add("parent", [&](Context& ctx) {
        try {
            ctx.call(child, "c");
            return std::string{"it came back"};
        } catch (const ChildFailed& e) {
            return std::string{e.what()};
        }
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    child.run("c").terminate("out of order");
    engine->run_until_idle();
    ASSERT_TRUE(run.result(0s));
    EXPECT_THAT(*run.result(0s), HasSubstr("out of order"));
    // Without anybody to tell.
    auto orphan = child.start("alone");
    engine->run_until_idle();
    orphan.terminate("out of order");
    EXPECT_EQ(orphan.status(), RunStatus::terminated);
}

TEST_P(Children, WithAnIdThatIsTakenFail) {
    auto child = engine->add("child", [](Context&) {});
    auto parent = engine->add("parent", [&](Context& ctx) -> std::string {
        try {
            ctx.call(child, "taken");
        } catch (const ChildFailed& e) {
            return e.reason();
        }
        return "";
    });
    child.start("taken");
    auto run = parent.start("p");
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "there is a run \"taken\" of \"child\" that is not this child");
}

}  // namespace
}  // namespace pawl::engine_test
