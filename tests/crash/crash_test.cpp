// Real processes on one file, killed at every named point and at random moments: nothing that was
// answered is lost, nothing is applied twice, nothing is stuck.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "base/points.hpp"
#include "crash/scene.hpp"

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

std::string part_of(std::string_view point) {
    return std::string{point.substr(0, point.find(':'))};
}

std::vector<std::string> parts() {
    std::set<std::string> parts;
    for (const auto point : base::points::all) parts.insert(part_of(point));
    return {parts.begin(), parts.end()};
}

class CrashAt : public testing::TestWithParam<std::string> {};

TEST_P(CrashAt, EveryPointLosesNothing) {
    Scene scene{seed_of_this_test()};
    const bool fresh_file = GetParam() == "prepare";
    for (const auto point : base::points::all) {
        if (part_of(point) != GetParam()) continue;
        if (!fresh_file) {  // the next one finds what this one had claimed
            auto before = scene.hire({.role = "cycle", .kill_at = "handler:before:3"});
            ASSERT_TRUE(before.wait(30s) && before.was_killed());
        }
        const auto hit = std::to_string(fresh_file ? 1 : 1 + scene.pick(2));
        auto process = scene.hire({.role = "cycle", .kill_at = std::string{point} + ":" + hit});
        ASSERT_TRUE(process.wait(30s)) << point << " was not reached " << hit << " times";
        ASSERT_TRUE(process.was_killed()) << point;
        ASSERT_EQ(scene.ledger().ends().back(), point);
    }
    scene.settle();
    scene.check();
}

INSTANTIATE_TEST_SUITE_P(Crash, CrashAt, testing::ValuesIn(parts()),
                         [](const auto& part) { return part.param; });

std::chrono::seconds duration_of_this_test() {
    const char* given = std::getenv("PAWL_SOAK_SECONDS");
    return given ? std::chrono::seconds{std::stol(given)} : 25s;
}

void kill_at_random(Scene& scene, Steady::time_point end) {
    const char* const roles[] = {"work", "work", "send", "cycle"};
    std::vector<Process> crew;
    for (const auto* role : roles) crew.push_back(scene.hire({.role = role}));
    while (Steady::now() < end) {
        const auto victim = static_cast<std::size_t>(scene.pick(static_cast<int>(crew.size())));
        const bool ended = crew[victim].wait(std::chrono::milliseconds{20 + scene.pick(400)});
        ASSERT_FALSE(ended) << roles[victim] << " ended by itself";
        if (scene.pick(4) == 0) {  // out of the world until its lease has passed
            crew[victim].pause();
            crew[victim].wait(std::chrono::ceil<std::chrono::milliseconds>(2 * lease));
            crew[victim].resume();
        } else {
            crew[victim].kill();
            crew[victim] = scene.hire({.role = roles[victim]});
        }
    }
}

TEST(Crash, AtRandomMomentsLosesNothing) {
    const unsigned seed = seed_of_this_test();
    const auto end = Steady::now() + duration_of_this_test();
    constexpr auto round = 20s;  // then a new file, so that a long run is checked now and then
    for (unsigned i = 0; Steady::now() < end && !HasFailure(); ++i) {
        Scene scene{seed + i};
        ASSERT_NO_FATAL_FAILURE(kill_at_random(scene, std::min(end, Steady::now() + round)));
        scene.settle();
        scene.check();
        std::cout << scene.ledger().sent().size() << " inputs, "
                  << scene.ledger().performed().size() << " handler calls" << std::endl;
    }
}

TEST(Crash, OfAWorkerWithAWrongClockChangesNothing) {
    Scene scene{seed_of_this_test()};
    for (const int hours : {5, -5}) {
        auto worker = scene.hire({.role = "work", .hours_off = hours});
        auto sender = scene.hire({.role = "send", .hours_off = -hours});
        const auto some = scene.ledger().performed().size() + 200;
        EXPECT_TRUE(await([&] { return scene.ledger().performed().size() >= some; }, 30s));
    }
    scene.settle();
    scene.check();
}

}  // namespace
}  // namespace pawl::crash
