// Processes that publish, deliver, post, route and apply, killed at random: exactly what was
// committed is delivered, in order and under one number, and what is committed with it happens
// once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "crash/notes.hpp"
#include "crash/scene.hpp"
#include "faults/proxy.hpp"

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr auto patience = 90s;
constexpr auto by_default = 5s;  // of killing in a round

/// A call of a handler.
struct Delivered {
    std::string worker;
    int partition = 0;
    std::int64_t sequence = 0;
    std::string key;
    int number = 0;
    std::string message;
};

struct Kept {
    std::string key;
    int number = 0;
    friend auto operator<=>(const Kept&, const Kept&) = default;
};

std::ostream& operator<<(std::ostream& out, const Kept& kept) {
    return out << kept.key << " " << kept.number;
}

std::ostream& operator<<(std::ostream& out, const Delivered& one) {
    return out << one.worker << ": " << one.partition << "/" << one.sequence << " is " << one.key
               << " " << one.number;
}

class OutboxScene {
public:
    OutboxScene(const PlaceUnderTest& place, unsigned seed)
        : place_(place.create(directory_.path())), random_(seed), engine_(place_->url()) {
        engine_.add<Tally>("tally");
        engine_.channel(channel, partitions);
        for (const char* table : {"published", "handled"})
            place_->run(
                fmt::format("CREATE TABLE {} (who VARCHAR(60) NOT NULL, n INTEGER NOT "
                            "NULL)",
                            place_->table(table)));
    }

    struct Hired {
        std::string role;
        std::string name;
        Process process;
    };
    Hired hire(const std::string& role) {
        const auto name = fmt::format("w{}", ++hired_);
        return {role, name,
                Process{{PAWL_OUTBOX_WORKER, role, place_->url(), place_->table(""),
                         directory_.path().string(), name, std::to_string(1 + pick(1'000'000))}}};
    }
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

    void kill(Hired& hired) {
        killed_.insert(hired.name);
        hired.process.kill();
    }

    /// A crew in which somebody is killed and replaced all the time.
    std::vector<Hired> hire_and_kill(const std::vector<std::string>& roles,
                                     Steady::duration time = fault_time(by_default)) {
        std::vector<Hired> crew;
        for (const auto& role : roles) crew.push_back(hire(role));
        const auto end = Steady::now() + time;
        while (Steady::now() < end) {
            auto& victim = crew[static_cast<std::size_t>(pick(static_cast<int>(crew.size())))];
            if (victim.process.wait(std::chrono::milliseconds{20 + pick(400)})) {
                ADD_FAILURE() << victim.role << " ended by itself";
                break;
            }
            kill(victim);
            victim = hire(victim.role);
        }
        return crew;
    }
    void kill_all(std::vector<Hired>& crew, const std::string& role) {
        for (auto& hired : crew)
            if (hired.role == role) kill(hired);
    }

    bool is_delivered(const std::string& which = channel) {
        return std::ranges::all_of(engine_.partitions(which),
                                   [](const auto& one) { return one.waiting == 0; });
    }
    bool await_delivery(const std::string& which = channel) {
        return await([&] { return is_delivered(which); }, patience);
    }

    /// By the others. Where the paused one sleeps in the middle of a transaction, they wait for
    /// that: then it goes on a little.
    bool await_delivery_past(Hired& paused) {
        for (int tries = 0; tries < 20; ++tries) {
            if (await([&] { return is_delivered(); }, 6s)) return true;
            paused.process.resume();
            await([&] { return is_delivered(); }, std::chrono::milliseconds{pick(50)});
            paused.process.pause();
        }
        return false;
    }

    /// As they are told to end, they give back what they have.
    void end(std::vector<Hired>& crew) {
        for (auto& hired : crew) hired.process.signal(SIGTERM);
        for (auto& hired : crew) {
            EXPECT_TRUE(hired.process.wait(patience)) << hired.name << " does not end";
            EXPECT_TRUE(killed_.contains(hired.name) || hired.process.succeeded()) << hired.name;
        }
        EXPECT_EQ(place_->damage(), "");
    }

