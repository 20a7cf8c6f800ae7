// What is said of a run while it goes on, and where runs stand among other work.
#include "base/points.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

class Statuses : public EngineTest {
protected:
    template <class F>
    RunSummary only_run(const F& function) {
        const auto list = function.runs();
        EXPECT_EQ(list.runs.size(), 1u);
        if (list.runs.empty()) return {};
        // The list, its filter and the handle say the same.
        const auto& run = list.runs.front();
        EXPECT_EQ(function.run(run.id).status(), run.status);
        for (const auto status : {RunStatus::pending, RunStatus::running, RunStatus::waiting,
                                  RunStatus::retrying, RunStatus::paused, RunStatus::succeeded,
                                  RunStatus::failed, RunStatus::cancelled, RunStatus::terminated}) {
            const bool is_found = !function.runs({.statuses = {status}}).runs.empty();
            EXPECT_EQ(is_found, status == run.status) << static_cast<int>(status);
            const bool by_prefix =
                !function.runs({.id_prefix = run.id, .statuses = {status}}).runs.empty();
            EXPECT_EQ(by_prefix, status == run.status) << static_cast<int>(status);
        }
        return run;
    }
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Statuses, every_store(), name_of);

TEST_P(Statuses, ArePendingUntilAProcessHasClaimedTheRun) {
    RunStatus inside{};
    RunSummary listed;
    std::optional<Function<std::monostate, void>> function;
    function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", [&] {
            inside = function->run("r").status();
            listed = only_run(*function);
        });
    });
    auto run = function->start("r");
    const auto before = only_run(*function);
    EXPECT_EQ(before.status, RunStatus::pending);
    EXPECT_EQ(before.held_by, "");
    EXPECT_EQ(before.attempt, 0);
    EXPECT_EQ(before.next_at, clock.now());
    engine->run_until_idle();
    EXPECT_EQ(inside, RunStatus::running) << "a claim writes nothing, and shows";
    EXPECT_EQ(listed.status, RunStatus::running);
    EXPECT_THAT(listed.held_by, HasSubstr(":")) << "host and process";
    EXPECT_EQ(listed.attempt, 1);
    EXPECT_EQ(listed.next_at, std::nullopt);
    const auto after = only_run(*function);
    EXPECT_EQ(after.status, RunStatus::succeeded);
    EXPECT_EQ(after.held_by, "");
    EXPECT_EQ(after.last_error, "");
}

TEST_P(Statuses, SayThatARunWaitsAlsoForASignalWithoutATimeout) {
    auto function = engine->add("f", [](Context& ctx) { return ctx.wait<int>("number"); });
    auto run = function.start("r");
    engine->run_until_idle();
    auto summary = only_run(function);
    EXPECT_EQ(summary.status, RunStatus::waiting);
    EXPECT_EQ(summary.next_at, std::nullopt);
    EXPECT_EQ(summary.entries, 1) << "a wait is not an entry";
    run.pause();
    engine->run_until_idle();
    EXPECT_EQ(only_run(function).status, RunStatus::paused);
    run.resume();
    engine->run_until_idle();
    EXPECT_EQ(only_run(function).status, RunStatus::waiting);
    run.signal("number", 7);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), 7);
    EXPECT_EQ(only_run(function).status, RunStatus::succeeded);
}

TEST_P(Statuses, SayWhenARunThatSleepsGoesOn) {
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(1h); });
    auto parent = engine->add("parent", [&](Context& ctx) { ctx.call(child, "c"); });
    auto run = parent.start("p");
    engine->run_until_idle();
    EXPECT_EQ(only_run(child).status, RunStatus::waiting);
    EXPECT_EQ(only_run(child).next_at, clock.now() + 1h);
    EXPECT_EQ(only_run(parent).status, RunStatus::waiting);
    EXPECT_EQ(only_run(parent).next_at, std::nullopt) << "the child wakes it";
    advance(*engine, 1h);
    EXPECT_TRUE(run.result(0s));
}

TEST_P(Statuses, SayWhatIsTriedAgainAndWhen) {
    auto function = engine->add("f", [](Context& ctx) {
        ctx.step("s", {.attempts = 3, .base = 1min, .jitter = 0}, [](const Attempt& attempt) {
            throw std::runtime_error("no " + std::to_string(attempt.number));
        });
    });
    function.start("r");
    engine->run_until_idle();
    auto summary = only_run(function);
    EXPECT_EQ(summary.status, RunStatus::retrying);
    EXPECT_EQ(summary.last_error, "no 1");
    EXPECT_EQ(summary.attempt, 1);
    EXPECT_EQ(summary.next_at, clock.now() + 1min);
    advance(*engine, 1min);
    summary = only_run(function);
    EXPECT_EQ(summary.status, RunStatus::retrying);
    EXPECT_EQ(summary.last_error, "no 2");
    EXPECT_EQ(summary.attempt, 2);
    EXPECT_EQ(summary.next_at, clock.now() + 2min);
    advance(*engine, 2min);
    summary = only_run(function);
    EXPECT_EQ(summary.status, RunStatus::failed);
    EXPECT_THAT(summary.last_error, HasSubstr("no 3"));
    EXPECT_EQ(summary.next_at, std::nullopt);
}

