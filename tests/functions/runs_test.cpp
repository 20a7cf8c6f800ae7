// What is done to runs from outside: started twice, cancelled, paused, terminated, restarted.
#include "base/points.hpp"
#include "crash/place.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

class Runs : public EngineTest {
protected:
    static RunFailed failure_of(const auto& run) {
        try {
            (void)run.result(0s);
        } catch (const RunFailed& e) {
            return e;
        }
        ADD_FAILURE() << "it did not fail";
        return {RunStatus::running, "", ""};
    }
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Runs, every_store(), name_of);

TEST_P(Runs, AreStartedOnceByTheirId) {
    std::vector<int> inputs;
    auto function = engine->add("f", [&](Context& ctx, int in) {
        ctx.step("s", [&] { inputs.push_back(in); });
        return in;
    });
    function.start("r", 1);
    function.start("r", 2);
    engine->run_until_idle();
    function.start("r", 3);
    engine->run_until_idle();
    EXPECT_THAT(inputs, ElementsAre(1));
    EXPECT_EQ(function.run("r").result(0s), 1);
}

TEST_P(Runs, AndTheirChildrenCarryTheEnvelopeTheyWereStartedWith) {
    auto child = engine->add("child", [](Context& ctx) { ctx.step("s", [] {}); });
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.call(child, "c");
        ctx.step("s", [] {});
    });
    function.start("r", {},
                   {.correlation = "corr", .conversation = "conv", .tenant = "acme", .trace = "t"});
    engine->run_until_idle();
    auto entries = function.run("r").journal();
    const auto of_child = child.run("c").journal();
    entries.insert(entries.end(), of_child.begin(), of_child.end());
    ASSERT_GE(entries.size(), 6u);
    for (const auto& entry : entries) {
        EXPECT_EQ(entry.correlation, "corr") << entry.name;
        EXPECT_EQ(entry.conversation, "conv") << entry.name;
        EXPECT_EQ(entry.tenant, "acme") << entry.name;
        EXPECT_EQ(entry.trace, "t") << entry.name;
    }
    EXPECT_EQ(function.runs({.tenant = "acme"}).runs.size(), 1u);
    EXPECT_TRUE(function.runs({.tenant = "other"}).runs.empty());
}

TEST_P(Runs, AreCancelledBeforeTheirFirstStep) {
    bool ran = false;
    auto function = engine->add("f", [&](Context& ctx) { ctx.step("s", [&] { ran = true; }); });
    auto run = function.start("r");
    run.cancel("not wanted");
    engine->run_until_idle();
    EXPECT_FALSE(ran);
    EXPECT_EQ(failure_of(run).status(), RunStatus::cancelled);
    EXPECT_EQ(failure_of(run).reason(), "not wanted");
    EXPECT_EQ(run.status(), RunStatus::cancelled);
}

TEST_P(Runs, AreCancelledAtTheNextStepAndTheOneThatRunsIsFinished) {
    std::vector<std::string> done;
    std::function<void()> meanwhile;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] {
            meanwhile();
            done.push_back("one");
        });
        ctx.step("two", [&] { done.push_back("two"); });
    });
    auto run = function.start("r");
    meanwhile = [&] { run.cancel(); };
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("one"));
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_TRUE(run.steps().front().finished);
}

TEST_P(Runs, AreCancelledInTheLastStepAndDoNotSucceed) {
    std::function<void()> meanwhile;
    auto function = engine->add("f", [&](Context& ctx) { ctx.step("last", [&] { meanwhile(); }); });
    auto run = function.start("r");
    meanwhile = [&] { run.cancel(); };
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
}

TEST_P(Runs, AreCancelledWhileTheySleep) {
    auto function = engine->add("f", [](Context& ctx) { ctx.sleep(24h); });
    auto run = function.start("r");
    engine->run_until_idle();
    run.cancel();
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
}

