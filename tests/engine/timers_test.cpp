#include <functional>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

class Timers : public EngineTest {
protected:
    std::vector<std::string> rings(const char* id) { return alarms.state(id)->rings; }

    std::unique_ptr<Engine> engine = open();
    Workflow<Alarm> alarms = engine->add<Alarm>(
        "alarm", {.timers = {.attempts = 3, .base = 1min, .cap = 1h, .jitter = 0}});
};
INSTANTIATE_TEST_SUITE_P(Stores, Timers, every_store(), name_of);

TEST_P(Timers, FireWhenTheyAreDueAndNotBefore) {
    alarms.send("a", Alarm::Set{"", 60s, "one"});
    advance(*engine, 60s - 1us);
    EXPECT_THAT(rings("a"), IsEmpty());
    advance(*engine, 1us);
    EXPECT_THAT(rings("a"), ElementsAre("one"));
    advance(*engine, 1h);
    EXPECT_THAT(rings("a"), ElementsAre("one"));
    EXPECT_THAT(alarms.pending("a"), IsEmpty());
}

TEST_P(Timers, FireAtATimeOrAtOnceIfItHasPassed) {
    alarms.send("a", Alarm::SetAt{"", clock.now() + 2h});
    alarms.send("b", Alarm::SetAt{"", clock.now() - 2h});
    engine->run_until_idle();
    EXPECT_THAT(rings("a"), IsEmpty());
    EXPECT_THAT(rings("b"), ElementsAre("at"));
    advance(*engine, 2h);
    EXPECT_THAT(rings("a"), ElementsAre("at"));
}

TEST_P(Timers, WithoutKeyStandBesideEachOther) {
    alarms.send("a", Alarm::Set{"", 60s, "one"});
    alarms.send("a", Alarm::Set{"", 60s, "two"});
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ::testing::UnorderedElementsAre("one", "two"));
}

TEST_P(Timers, WithAKeyReplaceTheOneBefore) {
    alarms.send("a", Alarm::Set{"k", 60s, "old"});
    alarms.send("a", Alarm::Set{"k", 120s, "new"});
    alarms.send("a", Alarm::Set{"other", 60s, "beside"});
    alarms.send("b", Alarm::Set{"k", 60s, "elsewhere"});
    EXPECT_EQ(alarms.pending("a").size(), 2u);
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ElementsAre("beside"));
    EXPECT_THAT(rings("b"), ElementsAre("elsewhere"));
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ElementsAre("beside", "new"));
}

TEST_P(Timers, ReplacedByAnEarlierOneFireEarlier) {
    alarms.send("a", Alarm::Set{"k", 2h, "late"});
    alarms.send("a", Alarm::Set{"k", 60s, "early"});
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ElementsAre("early"));
    advance(*engine, 2h);
    EXPECT_THAT(rings("a"), ElementsAre("early"));
}

TEST_P(Timers, AreCancelledByKeyAndTheJournalSaysSo) {
    alarms.send("a", Alarm::Set{"k", 60s, "one"});
    alarms.send("b", Alarm::Set{"k", 60s, "two"});
    const auto cleared = alarms.send("a", Alarm::Clear{"k"});
    EXPECT_EQ(cleared.events(), 1);
    EXPECT_EQ(cleared.version(), 3);
    const auto journal = alarms.journal("a");
    EXPECT_THAT(names_of(journal), ElementsAre("WasSet", "Cleared", "pawl.timer_cancelled"));
    EXPECT_EQ(journal[2].payload, R"({"key":"k"})");
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), IsEmpty());
    EXPECT_THAT(rings("b"), ElementsAre("two"));
    // The engine's own entries never reach `evolve`, and later versions count them.
    EXPECT_EQ(alarms.send("a", Alarm::Set{"k", 60s, "again"}).version(), 4);
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ElementsAre("again"));
}

TEST_P(Timers, OfAnEmptyKeyCantBeCancelled) {
    EXPECT_EQ(error_of([&] { alarms.send("a", Alarm::Clear{""}); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { alarms.send("a", Alarm::Set{std::string(256, 'k')}); }).code(),
              Code::invalid);
    EXPECT_FALSE(alarms.state("a"));
}

TEST_P(Timers, MayArmTheirOwnKeyAgain) {
    alarms.send("a", Alarm::Tick{3});
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(alarms.pending("a").size(), 1u);
        advance(*engine, 10s);
    }
    EXPECT_THAT(rings("a"), ElementsAre("tick 3", "tick 2", "tick 1", "tick 0"));
    EXPECT_THAT(alarms.pending("a"), IsEmpty());
    EXPECT_THAT(engine->endings(), IsEmpty());
}

