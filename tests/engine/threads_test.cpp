#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <pawl/testing.hpp>
#include <thread>

#include "../../examples/order.hpp"

namespace {

struct Counter {
    struct Add {
        int amount = 1;
    };
    using Input = std::variant<Add>;
    struct Added {
        int amount = 1;
    };
    using Event = std::variant<Added>;
    int total = 0;
    void evolve(const Added& e) { total += e.amount; }
    pawl::Decision<Counter> decide(const Add& in) const { return Added{in.amount}; }
};

TEST(StartedEngine, AppliesInputsOfManyThreadsToOneInstanceOneAfterTheOther) {
    pawl::Engine engine{"memory:"};
    auto counters = engine.add<Counter>("counter");
    engine.start();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i)
                EXPECT_TRUE(counters.send("c", Counter::Add{1}).accepted());
        });
    threads.clear();
    EXPECT_EQ(counters.state("c")->total, 1600);
    const auto journal = counters.journal("c", 0, 10000);
    ASSERT_EQ(journal.size(), 1600u);
    for (std::size_t i = 0; i < journal.size(); ++i)
        EXPECT_EQ(journal[i].sequence, static_cast<std::int64_t>(i) + 1);
}

TEST(StartedEngine, PerformsEffectsAndAppliesTheirResults) {
    pawl::Engine engine{"memory:"};
    std::atomic<int> invoices{0};
    std::atomic<int> ships{0};
    auto orders =
        engine.add<Order>("order", pawl::Handlers{[&](const Order::Invoice&) -> Order::Input {
                                                      ++invoices;
                                                      return Order::Pay{"auto"};
                                                  },
                                                  [&](const Order::Ship&) { ++ships; }});
    engine.start();
    std::vector<std::future<pawl::Outcome<Order>>> outcomes;
    for (int i = 0; i < 1000; ++i)
        outcomes.push_back(orders.send_async("o-" + std::to_string(i), Order::Place{"book", 1}));
    for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().accepted());
    EXPECT_TRUE(engine.stop(std::chrono::seconds{20}));
    engine.run_until_idle();
    EXPECT_EQ(invoices, 1000);
    EXPECT_EQ(ships, 1000);
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(orders.state("o-" + std::to_string(i))->status, Order::Status::paid);
}

TEST(StartedEngine, KeepsTheOrderOfOneThreadWhenTheFirstInputLosesARace) {
    // On an instance that is in the store and not in memory, the first guess is that it is new: it
    // comes back stale, with everything that was decided on it.
    for (int round = 0; round < 20; ++round) {
        pawl::Engine engine{"memory:", {.cached_instances = 1}};
        auto counters = engine.add<Counter>("counter");
        engine.start();
        counters.send("c", Counter::Add{1000});
        for (int i = 0; i < 64; ++i) counters.send("other-" + std::to_string(i), Counter::Add{1});
        std::vector<std::future<pawl::Outcome<Counter>>> outcomes;
        for (int i = 0; i < 200; ++i) outcomes.push_back(counters.send_async("c", Counter::Add{i}));
        for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().accepted());
        const auto journal = counters.journal("c");
        ASSERT_EQ(journal.size(), 201u);
        for (int i = 0; i < 200; ++i)
            ASSERT_EQ(journal[i + 1].payload,
                      R"({"type":"Added","amount":)" + std::to_string(i) + "}");
    }
}

}  // namespace
