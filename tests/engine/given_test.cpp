// The testing helpers themselves: what holds, what does not, and what they then say.
#include "../../examples/order.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using pawl::testing::Fixture;
using pawl::testing::Given;
using pawl::testing::Mismatch;

template <class F>
std::string mismatch_of(F&& f) {
    try {
        f();
    } catch (const Mismatch& e) {
        return e.what();
    }
    ADD_FAILURE() << "no mismatch";
    return {};
}

TEST(GivenMismatch, ShowsExpectedAndFoundEvents) {
    EXPECT_EQ(mismatch_of([] {
                  Given<Order>{}.when(Order::Place{"book", 1}).then(Order::Placed{"book", 2});
              }),
              R"(events: expected [{"type":"Placed","sku":"book","quantity":2}], )"
              R"(found [{"type":"Placed","sku":"book","quantity":1}])");
}

TEST(GivenMismatch, SeesMissingAndSurplusEvents) {
    const auto when = Given<Order>{}.when(Order::Place{"book", 1});
    EXPECT_THAT(mismatch_of([&] { when.then(); }), HasSubstr("expected [], found"));
    EXPECT_THROW(when.then(Order::Placed{"book", 1}, Order::Expired{}), Mismatch);
}

TEST(GivenMismatch, SeesEffectsTimersAndCancellations) {
    const auto placed = Given<Order>{}.when(Order::Place{"book", 1});
    EXPECT_THAT(mismatch_of([&] { placed.effects(); }), HasSubstr("effects: expected []"));
    EXPECT_THROW(placed.effects(Order::Ship{"book"}), Mismatch);
    EXPECT_THAT(mismatch_of([&] { placed.timer("other", Order::Expire{}); }),
                HasSubstr("no timer \"other\""));
    EXPECT_THROW(placed.timer("payment", Order::Pay{"r"}), Mismatch);
    EXPECT_THAT(mismatch_of([&] { placed.cancels("payment"); }),
                HasSubstr("\"payment\" is not cancelled"));
    Given<Order>{Order::Placed{"book", 1}}
        .when(Order::Pay{"r"})
        .then(Order::Paid{"r"})
        .effects(Order::Ship{"book"})
        .cancels("payment");
}

TEST(GivenMismatch, SeesARejectionWhereADecisionWasExpectedAndTheReverse) {
    const auto refused = Given<Order>{}.when(Order::Pay{"r"});
    EXPECT_THAT(mismatch_of([&] { refused.then(Order::Paid{"r"}); }),
                HasSubstr("found the rejection \"not awaiting payment\""));
    EXPECT_THROW(refused.effects(), Mismatch);
    EXPECT_THROW(refused.timer("payment", Order::Expire{}), Mismatch);
    EXPECT_THROW(refused.cancels("payment"), Mismatch);
    EXPECT_EQ(mismatch_of([&] { refused.rejected("another reason"); }),
              R"(rejection: expected "another reason", found "not awaiting payment")");
    refused.rejected().rejected("not awaiting payment");
    EXPECT_THAT(mismatch_of([] { Given<Order>{}.when(Order::Place{"book", 1}).rejected(); }),
                HasSubstr("expected a rejection, found the events [{\"type\":\"Placed\""));
}

TEST(Given, HasTheStateAfterItsEvents) {
    const Given<Order> given{Order::Placed{"book", 1}, Order::Paid{"r"}};
    EXPECT_EQ(given.state().status, Order::Status::paid);
    EXPECT_EQ(Given<Counter>(Counter::Added{2}, Counter::Added{3}).state().total, 5);
}

TEST(Given, LetsWhatDecideThrowsThrough) {
    EXPECT_THROW(Given<Counter>{}.when(Counter::Add{13}), std::runtime_error);
}

struct Stamp {
    struct Press {};
    using Input = std::variant<Press>;
    struct Pressed {
        Time at{};
        Uuid id;
    };
    using Event = std::variant<Pressed>;
    void evolve(const Pressed&) {}
    Decision<Stamp> decide(const Press&, const Moment& m) const {
        return Pressed{m.now(), m.uuid()};
    }
};

TEST(Given, GivesTheMomentItIsToldAndCountedIds) {
    Uuid first;
    first.bytes[15] = 1;
    Given<Stamp>{}.when(Stamp::Press{}, Time{5s}).then(Stamp::Pressed{Time{5s}, first});
}

TEST(Fixture, RunsNothingByItself) {
    Fixture fixture;
    int invoices = 0;
    auto orders = fixture.engine().add<Order>(
        "order", Handlers{[&](const Order::Invoice&) { ++invoices; }, [](const Order::Ship&) {}});
    orders.send("o", Order::Place{"book", 1});
    EXPECT_EQ(invoices, 0);
    fixture.run_until_idle();
    EXPECT_EQ(invoices, 1);
    fixture.advance(24h);
    EXPECT_EQ(orders.state("o")->status, Order::Status::expired);
    EXPECT_EQ(fixture.engine().now(), fixture.clock().now());
}

TEST(Fixture, StandsBesideOthers) {
    Fixture one;
    Fixture two;
    auto here = one.engine().add<Counter>("counter");
    auto there = two.engine().add<Counter>("counter");
    here.send("c", Counter::Add{1});
    EXPECT_FALSE(there.state("c"));
    one.advance(1h);
    EXPECT_EQ(one.clock().now() - two.clock().now(), 1h);
}

}  // namespace
}  // namespace pawl::engine_test
