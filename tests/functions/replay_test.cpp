// Journals of yesterday against the code of today.
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

int first_shape(Context& ctx, int in) {
    const int a = ctx.step("a", [&] { return in + 1; });
    ctx.sleep(1h);
    ctx.step("b", [] {});
    return a;
}

int second_shape(Context& ctx, int in) {
    const int a = ctx.step("a", [&] { return in + 1; });
    ctx.step("b", [] {});
    ctx.sleep(1h);
    return a;
}

std::string recorded_journals() {
    pawl::testing::Fixture world;
    auto function = world.engine().add("f", first_shape);
    auto done = function.start("done", 1);
    world.advance(2h);
    auto asleep = function.start("asleep", 2);
    world.run_until_idle();
    return done.export_journal() + asleep.export_journal();
}

TEST(Replay, OfTheSameCodeFits) {
    EXPECT_EQ(pawl::testing::replay(first_shape, recorded_journals()), 2);
}

TEST(Replay, ExecutesNothing) {
    int executed = 0;
    const auto counting = [&](Context& ctx, int) {
        ctx.step("a", [&] { return ++executed; });
        ctx.sleep(1h);
        ctx.step("b", [&] { ++executed; });
        ctx.step("c", [&] { ++executed; });
    };
    EXPECT_EQ(pawl::testing::replay(counting, recorded_journals()), 2);
    EXPECT_EQ(executed, 0);
}

TEST(Replay, OfOtherCodeNamesRunAndStep) {
    try {
        pawl::testing::replay(second_shape, recorded_journals());
        FAIL();
    } catch (const pawl::testing::Mismatch& e) {
        EXPECT_THAT(e.what(), HasSubstr("run \"done\" of \"f\""));
        EXPECT_THAT(e.what(), HasSubstr("call 2 is step \"b\", recorded is a sleep"));
        EXPECT_THAT(e.what(), HasSubstr("run \"asleep\" of \"f\""));
    }
}

TEST(Replay, OfCodeThatTellsTheTwoApartFits) {
    const auto careful = [](Context& ctx, int in) {
        const int a = ctx.step("a", [&] { return in + 1; });
        const bool b_first = ctx.version("b first", 1) == 1;
        if (b_first) ctx.step("b", [] {});
        ctx.sleep(1h);
        if (!b_first) ctx.step("b", [] {});
        return a;
    };
    EXPECT_EQ(pawl::testing::replay(careful, recorded_journals()), 2);
}

TEST(Replay, OfWhatIsNoJournalSaysWhichLine) {
    const auto error =
        error_of([] { pawl::testing::replay(first_shape, recorded_journals() + "{nonsense"); });
    EXPECT_EQ(error.code(), Code::codec);
    EXPECT_THAT(error.what(), HasSubstr("line 9 of the journal"));
}

}  // namespace
}  // namespace pawl::engine_test
