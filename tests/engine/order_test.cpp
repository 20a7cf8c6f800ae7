#include "../../examples/order.hpp"

#include <gtest/gtest.h>

#include <pawl/testing.hpp>

namespace {

using pawl::testing::Fixture;
using pawl::testing::Given;

struct Shop {
    Fixture fixture;
    std::vector<std::string> mailed;
    std::vector<std::string> shipped;
    pawl::Workflow<Order> orders = fixture.engine().add<Order>(
        "order", pawl::Handlers{[this](const Order::Invoice& e, const pawl::Delivery& d) {
                                    mailed.push_back(e.sku + " " + d.key);
                                },
                                [this](const Order::Ship& e) -> std::optional<Order::Input> {
                                    shipped.push_back(e.sku);
                                    return std::nullopt;
                                }});
};

TEST(Order, IsPlacedInvoicedPaidAndShipped) {
    Shop shop;
    const auto placed = shop.orders.send("o-1", Order::Place{"book", 2});
    EXPECT_TRUE(placed.accepted());
    EXPECT_EQ(placed.events(), 1);
    EXPECT_EQ(placed.version(), 1);
    shop.fixture.run_until_idle();
    ASSERT_EQ(shop.mailed.size(), 1u);

    const auto paid = shop.orders.send("o-1", Order::Pay{"r-1"});
    EXPECT_TRUE(paid.accepted());
    EXPECT_EQ(paid.version(), 3);  // Paid, and pawl's own word that the timer was cancelled
    shop.fixture.advance(48h);
    EXPECT_EQ(shop.shipped, std::vector<std::string>{"book"});
    EXPECT_EQ(shop.orders.state("o-1")->status, Order::Status::paid);

    const auto journal = shop.orders.journal("o-1");
    ASSERT_EQ(journal.size(), 3u);
    EXPECT_EQ(journal[0].name, "Placed");
    EXPECT_EQ(journal[0].payload, R"({"type":"Placed","sku":"book","quantity":2})");
    EXPECT_EQ(journal[2].name, "pawl.timer_cancelled");
    EXPECT_EQ(journal[2].payload, R"({"key":"payment"})");
    EXPECT_TRUE(shop.orders.pending("o-1").empty());
}

TEST(Order, ExpiresWhenNoPaymentComes) {
    Shop shop;
    shop.orders.send("o-1", Order::Place{"book", 2});
    shop.fixture.advance(23h);
    EXPECT_EQ(shop.orders.state("o-1")->status, Order::Status::placed);
    shop.fixture.advance(1h);
    EXPECT_EQ(shop.orders.state("o-1")->status, Order::Status::expired);
    const auto late = shop.orders.send("o-1", Order::Pay{"r-1"});
    EXPECT_TRUE(late.finished());
}

TEST(Order, RejectedFirstInputLeavesNothingBehind) {
    Shop shop;
    const auto outcome = shop.orders.send("o-1", Order::Pay{"r"});
    EXPECT_TRUE(outcome.rejected());
    EXPECT_EQ(outcome.reason(), "not awaiting payment");
    EXPECT_FALSE(shop.orders.state("o-1"));
    EXPECT_TRUE(shop.orders.instances().instances.empty());
}

TEST(Given, HoldsDecisionsAgainstWhatIsExpected) {
    Given<Order>{Order::Placed{"book", 1}}.when(Order::Expire{}).then(Order::Expired{});
    Given<Order>{}
        .when(Order::Place{"book", 1})
        .then(Order::Placed{"book", 1})
        .effects(Order::Invoice{"book", 1})
        .timer("payment", Order::Expire{});
    Given<Order>{}.when(Order::Pay{"r"}).rejected("not awaiting payment");
    EXPECT_THROW(Given<Order>{}.when(Order::Pay{"r"}).then(Order::Paid{"r"}),
                 pawl::testing::Mismatch);
    EXPECT_THROW(Given<Order>{}.when(Order::Place{"book", 1}).then(Order::Placed{"book", 2}),
                 pawl::testing::Mismatch);
}

}  // namespace
