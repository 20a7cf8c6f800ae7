// Several processes on one database: they share the work, replace each other, and leave alone what
// is not theirs while a new version is rolled out.
#include "faults/fleet.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "conformance/temporary_directory.hpp"
#include "crash/ledger.hpp"
#include "crash/place.hpp"
#include "crash/process.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

class Fleet : public testing::TestWithParam<crash::PlaceUnderTest> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
        place = GetParam().create(directory.path());
    }

    crash::Process hire(const std::string& name, const std::string& role) const {
        return crash::Process{
            {PAWL_FLEET_WORKER, place->url(), directory.path().string(), name, role}};
    }
    /// Until this many processes have begun to work.
    bool are_at_work(int count) const {
        const auto sessions = [&] {
            return place->ask("SELECT count(*) FROM pawl_session") == std::to_string(count);
        };
        return crash::await(sessions, 30s);
    }
    bool are_performed(std::size_t count, std::chrono::seconds deadline) const {
        const auto performed = [&] {
            crash::await([] { return false; }, 100ms);  // the ledger is read as a whole
            return ledger.performed().size() >= count;
        };
        return crash::await(performed, deadline);
    }
    /// How many different effects each process has performed.
    std::map<std::string, std::set<std::string>> shares() const {
        std::map<std::string, std::set<std::string>> shares;
        for (const auto& performed : ledger.performed())
            shares[performed.what].insert(performed.key);
        return shares;
    }

    store::conformance::TemporaryDirectory directory;
    crash::Ledger ledger{directory.path()};
    std::unique_ptr<crash::Place> place;
};

INSTANTIATE_TEST_SUITE_P(Stores, Fleet, testing::ValuesIn(crash::places_under_test()),
                         [](const auto& place) { return place.param.name; });

TEST_P(Fleet, OfEqualsSharesTheWork) {
    constexpr int members = 4;
    constexpr std::size_t items = 10'000;
    constexpr std::int64_t at_once = 20;
    Engine sender{place->url()};
    auto parcels = sender.add<Parcel>("parcel");
    std::vector<crash::Process> fleet;
    for (int i = 0; i < members; ++i) fleet.push_back(hire(fmt::format("w{}", i), "all"));
    ASSERT_TRUE(are_at_work(members));
    for (std::size_t i = 0; i < items / at_once; ++i)
        parcels.send(fmt::format("p-{}", i), Parcel::Post{at_once});
    ASSERT_TRUE(are_performed(items, 120s));
    EXPECT_TRUE(crash::await([&] { return sender.backlog().empty(); }, 30s));
    EXPECT_EQ(ledger.performed().size(), items) << "nobody was lost, so each is performed once";
    const auto shares = this->shares();
    for (int i = 0; i < members; ++i) {
        const auto name = fmt::format("w{}", i);
        const auto share = shares.contains(name) ? shares.at(name).size() : 0;
        std::cout << name << " has performed " << share << std::endl;
        EXPECT_GE(share, items / members / 2) << name;
    }
}

TEST_P(Fleet, ReplacesAKilledMemberWithinItsLease) {
    Engine sender{place->url()};
    auto parcels = sender.add<Parcel>("parcel");
    auto victim = hire("victim", "hang");
    ASSERT_TRUE(are_at_work(1));
    parcels.send("p", Parcel::Post{20});  // ten are delivered, and as many insured
    ASSERT_TRUE(are_performed(10, 30s));
    auto heir = hire("heir", "plain");
    ASSERT_TRUE(are_at_work(2));
    // Its member still lives, so nobody touches what it holds.
    EXPECT_FALSE(are_performed(11, 3s));
    const auto killed = std::chrono::steady_clock::now();
    victim.kill();
    ASSERT_TRUE(are_performed(20, 30s));
    EXPECT_LT(std::chrono::steady_clock::now() - killed, fleet_lease + 10s);
    const auto shares = this->shares();
    EXPECT_EQ(shares.at("heir"), shares.at("victim"));
    EXPECT_TRUE(are_at_work(1));
}

TEST_P(Fleet, LeavesAloneWhatAMemberDoesNotKnow) {
    Engine sender{place->url()};
    auto parcels = sender.add<Parcel>("parcel");
    auto meters = sender.add<OldMeter>("meter");
    auto delivers = hire("delivers", "plain");
    auto meets = hire("meets", "old-meter");
    ASSERT_TRUE(are_at_work(2));
    for (int i = 0; i < 50; ++i) {
        parcels.send(fmt::format("p-{}", i % 5), Parcel::Post{2});
        meters.send(fmt::format("m-{}", i % 5), meter::Read{1});
    }
    ASSERT_TRUE(are_performed(100, 60s));
    // Who delivers has never heard of insurance: that waits, and is no failure. The others are
    // acknowledged a moment after they are performed.
    const auto only_insurance_waits = [&] {
        const auto pending = sender.pending({.limit = 1000});
        return pending.size() == 50 && std::ranges::all_of(pending, [](const PendingWork& work) {
                   return work.name == "Insure" && work.attempts == 0;
               });
    };
    EXPECT_TRUE(crash::await(only_insurance_waits, 60s));
    auto insures = hire("insures", "all");
    EXPECT_TRUE(crash::await([&] { return sender.backlog().empty(); }, 60s));
    for (const auto& performed : ledger.performed())
        EXPECT_EQ(performed.type, performed.what == "meets" ? "meter" : "parcel");
    const auto shares = this->shares();
    for (const auto* name : {"delivers", "meets", "insures"})
        EXPECT_EQ(shares.at(name).size(), 50u) << name;
    EXPECT_EQ(sender.count_dead_letters(), 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(meters.state(fmt::format("m-{}", i))->sure, 10);
}

TEST_P(Fleet, OfOldAndNewVersionsKeepsOneState) {
    constexpr int instances = 4;
    constexpr int rounds = 100;
    Engine old_sender{place->url()};
    auto old_meters = old_sender.add<OldMeter>("meter", meter_options);
    Engine new_sender{place->url()};
    auto new_meters = new_sender.add<NewMeter>("meter", meter_options);
    auto old_member = hire("old", "old-meter");
    auto new_member = hire("new", "new-meter");
    ASSERT_TRUE(are_at_work(2));
    for (int i = 0; i < rounds; ++i)
        for (int m = 0; m < instances; ++m) {
            const auto id = fmt::format("m-{}", m);
            if (i % 2 == 0)
                old_meters.send(id, meter::Read{i});
            else
                new_meters.send(id, meter::Read{i});
        }
    EXPECT_TRUE(crash::await([&] { return old_sender.backlog().empty(); }, 60s));
    const std::int64_t sum = rounds * (rounds - 1) / 2;
    for (int m = 0; m < instances; ++m) {
        const auto id = fmt::format("m-{}", m);
        EXPECT_EQ(old_meters.state(id)->total, sum);
        EXPECT_EQ(old_meters.state(id)->sure, sum);
        EXPECT_EQ(new_meters.state(id)->sum, sum);
        EXPECT_EQ(new_meters.state(id)->readings, rounds);
        EXPECT_EQ(new_meters.state(id)->unsure, 0);
    }
    for (const auto* name : {"old", "new"}) EXPECT_GT(shares()[name].size(), 0u) << name;
    EXPECT_EQ(old_sender.count_dead_letters(), 0);
}

}  // namespace
}  // namespace pawl::faults
