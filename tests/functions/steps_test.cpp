// Steps: recorded once, tried again, failed for good, beside each other.
#include <atomic>
#include <set>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Point {
    int x = 0;
    std::optional<std::string> label;
};

class Steps : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Steps, every_store(), name_of);

TEST_P(Steps, ReturnWhatTheirBodiesDo) {
    auto function = engine->add("f", [](Context& ctx, const Point& in) -> std::string {
        const int x = ctx.step("number", [&] { return in.x + 1; });
        const auto point = ctx.step("struct", [&] { return Point{x, "here"}; });
        ctx.step("nothing", [] {});
        const auto many = ctx.step("many", [] { return std::vector<int>{1, 2, 3}; });
        return *point.label + std::to_string(point.x) + std::to_string(many.size());
    });
    auto run = function.start("a", Point{41, std::nullopt});
    EXPECT_FALSE(run.result(0s));
    EXPECT_EQ(run.status(), RunStatus::pending);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), "here423");
    EXPECT_EQ(run.status(), RunStatus::succeeded);
    const auto steps = run.steps();
    ASSERT_EQ(steps.size(), 4u);
    EXPECT_EQ(steps[0].name, "number");
    EXPECT_EQ(steps[0].result, "42");
    EXPECT_EQ(steps[1].result, R"({"x":42,"label":"here"})");
    EXPECT_EQ(steps[2].result, "null");
    EXPECT_EQ(steps[3].attempts, 1);
}

TEST_P(Steps, OfAThreeStepFunctionTakeFourCommits) {
    std::map<std::string, int> reached;
    auto o = options();
    o.test.at_point = [&](std::string_view point) { ++reached[std::string{point}]; };
    auto counting = open(o);
    auto function = counting->add("f", [](Context& ctx) {
        ctx.step("a", [] {});
        ctx.step("b", [] {});
        ctx.step("c", [] {});
    });
    function.start("r");
    counting->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
    EXPECT_EQ(reached["commit:after"], 4);
    EXPECT_THAT(
        names_of(function.run("r").journal()),
        ElementsAre("pawl.started", "pawl.step", "pawl.step", "pawl.step", "pawl.finished"));
}

TEST_P(Steps, ThatAreRepeatableRideWithTheNextCommit) {
    std::map<std::string, int> reached;
    auto o = options();
    o.test.at_point = [&](std::string_view point) { ++reached[std::string{point}]; };
    auto counting = open(o);
    auto function = counting->add("f", [](Context& ctx) {
        for (int i = 0; i < 10; ++i) ctx.step("pure", {.repeatable = true}, [&] { return i; });
    });
    function.start("r");
    counting->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
    EXPECT_EQ(reached["commit:after"], 2);
    EXPECT_EQ(function.run("r").steps().size(), 10u);
}

TEST_P(Steps, AreTriedAgainAfterAWaitInWhichNothingRuns) {
    std::vector<int> attempts;
    std::set<std::string> keys;
    int calls = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ++calls;
        return ctx.step("flaky", {.attempts = 3, .base = 1min, .jitter = 0},
                        [&](const Attempt& attempt) {
                            attempts.push_back(attempt.number);
                            keys.insert(attempt.key);
                            if (attempt.number < 3) throw std::runtime_error("not yet");
                            return attempt.number;
                        });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_THAT(attempts, ElementsAre(1));
    EXPECT_EQ(run.status(), RunStatus::retrying);
    advance(*engine, 59s);
    EXPECT_THAT(attempts, ElementsAre(1));
    advance(*engine, 1s);
    EXPECT_THAT(attempts, ElementsAre(1, 2));
    EXPECT_EQ(run.steps().front().error, "not yet");
    advance(*engine, 2min);
    EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
    EXPECT_EQ(run.result(0s), 3);
    EXPECT_EQ(keys.size(), 1u);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(run.steps().front().attempts, 3);
}

TEST_P(Steps, ThatFailForGoodAreThrownIntoTheFunctionAndCanBeHandled) {
    auto function = engine->add("f", [](Context& ctx) -> std::string {
        try {
            ctx.step("card", {.attempts = 1}, [] { throw std::runtime_error("no money"); });
        } catch (const StepFailed& e) {
            const auto paid = ctx.step("voucher", [] { return std::string{"voucher"}; });
            return paid + " after " + e.step() + ": " + e.reason();
        }
        return "card";
    });
    EXPECT_EQ((function.start("r"), engine->run_until_idle(), function.run("r").result(0s)),
              "voucher after card: no money");
}

TEST_P(Steps, ThatFailPermanentlyAreNotTriedAgain) {
    int attempts = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("never", [&] {
            ++attempts;
            throw Permanent("no such account");
        });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(run.status(), RunStatus::failed);
    try {
        (void)run.result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_EQ(e.status(), RunStatus::failed);
        EXPECT_THAT(e.what(), HasSubstr("step \"never\" failed after 1 attempt: no such account"));
    }
}

