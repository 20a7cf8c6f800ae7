// What a signal carries: a value, a null, or nothing; and how that differs from a timeout.
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Answer {
    std::string text;
};

class Signals : public EngineTest {
protected:
    /// The result of a run of `shape` that got the signal "go" without a value.
    template <class F>
    auto after_a_plain_signal(F shape) {
        const auto function = engine->add("f", std::move(shape));
        const auto run = function.start("r");
        engine->run_until_idle();
        run.signal("go");
        engine->run_until_idle();
        return run.result(0s);
    }
    std::unique_ptr<Engine> engine = open();
};
INSTANTIATE_TEST_SUITE_P(Stores, Signals, every_store(), name_of);

TEST_P(Signals, WithoutAValueEndAWaitForNoValue) {
    EXPECT_TRUE(after_a_plain_signal([](Context& ctx) { ctx.wait<void>("go"); }));
}

TEST_P(Signals, WithoutAValueAreANullToTypesThatCanBeNull) {
    const auto seen = after_a_plain_signal([](Context& ctx) { return ctx.wait<json::Raw>("go"); });
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->text, "null");
}

TEST_P(Signals, WithoutAValueAreAnEmptyOptional) {
    EXPECT_EQ(after_a_plain_signal(
                  [](Context& ctx) { return ctx.wait<std::optional<int>>("go").has_value(); }),
              false);
}

TEST_P(Signals, WithoutAValueAreAMonostate) {
    EXPECT_TRUE(after_a_plain_signal([](Context& ctx) { ctx.wait<std::monostate>("go"); }));
}

TEST_P(Signals, WithoutAValueAreNotTakenForATimeout) {
    const auto came = after_a_plain_signal([](Context& ctx) {
        std::vector<bool> came;
        came.push_back(ctx.wait<std::optional<int>>("go", 1h).has_value());
        came.push_back(ctx.wait<void>("gone", 0s));
        came.push_back(ctx.wait<std::optional<int>>("gone", 0s).has_value());
        return came;
    });
    EXPECT_EQ(came, (std::vector{true, false, false}));
}

TEST_P(Signals, OfAnyValueEndAWaitForNoValue) {
    const auto function = engine->add("f", [](Context& ctx) { return ctx.wait<void>("go", 1h); });
    const auto run = function.start("r");
    run.signal("go", Answer{"unread"});
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), true);
}

TEST_P(Signals, WithoutAValueAreWaitedForBesideOthers) {
    const auto seen = after_a_plain_signal([](Context& ctx) {
        const auto first = ctx.any(ctx.later_sleep(1h), ctx.later_wait<void>("go"));
        const auto [sleep, late] = ctx.all(ctx.later_sleep(0s), ctx.later_wait<void>("go", 0s));
        std::vector<Later<std::optional<int>>> mixed;
        mixed.push_back(ctx.later("step", [] { return std::optional<int>{}; }));
        mixed.push_back(ctx.later_wait<int>("number", 0s));
        const auto ends = ctx.all(std::move(mixed));
        return std::pair{first.index() == 1 && std::get<1>(first).has_value(),
                         late.has_value() || ends[0].has_value() || ends[1].has_value()};
    });
    EXPECT_EQ(seen, (std::pair{true, false}));
}

TEST_P(Signals, WithoutAValueFailAFunctionThatWaitsForOneAndNothingElse) {
    const auto function =
        engine->add("f", [](Context& ctx) { return ctx.wait<Answer>("go", 1h).has_value(); });
    const auto run = function.start("r");
    run.signal("go");
    engine->run_until_idle();
    try {
        (void)run.result(0s);
        FAIL() << "it has a result";
    } catch (const RunFailed& e) {
        EXPECT_EQ(e.status(), RunStatus::failed);
        EXPECT_THAT(e.what(), HasSubstr("signal \"go\" came without a value, and the function "
                                        "waits for one: send a value, or use wait<void>"));
    }
}

TEST_P(Signals, OfAnotherTypeAreNamedInTheError) {
    const auto function = engine->add("f", [](Context& ctx) {
        try {
            return ctx.wait<Answer>("go").text;
        } catch (const Error& e) {
            return std::string{e.code() == Code::codec ? e.what() : "another code"};
        }
    });
    const auto run = function.start("r");
    run.signal("go", 5);
    engine->run_until_idle();
    EXPECT_THAT(run.result(0s).value_or(""),
                HasSubstr("signal \"go\": the function can't read its value: "));
}

class ChangedSignals : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, ChangedSignals, shared_stores(), name_of);

// The journal holds that nothing came: a wait that has to return something does not fit it.
TEST_P(ChangedSignals, ThatTimedOutDoNotFitAWaitWithoutATimeout) {
    {
        auto engine = open();
        engine
            ->add("f",
                  [](Context& ctx) {
                      (void)ctx.wait<int>("go", 1h);
                      ctx.sleep(1h);
                  })
            .start("r");
        engine->run_until_idle();
        advance(*engine, 1h);
    }
    clock.advance(1h);
    auto engine = open();
    const auto function = engine->add("f", [](Context& ctx) {
        (void)ctx.wait<int>("go");
        ctx.sleep(1h);
    });
    engine->run_until_idle();
    EXPECT_FALSE(function.run("r").result(0s));
    EXPECT_THAT(engine->pending().front().last_error,
                HasSubstr("the function waits for signal \"go\" without a timeout, recorded is a "
                          "wait that timed out, as call 1"));
}

}  // namespace
}  // namespace pawl::engine_test
