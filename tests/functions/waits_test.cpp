// Sleeps, signals and values: what a function waits for, and what others get to see of it.
#include "base/points.hpp"
#include "crash/place.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Answer {
    std::string text;
};

class Waits : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Waits, every_store(), name_of);

TEST_P(Waits, SleepForTheirTimeAndNotLess) {
    int before = 0;
    int after = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("before", [&] { ++before; });
        ctx.sleep(72h);
        ctx.step("after", [&] { ++after; });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::waiting);
    advance(*engine, 72h - 1us);
    EXPECT_EQ(after, 0);
    advance(*engine, 1us);
    EXPECT_EQ(after, 1);
    EXPECT_EQ(before, 1);
    EXPECT_TRUE(run.result(0s));
}

TEST_P(Waits, MayBeLongerThanCanBeCounted) {
    auto function = engine->add("f", [&](Context& ctx) {
        return ctx.any(ctx.later_wait<int>("go", std::chrono::hours::max()),
                       ctx.later_sleep(std::chrono::seconds::max()))
                   .index() == 0;
    });
    auto run = function.start("r");
    advance(*engine, 24h * 365);
    EXPECT_EQ(run.status(), RunStatus::waiting);
    run.signal("go", 1);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), true);
}

TEST_P(Waits, SleepUntilATimeThatHasPassedIsNoSleep) {
    auto function = engine->add("f", [&](Context& ctx) { ctx.sleep_until(clock.now() - 1h); });
    function.start("r");
    engine->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
}

TEST_P(Waits, ForASignalThatComesLater) {
    auto function = engine->add("f", [](Context& ctx) { return ctx.wait<Answer>("answer").text; });
    auto run = function.start("r");
    engine->run_until_idle();
    advance(*engine, 24h * 365);
    EXPECT_FALSE(run.result(0s));
    run.signal("other", Answer{"not this one"});
    engine->run_until_idle();
    EXPECT_FALSE(run.result(0s));
    run.signal("answer", Answer{"yes"});
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "yes");
}

TEST_P(Waits, ForASignalThatCameBeforeInTheOrderTheyCame) {
    auto function = engine->add("f", [](Context& ctx) {
        ctx.sleep(1h);
        auto first = ctx.wait<Answer>("answer");
        auto second = ctx.wait<Answer>("answer");
        return first.text + second.text;
    });
    auto run = function.start("r");
    run.signal("answer", Answer{"a"});
    engine->run_until_idle();
    run.signal("answer", Answer{"b"});
    engine->run_until_idle();
    EXPECT_FALSE(run.result(0s));
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), "ab");
}

TEST_P(Waits, LoseNoSignalThatComesWhileAStepRunsAndDoNotDisturbIt) {
    int steps = 0;
    std::function<void()> meanwhile;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("long", [&] {
            ++steps;
            meanwhile();
        });
        return ctx.wait<Answer>("answer", 1min).value_or(Answer{"none"}).text;
    });
    auto run = function.start("r");
    meanwhile = [&] { run.signal("answer", Answer{"in time"}); };
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "in time");
    EXPECT_EQ(steps, 1);
}

TEST_P(Waits, EndWithNothingWhenTheirPatienceDoes) {
    auto function = engine->add("f", [](Context& ctx) {
        const bool first = ctx.wait<Answer>("answer", 1h).has_value();
        ctx.sleep(1h);
        const bool second = ctx.wait<Answer>("answer", 1h).has_value();
        return std::pair{first, second};
    });
    auto run = function.start("r");
    engine->run_until_idle();
    advance(*engine, 1h);
    // Too late for the first, in time for the second.
    run.signal("answer", Answer{"late"});
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), (std::pair{false, true}));
}

TEST_P(Waits, OfWhichAnyEndsAreDecidedOnce) {
    auto function = engine->add("f", [](Context& ctx) {
        auto first = ctx.any(ctx.later_sleep(1h), ctx.later_wait<Answer>("answer"));
        ctx.sleep(1h);
        auto second = ctx.any(ctx.later_sleep(1h), ctx.later_wait<Answer>("answer"));
        return std::pair{first.index(), second.index()};
    });
    auto run = function.start("r");
    engine->run_until_idle();
    advance(*engine, 1h);
    run.signal("answer", Answer{"x"});
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), (std::pair<std::size_t, std::size_t>{0, 1}));
}

