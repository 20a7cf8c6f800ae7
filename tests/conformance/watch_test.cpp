#include <chrono>
#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Watches : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Watches, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Watches, AreInterruptedWhileTheyWait) {
    const auto watch = store->watch();
    const auto start = std::chrono::steady_clock::now();
    std::jthread interrupting{[&] { watch->interrupt(); }};
    EXPECT_FALSE(watch->wait(1min)) << "also if the interruption came first";
    EXPECT_LT(std::chrono::steady_clock::now() - start, 50s);
}

TEST_P(Watches, GiveUpWhenTheTimeIsOver) {
    const auto watch = store->watch();
    EXPECT_FALSE(watch->wait(1us));
    EXPECT_FALSE(watch->wait(0us));
}

class SharedWatches : public SharedStoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedWatches, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedWatches, HearOfACommitByAnotherProcess) {
    const auto watch = other->watch();
    std::jthread writing{[&] { create(order("1"), {"Do"}); }};
    EXPECT_TRUE(watch->wait(1min)) << "also if the commit came first";
}

TEST_P(SharedWatches, HearOfTheEndOfARun) {
    create(order("1"), {});
    const auto watch = other->watch();
    while (watch->wait(200ms)) {  // what came before
    }
    auto end = on(order("1"), 1).event("Ended").finish().status(4).build();
    std::jthread writing{[&] { commit(end); }};
    EXPECT_TRUE(watch->wait(1min)) << "somebody may wait for its result";
}

}  // namespace
}  // namespace pawl::store::conformance
