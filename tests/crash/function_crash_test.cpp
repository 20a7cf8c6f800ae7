// Processes that execute durable functions, killed at every point between start, step record and
// finish, and at random: no finished step is done again, nothing is lost, nothing is stuck.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "crash/journey.hpp"
#include "crash/scene.hpp"

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr auto settling = 90s;

/// The points that an executing process comes by.
constexpr const char* points[] = {
    "commit:before", "commit:after",       "group:begun",     "group:judged",  "group:instances",
    "group:events",  "group:item_changes", "group:new_items", "group:written", "group:committed",
    "step:before",   "step:after",         "claim:begun",     "claim:taken",   "claim:after",
};

class Journeys {
public:
    Journeys(const PlaceUnderTest& place, unsigned seed)
        : place_(place.create(directory_.path())), random_(seed) {}

    Process hire(const std::string& kill_at = "", bool only_stops = false) {
        std::vector<std::string> command{PAWL_FUNCTION_WORKER, place_->url(),
                                         directory_.path().string(), fmt::format("w{}", ++hired_),
                                         std::to_string(1 + pick(1'000'000))};
        if (!kill_at.empty()) command.push_back(kill_at);
        if (only_stops) command.push_back("stop");
        return Process{command};
    }
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
    const Ledger& ledger() const { return ledger_; }

    /// An engine in the test's own process.
    Travel travel() const { return Travel{place_->url(), ledger_, {}, 1}; }
    /// Whether others end everything that was begun. Where the stopped one sleeps in the middle of
    /// a transaction, they wait for that: then it goes on a little.
    bool await_end_past(Process& stopped) {
        const auto is_over = [&] { return place_->ask("SELECT count(*) FROM pawl_item") == "0"; };
        for (int tries = 0; tries < 20; ++tries) {
            if (await(is_over, 6s)) return true;
            stopped.resume();
            await(is_over, std::chrono::milliseconds{pick(50)});
            stopped.pause();
        }
        return false;
    }
    void settle_and_check() {
        Travel travel = this->travel();
        travel.engine().start();
        // What was asked for and not answered is asked for again.
        for (const auto& sent : ledger_.sent())
            travel.journeys().start(sent.id, json::decode<Trip>(sent.input));
        EXPECT_TRUE(await([&] { return travel.engine().backlog().empty(); }, settling))
            << "work is stuck: " << travel.engine().pending().front().id << " "
            << travel.engine().pending().front().last_error;
        EXPECT_TRUE(travel.engine().stop(10s));
        for (const auto& wrong : ledger_.wrongs()) ADD_FAILURE() << wrong;
        read_ledger();
        for (const auto& sent : ledger_.sent())
            check(travel, sent.id, json::decode<Trip>(sent.input));
        EXPECT_EQ(travel.engine().count_dead_letters(), 0);
        EXPECT_EQ(place_->ask("SELECT count(*) FROM pawl_item"), "0");
        EXPECT_EQ(place_->ask("SELECT count(*) FROM pawl_inbox"), "0");
        EXPECT_EQ(place_->damage(), "");
    }

private:
    // The last token of each step that was performed, in the order of time.
    void read_ledger() {
        std::map<std::string, std::string> key_of;
        for (const auto& performed : ledger_.performed()) {
            const auto space = performed.what.find(' ');
            const auto step =
                performed.type + " " + performed.id + " " + performed.what.substr(0, space);
            last_[step] = performed.what.substr(space + 1);
            EXPECT_EQ(key_of.try_emplace(step, performed.key).first->second, performed.key) << step;
        }
    }

    // What counts is what was done last: a finished step is not done again.
    void check_steps(const std::string& type, const std::string& id,
                     const std::vector<StepSummary>& steps, std::set<std::string> expected) {
        for (const auto& step : steps) {
            EXPECT_TRUE(step.finished) << id << " " << step.name;
            if (step.name == "fall" || step.name == "unpack") {
                expected.erase(step.name);
                continue;
            }
            EXPECT_EQ(expected.erase(step.name), 1u) << id << " has " << step.name << " twice";
            const auto token = last_[type + " " + id + " " + step.name];
            EXPECT_TRUE(step.result && step.result->find(token) != std::string::npos)
                << id << " " << step.name << " was done again after it was finished: " << token;
        }
        EXPECT_TRUE(expected.empty()) << id << " lacks " << *expected.begin();
    }