TEST_P(Waits, OfWhichAnyEndsLeaveTheSignalsOfTheOthersToTheNext) {
    auto function = engine->add("f", [](Context& ctx) {
        std::string all;
        for (int i = 0; i < 2; ++i) {
            auto first = ctx.any(ctx.later_wait<Answer>("a"), ctx.later_wait<Answer>("b"));
            all += first.index() == 0 ? std::get<0>(first)->text : std::get<1>(first)->text;
        }
        return all;
    });
    auto run = function.start("r");
    run.signal("b", Answer{"b"});
    run.signal("a", Answer{"a"});
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "ab");
}

TEST_P(Waits, OfManyKindsTogetherEndWhenAllDo) {
    auto function = engine->add("f", [](Context& ctx) {
        auto [a, b, c] = ctx.all(ctx.later("step", [] { return 1; }), ctx.later_sleep(1h),
                                 ctx.later_wait<Answer>("answer"));
        return c->text + std::to_string(a);
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.signal("answer", Answer{"yes"});
    engine->run_until_idle();
    EXPECT_FALSE(run.result(0s));
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), "yes1");
}

TEST_P(Waits, ForNobodyWhoIsThereAreClearErrors) {
    auto function = engine->add("f", [](Context&) {});
    EXPECT_THAT(error_of([&] { function.run("r").signal("s", Answer{}); }).what(),
                HasSubstr("there is no run \"r\" of \"f\""));
    EXPECT_EQ(error_of([&] { (void)function.run("r").result(0s); }).code(), Code::unknown);
    EXPECT_EQ(error_of([&] { (void)function.run("r").status(); }).code(), Code::unknown);
    EXPECT_EQ(error_of([&] { (void)function.run("r").value<int>("v"); }).code(), Code::unknown);
    function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(error_of([&] { function.run("r").signal("s", Answer{}); }).code(), Code::unknown);
    EXPECT_EQ(error_of([&] { function.run("r").cancel(); }).code(), Code::unknown);
}

TEST_P(Waits, ShowValuesToOutsiders) {
    auto function = engine->add("f", [](Context& ctx) {
        for (int i = 1; i <= 3; ++i) {
            ctx.step("work", [] {});
            ctx.set("progress", i * 10);
            ctx.sleep(1h);
        }
        ctx.set("other", "x");
    });
    auto run = function.start("r");
    EXPECT_FALSE(run.value<int>("progress"));
    engine->run_until_idle();
    EXPECT_EQ(run.value<int>("progress"), 10);
    advance(*engine, 1h);
    EXPECT_EQ(run.value<int>("progress"), 20);
    advance(*engine, 1h);
    advance(*engine, 1h);
    EXPECT_EQ(run.value<int>("progress"), 30);
    EXPECT_EQ(run.value<std::string>("other"), "x");
    EXPECT_FALSE(run.value<int>("nothing"));
}

TEST_P(Waits, SeeTheSameTimeNumbersAndIdsAtEveryReplay) {
    struct Seen {
        Time now{};
        std::uint64_t random = 0;
        Uuid id;
        bool operator==(const Seen&) const = default;
    };
    std::vector<Seen> seen;
    auto function = engine->add("f", [&](Context& ctx) {
        seen.push_back({ctx.now(), ctx.random(), ctx.uuid()});
        ctx.sleep(1h);
        ctx.step("x", [] {});
        ctx.sleep(1h);
    });
    function.start("r");
    function.start("other");
    engine->run_until_idle();
    advance(*engine, 1h);
    advance(*engine, 1h);
    ASSERT_EQ(seen.size(), 6u);
    std::set<Uuid> ids;
    std::set<std::uint64_t> randoms;
    for (const auto& one : seen) {
        EXPECT_EQ(one.now, clock.now() - 2h);
        ids.insert(one.id);
        randoms.insert(one.random);
    }
    EXPECT_EQ(ids.size(), 2u);
    EXPECT_EQ(randoms.size(), 2u);
}

class SharedWaits : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedWaits, shared_stores(), name_of);

// As when the connection is lost while a signal is committed, and it is sent again.
TEST_P(SharedWaits, ReceiveASignalOnceThatWasSentTwiceInDoubt) {
    auto engine = open();
    auto function = engine->add("f", [](Context& ctx) {
        const auto first = ctx.wait<std::string>("answer");
        return first + ctx.wait<std::string>("answer", 1h).value_or(" and no other");
    });
    auto run = function.start("r");
    engine->run_until_idle();
    auto store = open_store();
    for (int i = 0; i < 2; ++i) {
        store::Commit commit;
        auto& row = commit.inbox.emplace_back();
        row.to = {"f", "r"};
        row.to_run = true;
        row.urgent = true;
        row.name = "pawl.signal";
        row.payload.bytes =
            R"({"name":"answer","value":"yes","id":"0192f0c1-0000-7000-8000-000000000001"})";
        store::Answer answer;
        store->commit({&commit, 1}, {&answer, 1});
        EXPECT_EQ(answer.fate, store::Fate::committed);
        engine->run_until_idle();
    }
    advance(*engine, 1h);
    EXPECT_EQ(run.result(0s), "yes and no other");
}

