// Children: called, spawned, fanned out, cancelled with their parent.
#include <set>

#include "base/points.hpp"
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
    EXPECT_EQ(run.status(), RunStatus::waiting);
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
    EXPECT_EQ(child.run("c-1").status(), RunStatus::waiting);
    run.cancel("enough");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("c-1").status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("c-2").status(), RunStatus::cancelled);
    EXPECT_EQ(child.run("spawned").status(), RunStatus::waiting);
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

class SharedChildren : public SharedEngineTest {
protected:
    /// As the engine does with a run that has ended its process too often.
    void bury(const std::string& type, const std::string& id) {
        auto store = open_store();
        const auto session = store->open_session({.lease = 1h, .owner = "test"});
        const store::Claim claim{.session = session, .fence = 1'000'000};
        const auto claimed =
            store->claim({.claim = claim,
                          .interests = {{.line = {store::ItemKind::run, type, "1"}, .limit = 9}},
                          .limit = 9});
        ASSERT_EQ(claimed.items.size(), 1u);
        ASSERT_EQ(claimed.items.front().instance.id, id);
        store::Commit commit;
        commit.settlements.push_back({.item = claimed.items.front().id,
                                      .fence = claim.fence,
                                      .verdict = store::Verdict::bury,
                                      .reason = "it ended its process 3 times"});
        store::Answer answer;
        store->commit({&commit, 1}, {&answer, 1});
        ASSERT_EQ(answer.fate, store::Fate::committed);
        store->close_session(session);
    }
    static std::string outcome(Context& ctx, const Function<std::monostate, int>& child) {
        try {
            return "it came to " + std::to_string(ctx.call(child, "c"));
        } catch (const ChildFailed& e) {
            return e.status();
        }
    }
    static int an_hour(Context& ctx) {
        ctx.sleep(1h);
        return 7;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedChildren, shared_stores(), name_of);

TEST_P(SharedChildren, ThatEndWhileTheirParentIsADeadLetterAreHeardOfWhenItIsRetried) {
    for (const bool is_terminated : {false, true}) {
        auto engine = open();
        const std::string id = is_terminated ? "p-2" : "p-1";
        auto child = engine->add(is_terminated ? "child 2" : "child 1", an_hour);
        auto parent = engine->add("parent", [&](Context& ctx) { return outcome(ctx, child); });
        auto run = parent.start(id);
        engine->run_until_idle();
        run.signal("to be claimed", 1);
        bury("parent", id);
        if (is_terminated) child.run("c").terminate("out of order");
        advance(*engine, 1h);
        EXPECT_NE(child.run("c").status(), RunStatus::waiting);
        EXPECT_FALSE(run.result(0s));
        EXPECT_EQ(engine->retry_dead_letters({}), 1);
        engine->run_until_idle();
        EXPECT_EQ(run.result(0s), is_terminated ? "terminated" : "it came to 7");
    }
}

TEST_P(SharedChildren, WhoseDeadLetterIsDiscardedAreEndedAndTheirParentIsTold) {
    auto o = options();
    o.dead_letter_retention = 1h;
    auto engine = open(o);
    auto child = engine->add("child", an_hour);
    auto parent = engine->add("parent", [&](Context& ctx) { return outcome(ctx, child); });
    auto run = parent.start("p");
    engine->run_until_idle();
    child.run("c").signal("to be claimed", 1);
    bury("child", "c");
    advance(*engine, 48h);
    ASSERT_EQ(engine->count_dead_letters(), 1) << "of a run that has not ended";
    EXPECT_EQ(engine->discard_dead_letters({}), 1);
    engine->run_until_idle();
    EXPECT_EQ(child.run("c").status(), RunStatus::terminated);
    EXPECT_EQ(run.result(0s), "terminated");
    EXPECT_EQ(engine->count_dead_letters(), 0);
}

// As when the process ends between the two.
TEST_P(SharedChildren, ThatWereNotTheFirstAndNotCancelledBeforeACrashAreCancelledAfterIt) {
    auto engine = open();
    auto child = engine->add("child", [](Context& ctx) {
        ctx.compensate("undo", {.attempts = 9, .base = 1h}, [] { throw std::runtime_error("no"); });
        ctx.sleep(24h * 365);
    });
    auto parent = engine->add("parent", [&](Context& ctx) {
        const auto first = ctx.any(ctx.later_call(child, "c"), ctx.later_sleep(1h));
        ctx.wait<int>("end");
        return static_cast<int>(first.index());
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    auto store = open_store();
    store::Commit commit;
    auto& append = commit.append.emplace();
    append.instance = {"parent", "p"};
    append.expected = static_cast<store::Version>(run.journal().size());
    auto& won = append.events.emplace_back();
    won.id = Uuid{{1}};
    won.name = "pawl.won";
    won.kind = store::EventKind::engine;
    won.payload.bytes = R"({"call":1,"branch":1})";
    store::Answer answer;
    store->commit({&commit, 1}, {&answer, 1});
    ASSERT_EQ(answer.fate, store::Fate::committed);
    const auto requests = [&] {
        const auto names = names_of(child.run("c").journal());
        return std::ranges::count(names, "pawl.cancel_requested");
    };
    advance(*engine, 1h);
    EXPECT_EQ(requests(), 1);
    run.signal("something else", 1);
    engine->run_until_idle();
    EXPECT_EQ(requests(), 1) << "once is enough";
    run.signal("end", 1);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), 1);
    EXPECT_EQ(requests(), 1);
}

TEST_P(SharedChildren, WereNotTheFirstDurablyBeforeTheyAreCancelled) {
    auto onlooker = open_store();
    std::vector<bool> decided;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point != base::points::commit_after) return;
        const auto mail = onlooker->inbox({"child", "slow"}, 9);
        if (std::ranges::count(mail, "pawl.cancel_requested", &store::InboxRow::name) == 0) return;
        const auto journal = onlooker->journal({"parent", "p"}, 0, 99);
        decided.push_back(std::ranges::any_of(
            journal, [](const auto& entry) { return entry.event.name == "pawl.won"; }));
    };
    auto engine = open(o);
    auto child = engine->add("child", [](Context& ctx) { ctx.sleep(24h); });
    auto parent = engine->add("parent", [&](Context& ctx) {
        return static_cast<int>(
            ctx.any(ctx.later_call(child, "slow"), ctx.later_sleep(1h)).index());
    });
    auto run = parent.start("p");
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), 1);
    ASSERT_FALSE(decided.empty());
    EXPECT_TRUE(decided.front());
}