TEST_P(Runs, AreCancelledWhileAStepWaitsForItsNextAttempt) {
    int attempts = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", {.base = 1h}, [&] {
            ++attempts;
            throw std::runtime_error("no");
        });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.cancel();
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_EQ(attempts, 1);
}

TEST_P(Runs, ThatSwallowTheirCancellationAreCancelledAllTheSame) {
    int caught = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        for (int i = 0; i < 3; ++i) {
            try {
                ctx.sleep(1h);
            } catch (...) {
                ++caught;
            }
        }
        return 1;
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(caught, 3);  // suspended: every call unwinds
    run.cancel();
    engine->run_until_idle();
    EXPECT_EQ(caught, 6);
    EXPECT_EQ(run.status(), RunStatus::cancelled);
}

TEST_P(Runs, ArePausedAndGoOn) {
    std::vector<std::string> done;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] { done.push_back("one"); });
        ctx.sleep(1h);
        ctx.step("two", [&] { done.push_back("two"); });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.pause();
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::paused);
    advance(*engine, 24h);
    EXPECT_THAT(done, ElementsAre("one"));
    run.resume();
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("one", "two"));
    EXPECT_TRUE(run.result(0s));
}

TEST_P(Runs, AreTerminatedWhateverTheyDo) {
    bool undone = false;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.compensate("undo", [&] { undone = true; });
        ctx.sleep(1h);
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.signal("unread", 1);
    run.terminate("out of order");
    EXPECT_EQ(failure_of(run).status(), RunStatus::terminated);
    advance(*engine, 2h);
    EXPECT_FALSE(undone);
    EXPECT_EQ(run.status(), RunStatus::terminated);
    EXPECT_THAT(engine->pending(), IsEmpty());
    EXPECT_EQ(error_of([&] { run.terminate(); }).code(), Code::unknown);
}

TEST_P(Runs, ThatAreTerminatedInAStepChangeNothingAnyMore) {
    std::function<void()> meanwhile;
    bool second = false;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] { meanwhile(); });
        ctx.step("two", [&] { second = true; });
    });
    auto run = function.start("r");
    meanwhile = [&] { run.terminate(); };
    engine->run_until_idle();
    EXPECT_FALSE(second);
    EXPECT_EQ(run.status(), RunStatus::terminated);
    EXPECT_THAT(names_of(run.journal()), ElementsAre("pawl.started", "pawl.finished"));
}

TEST_P(Runs, AreRestartedFromAStepWithWhatIsRecordedBeforeIt) {
    std::vector<std::string> done;
    bool broken = true;
    auto function = engine->add("f", [&](Context& ctx, int in) {
        const auto id = ctx.uuid();
        ctx.step("one", [&] { done.push_back("one"); });
        const auto n = ctx.step("two", {.attempts = 1}, [&] {
            done.push_back("two");
            if (broken) throw std::runtime_error("broken");
            return in;
        });
        return std::pair{id, n};
    });
    auto run = function.start("r", 5);
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    broken = false;
    auto again = run.restart_from("two", "r-2");
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("one", "two", "two"));
    EXPECT_EQ(again.result(0s)->second, 5);
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(error_of([&] { run.restart_from("three", "r-3"); }).what(),
                HasSubstr("has no step \"three\""));
    EXPECT_THAT(error_of([&] { run.restart_from("two", "r-2"); }).what(),
                HasSubstr("there is a run of that id"));
}

TEST_P(Runs, AreRestartedWithoutWaitingForTheChildrenOfTheOldOne) {
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(1h); });
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.all(ctx.later_call(child, "child of " + ctx.id()), ctx.later("beside", [] {}));
    });
    auto run = function.start("r");
    engine->run_until_idle();
    auto again = run.restart_from("beside", "r-2");
    engine->run_until_idle();
    EXPECT_EQ(child.run("child of r-2").status(), RunStatus::waiting);
    advance(*engine, 1h);
    EXPECT_TRUE(again.result(0s));
    EXPECT_TRUE(run.result(0s));
}