TEST_P(SharedWaits, ReadPastAnyNumberOfRepetitionsOfASignal) {
    int commits = 0;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        // Whoever does not get past them is not left to it for ever.
        if (point == base::points::commit_before && ++commits == 100)
            place().run("DELETE FROM pawl_inbox");
    };
    auto engine = open(o);
    auto function = engine->add("f", [](Context& ctx) {
        const auto first = ctx.wait<std::string>("answer");
        return first + ctx.wait<std::string>("answer");
    });
    auto run = function.start("r");
    auto store = open_store();
    const auto send = [&](int count, int id) {
        store::Commit commit;
        for (int i = 0; i < count; ++i) {
            auto& row = commit.inbox.emplace_back();
            row.to = {"f", "r"};
            row.to_run = true;
            row.urgent = true;
            row.name = "pawl.signal";
            row.payload.bytes = R"({"name":"answer","value":")" + std::to_string(id) +
                                R"(","id":"0192f0c1-0000-7000-8000-00000000000)" +
                                std::to_string(id) + R"("})";
        }
        store::Answer answer;
        store->commit({&commit, 1}, {&answer, 1});
        EXPECT_EQ(answer.fate, store::Fate::committed);
    };
    send(1, 1);
    engine->run_until_idle();
    send(4500, 1);
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::waiting);
    send(1, 2);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "12");
    EXPECT_LT(commits, 100);
}

// More than what is read at a time: the entries of the first portion are written before the rest.
TEST_P(SharedWaits, ReadMoreMailThanOnePortionInOneExecution) {
    auto engine = open();
    int bodies = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        for (int i = 0; i < 2500; ++i) ctx.wait<std::string>("answer");
        return ctx.step("count", [&] { return ++bodies; });
    });
    auto run = function.start("r");
    auto store = open_store();
    store::Commit commit;
    for (int i = 0; i < 2500; ++i) {
        auto& row = commit.inbox.emplace_back();
        row.to = {"f", "r"};
        row.to_run = true;
        row.urgent = true;
        row.name = "pawl.signal";
        row.payload.bytes = R"({"name":"answer","value":"x","id":"0192f0c1-0000-7000-8000-)" +
                            std::to_string(100'000'000'000 + i) + R"("})";
    }
    store::Answer answer;
    store->commit({&commit, 1}, {&answer, 1});
    EXPECT_EQ(answer.fate, store::Fate::committed);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), 1);
    EXPECT_EQ(bodies, 1);
}

// Both have sent something lately, `a` first: where numbers are taken in advance, its are earlier.
TEST_P(SharedWaits, ReceiveSignalsOfTwoProcessesInTheOrderTheyWereSent) {
    auto a = open();
    auto b = open();
    const auto body = [](Context& ctx) {
        ctx.sleep(1h);
        std::string received;
        for (int i = 0; i < 4; ++i) received += ctx.wait<std::string>("answer");
        return received;
    };
    auto by_a = a->add("f", body);
    auto by_b = b->add("f", body);
    by_a.start("idle").signal("other", 1);
    by_b.start("idle").signal("other", 2);
    by_a.start("r");
    a->run_until_idle();
    by_b.run("r").signal("answer", std::string{"1"});
    by_a.run("r").signal("answer", std::string{"2"});
    by_b.run("r").signal("answer", std::string{"3"});
    by_a.run("r").signal("answer", std::string{"4"});
    advance(*a, 1h);
    EXPECT_EQ(by_a.run("r").result(0s), "1234");
}

TEST_P(SharedWaits, ArePausedByOneProcessAndResumedByAnother) {
    auto a = open();
    auto b = open();
    const auto body = [](Context& ctx) { ctx.sleep(1h); };
    auto by_a = a->add("f", body);
    auto by_b = b->add("f", body);
    by_a.start("idle").signal("other", 1);
    by_b.start("idle").signal("other", 2);
    by_a.start("r");
    a->run_until_idle();
    by_b.run("r").pause();
    by_a.run("r").resume();
    a->run_until_idle();
    EXPECT_EQ(by_a.run("r").status(), RunStatus::waiting);
    advance(*a, 1h);
    EXPECT_TRUE(by_a.run("r").result(0s));
}

}  // namespace
}  // namespace pawl::engine_test
