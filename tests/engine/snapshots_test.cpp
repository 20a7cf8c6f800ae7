#include <functional>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

int evolved = 0;

/// Counts how often `evolve` is called, in a state that travels.
template <int Version>
struct Tally {
    static constexpr int version = Version;
    struct Add {};
    using Input = std::variant<Add>;
    struct Added {};
    using Event = std::variant<Added>;
    int total = 0;
    void evolve(const Added&) {
        ++total;
        ++evolved;
    }
    Decision<Tally> decide(const Add&) const { return Added{}; }
};

/// A state that can't travel.
struct Opaque {
    struct Add {};
    using Input = std::variant<Add>;
    struct Added {};
    using Event = std::variant<Added>;
    std::function<int(int)> sum = [](int n) { return n; };
    void evolve(const Added&) {
        ++evolved;
        sum = [before = sum](int n) { return before(n) + 1; };
    }
    Decision<Opaque> decide(const Add&) const { return Added{}; }
};

/// A state that travels only while it is small.
struct Moody {
    struct Add {};
    using Input = std::variant<Add>;
    struct Added {};
    using Event = std::variant<Added>;
    enum class Mood { good, bad } mood = Mood::good;
    int total = 0;
    void evolve(const Added&) {
        ++total;
        mood = total >= 3 && total < 6 ? static_cast<Mood>(77) : Mood::bad;
    }
    Decision<Moody> decide(const Add&) const { return Added{}; }
};

class Snapshots : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Snapshots, every_store(), name_of);

TEST_P(Snapshots, OfAStateThatCantTravelAreNotNeeded) {
    auto engine = open();
    auto opaque = engine->add<Opaque>("opaque", {.snapshot_every = 2});
    for (int i = 0; i < 5; ++i) opaque.send("o", Opaque::Add{});
    EXPECT_EQ(opaque.state("o")->sum(10), 15);
    const auto error = error_of([&] { engine->state("opaque", "o"); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("can't travel"));
}

TEST_P(Snapshots, ThatCantBeWrittenFailNoInput) {
    auto engine = open();
    auto moody = engine->add<Moody>("moody", {.snapshot_every = 1});
    for (int i = 1; i <= 8; ++i) EXPECT_EQ(moody.send("m", Moody::Add{}).version(), i);
    EXPECT_EQ(moody.state("m")->total, 8);
}

TEST_P(Snapshots, AreUsedWhenTheStateIsNotInMemory) {
    auto tiny = options();
    tiny.cached_instances = 1;
    auto engine = open(tiny);
    auto tallies = engine->add<Tally<1>>("tally", {.snapshot_every = 10});
    for (int i = 0; i < 25; ++i) tallies.send("t", Tally<1>::Add{});
    evolved = 0;
    EXPECT_EQ(tallies.state("t")->total, 25);
    EXPECT_EQ(evolved, 5);
    evolved = 0;
    EXPECT_EQ(tallies.state_at("t", 13)->total, 13);
    EXPECT_LE(evolved, 13);
}

class SharedSnapshots : public SharedEngineTest {
protected:
    template <class W>
    int total_after_restart(int snapshot_every = 10) {
        auto engine = open();
        auto workflow = engine->template add<W>("tally", {.snapshot_every = snapshot_every});
        evolved = 0;
        return workflow.state("t")->total;
    }
    template <class W>
    void add(int times, int snapshot_every = 10) {
        auto engine = open();
        auto workflow = engine->template add<W>("tally", {.snapshot_every = snapshot_every});
        for (int i = 0; i < times; ++i) workflow.send("t", typename W::Add{});
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedSnapshots, shared_stores(), name_of);

TEST_P(SharedSnapshots, AreTakenAfterSoManyEventsAndUsedAfterARestart) {
    add<Tally<1>>(9);
    EXPECT_EQ(total_after_restart<Tally<1>>(), 9);
    EXPECT_EQ(evolved, 9);
    add<Tally<1>>(1);
    EXPECT_EQ(total_after_restart<Tally<1>>(), 10);
    EXPECT_EQ(evolved, 0);
    add<Tally<1>>(4);
    EXPECT_EQ(total_after_restart<Tally<1>>(), 14);
    EXPECT_EQ(evolved, 4);
    add<Tally<1>>(6);
    EXPECT_EQ(total_after_restart<Tally<1>>(), 20);
    EXPECT_EQ(evolved, 0);
}

TEST_P(SharedSnapshots, OfAnotherVersionOfTheCodeAreNotUsed) {
    add<Tally<1>>(12);
    EXPECT_EQ(total_after_restart<Tally<2>>(), 12);
    EXPECT_EQ(evolved, 12);
    add<Tally<2>>(10);
    EXPECT_EQ(total_after_restart<Tally<2>>(), 22);
    EXPECT_LT(evolved, 10);
    EXPECT_EQ(total_after_restart<Tally<1>>(), 22);
}

TEST_P(SharedSnapshots, AreTakenWithTheDecisionThatContinuesAfterARestart) {
    for (int i = 0; i < 12; ++i) add<Tally<1>>(1, 5);
    EXPECT_EQ(total_after_restart<Tally<1>>(5), 12);
    EXPECT_EQ(evolved, 2);
}

}  // namespace
}  // namespace pawl::engine_test