TEST_P(Runs, AreRestartedFromABranchOfAnAnyThatIsDecidedAnew) {
    std::string quick = "a";
    std::vector<std::string> done;
    auto function = engine->add("f", [&](Context& ctx) {
        const auto body = [&](const std::string& name) {
            return ctx.later(name, {.attempts = 5, .base = 1h, .jitter = 0}, [&, name] {
                done.push_back(name);
                if (name != quick) throw std::runtime_error("not now");
                return name;
            });
        };
        ctx.step("before", [&] { done.push_back("before"); });
        std::vector<Later<std::string>> all;
        for (const auto* name : {"a", "b", "c"}) all.push_back(body(name));
        const auto first = ctx.any(std::move(all));
        return first.second + std::to_string(first.first);
    });
    quick = "b";
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "b1");
    EXPECT_THAT(done, ElementsAre("before", "a", "b"));
    // The winner, one that failed, and one that was first in a run where it failed before.
    for (const auto& [from, now_quick, result] :
         {std::tuple{"b", "c", "c2"}, std::tuple{"a", "b", "b1"}, std::tuple{"b", "a", "a0"}}) {
        quick = now_quick;
        done.clear();
        auto again = run.restart_from(from, std::string{"r-"} + from + now_quick);
        engine->run_until_idle();
        EXPECT_EQ(again.result(0s), result) << from;
        EXPECT_EQ(done.front(), "a") << "it begins with the first branch";
    }
}

TEST_P(Runs, AreRestartedBehindAnAnyWhoseOtherChildHasNotEnded) {
    auto child = engine->add("child", [](Context& ctx, int hours) {
        ctx.compensate("undo", {.attempts = 9, .base = 24h},
                       [] { throw std::runtime_error("no"); });
        ctx.sleep(std::chrono::hours{hours});
    });
    auto function = engine->add("f", [&](Context& ctx) {
        auto first = ctx.any(ctx.later_call(child, "slow of " + ctx.id(), 5),
                             ctx.later_call(child, "quick of " + ctx.id(), 1));
        ctx.step("after", [] {});
        return static_cast<int>(first.index());
    });
    auto run = function.start("r");
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), 1);
    EXPECT_FALSE(finished(child.run("slow of r").status())) << "it is being undone";
    auto again = run.restart_from("after", "r-2");
    engine->run_until_idle();
    EXPECT_EQ(again.result(0s), 1);
    EXPECT_EQ(child.runs().runs.size(), 2u) << "what is decided stays so";
}