    std::vector<Kept> rows(const std::string& table) {
        auto tx = engine_.begin();
        auto rows = tx.query<Kept>("SELECT who, n FROM " + place_->table(table));
        std::ranges::sort(rows);
        return rows;
    }
    std::vector<Kept> kept(const char* file) const {
        std::vector<Kept> all;
        auto in = open(file);
        for (Kept one; in >> one.key >> one.number;) all.push_back(one);
        std::ranges::sort(all);
        return all;
    }
    std::vector<Delivered> deliveries() const {
        std::vector<Delivered> all;
        auto in = open("delivered");
        for (Delivered one; in >> one.worker >> one.partition >> one.sequence >> one.key >>
                            one.number >> one.message;)
            all.push_back(one);
        return all;
    }
    /// Who may have left a delivery without its word: the killed, and those whose lease has passed.
    std::set<std::string> excused() const {
        auto names = killed_;
        auto in = open("lost");
        for (std::string name; in >> name;) names.insert(name);
        return names;
    }
    std::string log() const {
        std::stringstream out;
        out << open("log").rdbuf();
        return out.str();
    }

    Engine& engine() { return engine_; }
    const Place& place() const { return *place_; }

private:
    std::ifstream open(const char* file) const { return std::ifstream{directory_.path() / file}; }

    store::conformance::TemporaryDirectory directory_;
    std::unique_ptr<Place> place_;
    std::minstd_rand random_;
    Engine engine_;
    std::set<std::string> killed_;
    int hired_ = 0;
};

/// What was delivered, each message once, as it was first.
std::vector<Delivered> first_deliveries(const std::vector<Delivered>& all) {
    std::vector<Delivered> first;
    std::map<int, std::int64_t> reached;
    std::map<std::pair<int, std::int64_t>, std::string> names;
    for (const auto& one : all) {
        const auto [at, is_new] = names.try_emplace({one.partition, one.sequence}, one.message);
        EXPECT_EQ(at->second, one.message) << one << " and was something else";
        if (!is_new) continue;
        EXPECT_EQ(++reached[one.partition], one.sequence) << one;
        first.push_back(one);
    }
    return first;
}

void check_order_of_keys(const std::vector<Delivered>& first) {
    std::map<std::string, int> reached;
    for (const auto& one : first) {
        EXPECT_LT(reached[one.key], one.number) << one << " comes late";
        reached[one.key] = one.number;
    }
}

/// Both were committed, or neither; what stands alone was if it was answered.
void check_agreement(OutboxScene& scene, std::vector<Kept> there) {
    std::ranges::sort(there);
    const auto rows = scene.rows("published");
    const auto asked = scene.kept("asked");
    for (const auto& one : rows)
        EXPECT_TRUE(std::ranges::binary_search(there, one)) << one << " is lost";
    for (const auto& one : scene.kept("answered"))
        EXPECT_TRUE(std::ranges::binary_search(there, one)) << one << " is lost";
    for (const auto& one : there)
        EXPECT_TRUE(std::ranges::binary_search(rows, one) || std::ranges::binary_search(asked, one))
            << one << " was never committed";
    EXPECT_EQ(std::ranges::adjacent_find(there), there.end())
        << *std::ranges::adjacent_find(there) << " is there twice";
    EXPECT_GT(rows.size(), 20u) << "too little to say anything";
}

std::vector<Kept> kept_of(const std::vector<Delivered>& first) {
    std::vector<Kept> all;
    for (const auto& one : first) all.push_back({one.key, one.number});
    return all;
}

class OutboxCrash : public CrashOn {};
INSTANTIATE_TEST_SUITE_P(Stores, OutboxCrash, testing::ValuesIn(places_under_test()),
                         [](const auto& place) { return place.param.name; });

TEST_P(OutboxCrash, AtRandomMomentsLosesNothingAndKeepsTheOrder) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    auto crew = scene.hire_and_kill({"publish", "publish", "deliver", "deliver", "deliver"});
    scene.kill_all(crew, "publish");
    EXPECT_TRUE(scene.await_delivery()) << scene.log();
    scene.end(crew);
    const auto all = scene.deliveries();
    const auto first = first_deliveries(all);
    check_order_of_keys(first);
    check_agreement(scene, kept_of(first));
    const auto excused = scene.excused();
    std::map<std::string, Delivered> last;
    for (const auto& one : all) {
        const auto [at, is_new] = last.try_emplace(one.message, one);
        // A handler that throws is called again.
        EXPECT_TRUE(is_new || one.number % 16 == 0 || excused.contains(at->second.worker))
            << one << " again, after " << at->second;
        at->second = one;
    }
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
    std::cout << first.size() << " messages, " << all.size() << " deliveries" << std::endl;
}