TEST_P(Timers, ReplacedOrCancelledWhileTheyFireChangeNothing) {
    std::function<void()> meanwhile;
    auto hooked = options();
    hooked.test.at_point = [&](std::string_view point) {
        if (point == "claim:after" && meanwhile) std::exchange(meanwhile, nullptr)();
    };
    auto other = open(hooked);
    auto some = other->add<Alarm>("alarm");
    some.send("a", Alarm::Set{"k", 60s, "old"});
    some.send("b", Alarm::Set{"k", 60s, "old"});
    clock.advance(60s);
    meanwhile = [&] {
        some.send("a", Alarm::Set{"k", 60s, "new"});
        some.send("b", Alarm::Clear{"k"});
    };
    other->run_until_idle();
    EXPECT_FALSE(meanwhile);
    EXPECT_THAT(some.state("a")->rings, IsEmpty());
    EXPECT_THAT(some.state("b")->rings, IsEmpty());
    EXPECT_THAT(other->endings(), IsEmpty());
    advance(*other, 60s);
    EXPECT_THAT(some.state("a")->rings, ElementsAre("new"));
    EXPECT_THAT(some.state("b")->rings, IsEmpty());
}

TEST_P(Timers, GoWithTheInstanceThatFinishes) {
    alarms.send("a", Alarm::Set{"", 60s, "over"});
    alarms.send("a", Alarm::Set{"", 120s, "never"});
    advance(*engine, 60s);
    EXPECT_THAT(alarms.pending("a"), IsEmpty());
    advance(*engine, 60s);
    EXPECT_THAT(rings("a"), ElementsAre("over"));
}

TEST_P(Timers, WhoseInputIsRejectedAreDoneAndListed) {
    alarms.send("a", Alarm::Set{"k", 60s, "refused"});
    advance(*engine, 60s);
    EXPECT_THAT(alarms.pending("a"), IsEmpty());
    EXPECT_EQ(engine->count_dead_letters(), 0);
    const auto endings = engine->endings();
    ASSERT_EQ(endings.size(), 1u);
    EXPECT_EQ(endings[0].kind, WorkKind::timer);
    EXPECT_EQ(endings[0].type, "alarm");
    EXPECT_EQ(endings[0].id, "a");
    EXPECT_EQ(endings[0].name, "Ring");
    EXPECT_EQ(endings[0].key, "k");
    EXPECT_TRUE(endings[0].rejected);
    EXPECT_EQ(endings[0].reason, "too late");
    EXPECT_EQ(endings[0].at, clock.now());
}

TEST_P(Timers, WhoseDecideThrowsAreTriedAgainAndThenBuried) {
    alarms.send("a", Alarm::Set{"k", 60s, "broken"});
    alarms.send("b", Alarm::Set{"k", 60s, "fine"});
    advance(*engine, 60s);
    EXPECT_THAT(rings("b"), ElementsAre("fine"));
    auto pending = alarms.pending("a");
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_EQ(pending[0].attempts, 1);
    EXPECT_EQ(pending[0].due_at, clock.now() + 1min);
    EXPECT_THAT(pending[0].last_error, HasSubstr("the bell is broken"));
    advance(*engine, 1min);
    EXPECT_EQ(alarms.pending("a")[0].due_at, clock.now() + 2min);
    advance(*engine, 2min);
    EXPECT_THAT(alarms.pending("a"), IsEmpty());
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].work.kind, WorkKind::timer);
    EXPECT_EQ(letters[0].work.key, "k");
    EXPECT_EQ(letters[0].work.attempts, 3);
    EXPECT_EQ(letters[0].history.size(), 3u);
    EXPECT_THAT(letters[0].reason, HasSubstr("attempt 3 of 3 failed"));
    EXPECT_THAT(letters[0].reason, HasSubstr("the bell is broken"));
}

TEST_P(Timers, OfManyInstancesFireInOnePass) {
    for (int i = 0; i < 600; ++i) alarms.send("a-" + std::to_string(i), Alarm::Set{"k", 60s, "x"});
    advance(*engine, 60s);
    for (int i = 0; i < 600; ++i)
        EXPECT_THAT(rings(("a-" + std::to_string(i)).c_str()), ElementsAre("x")) << i;
}

class SharedTimers : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedTimers, shared_stores(), name_of);

TEST_P(SharedTimers, FireAfterARestart) {
    {
        auto engine = open();
        engine->add<Alarm>("alarm").send("a", Alarm::Set{"k", 60s, "one"});
    }
    auto engine = open();
    auto alarms = engine->add<Alarm>("alarm");
    advance(*engine, 59s);
    EXPECT_THAT(alarms.state("a")->rings, IsEmpty());
    advance(*engine, 1s);
    EXPECT_THAT(alarms.state("a")->rings, ElementsAre("one"));
}

}  // namespace
}  // namespace pawl::engine_test
