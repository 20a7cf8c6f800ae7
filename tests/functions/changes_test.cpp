// Code that changes while runs are under way.
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

/// The same database with code of another day.
class Changes : public EngineTest {
protected:
    Options logging() {
        auto o = options();
        o.log = [this](const LogRecord& record) {
            if (record.level == LogLevel::error) errors.push_back(record.text);
        };
        return o;
    }
    std::vector<std::string> errors;
};
INSTANTIATE_TEST_SUITE_P(Stores, Changes, shared_stores(), name_of);

TEST_P(Changes, ThatDoNotFitTheJournalAreNamedAndChangeNothing) {
    {
        auto engine = open();
        auto function = engine->add("f", [](Context& ctx) {
            ctx.step("a", [] {});
            ctx.step("b", [] {});
            ctx.sleep(1h);
        });
        function.start("r");
        engine->run_until_idle();
    }
    clock.advance(1h);
    bool ran = false;
    std::vector<JournalEntry> before;
    {
        auto engine = open(logging());
        auto function = engine->add("f", [&](Context& ctx) {
            ctx.step("a", [] {});
            ctx.step("new", [&] { ran = true; });
            ctx.step("b", [] {});
        });
        before = function.run("r").journal();
        engine->run_until_idle();
        EXPECT_FALSE(ran);
        ASSERT_FALSE(errors.empty());
        EXPECT_THAT(errors.front(), HasSubstr("run \"r\" of \"f\": the journal does not fit the "
                                              "code: call 2 is step \"new\", recorded is step "
                                              "\"b\""));
        EXPECT_EQ(names_of(function.run("r").journal()), names_of(before));
        EXPECT_THAT(engine->pending().front().last_error, HasSubstr("step \"new\""));
    }
    // Somebody whose code fits takes it up.
    clock.advance(1h);
    auto engine = open();
    auto function = engine->add("f", [](Context& ctx) {
        ctx.step("a", [] {});
        ctx.step("b", [] {});
        ctx.sleep(1h);
    });
    engine->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
}

TEST_P(Changes, ThatStopShortOfTheJournalAreNamed) {
    {
        auto engine = open();
        auto function = engine->add("f", [](Context& ctx) {
            ctx.step("a", [] {});
            ctx.step("gone", [] {});
            ctx.sleep(1h);
        });
        function.start("r");
        engine->run_until_idle();
    }
    clock.advance(1h);
    auto engine = open(logging());
    engine->add("f", [](Context& ctx) { ctx.step("a", [] {}); });
    engine->run_until_idle();
    ASSERT_FALSE(errors.empty());
    EXPECT_THAT(errors.front(),
                HasSubstr("the function ended after 1 calls, recorded is also step \"gone\""));
}

TEST_P(Changes, ThatThrowBeforeTheEndOfTheJournalAreNamedAndUndoNothing) {
    bool undone = false;
    const auto shape = [&](bool broken) {
        return [&undone, broken](Context& ctx) {
            ctx.step("a", [] {});
            ctx.compensate("undo a", [&undone] { undone = true; });
            if (broken) throw std::runtime_error("a mistake");
            ctx.step("b", [] {});
            ctx.sleep(1h);
        };
    };
    {
        auto engine = open();
        engine->add("f", shape(false)).start("r");
        engine->run_until_idle();
    }
    clock.advance(1h);
    {
        auto engine = open(logging());
        auto function = engine->add("f", shape(true));
        engine->run_until_idle();
        ASSERT_FALSE(errors.empty());
        EXPECT_THAT(errors.front(), HasSubstr("recorded is also step \"b\""));
        EXPECT_FALSE(function.run("r").result(0s));
        EXPECT_FALSE(undone);
    }
    clock.advance(1h);
    auto engine = open();
    auto function = engine->add("f", shape(false));
    engine->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s)) << "the next release mends it";
}

