#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl::base {
namespace {

using std::chrono::seconds;

TEST(Backoff, DoublesUpToTheCap) {
    const auto random = seeded_random(1);
    const Policy policy{.base = seconds{1}, .cap = seconds{10}, .jitter = 0};
    EXPECT_EQ(backoff(policy, 1, *random), seconds{1});
    EXPECT_EQ(backoff(policy, 2, *random), seconds{2});
    EXPECT_EQ(backoff(policy, 4, *random), seconds{8});
    EXPECT_EQ(backoff(policy, 5, *random), seconds{10});
    EXPECT_EQ(backoff(policy, 1'000'000, *random), seconds{10});
}

TEST(Backoff, JitterTakesAwayUpToItsShareAndIsReal) {
    const auto random = seeded_random(2);
    const Policy policy{.base = seconds{8}, .cap = seconds{8}, .jitter = 0.5};
    std::set<Duration> seen;
    for (int i = 0; i < 1000; ++i) {
        const auto wait = backoff(policy, 3, *random);
        EXPECT_GE(wait, seconds{4});
        EXPECT_LE(wait, seconds{8});
        seen.insert(wait);
    }
    EXPECT_GT(seen.size(), 900u);
}

TEST(Backoff, AnUnreasonableJitterIsClamped) {
    const auto random = seeded_random(3);
    const Policy policy{.base = seconds{1}, .cap = seconds{1}, .jitter = 7};
    for (int i = 0; i < 100; ++i) EXPECT_GE(backoff(policy, 1, *random), Duration::zero());
}

}  // namespace
}  // namespace pawl::base