TEST_P(Steps, ThatUsePawlWronglyAreNotTriedAgain) {
    int attempts = 0;
    auto function = engine->add("f", [&](Context& ctx) -> std::string {
        std::string said;
        for (const auto code : {Code::invalid, Code::misuse}) try {
                ctx.step("wrong", {.attempts = 5}, [&] {
                    ++attempts;
                    throw Error{code, name(code)};
                });
            } catch (const StepFailed& e) {
                said += e.reason() + (e.permanent() ? " for good, " : ", ");
            }
        return said;
    });
    function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(function.run("r").result(0s), "invalid for good, misuse for good, ");
    EXPECT_EQ(attempts, 2);
}

TEST_P(Steps, ThatPawlCouldNotServeAreTriedAgain) {
    int attempts = 0;
    const Code codes[] = {Code::unknown,  Code::codec,       Code::unique_key_taken,
                          Code::conflict, Code::workflow,    Code::busy,
                          Code::in_doubt, Code::unavailable, Code::corrupt};
    auto function = engine->add("f", [&](Context& ctx) {
        return ctx.step("busy", {.attempts = 20, .base = 1s, .cap = 1s, .jitter = 0}, [&] {
            const auto at = static_cast<std::size_t>(attempts++);
            if (at < std::size(codes)) throw Error{codes[at], "it may pass"};
            return attempts;
        });
    });
    function.start("r");
    for (int i = 0; i < 10; ++i) advance(*engine, 1s);
    EXPECT_EQ(function.run("r").result(0s), 10);
}

TEST_P(Steps, BesideEachOtherAreRecordedIndependently) {
    int slow_attempts = 0;
    int quick = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        auto [a, b] = ctx.all(ctx.later("slow", {.attempts = 3, .base = 1min, .jitter = 0},
                                        [&] {
                                            if (++slow_attempts < 3)
                                                throw std::runtime_error("again");
                                            return 1;
                                        }),
                              ctx.later("quick", [&] {
                                  ++quick;
                                  return 2;
                              }));
        return a * 10 + b;
    });
    auto run = function.start("r");
    engine->run_until_idle();
    advance(*engine, 1min);
    advance(*engine, 2min);
    EXPECT_EQ(run.result(0s), 12);
    EXPECT_EQ(slow_attempts, 3);
    EXPECT_EQ(quick, 1);
}

TEST_P(Steps, OfManyAtOnceThrowTheFirstFailureWhenAllHaveEnded) {
    std::atomic<int> ran{0};
    auto function = engine->add("f", [&](Context& ctx) {
        std::vector<Later<int>> all;
        for (int i = 0; i < 5; ++i)
            all.push_back(ctx.later("part", {.attempts = 1}, [&ran, i] {
                ++ran;
                if (i == 1 || i == 3) throw std::runtime_error("part " + std::to_string(i));
                return i;
            }));
        ctx.all(std::move(all));
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(ran, 5);
    try {
        (void)run.result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_THAT(e.reason(), HasSubstr("part 1"));
    }
}

TEST_P(Steps, CannotUseTheContext) {
    auto function = engine->add("f", [](Context& ctx) {
        ctx.step("outer", {.attempts = 1}, [&] { ctx.step("inner", [] {}); });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    try {
        (void)run.result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_THAT(e.reason(), HasSubstr("used in the body of step \"outer\""));
    }
}

TEST_P(Steps, WhoseResultIsTooLargeFailWithTheLimit) {
    auto o = options();
    o.payload_limit = 1000;
    auto small = open(o);
    auto function = small->add(
        "f", [](Context& ctx) { ctx.step("large", [] { return std::string(2000, 'x'); }); });
    auto run = function.start("r");
    small->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(run.steps().front().error, HasSubstr("the limit is 1000"));
}

TEST_P(Steps, EndWithAClearErrorAtTheLimitOfTheJournalAndAWarningBefore) {
    std::vector<std::string> warnings;
    auto o = options();
    o.log = [&](const LogRecord& record) {
        if (record.event == LogEvent::journal_limit) warnings.push_back(record.text);
    };
    auto limited = open(o);
    auto function = limited->add("f",
                                 [](Context& ctx) {
                                     for (int i = 0; i < 100; ++i) ctx.step("s", [] {});
                                 },
                                 {.journal_limit = 20});
    auto run = function.start("r");
    limited->run_until_idle();
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("has 16 of 20 entries")));
    try {
        (void)run.result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_THAT(e.reason(), HasSubstr("the limit is 20 (FunctionOptions::journal_limit)"));
    }
}

}  // namespace
}  // namespace pawl::engine_test
