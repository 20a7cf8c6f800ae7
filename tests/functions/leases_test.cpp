// Runs whose lease passes while they are executed: what comes next is not begun here.
#include <atomic>
#include <pawl/pawl.hpp>

#include "base/points.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

namespace points = base::points;

/// Two processes; the first is away so long, at a point, that the second takes over.
class RunTakeovers : public SharedEngineTest {
protected:
    Options with_point() {
        auto o = options();
        o.test.at_point = [this](std::string_view point) {
            if (point != away_at || was_away) return;
            was_away = true;
            clock.advance(1min);
            who = "second";
            if (before_takeover) before_takeover();
            second->run_until_idle();
            who = "first";
        };
        return o;
    }
    void note(const std::string& what) { begun.push_back(who + " " + what); }
    auto noting(const std::string& what) {
        return [this, what] {
            note(what);
            return 1;
        };
    }
    /// Both engines know it.
    template <class F>
    Function<std::monostate, int> add(F function) {
        second->add("f", function);
        return first->add("f", function);
    }

    std::string_view away_at;
    bool was_away = false;
    std::function<void()> before_takeover;
    std::string who = "first";
    std::vector<std::string> begun;
    std::unique_ptr<Engine> first = open(with_point());
    std::unique_ptr<Engine> second = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, RunTakeovers, shared_stores(), name_of);

TEST_P(RunTakeovers, LeaveTheFirstStepToTheNewOwner) {
    auto function = add([this](Context& ctx) { return ctx.step("s", noting("s")); });
    auto run = function.start("r");
    away_at = points::step_before;
    first->run_until_idle();
    EXPECT_EQ(run.result(0s), 1);
    EXPECT_THAT(begun, ElementsAre("second s"));
    EXPECT_EQ(run.steps().at(0).attempts, 1);
}

TEST_P(RunTakeovers, LeaveStepsBesideEachOtherToTheNewOwner) {
    for (const bool any : {false, true}) {
        begun.clear();
        was_away = false;
        away_at = {};
        const std::string name = any ? "any" : "all";
        const auto shape = [&, any](Context& ctx) {
            std::vector<Later<int>> both;
            both.push_back(ctx.later("a", noting("a")));
            both.push_back(ctx.later("b", noting("b")));
            if (any) return static_cast<int>(ctx.any(std::move(both)).first);
            return static_cast<int>(ctx.all(std::move(both)).size());
        };
        first = open(with_point());
        second = open();
        second->add(name, shape);
        auto function = first->add(name, shape);
        auto run = function.start("r");
        away_at = points::step_before;
        first->run_until_idle();
        EXPECT_TRUE(run.result(0s)) << name;
        EXPECT_THAT(begun, ::testing::Each(::testing::StartsWith("second"))) << name;
    }
}

TEST_P(RunTakeovers, LeaveCompensationsToTheNewOwner) {
    auto function = add([this](Context& ctx) -> int {
        ctx.compensate("undo", [this] { note("undo"); });
        ctx.step("fails", {.attempts = 1}, [this] {
            note("fails");
            if (who == "first") away_at = points::step_before;
            throw Permanent{"it fails"};
        });
        return 1;
    });
    auto run = function.start("r");
    first->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(begun, ElementsAre("first fails", "second undo"));
}

// As the parent ends while the first process is away, nobody would ever cancel the child.
TEST_P(RunTakeovers, LeaveChildrenToTheNewOwner) {
    for (const bool spawns : {false, true}) {
        begun.clear();
        was_away = false;
        away_at = {};
        first = open(with_point());
        second = open();
        const std::string id = spawns ? "spawns" : "calls";
        const auto child_of = [&](Engine& engine) {
            return engine.add("child", [this](Context&) {
                note("child");
                return 1;
            });
        };
        const auto parent_of = [&](Engine& engine, auto child) {
            return engine.add("parent", [this, spawns, child](Context& ctx) {
                ctx.step("s", noting("s"));
                if (who == "first") away_at = points::commit_after;
                if (spawns)
                    ctx.spawn(child, ctx.id() + "-child");
                else
                    ctx.call(child, ctx.id() + "-child");
                return 1;
            });
        };
        auto parent = parent_of(*first, child_of(*first));
        auto theirs = parent_of(*second, child_of(*second));
        before_takeover = [&] { theirs.run(id).cancel("no more"); };
        auto run = parent.start(id);
        first->run_until_idle();
        EXPECT_EQ(run.status(), RunStatus::cancelled) << id;
        EXPECT_TRUE(was_away) << id;
        EXPECT_THAT(begun, ElementsAre("first s")) << id;
        EXPECT_TRUE(first->instances({.type = "child"}).instances.empty()) << id;
    }
}

}  // namespace
}  // namespace pawl::engine_test
