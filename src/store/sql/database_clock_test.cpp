#include "store/sql/database_clock.hpp"

#include <gtest/gtest.h>

namespace pawl::store::sql {
namespace {

using namespace std::chrono_literals;

class DatabaseClocks : public testing::Test {
protected:
    /// The database is asked and answers at once.
    Time ask() {
        clock.measure([&] { return database.now(); });
        return clock.now();
    }
    /// The database answers as the question arrives; the answer is read `late`.
    Time ask_and_read_late(Duration late) {
        clock.measure([&] {
            const Time told = database.now();
            pass(late);
            return told;
        });
        return clock.now();
    }
    /// The question arrives `late`; the answer is read at once.
    Time ask_late(Duration late) {
        clock.measure([&] {
            pass(late);
            return database.now();
        });
        return clock.now();
    }
    void pass(Duration time) {
        machine.advance(time);
        database.advance(time);
    }

    ManualClock machine;
    ManualClock database{Time{1000h}};
    DatabaseClock clock{nullptr, machine};
};

TEST_F(DatabaseClocks, GoOnWithoutBeingMeasured) {
    const auto begun = ask();
    EXPECT_EQ(begun, database.now());
    pass(500ms);
    EXPECT_EQ(clock.now() - begun, 500ms);
}

TEST_F(DatabaseClocks, FollowTheDatabaseBackAndForward) {
    ask();
    for (const Duration step : {-1h, 1h, -1h}) {
        database.set(database.now() + step);
        pass(2s);
        EXPECT_EQ(ask(), database.now()) << step.count();
    }
}

TEST_F(DatabaseClocks, DoNotGoBackByTheNoiseOfTwoMeasurements) {
    ask();
    pass(2s);
    const auto before = ask();
    database.set(database.now() - 800ms);
    pass(500ms);
    EXPECT_GE(ask(), before);
    pass(2s);
    EXPECT_EQ(ask(), database.now()) << "it stood still until then";
}

TEST_F(DatabaseClocks, KeepWhatTheyKnowWhenAnAnswerIsLate) {
    ask();
    for (const auto late : {2s, 60s, 3600s}) {
        pass(2s);
        const Time asked_late = ask_late(late);
        EXPECT_EQ(asked_late, database.now()) << late.count();
        pass(2s);
        const Time read_late = ask_and_read_late(late);
        EXPECT_EQ(read_late, database.now()) << late.count();
    }
}

TEST_F(DatabaseClocks, DoNotRunAheadAfterALateFirstAnswer) {
    const Time first = ask_late(60s);
    EXPECT_LE(first, database.now());
    EXPECT_EQ(ask(), database.now()) << "the next call asks again";
}

TEST_F(DatabaseClocks, FollowTheDatabaseAsFarAsALateAnswerProves) {
    ask();
    pass(2s);
    database.set(database.now() + 1h);
    const Time forward = ask_and_read_late(60s);
    EXPECT_GE(forward, database.now() - 60s);
    EXPECT_LE(forward, database.now());
    pass(2s);
    database.set(database.now() - 1h);
    const Time back = ask_late(60s);
    EXPECT_GE(back, database.now());
    EXPECT_LE(back, database.now() + 60s);
}

TEST_F(DatabaseClocks, AskAgainAfterALateAnswer) {
    ask();
    pass(2s);
    database.set(database.now() + 1h);
    ask_and_read_late(60s);
    EXPECT_EQ(ask(), database.now());
}

TEST_F(DatabaseClocks, TakeNoNoticeOfTheMachinesTimeOfDay) {
    const auto begun = ask();
    machine.set(machine.now() - 1h);
    EXPECT_EQ(clock.now(), begun);
}

}  // namespace
}  // namespace pawl::store::sql
