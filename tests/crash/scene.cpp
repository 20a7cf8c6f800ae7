#include "crash/scene.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <pawl/json.hpp>
#include <set>

#include "crash/workflows.hpp"

namespace pawl::crash {
namespace {

constexpr std::chrono::seconds settling_deadline{90};
// Of a session whose process is gone: its lease, and the time until somebody looks.
constexpr std::chrono::seconds lease_deadline{5};

std::vector<JournalEntry> whole_journal(Engine& engine, const Instance& instance) {
    std::vector<JournalEntry> journal;
    for (;;) {
        auto page = engine.journal(instance.type, instance.id,
                                   static_cast<std::int64_t>(journal.size()), 1000);
        if (page.empty()) return journal;
        for (auto& entry : page) journal.push_back(std::move(entry));
    }
}

std::vector<Instance> all_instances(Engine& engine) {
    std::vector<Instance> all;
    InstanceQuery query{.limit = 1000};
    do {
        auto page = engine.instances(query);
        for (auto& instance : page.instances) all.push_back(std::move(instance));
        query.cursor = page.next;
    } while (!query.cursor.empty());
    return all;
}

// The story of one scene, gathered from the journals.
class Story {
public:
    Story(Engine& engine, const Ledger& ledger) : engine_(engine), ledger_(ledger) {}

    void check() {
        for (const auto& instance : all_instances(engine_)) read(instance);
        check_inputs();
        check_effects();
        EXPECT_TRUE(ledger_.wrongs().empty()) << ledger_.wrongs().front();
        for (const auto& letter : engine_.dead_letters())
            ADD_FAILURE() << letter.work.type << " " << letter.work.id << ": " << letter.reason;
        const auto endings = engine_.endings();
        EXPECT_TRUE(endings.empty()) << "an effect or timer came twice: " << endings.front().type
                                     << " " << endings.front().id << " " << endings.front().name;
    }

private:
    struct Told {
        int applied = 0;
        int results = 0;
        int timers = 0;
        std::string key;
        std::int64_t amount = 0;
    };

    void read(const Instance& instance) {
        const auto journal = whole_journal(engine_, instance);
        EXPECT_EQ(static_cast<std::int64_t>(journal.size()), instance.version) << instance.id;
        for (std::size_t i = 0; i < journal.size(); ++i)
            EXPECT_EQ(journal[i].sequence, static_cast<std::int64_t>(i) + 1) << instance.id;
        EXPECT_TRUE(instance.finished_at) << instance.type << " " << instance.id << " is stuck";
        if (instance.type == "account") read_account(instance, journal);
        if (instance.type == "purchase") read_purchase(instance, journal);
    }

    void read_account(const Instance& instance, const std::vector<JournalEntry>& journal) {
        std::int64_t total = 0;
        std::map<std::string, Time> due;
        for (const auto& entry : journal) {
            const auto event = json::decode<Account::Event>(entry.payload);
            if (const auto* added = std::get_if<Account::Added>(&event)) {
                ++told_[added->tag].applied;
                total += added->amount;
                due[added->tag] = entry.at + std::chrono::milliseconds{added->delay};
            } else if (const auto* noted = std::get_if<Account::Noted>(&event)) {
                ++told_[noted->tag].results;
                told_[noted->tag].key = noted->key;
            } else if (const auto* ticked = std::get_if<Account::Ticked>(&event)) {
                ++told_[ticked->tag].timers;
                EXPECT_GE(entry.at, due[ticked->tag]) << ticked->tag << " ticked early";
            }
        }
        const auto state = json::decode<Account>(*engine_.state("account", instance.id));
        EXPECT_EQ(state.total, total) << instance.id;
        EXPECT_TRUE(state.closed);
    }

    void read_purchase(const Instance& instance, const std::vector<JournalEntry>& journal) {
        const auto placed =
            std::get<Purchase::Placed>(json::decode<Purchase::Event>(journal.front().payload));
        auto& told = told_[placed.tag];
        ++told.applied;
        for (std::size_t i = 1; i < journal.size(); ++i) {
            if (journal[i].name == "Paid") {
                ++told.results;
                told.key = json::decode<Purchase::Paid>(journal[i].payload).key;
            } else if (journal[i].name == "Expired") {
                ++told.timers;
                EXPECT_GE(journal[i].at,
                          journal.front().at + std::chrono::milliseconds{placed.delay})
                    << instance.id << " expired early";
            } else {
                EXPECT_EQ(journal[i].name, "pawl.timer_cancelled") << instance.id;
            }
        }
        EXPECT_EQ(told.results, placed.pays ? 1 : 0) << instance.id;
        EXPECT_EQ(told.timers, placed.pays ? 0 : 1) << instance.id;
        EXPECT_EQ(journal.size(), placed.pays ? 3u : 2u) << instance.id;
    }