TEST_P(OutboxCrash, AtRandomMomentsDoesNotRepeatWhatAHandlerCommits) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    auto crew = scene.hire_and_kill({"publish", "publish", "transact", "transact", "transact"});
    scene.kill_all(crew, "publish");
    EXPECT_TRUE(scene.await_delivery()) << scene.log();
    scene.end(crew);
    check_order_of_keys(first_deliveries(scene.deliveries()));
    check_agreement(scene, scene.rows("handled"));
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
}

/// What the tallies have counted; each has what was meant for it, in order.
std::vector<Kept> counted(OutboxScene& scene) {
    std::vector<Kept> applied;
    for (const std::string id : {"t0", "t1", "t2"}) {
        std::map<std::string, int> reached;
        std::int64_t total = 0;
        for (const auto& entry : scene.engine().journal("tally", id, 0, 1'000'000)) {
            const auto event = json::decode<Tally::Event>(entry.payload);
            const auto* one = std::get_if<Tally::Counted>(&event);
            if (!one) continue;
            EXPECT_LT(reached[one->by], one->number) << one->by << " comes late";
            EXPECT_TRUE(one->by.ends_with(id)) << one->by << " in " << id;
            reached[one->by] = one->number;
            applied.push_back({one->by, one->number});
            total += one->number;
        }
        const auto state = scene.engine().state("tally", id);
        EXPECT_EQ(state ? json::decode<Tally>(*state).total : -1, total) << id;
    }
    std::cout << applied.size() << " inputs" << std::endl;
    return applied;
}

TEST_P(OutboxCrash, AtRandomMomentsAppliesWhatWasPostedOnceAndInOrder) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    auto crew = scene.hire_and_kill({"post", "post", "apply", "apply"});
    scene.kill_all(crew, "post");
    EXPECT_TRUE(scene.await_delivery("pawl.inbox.tally")) << scene.log();
    scene.end(crew);
    check_agreement(scene, counted(scene));
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
}

TEST_P(OutboxCrash, AtRandomMomentsRoutesOnceAndInOrder) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    const auto listen = [&](const std::string& id) {
        scene.engine().send("tally", id, fmt::format(R"({{"type":"Listen","tag":"of-{}"}})", id));
    };
    listen("t0");
    auto crew = scene.hire_and_kill({"route", "route", "apply", "apply"});
    scene.kill_all(crew, "route");
    for (const char* id : {"t1", "t2"}) listen(id);
    EXPECT_TRUE(scene.await_delivery("pawl.inbox.pawl.router")) << scene.log();
    EXPECT_TRUE(scene.await_delivery("pawl.inbox.tally")) << scene.log();
    scene.end(crew);
    check_agreement(scene, counted(scene));
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
}

TEST_P(OutboxCrash, OfAHandlerBuriesItsMessageAlone) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    std::vector<Note> notes;
    for (int number = 1; number <= 60; ++number) notes.push_back({"fine", number});
    notes.insert(notes.begin() + 10 + scene.pick(40), {"poison", 1});
    const auto ids = scene.engine().publish_all(
        channel, notes, [](const Note&) { return PublishOptions{.partition = 1}; });
    scene.engine().publish(channel, Note{"elsewhere", 1}, {.partition = 2});
    auto one = scene.hire("poisoned");
    auto other = scene.hire("poisoned");
    EXPECT_TRUE(await(
        [&] {
            for (auto* hired : {&one, &other}) {
                if (hired->process.is_running()) continue;
                EXPECT_TRUE(hired->process.was_killed()) << hired->name;
                *hired = scene.hire("poisoned");
            }
            return scene.is_delivered();
        },
        patience))
        << scene.log();
    const auto dead = scene.engine().dead_messages();
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_EQ(json::decode<Note>(dead[0].payload).key, "poison");
    // Twice beside others, then alone until it is enough; more often where a lease passed.
    EXPECT_GE(dead[0].attempts, 2 + Options{}.losses);
    EXPECT_EQ(dead[0].reason, "its handler ended its process 3 times");
    const auto first = first_deliveries(scene.deliveries());
    check_order_of_keys(first);
    EXPECT_EQ(first.size(), notes.size() + 1);
    const auto buried =
        std::ranges::find(first, dead[0].message.text(), &Delivered::message)->sequence;
    EXPECT_EQ(buried, dead[0].sequence);
    EXPECT_TRUE(std::ranges::all_of(ids, [&](const Uuid& id) {
        return scene.engine().delivered(id) ==
               (id == dead[0].message ? MessageStatus::dead : MessageStatus::delivered);
    }));
}