TEST_P(SharedChildren, ThatAreTerminatedTellTheirParentInTheSameCommit) {
    int commits = 0;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point == base::points::commit_before) ++commits;
    };
    auto engine = open(o);
    auto child = engine->add("child", an_hour);
    auto parent = engine->add("parent", [&](Context& ctx) { return outcome(ctx, child); });
    auto run = parent.start("p");
    engine->run_until_idle();
    auto store = open_store();
    EXPECT_THAT(store->inbox({"parent", "p"}, 9), IsEmpty());
    commits = 0;
    child.run("c").terminate("out of order");
    EXPECT_EQ(commits, 1);
    const auto mail = store->inbox({"parent", "p"}, 9);
    ASSERT_EQ(mail.size(), 1u);
    EXPECT_EQ(mail.front().name, "pawl.child_ended");
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "terminated");
}

TEST_P(SharedChildren, AreHeardOfByAParentThatIsRetriedWhileTheyEnd) {
    std::function<void()> before_commit;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point == base::points::commit_before && before_commit) before_commit();
    };
    auto engine = open(o);
    auto child = engine->add("child", an_hour);
    auto other = open();
    const auto known = other->add("child", an_hour);
    auto parent = other->add("parent", [&](Context& ctx) { return outcome(ctx, known); });
    auto run = parent.start("p");
    other->run_until_idle();
    run.signal("to be claimed", 1);
    bury("parent", "p");
    // First the child finds its parent dead; before it leaves its news there, the parent is alive
    // and has read its mail.
    int commits = 0;
    before_commit = [&] {
        if (++commits != 2) return;
        EXPECT_EQ(other->retry_dead_letters({}), 1);
        other->run_until_idle();
        EXPECT_EQ(run.status(), RunStatus::waiting);
    };
    advance(*engine, 1h);
    EXPECT_GT(commits, 1);
    EXPECT_EQ(child.run("c").result(0s), 7);
    other->run_until_idle();
    EXPECT_EQ(run.result(0s), "it came to 7");
}

