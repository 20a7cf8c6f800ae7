// The lease of a process, measured without asking the store and whatever the time of day.
#include <atomic>
#include <pawl/pawl.hpp>

#include "base/points.hpp"
#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "engine/session.hpp"
#include "engine/workflows.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::engine_test {
namespace {

namespace points = base::points;

TEST(ManualClock, MovesBothTimesWhenTimePassesAndOneWhenItIsSet) {
    ManualClock clock;
    const auto now = clock.now();
    const auto elapsed = clock.elapsed();
    clock.advance(1h);
    EXPECT_EQ(clock.now() - now, 1h);
    EXPECT_EQ(clock.elapsed() - elapsed, 1h);
    clock.set(now - 1h);
    EXPECT_EQ(clock.now(), now - 1h);
    EXPECT_EQ(clock.elapsed() - elapsed, 1h);
}

TEST(SystemClock, ElapsesWithoutGoingBack) {
    const auto before = system_clock().elapsed();
    EXPECT_GT(before, 0s);
    EXPECT_GE(system_clock().elapsed(), before);
}

class Sessions : public ::testing::Test {
protected:
    static constexpr Duration lease = 10s;
    /// Another process finds that the lease has passed, and takes what it held.
    void take_over() {
        const auto other = store->open_session({.lease = lease});
        store->claim({.claim = {other, 1}});
    }

    ManualClock clock;
    std::unique_ptr<store::Store> store = store::open_memory(clock);
    base::AtPoint at_point;
    base::Log log{{}, clock};
    engine::Session session{*store,
                            clock,
                            log,
                            {.lease = lease,
                             .owner = "test",
                             .at_point = [this](std::string_view p) { base::reach(at_point, p); }}};
};

TEST_F(Sessions, HoldUntilTheirLeasePasses) {
    const auto id = session.ensure();
    clock.advance(8s);
    EXPECT_TRUE(session.holds(id));
    EXPECT_EQ(session.current(), id);
    clock.advance(2s);
    EXPECT_FALSE(session.holds(id));
    EXPECT_EQ(session.current(), std::nullopt);
    EXPECT_EQ(session.ensure(), id) << "nobody has taken it";
    EXPECT_TRUE(session.holds(id));
}

TEST_F(Sessions, CountRenewalsThatCameTooLate) {
    const auto id = session.ensure();
    clock.advance(8s);
    session.ensure();
    EXPECT_EQ(session.lapses(), 0U);
    clock.advance(lease);
    session.ensure();
    EXPECT_TRUE(session.holds(id));
    EXPECT_EQ(session.lapses(), 1U) << "others may have taken partitions";
    at_point = [&](std::string_view point) {
        if (point == points::renew_after) clock.advance(lease);
    };
    session.ensure();
    EXPECT_EQ(session.lapses(), 2U) << "the answer came too late";
}

TEST_F(Sessions, HoldWhateverTheTimeOfDay) {
    const auto id = session.ensure();
    const auto now = clock.now();
    for (const Duration step : {-1h, 1h}) {
        clock.set(now + step);
        EXPECT_TRUE(session.holds(id)) << step.count();
    }
    clock.set(now - 1h);
    clock.advance(lease);
    EXPECT_FALSE(session.holds(id));
}

TEST_F(Sessions, LastFromBeforeTheyAreAskedFor) {
    at_point = [&](std::string_view point) {
        if (point == points::open_after || point == points::renew_after) clock.advance(6s);
    };
    const auto id = session.ensure();
    EXPECT_TRUE(session.holds(id));
    clock.advance(4s);
    EXPECT_FALSE(session.holds(id)) << "the answer took 6 s";
    session.ensure();
    EXPECT_TRUE(session.holds(id));
    clock.advance(4s);
    EXPECT_FALSE(session.holds(id));
}

TEST_F(Sessions, DoNotHoldWhatTheOneBeforeThemHeld) {
    const auto old = session.ensure();
    clock.advance(lease);
    take_over();
    const auto fresh = session.ensure();
    EXPECT_NE(fresh, old);
    EXPECT_TRUE(session.holds(fresh));
    EXPECT_FALSE(session.holds(old));
}

TEST_F(Sessions, HoldNothingBeforeTheyAreOpenAndAfterTheyAreClosed) {
    EXPECT_FALSE(session.holds(0));
    const auto id = session.ensure();
    session.close();
    EXPECT_FALSE(session.holds(id));
    EXPECT_FALSE(session.holds(0));
}

/// Engines whose store does not answer when they want to renew their lease.
class LostLeases : public EngineTest {
protected:
    std::unique_ptr<Engine> open_silent() {
        Options silent;
        silent.lease = 300ms;
        silent.test.at_point = [this](std::string_view point) {
            if (point == points::renew_before && !heals)
                throw Error{Code::unavailable, "the network is gone"};
        };
        return open(silent);
    }
    /// What a handler does: the network goes, and it waits until it is asked to stop.
    void wait_to_be_asked(const std::stop_token& stop) {
        heals = false;
        const bool is_asked = eventually([&] { return stop.stop_requested(); });
        heals = true;
        if (is_asked) asked.change([](int& n) { ++n; });
    }
    void TearDown() override { heals = true; }

    std::atomic<bool> heals{true};
    Watched<int> asked;
};
INSTANTIATE_TEST_SUITE_P(Stores, LostLeases, every_store(), name_of);

TEST_P(LostLeases, AskTheHandlersOfMessagesToStop) {
    auto engine = open_silent();
    engine->subscribe("notes",
                      [&](int, const Received& received) { wait_to_be_asked(received.stop); });
    engine->start();
    engine->publish("notes", 1);
    EXPECT_TRUE(asked.wait([](int n) { return n >= 1; }));
    EXPECT_TRUE(engine->stop());
}

TEST_P(LostLeases, AskTheHandlersOfEffectsToStop) {
    auto engine = open_silent();
    auto couriers = engine->add<Courier>(
        "courier", Handlers{[&](const Courier::Carry&, const Delivery& delivery) -> Courier::Input {
            wait_to_be_asked(delivery.stop);
            return Courier::Arrived{"ok"};
        }});
    engine->start();
    couriers.send("c", Courier::Send{"ada"});
    EXPECT_TRUE(asked.wait([](int n) { return n >= 1; }));
    EXPECT_TRUE(engine->stop());
}

TEST_P(LostLeases, AskTheBodiesOfStepsToStop) {
    auto engine = open_silent();
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("s", [&](const Attempt& attempt) { wait_to_be_asked(attempt.stop); });
    });
    engine->start();
    function.start("r");
    EXPECT_TRUE(asked.wait([](int n) { return n >= 1; }));
    EXPECT_TRUE(engine->stop());
}

class StrayClaims : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, StrayClaims, shared_stores(), name_of);

// As when a server that crashed comes back without the commit that settled them.
TEST_P(StrayClaims, ThatNobodyHereKnowsAreGivenBack) {
    const auto engine = open({.lease = 600ms});
    const auto alarms = engine->add<Alarm>("alarm");
    engine->start();
    alarms.send("a", Alarm::Set{"k", 1h, "ring"});
    place().run(
        "UPDATE pawl_item SET due_at = NULL, fence = 1, "
        "session = (SELECT max(id) FROM pawl_session)");
    EXPECT_TRUE(eventually([&] { return !alarms.state("a")->rings.empty(); }));
}

}  // namespace
}  // namespace pawl::engine_test