TEST_P(OutboxCrash, RepeatsWhatTheCallOfABatchHadAcknowledged) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    std::vector<Note> notes;
    for (int number = 1; number <= 8; ++number) notes.push_back({"note", number});
    scene.engine().publish_all(channel, notes,
                               [](const Note&) { return PublishOptions{.partition = 1}; });
    auto first = scene.hire("acknowledge");
    ASSERT_TRUE(first.process.wait(patience));
    EXPECT_TRUE(first.process.was_killed());
    auto second = scene.hire("acknowledge");
    ASSERT_TRUE(scene.await_delivery()) << scene.log();
    std::map<std::string, std::vector<int>> numbers;
    for (const auto& one : scene.deliveries()) numbers[one.worker].push_back(one.number);
    EXPECT_THAT(numbers[first.name], testing::ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(numbers[second.name], testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8))
        << "also what was acknowledged: the call had not ended";
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
}

TEST_P(OutboxCrash, OfAHandlerHarmsNoMessageBesideIt) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    scene.engine().publish(channel, Note{"poison", 1}, {.partition = 1});
    for (const int part : {0, 2})
        scene.engine().publish(channel, Note{"innocent", part}, {.partition = part});
    scene.engine().publish(channel, Note{"behind", 1}, {.partition = 1});
    auto worker = scene.hire("together");
    int deaths = 0;
    EXPECT_TRUE(await(
        [&] {
            if (!worker.process.is_running()) {
                EXPECT_TRUE(worker.process.was_killed()) << worker.name;
                ++deaths;
                worker = scene.hire("together");
            }
            return scene.is_delivered();
        },
        patience))
        << scene.log();
    std::cout << deaths << " deaths" << std::endl;
    const auto dead = scene.engine().dead_messages();
    ASSERT_EQ(dead.size(), 1u) << scene.log();
    EXPECT_EQ(json::decode<Note>(dead[0].payload).key, "poison");
    EXPECT_EQ(dead[0].reason, "its handler ended its process 3 times");
    EXPECT_GE(deaths, 2 + Options{}.losses);
    EXPECT_EQ(first_deliveries(scene.deliveries()).size(), 4u);
}

TEST_P(OutboxCrash, ThatWasOnlyAPauseChangesNothing) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    const auto publish = [&](int from, int to) {
        for (int number = from; number < to; ++number)
            for (int part = 0; part < partitions; ++part)
                scene.engine().publish(channel, Note{fmt::format("p{}", part), number},
                                       {.partition = part});
    };
    const auto has_delivered = [&](const std::string& name, std::size_t count) {
        return await(
            [&] {
                const auto all = scene.deliveries();
                return static_cast<std::size_t>(
                           std::ranges::count(all, name, &Delivered::worker)) >= count;
            },
            patience);
    };
    int published = 1;
    std::vector<OutboxScene::Hired> crew;
    crew.push_back(scene.hire("dawdle"));
    const auto end = Steady::now() + fault_time(by_default);
    for (int round = 0; round < 2 || Steady::now() < end; ++round) {
        publish(published, published + 30);
        published += 30;
        auto& sleeper = crew.back();
        ASSERT_TRUE(has_delivered(sleeper.name, 3)) << "nothing comes to " << sleeper.name;
        sleeper.process.pause();
        crew.push_back(scene.hire("dawdle"));
        auto& paused = crew[crew.size() - 2];
        // All of it, so also what the one who sleeps has begun.
        ASSERT_TRUE(scene.await_delivery_past(paused)) << scene.log();
        publish(published, published + 10);
        published += 10;
        ASSERT_TRUE(has_delivered(crew.back().name, 10));
        paused.process.resume();
        ASSERT_TRUE(scene.await_delivery()) << scene.log();
        EXPECT_TRUE(await([&] { return scene.excused().contains(paused.name); }, patience))
            << paused.name << " has not noticed";
        // One of the two is enough, so that the next round is about all partitions again.
        scene.kill(paused);
    }
    scene.end(crew);
    const auto all = scene.deliveries();
    const auto first = first_deliveries(all);
    check_order_of_keys(first);
    EXPECT_EQ(first.size(), static_cast<std::size_t>((published - 1) * partitions));
    std::map<std::string, std::string> last;
    const auto excused = scene.excused();
    for (const auto& one : all) {
        const auto [at, is_new] = last.try_emplace(one.message, one.worker);
        EXPECT_TRUE(is_new || excused.contains(at->second) || excused.contains(one.worker)) << one;
    }
    std::cout << first.size() << " messages, " << all.size() << " deliveries" << std::endl;
}