// A process that stands still between the entry `pawl.child` and the start of the child, for longer
// than its lease; meanwhile `other` goes on with the parent until that has ended.
class OrphanedChildren : public SharedChildren {
protected:
    void expect_no_child(auto shape, const std::function<void(pawl::Run<void>&)>& end_parent) {
        auto other = open();
        auto known = other->add("child", an_hour);
        auto same_parent = other->add("parent", [&](Context& ctx) { shape(ctx, known); });
        auto run = same_parent.run("p");
        bool is_stopped = false;
        const auto onlooker = open_store();
        auto o = options();
        o.test.at_point = [&](std::string_view point) {
            if (point != base::points::commit_before || is_stopped) return;
            const auto journal = onlooker->journal({"parent", "p"}, 0, 99);
            is_stopped = std::ranges::any_of(
                journal, [](const auto& entry) { return entry.event.name == "pawl.child"; });
            if (!is_stopped) return;
            clock.advance(1h);
            end_parent(run);
            other->run_until_idle();
            EXPECT_TRUE(finished(run.status()));
        };
        auto engine = open(o);
        auto child = engine->add("child", an_hour);
        auto parent = engine->add("parent", [&](Context& ctx) { shape(ctx, child); });
        parent.start("p");
        engine->run_until_idle();
        EXPECT_TRUE(is_stopped);
        EXPECT_TRUE(finished(run.status()));
        EXPECT_THAT(known.runs().runs, IsEmpty()) << "a child was started that nobody waits for";
    }
    void expect_no_child(auto shape) {
        expect_no_child(shape, [](pawl::Run<void>& run) { run.cancel("not wanted any more"); });
        clock.advance(1h);
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, OrphanedChildren, shared_stores(), name_of);

using Child = Function<std::monostate, int>;

TEST_P(OrphanedChildren, AreNotCalledAfterTheirParentWasCancelled) {
    expect_no_child([](Context& ctx, Child& child) { ctx.call(child, "c"); });
}

TEST_P(OrphanedChildren, AreNotSpawnedAfterTheirParentWasCancelled) {
    expect_no_child([](Context& ctx, Child& child) {
        ctx.spawn(child, "c");
        ctx.sleep(1h);
    });
}

TEST_P(OrphanedChildren, AreNotStartedByAnAllAfterTheirParentWasCancelled) {
    expect_no_child([](Context& ctx, Child& child) {
        ctx.all(ctx.later_call(child, "c"), ctx.later_call(child, "d"));
    });
}

TEST_P(OrphanedChildren, AreNotStartedByAnAnyAfterTheirParentWasCancelled) {
    expect_no_child([](Context& ctx, Child& child) {
        ctx.any(ctx.later_call(child, "c"), ctx.later_sleep(24h));
    });
}

TEST_P(OrphanedChildren, AreNotCalledAfterTheirParentWasTerminated) {
    expect_no_child([](Context& ctx, Child& child) { ctx.call(child, "c"); },
                    [](pawl::Run<void>& run) { run.terminate("not wanted any more"); });
}

}  // namespace
}  // namespace pawl::engine_test
