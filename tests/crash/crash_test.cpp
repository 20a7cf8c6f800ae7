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

// A store and a part of the program.
using PlaceAndPart = std::tuple<PlaceUnderTest, std::string>;

class CrashAt : public testing::TestWithParam<PlaceAndPart> {
protected:
    void SetUp() override {
        if (!place().missing.empty()) GTEST_SKIP() << place().missing;
    }
    const PlaceUnderTest& place() const { return std::get<0>(GetParam()); }
    const std::string& part() const { return std::get<1>(GetParam()); }

    void kill_at_every_point(unsigned seed) {
        Scene scene{place(), seed};
        const bool fresh_database = part() == "prepare";
        for (const auto point : base::points::all) {
            if (part_of(point) != part() || place().without.contains(std::string{point})) continue;
            // The next one finds what these had claimed, some of it lost for the second time.
            if (!fresh_database) {
                auto first = scene.hire({.role = "cycle", .kill_at = "handler:before:3"});
                ASSERT_TRUE(first.wait(30s) && first.was_killed());
                auto second = scene.hire({.role = "work", .kill_at = "handler:before:1"});
                ASSERT_TRUE(second.wait(30s) && second.was_killed());
            }
            const auto hit = std::to_string(fresh_database ? 1 : 1 + scene.pick(2));
            auto process = scene.hire({.role = "cycle", .kill_at = std::string{point} + ":" + hit});
            ASSERT_TRUE(process.wait(30s)) << point << " was not reached " << hit << " times";
            ASSERT_TRUE(process.was_killed()) << point;
            ASSERT_EQ(scene.ledger().ends().back(), point);
        }
        scene.settle();
        scene.check();
    }
};

TEST_P(CrashAt, EveryPointLosesNothing) {
    // All the parts together are one scenario.
    for_a_while(fault_time() / parts().size(), [&](unsigned seed) { kill_at_every_point(seed); });
}

INSTANTIATE_TEST_SUITE_P(Crash, CrashAt,
                         testing::Combine(testing::ValuesIn(places_under_test()),
                                          testing::ValuesIn(parts())),
                         [](const auto& at) {
                             return std::get<0>(at.param).name + "_" + std::get<1>(at.param);
                         });

INSTANTIATE_TEST_SUITE_P(Stores, CrashOn, testing::ValuesIn(places_under_test()),
                         [](const auto& place) { return place.param.name; });

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

TEST_P(CrashOn, RandomMomentsLosesNothing) {
    constexpr auto round = 15s;  // then a new database, so that a long run is checked now and then
    for_a_while(fault_time(), [&](unsigned seed) {
        Scene scene{GetParam(), seed};
        ASSERT_NO_FATAL_FAILURE(kill_at_random(scene, Steady::now() + round));
        scene.settle();
        scene.check();
        std::cout << scene.ledger().sent().size() << " inputs, "
                  << scene.ledger().performed().size() << " handler calls" << std::endl;
    });
}

TEST_P(CrashOn, AWrongClockChangesNothing) {
    for_a_while(fault_time(), [&](unsigned seed) {
        Scene scene{GetParam(), seed};
        for (const int hours : {5, -5}) {
            auto worker = scene.hire({.role = "work", .hours_off = hours});
            auto sender = scene.hire({.role = "send", .hours_off = -hours});
            const auto some = scene.ledger().performed().size() + 1000;
            EXPECT_TRUE(await([&] { return scene.ledger().performed().size() >= some; }, 60s));
        }
        scene.settle();
        scene.check();
    });
}

}  // namespace
}  // namespace pawl::crash