TEST_P(OutboxCrash, ThatWasAPausePastTheLeaseBeginsNothingMoreOfTheBatch) {
    OutboxScene scene{GetParam(), seed_of_this_test()};
    for (int number = 1; number <= 100; ++number)
        scene.engine().publish(channel, Note{"k", number}, {.partition = 1});
    std::vector<OutboxScene::Hired> crew;
    crew.push_back(scene.hire("linger"));
    ASSERT_TRUE(await([&] { return scene.deliveries().size() >= 5; }, patience));
    crew[0].process.pause();
    crew.push_back(scene.hire("linger"));
    ASSERT_TRUE(scene.await_delivery_past(crew[0])) << scene.log();
    crew[0].process.resume();
    EXPECT_TRUE(await([&] { return scene.excused().contains(crew[0].name); }, patience))
        << "it has not noticed";
    scene.end(crew);
    const auto all = scene.deliveries();
    EXPECT_EQ(first_deliveries(all).size(), 100u);
    const auto taken = std::ranges::find(all, crew[1].name, &Delivered::worker);
    // One may have been about to begin when it was stopped.
    EXPECT_LE(std::count_if(taken, all.end(),
                            [&](const Delivered& one) { return one.worker == crew[0].name; }),
              1);
}

/// Two engines in this process by way of a network that loses the answers to commits. One of them
/// comes and goes, so that partitions are taken and given back all the time.
TEST_P(OutboxCrash, OfConnectionsLeavesNoPartitionWithNobody) {
    if (GetParam().name == "sqlite") GTEST_SKIP() << "there is no network to it";
    OutboxScene scene{GetParam(), seed_of_this_test()};
    auto url = scene.place().url();
    const auto colon = url.rfind(':') + 1;
    const auto port = url.substr(colon, url.find('/', colon) - colon);
    faults::Proxy proxy{std::stoi(port)};
    url.replace(colon, port.size(), std::to_string(proxy.port()));
    const auto insert = [&](const char* table) {
        return fmt::format("INSERT INTO {} VALUES ($1, $2)", scene.place().table(table));
    };
    const auto open = [&] {
        auto engine = std::make_unique<Engine>(url, notes_options());
        engine->subscribe(
            channel,
            [sql = insert("handled")](Transaction& tx, const Note& note) {
                tx.exec(sql, note.key, note.number);
            },
            subscription());
        return engine;
    };
    const auto stays = open();
    stays->start();
    proxy.cut_commits(4);
    int number = 0;
    const auto end = Steady::now() + fault_time(by_default);
    while (Steady::now() < end) {
        const auto visits = open();
        try {
            visits->start();
        } catch (const Error& e) {
            EXPECT_TRUE(e.retryable() || e.code() == Code::in_doubt) << e.what();
            continue;
        }
        const auto leaves = Steady::now() + std::chrono::milliseconds{500 + scene.pick(1500)};
        while (Steady::now() < leaves) {
            auto tx = scene.engine().begin();
            const auto key = fmt::format("k{}", scene.pick(9));
            tx.exec(insert("published"), key, ++number);
            tx.publish(channel, Note{key, number}, {.key = key});
            tx.commit();
        }
    }
    EXPECT_GT(proxy.commits_cut(), 0u);
    proxy.cut_commits(0);
    EXPECT_TRUE(scene.await_delivery());
    EXPECT_TRUE(stays->stop());
    check_agreement(scene, scene.rows("handled"));
    EXPECT_EQ(scene.engine().count_dead_messages(), 0);
    std::cout << number << " messages, " << proxy.commits_cut() << " commits cut" << std::endl;
}

}  // namespace
}  // namespace pawl::crash