    void check_inputs() {
        std::set<std::string> refused;
        for (const auto& answer : ledger_.answered())
            if (!answer.accepted) refused.insert(answer.input_id);
        std::set<std::string> known;
        for (const auto& sent : ledger_.sent()) {
            known.insert(sent.input_id);
            EXPECT_FALSE(refused.contains(sent.input_id)) << sent.input_id << " was refused";
            const auto told = told_[sent.input_id];
            EXPECT_EQ(told.applied, 1) << sent.type << " " << sent.id << " input " << sent.input_id;
            if (sent.type != "account") continue;
            EXPECT_EQ(told.results, 1) << "result of " << sent.input_id;
            EXPECT_EQ(told.timers, 1) << "timer of " << sent.input_id;
        }
        for (const auto& [tag, told] : told_)
            EXPECT_TRUE(known.contains(tag)) << tag << " was never sent";
    }

    // At least once, with a key of its own that never changes, and each attempt by one worker.
    void check_effects() {
        std::map<std::string, std::string> what_of;
        std::map<std::string, std::string> key_of;
        std::set<std::pair<std::string, int>> attempts;
        for (const auto& performed : ledger_.performed()) {
            const auto what = performed.type + " " + performed.id + " " + performed.what;
            EXPECT_EQ(what_of.try_emplace(performed.key, what).first->second, what);
            EXPECT_EQ(key_of.try_emplace(what, performed.key).first->second, performed.key);
            EXPECT_TRUE(attempts.emplace(performed.key, performed.attempt).second)
                << what << ": attempt " << performed.attempt << " was made twice";
        }
        std::size_t effects = 0;
        for (const auto& sent : ledger_.sent()) {
            ++effects;
            const auto& key = told_[sent.input_id].key;
            EXPECT_TRUE(key.empty() || what_of.contains(key)) << sent.input_id;
        }
        EXPECT_EQ(what_of.size(), effects) << "effects that were performed";
    }

    Engine& engine_;
    const Ledger& ledger_;
    std::map<std::string, Told> told_;  // by the tag, which is the input id
};

}  // namespace

std::chrono::seconds fault_time(std::chrono::seconds otherwise) {
    const char* given = std::getenv("PAWL_SOAK_SECONDS");
    return given ? std::chrono::seconds{std::stol(given)} : otherwise;
}

void for_a_while(std::chrono::milliseconds time, const std::function<void(unsigned seed)>& round) {
    const unsigned seed = seed_of_this_test();
    const auto end = std::chrono::steady_clock::now() + time;
    for (unsigned i = 0; i == 0 || std::chrono::steady_clock::now() < end; ++i) {
        round(seed + i);
        if (testing::Test::HasFailure()) {
            std::cout << "failed with PAWL_SEED=" << seed + i << std::endl;
            return;
        }
    }
}

unsigned seed_of_this_test() {
    const char* given = std::getenv("PAWL_SEED");
    const unsigned seed =
        given ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}() % 1'000'000;
    std::cout << "PAWL_SEED=" << seed << std::endl;
    return seed;
}

Process Scene::hire(const Hiring& hiring) {
    std::vector<std::string> command{PAWL_CRASH_WORKER, url(), directory_.path().string(),
                                     fmt::format("w{}", ++hired_), hiring.role};
    command.insert(command.end(), {"--seed", std::to_string(1 + pick(1'000'000))});
    if (!hiring.kill_at.empty()) command.insert(command.end(), {"--kill-at", hiring.kill_at});
    if (hiring.hours_off != 0)
        command.insert(command.end(), {"--clock-off", std::to_string(hiring.hours_off)});
    return Process{command};
}

void Scene::settle() {
    Shop shop{{.url = url(), .failures = false}, ledger_};
    shop.engine().start();
    std::set<std::string> answered;
    for (const auto& answer : ledger_.answered()) answered.insert(answer.input_id);
    for (const auto& sent : ledger_.sent())
        if (!answered.contains(sent.input_id)) shop.send(sent);
    EXPECT_TRUE(await([&] { return shop.engine().backlog().empty(); }, settling_deadline))
        << "work is stuck: " << shop.engine().pending().front().name;
    const auto only_one_session = [&] {
        return place_->ask("SELECT count(*) FROM pawl_session") == "1";
    };
    EXPECT_TRUE(await(only_one_session, lease_deadline)) << "a dead process keeps its session";
    for (const auto& instance : shop.engine().instances({.type = "account"}).instances)
        shop.engine().send("account", instance.id, json::encode(Account::Input{Account::Close{}}),
                           {.input_id = "close"});
    EXPECT_TRUE(shop.engine().stop(std::chrono::seconds{10}));
}

void Scene::check() {
    Shop shop{{.url = url(), .handlers = false}, ledger_};
    Story{shop.engine(), ledger_}.check();
    EXPECT_EQ(place_->ask("SELECT count(*) FROM pawl_item"), "0");
    EXPECT_EQ(place_->ask("SELECT count(*) FROM pawl_failure"), "0");
    EXPECT_EQ(place_->ask("SELECT count(*) FROM pawl_session"), "0");
    EXPECT_EQ(place_->damage(), "");
}

}  // namespace pawl::crash
