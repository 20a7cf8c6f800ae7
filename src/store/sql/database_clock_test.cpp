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

TEST_F(DatabaseClocks, TakeNoNoticeOfTheMachinesTimeOfDay) {
    const auto begun = ask();
    machine.set(machine.now() - 1h);
    EXPECT_EQ(clock.now(), begun);
}

}  // namespace
}  // namespace pawl::store::sql