TEST_P(Changes, OfTheIdOfAChildAreNamedAndStartNothing) {
    const auto shape = [](const auto& child, std::string called, std::string spawned) {
        return [=](Context& ctx) {
            ctx.spawn(child, spawned);
            ctx.call(child, called);
        };
    };
    const auto an_hour = [](Context& ctx) { ctx.sleep(1h); };
    {
        auto engine = open();
        auto child = engine->add("child", an_hour);
        engine->add("f", shape(child, "c", "s")).start("r");
        engine->run_until_idle();
    }
    const auto refusal = [&](const std::string& called, const std::string& spawned) -> std::string {
        clock.advance(1h);
        errors.clear();
        auto engine = open(logging());
        auto child = engine->add("child", an_hour);
        auto function = engine->add("f", shape(child, called, spawned));
        engine->run_until_idle();
        EXPECT_EQ(child.runs().runs.size(), 2u);
        EXPECT_FALSE(function.run("r").result(0s));
        return errors.empty() ? "none" : errors.front();
    };
    EXPECT_THAT(refusal("other", "s"),
                HasSubstr("run \"r\" of \"f\": the journal does not fit the code: call 2 is child "
                          "\"other\" of \"child\", recorded is child \"c\" of \"child\""));
    EXPECT_THAT(refusal("c", "other"), HasSubstr("call 1 is child \"other\" of \"child\", recorded "
                                                 "is child \"s\" of \"child\""));
    clock.advance(1h);
    auto engine = open();
    auto child = engine->add("child", an_hour);
    auto function = engine->add("f", shape(child, "c", "s"));
    engine->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s)) << "the next release mends it";
}

TEST_P(Changes, AreToldApartByTheirVersionInOneBinary) {
    std::vector<std::string> done;
    {
        auto engine = open();
        auto function = engine->add("f", [](Context& ctx) {
            ctx.step("a", [] {});
            ctx.sleep(1h);
            ctx.step("old", [] {});
        });
        function.start("old");
        engine->run_until_idle();
    }
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("a", [] {});
        if (ctx.version("check first", 1) >= 1) ctx.step("check", [&] { done.push_back("check"); });
        ctx.sleep(1h);
        ctx.step(ctx.id(), [&] { done.push_back(ctx.id()); });
    });
    // What stands after the sleep is new for both.
    function.start("new");
    engine->run_until_idle();
    advance(*engine, 1h);
    EXPECT_TRUE(function.run("old").result(0s));
    EXPECT_TRUE(function.run("new").result(0s));
    EXPECT_THAT(done, ::testing::UnorderedElementsAre("check", "old", "new"));
}

TEST_P(Changes, OfTheTypesVersionLeaveOldRunsToOldBinaries) {
    std::vector<std::string> done;
    const auto shape = [&](std::string which) {
        return [&done, which](Context& ctx) {
            ctx.sleep(1h);
            ctx.step(which, [&] { done.push_back(which + " " + ctx.id()); });
        };
    };
    auto old_engine = open();
    auto old_function = old_engine->add("f", shape("old"), {.version = 1});
    auto new_engine = open();
    auto new_function = new_engine->add("f", shape("new"), {.version = 2});
    old_function.start("1");
    old_engine->run_until_idle();
    new_function.start("2");
    new_engine->run_until_idle();
    clock.advance(1h);
    new_engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("new 2"));
    old_engine->run_until_idle();
    EXPECT_THAT(done, ElementsAre("new 2", "old 1"));
}

TEST_P(Changes, OfTheTypesVersionCanTakeOldRunsAlong) {
    int done = 0;
    {
        auto engine = open();
        engine->add("f", [](Context& ctx) { ctx.sleep(1h); }, {.version = 1}).start("r");
        engine->run_until_idle();
    }
    auto engine = open();
    auto function = engine->add("f",
                                [&](Context& ctx) {
                                    ctx.sleep(1h);
                                    ctx.step("s", [&] { ++done; });
                                },
                                {.version = 3, .oldest = 1});
    advance(*engine, 1h);
    EXPECT_EQ(done, 1);
    EXPECT_TRUE(function.run("r").result(0s));
}

TEST_P(Changes, OfAnotherProcessAreReplayedFromTheJournalAlone) {
    int created = 0;
    const auto shape = [&](Context& ctx, const std::string& in) {
        const auto id = ctx.step("create", [&] {
            ++created;
            return "acc-" + in;
        });
        const auto confirmed = ctx.wait<bool>("confirmed");
        return id + (confirmed ? "+" : "-");
    };
    {
        auto engine = open();
        engine->add("f", shape).start("r", "ada");
        engine->run_until_idle();
    }
    auto engine = open();
    auto function = engine->add("f", shape);
    function.run("r").signal("confirmed", true);
    engine->run_until_idle();
    EXPECT_EQ(function.run("r").result(0s), "acc-ada+");
    EXPECT_EQ(created, 1);
}

}  // namespace
}  // namespace pawl::engine_test