    void check(Travel& travel, const std::string& id, const Trip& trip) {
        auto run = travel.journeys().run(id);
        EXPECT_EQ(run.status(), trip.fails ? RunStatus::failed : RunStatus::succeeded) << id;
        std::set<std::string> steps{"pack", "left", "right"};
        steps.insert(trip.fails ? std::initializer_list<std::string>{"fall", "unpack"}
                                : std::initializer_list<std::string>{"arrive"});
        check_steps("journey", id, run.steps(), steps);
        const auto journal = run.journal(0, 100'000);
        for (std::size_t i = 0; i < journal.size(); ++i)
            EXPECT_EQ(journal[i].sequence, static_cast<std::int64_t>(i) + 1) << id;
        EXPECT_EQ(journal.back().name, "pawl.finished") << id;
    }

    store::conformance::TemporaryDirectory directory_;
    std::unique_ptr<Place> place_;
    Ledger ledger_{directory_.path()};
    std::minstd_rand random_;
    std::map<std::string, std::string> last_;
    int hired_ = 0;
};

class FunctionCrash : public CrashOn {};
INSTANTIATE_TEST_SUITE_P(Stores, FunctionCrash, testing::ValuesIn(places_under_test()),
                         [](const auto& place) { return place.param.name; });

TEST_P(FunctionCrash, AtEveryPointRepeatsNothingThatWasFinished) {
    for_a_while(fault_time(), [&](unsigned seed) {
        Journeys journeys{GetParam(), seed};
        for (const std::string point : points) {
            if (GetParam().without.contains(point)) continue;
            const auto hit = std::to_string(1 + journeys.pick(12));
            auto process = journeys.hire(point + ":" + hit);
            ASSERT_TRUE(process.wait(30s)) << point << " was not reached " << hit << " times";
            ASSERT_TRUE(process.was_killed()) << point;
        }
        journeys.settle_and_check();
    });
}

TEST_P(FunctionCrash, AtRandomMomentsRepeatsNothingThatWasFinished) {
    for_a_while(fault_time(), [&](unsigned seed) {
        Journeys journeys{GetParam(), seed};
        std::vector<Process> crew;
        for (int i = 0; i < 3; ++i) crew.push_back(journeys.hire());
        const auto end = Steady::now() + 12s;
        while (Steady::now() < end) {
            const auto victim = static_cast<std::size_t>(journeys.pick(3));
            ASSERT_FALSE(crew[victim].wait(std::chrono::milliseconds{20 + journeys.pick(500)}))
                << "one ended by itself";
            crew[victim].kill();
            crew[victim] = journeys.hire();
        }
        for (auto& process : crew) process.kill();
        journeys.settle_and_check();
        std::cout << journeys.ledger().sent().size() << " journeys, "
                  << journeys.ledger().performed().size() << " steps performed" << std::endl;
    });
}

// It is stopped between its claim and the body of a step, longer than its lease; others finish the
// run meanwhile.
TEST_P(FunctionCrash, ThatWasAPauseBeforeABodyRepeatsNothingThatWasFinished) {
    for (int round = 0; round < 3; ++round) {
        Journeys journeys{GetParam(), seed_of_this_test()};
        Travel travel = journeys.travel();
        auto sleeper = journeys.hire("step:before:" + std::to_string(1 + journeys.pick(6)), true);
        ASSERT_TRUE(await([&] { return !journeys.ledger().ends().empty(); }, settling));
        // Where it was stopped with the turn to write, nobody can even begin: it goes on a little.
        const auto has_begun = [&] {
            try {
                travel.engine().start();
                return true;
            } catch (const Error& e) {
                if (!e.retryable()) throw;
            }
            sleeper.resume();
            (void)sleeper.wait(std::chrono::milliseconds{20});
            sleeper.pause();
            return false;
        };
        ASSERT_TRUE(await(has_begun, settling));
        ASSERT_TRUE(journeys.await_end_past(sleeper));
        const auto before = journeys.ledger().performed().size();
        const auto sent = journeys.ledger().sent().size();
        sleeper.resume();
        // It goes on with new ones.
        ASSERT_TRUE(await([&] { return journeys.ledger().sent().size() > sent + 4; }, settling));
        sleeper.kill();
        EXPECT_GT(journeys.ledger().performed().size(), before);
        travel.engine().stop(10s);
        journeys.settle_and_check();
    }
}

}  // namespace
}  // namespace pawl::crash