TEST_P(Statuses, SayOfAllThatEndedWhy) {
    auto function = engine->add("f", [](Context& ctx) { ctx.sleep(24h); });
    for (const char* id : {"a", "b", "c"}) function.start(id);
    engine->run_until_idle();
    function.run("a").cancel("not wanted");
    function.run("b").terminate("in the way");
    engine->run_until_idle();
    const auto runs = function.runs().runs;
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].status, RunStatus::cancelled);
    EXPECT_EQ(runs[0].last_error, "not wanted");
    EXPECT_EQ(runs[1].status, RunStatus::terminated);
    EXPECT_EQ(runs[1].last_error, "in the way");
    EXPECT_EQ(runs[2].status, RunStatus::waiting);
}

TEST_P(Statuses, StandAmongOtherWorkAsThoseOfRuns) {
    auto function = engine->add("f", [](Context& ctx) { ctx.sleep(1h); });
    function.start("r");
    const auto pending = engine->pending();
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_EQ(pending[0].kind, WorkKind::run);
    EXPECT_EQ(pending[0].type, "f");
    EXPECT_EQ(pending[0].id, "r");
    EXPECT_EQ(pending[0].name, "1") << "the version of the code";
    EXPECT_EQ(engine->pending({.kind = WorkKind::run}).size(), 1u);
    EXPECT_THAT(engine->pending({.kind = WorkKind::timer}), IsEmpty());
    const auto backlog = engine->backlog();
    ASSERT_EQ(backlog.size(), 1u);
    EXPECT_EQ(backlog[0].kind, WorkKind::run);
    EXPECT_EQ(backlog[0].ready, 1);
}

class SharedStatuses : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedStatuses, shared_stores(), name_of);

TEST_P(SharedStatuses, SayThatTheEngineCouldNotGoOnWithARun) {
    bool fails = false;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point == base::points::group_begun && std::exchange(fails, false))
            throw Error{Code::corrupt, "the test says so"};
    };
    auto engine = open(o);
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] { fails = true; });
        ctx.step("two", [] {});
    });
    function.start("r");
    engine->run_until_idle();
    const auto run = function.runs({.statuses = {RunStatus::retrying}}).runs.at(0);
    EXPECT_EQ(function.run("r").status(), RunStatus::retrying);
    EXPECT_THAT(run.last_error, HasSubstr("the test says so"));
    EXPECT_EQ(run.attempt, 1);
    EXPECT_GT(run.next_at, clock.now());
    EXPECT_THAT(function.runs({.statuses = {RunStatus::pending}}).runs, IsEmpty());
}

TEST_P(SharedStatuses, OfDeadLettersSayThatTheyAreRuns) {
    auto engine = open();
    auto function = engine->add("f", [](Context& ctx) { ctx.sleep(1h); });
    function.start("r");
    auto store = open_store();
    const auto session = store->open_session({.lease = 1h, .owner = "test"});
    const store::Claim claim{.session = session, .fence = 1'000'000};
    const auto claimed =
        store->claim({.claim = claim,
                      .interests = {{.line = {store::ItemKind::run, "f", "1"}, .limit = 9}},
                      .limit = 9});
    ASSERT_EQ(claimed.items.size(), 1u);
    EXPECT_EQ(function.runs().runs.at(0).held_by, "test");
    EXPECT_EQ(function.run("r").status(), RunStatus::running);
    store::Commit commit;
    commit.settlements.push_back({.item = claimed.items.front().id,
                                  .fence = claim.fence,
                                  .verdict = store::Verdict::bury,
                                  .reason = "it ended its process 3 times"});
    store::Answer answer;
    store->commit({&commit, 1}, {&answer, 1});
    ASSERT_EQ(answer.fate, store::Fate::committed);
    const auto letters = engine->dead_letters({.kind = WorkKind::run});
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].work.kind, WorkKind::run);
    EXPECT_EQ(letters[0].work.name, "1");
    EXPECT_THAT(engine->dead_letters({.kind = WorkKind::timer}), IsEmpty());
}

}  // namespace
}  // namespace pawl::engine_test