TEST_P(Runs, AreRestartedWithTheResultsOfChildrenThatAreNamedAfterTheOldOne) {
    auto child = engine->add("child", [](Context&) { return 3; });
    auto function = engine->add("f", [&](Context& ctx) {
        const int n = ctx.call(child, "child of " + ctx.id());
        return ctx.step("twice", [&] { return 2 * n; });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    auto again = run.restart_from("twice", "r-2");
    engine->run_until_idle();
    EXPECT_EQ(again.result(0s), 6);
    EXPECT_EQ(child.runs().runs.size(), 1u);
}

TEST_P(Runs, AreUndoneLastFirstWhenTheyFail) {
    std::vector<std::string> done;
    auto function = engine->add("f", [&](Context& ctx) {
        const auto doing = [&](const std::string& what) {
            ctx.step(what, [&] { done.push_back(what); });
            ctx.compensate("undo " + what, [&done, what] { done.push_back("undo " + what); });
        };
        doing("flight");
        doing("hotel");
        ctx.step("car", {.attempts = 1}, [] { throw std::runtime_error("no cars"); });
        doing("never");
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("flight", "hotel", "undo hotel", "undo flight"));
    EXPECT_THAT(failure_of(run).reason(), HasSubstr("no cars"));
    EXPECT_EQ(run.status(), RunStatus::failed);
}

TEST_P(Runs, AreUndoneWhenTheyAreCancelledAlsoWhenThatTakesSeveralAttempts) {
    std::vector<std::string> done;
    int failures = 1;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("a", [&] { done.push_back("a"); });
        ctx.compensate("undo a", {.base = 1min, .jitter = 0}, [&] {
            if (failures-- > 0) throw std::runtime_error("not now");
            done.push_back("undo a");
        });
        ctx.compensate("undo b", [&] { done.push_back("undo b"); });
        ctx.sleep(24h);
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.cancel("changed my mind");
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("a", "undo b"));
    advance(*engine, 1min);
    EXPECT_THAT(done, ElementsAre("a", "undo b", "undo a"));
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_EQ(failure_of(run).reason(), "changed my mind");
}

TEST_P(Runs, ThatAreBeingUndoneDoNotSucceedAfterAll) {
    bool broken = true;
    std::vector<std::string> done;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("a", [] {});
        ctx.compensate("undo a", {.base = 1min, .jitter = 0}, [&] {
            if (std::exchange(broken, false)) throw std::runtime_error("not now");
            done.push_back("undo a");
        });
        ctx.compensate("undo b", [&] { done.push_back("undo b"); });
        if (broken) throw std::runtime_error("a mistake");
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("undo b"));
    advance(*engine, 1min);
    EXPECT_THAT(done, ElementsAre("undo b", "undo a"));
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(failure_of(run).reason(), HasSubstr("a mistake"));
}

TEST_P(Runs, ThatArePausedAndThenCancelledAreUndone) {
    bool undone = false;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.compensate("undo", [&] { undone = true; });
        ctx.sleep(1h);
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.pause();
    engine->run_until_idle();
    run.cancel("enough");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_TRUE(undone);
}

TEST_P(Runs, ThatReturnMoreThanTheLimitFailAndAreUndone) {
    auto o = options();
    o.payload_limit = 1000;
    auto small = open(o);
    int undone = 0;
    auto function = small->add("big", [&](Context& ctx, int size) {
        ctx.compensate("undo", [&] { ++undone; });
        return std::string(static_cast<std::size_t>(size), 'x');
    });
    auto parent = small->add("parent", [&](Context& ctx) {
        try {
            return ctx.call(function, "child", 5000);
        } catch (const ChildFailed& e) {
            return e.status();
        }
    });
    auto fits = function.start("fits", 900);
    auto run = function.start("r", 999);
    auto called = parent.start("p");
    small->run_until_idle();
    EXPECT_EQ(fits.result(0s), std::string(900, 'x'));
    const auto failure = failure_of(run);
    EXPECT_EQ(failure.status(), RunStatus::failed);
    EXPECT_THAT(failure.reason(),
                HasSubstr("the result of run \"r\" of \"big\" has 1001 bytes, the "
                          "limit is 1000 (Options::payload_limit)"));
    EXPECT_EQ(called.result(0s), "failed");
    EXPECT_EQ(undone, 2);
}

TEST_P(Runs, ThatReturnMoreThanTheServerTakesFail) {
    if (GetParam() != "mariadb") GTEST_SKIP() << "it takes whatever fits into memory";
    auto o = options();
    o.payload_limit = 64 * 1024 * 1024;
    auto large = open(o);
    int executions = 0;
    auto function = large->add("big", [&](Context& ctx) {
        // A run that is given back for ever would be seen here, and not as a test that hangs.
        if (++executions > 3) throw std::runtime_error("again and again");
        ctx.step("s", [] {});
        return std::string(20 * 1024 * 1024, 'x');  // max_allowed_packet is 16 MiB
    });
    auto run = function.start("r");
    large->run_until_idle();
    const auto reason = failure_of(run).reason();
    EXPECT_THAT(reason, HasSubstr("the result of run \"r\" of \"big\" has 20971522 bytes"));
    EXPECT_THAT(reason, HasSubstr("max_allowed_packet"));
    EXPECT_EQ(executions, 1);
}

TEST_P(Runs, AreListedByTypeAndStatus) {
    auto function = engine->add("f", [](Context& ctx, bool fail) {
        if (fail) ctx.step("s", [] { throw Permanent("no"); });
        ctx.sleep(1h);
    });
    auto other = engine->add("g", [](Context&) {});
    function.start("good", false);
    function.start("bad", true);
    other.start("other");
    engine->run_until_idle();
    const auto ids = [](const RunList& list) {
        std::vector<std::string> out;
        for (const auto& run : list.runs) out.push_back(run.id);
        return out;
    };
    EXPECT_THAT(ids(function.runs()), ElementsAre("good", "bad"));
    EXPECT_THAT(ids(function.runs({.statuses = {RunStatus::failed}})), ElementsAre("bad"));
    EXPECT_THAT(ids(function.runs({.statuses = {RunStatus::waiting, RunStatus::succeeded}})),
                ElementsAre("good"));
    EXPECT_THAT(ids(other.runs({.statuses = {RunStatus::succeeded}})), ElementsAre("other"));
}

TEST_P(Runs, TakeAndReturnValuesAsDeepAsJsonMayBe) {
    const json::Raw deepest{std::string(64, '[') + std::string(64, ']')};
    int executions = 0;
    auto child = engine->add("child", [&](Context& ctx, const json::Raw& in) {
        // One that is executed again and again would be seen here, and not as a test that hangs.
        if (++executions > 3) throw std::runtime_error("again and again");
        return ctx.step("s", [&] { return in; });
    });
    auto parent = engine->add("parent", [&](Context& ctx) {
        const auto signal = ctx.wait<json::Raw>("signal");
        ctx.set("value", signal);
        return ctx.call(child, "c", signal);
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    run.signal("signal", deepest);
    engine->run_until_idle();
    EXPECT_EQ(executions, 1);
    ASSERT_TRUE(run.result(0s));
    EXPECT_EQ(run.result(0s)->text, deepest.text);
    EXPECT_EQ(run.value<json::Raw>("value")->text, deepest.text);
    EXPECT_EQ(child.run("c").steps().front().result, deepest.text);
    EXPECT_THAT(error_of([&] { child.start("deeper", {"[" + deepest.text + "]"}); }).what(),
                HasSubstr("nested deeper than 64"));
    std::string exported;
    EXPECT_NO_THROW(exported = run.export_journal());
    EXPECT_THAT(exported, HasSubstr(deepest.text));
}

// What was registered behind the call in which the run was cancelled never was. That call may
// return when the function is replayed to undo the rest.
class CancelledRuns : public Runs {
protected:
    /// "first" can't be undone before the third attempt, so the function is replayed twice.
    void expect_first_undone(const std::function<void(Context&)>& cancelled_call,
                             const std::function<void(pawl::Run<void>&)>& cancel) {
        auto function = engine->add("f", [&](Context& ctx) {
            ctx.compensate("first", {.attempts = 9, .base = 2h, .cap = 2h, .jitter = 0}, [&] {
                undone.emplace_back("first");
                if (undone.size() < 3) throw std::runtime_error("not yet");
            });
            cancelled_call(ctx);
            ctx.compensate("second", [&] { undone.emplace_back("second"); });
            ctx.step("more", [&] { undone.emplace_back("a step"); });
        });
        auto run = function.run("r");
        canceller = [run] { run.cancel("enough"); };
        function.start("r");
        engine->run_until_idle();
        cancel(run);
        engine->run_until_idle();
        EXPECT_THAT(undone, ElementsAre("first"));
        for (int i = 0; i < 3; ++i) advance(*engine, 2h);
        EXPECT_EQ(run.status(), RunStatus::cancelled);
        EXPECT_THAT(undone, ElementsAre("first", "first", "first"));
    }
    static void nothing(pawl::Run<void>&) {}
    std::vector<std::string> undone;
    std::function<void()> canceller;
};
INSTANTIATE_TEST_SUITE_P(Stores, CancelledRuns, every_store(), name_of);

TEST_P(CancelledRuns, UndoNothingThatIsRegisteredBehindTheSetThatNoticedIt) {
    expect_first_undone(
        [this](Context& ctx) {
            // Repeatable, so that nothing is committed, and no mail read, before the value is set.
            ctx.step("before", {.repeatable = true}, [this] { canceller(); });
            ctx.set("key", 1);
        },
        nothing);
}

TEST_P(CancelledRuns, UndoNothingThatIsRegisteredBehindASleepThatIsOverMeanwhile) {
    expect_first_undone([](Context& ctx) { ctx.sleep(1h); },
                        [](pawl::Run<void>& run) { run.cancel(); });
}

TEST_P(CancelledRuns, UndoNothingThatIsRegisteredBehindAChildThatEndsMeanwhile) {
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(24h); });
    expect_first_undone(
        [&](Context& ctx) {
            try {
                ctx.call(child, "c");
            } catch (const ChildFailed&) {
            }
        },
        [](pawl::Run<void>& run) { run.cancel(); });
}

class SharedRuns : public SharedEngineTest {
protected:
    /// Fails the next group of Commits, once it is armed.
    std::unique_ptr<Engine> open_failing() {
        auto o = options();
        o.test.at_point = [this](std::string_view point) {
            if (point != base::points::group_begun) return;
            ++groups;
            if (fails_always || std::exchange(fails_once, false))
                throw Error{Code::corrupt, "the test says so"};
        };
        return open(o);
    }
    bool fails_once = false;
    bool fails_always = false;
    int groups = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedRuns, shared_stores(), name_of);

TEST_P(SharedRuns, WaitLongerAndLongerAfterFailuresOfTheEngine) {
    auto engine = open_failing();
    constexpr int failures = 8;
    int executions = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ++executions;
        ctx.step("one", [&] { fails_once = executions <= failures; });
        return ctx.step("two", [] { return 2; });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    for (int i = 1; i < failures; ++i) {
        EXPECT_EQ(executions, i) << "it was due at once";
        advance(*engine, 1min);
    }
    advance(*engine, 10s);
    EXPECT_EQ(executions, failures) << "the wait does not grow";
    advance(*engine, 1min);
    EXPECT_EQ(executions, failures + 1);
    EXPECT_EQ(run.result(0s), 2);
}

TEST_P(SharedRuns, AreNotGivenBackMoreAndMoreOftenWhenTheStoreTakesNoWord) {
    auto engine = open_failing();
    int bodies = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("one", [&] { fails_always = ++bodies == 1; });
        return ctx.step("two", [] { return 2; });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    groups = 0;
    for (int i = 0; i < 600; ++i) advance(*engine, 100ms);
    EXPECT_LT(groups, 20) << "in a minute";
    fails_always = false;
    advance(*engine, 1min);
    advance(*engine, 1min);
    EXPECT_EQ(run.result(0s), 2);
}

TEST_P(SharedRuns, ThatCanNotBeReadKeepNoOthersWaiting) {
    int executions = 0;
    const auto shape = [&](Context& ctx) {
        ++executions;
        ctx.sleep(1h);
    };
    auto engine = open();
    auto function = engine->add("f", shape);
    function.start("unreadable");
    function.start("good");
    engine->run_until_idle();
    place().run(
        "UPDATE pawl_event SET name = 99999 WHERE instance = "
        "(SELECT ref FROM (SELECT min(ref) AS ref FROM pawl_instance) one)");
    executions = 0;
    advance(*engine, 1h);
    EXPECT_TRUE(function.run("good").result(0s));
    EXPECT_EQ(executions, 1);
    EXPECT_THAT(engine->pending({.type = "f"}).front().last_error, HasSubstr("can't be read"));
}

}  // namespace
}  // namespace pawl::engine_test
