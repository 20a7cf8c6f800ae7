// A network that goes silent, is cut, or loses the one answer that matters: errors come in time,
// nothing is applied twice, and the same processes go on when it is back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "crash/workflows.hpp"
#include "faults/load.hpp"
#include "faults/proxy.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

// The deadline of a statement, and the second that the server has more time to say so.
constexpr auto answer_deadline = 2s + 1s;
// Then a new connection is tried for as long, and the last try may begin just before.
constexpr auto error_deadline = answer_deadline + 2s + 2s;

class Network : public FaultsOn {
protected:
    void SetUp() override {
        FaultsOn::SetUp();
        if (IsSkipped()) return;
        server = GetParam().create({});
        server->start();
        proxy.emplace(server->port());
    }

    bool is_postgres() const { return GetParam().name == "postgres"; }
    /// By way of the proxy, with short deadlines.
    std::string url() const {
        return server->url(proxy->port()) + "?statement_timeout=2" +
               (is_postgres() ? "&patience=2&connect_timeout=2" : "");
    }

    std::unique_ptr<Server> server;
    std::optional<Proxy> proxy;
};

INSTANTIATE_TEST_SUITE_P(Servers, Network, testing::ValuesIn(servers_under_test()),
                         [](const auto& server) { return server.param.name; });

TEST_P(Network, ThatGoesSilentIsAnErrorInTimeAndWorkGoesOnAfterwards) {
    crash::Scene scene{place_on(*server, url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{url()};
    ASSERT_TRUE(caller.gets_through(10s));
    for (int time = 0; time < 2; ++time) {
        const auto before = caller.failures().size();
        proxy->fall_silent();
        ASSERT_TRUE(crash::await([&] { return caller.failures().size() >= before + 2; }, 60s));
        proxy->heal();
        EXPECT_TRUE(caller.gets_through(30s));
        ASSERT_TRUE(load.goes_on());
    }
    // Generous: a loaded machine is slow, but the defaults would take half a minute and more.
    EXPECT_LT(caller.longest(), 2 * error_deadline);
    for (const auto& call : caller.failures())
        EXPECT_TRUE(call.code == Code::unavailable || call.code == Code::busy ||
                    call.code == Code::in_doubt)
            << call.message;
    caller.check();
    load.settle_and_check();
}

// The process can't know that somebody else has its partition by now, so it assumes it.
TEST_P(Network, ThatGoesSilentLeavesTheRestOfABatchToOthers) {
    constexpr int messages = 50;
    std::atomic<int> begun_here{0};
    std::atomic<int> done_there{0};
    std::atomic<bool> was_asked{false};
    const Options brief{.lease = 2s};
    const SubscribeOptions one_partition{.partitions = 1};
    Engine there{server->url(), brief};
    there.subscribe("notes", [&](int) { ++done_there; }, one_partition);
    {
        Engine here{url(), brief};
        here.subscribe(
            "notes",
            [&](int, const Received& received) {
                if (++begun_here > 1) return;
                proxy->fall_silent();
                was_asked = crash::await([&] { return received.stop.stop_requested(); }, 60s);
                EXPECT_TRUE(crash::await([&] { return done_there == messages; }, 60s));
            },
            one_partition);
        std::vector<int> numbers(messages);
        there.publish_all("notes", numbers);
        here.start();
        ASSERT_TRUE(crash::await([&] { return begun_here == 1; }, 60s));
        there.start();
        ASSERT_TRUE(crash::await([&] { return done_there == messages; }, 60s));
        proxy->heal();
        EXPECT_TRUE(here.stop(60s));
    }
    EXPECT_TRUE(was_asked) << "the handler was not told";
    EXPECT_EQ(begun_here, 1);
    EXPECT_EQ(done_there, messages);
}

TEST_P(Network, ThatIsCutAndRefusesIsAnErrorInTimeAndWorkGoesOnAfterwards) {
    crash::Scene scene{place_on(*server, url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{url()};
    ASSERT_TRUE(caller.gets_through(10s));
    for (int i = 0; i < 20; ++i) {
        proxy->cut();
        pass(std::chrono::milliseconds{scene.pick(200)});
    }
    ASSERT_TRUE(load.goes_on());
    const auto before = caller.failures().size();
    proxy->refuse();
    ASSERT_TRUE(crash::await([&] { return caller.failures().size() >= before + 2; }, 60s));
    proxy->heal();
    EXPECT_TRUE(caller.gets_through(30s));
    ASSERT_TRUE(load.goes_on());
    EXPECT_LT(caller.longest(), 2 * error_deadline);
    caller.check();
    load.settle_and_check();
}

TEST_P(Network, ThatLosesAnswersToCommitsAppliesNothingTwice) {
    crash::Scene scene{place_on(*server, url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{url()};
    ASSERT_TRUE(caller.gets_through(10s));
    proxy->cut_commits(10);
    ASSERT_TRUE(crash::await([&] { return proxy->commits_cut() >= 100; }, 60s));
    proxy->cut_commits(0);
    EXPECT_TRUE(caller.gets_through(30s));
    ASSERT_TRUE(load.goes_on());
    caller.check();
    load.settle_and_check();
}

TEST_P(Network, ThatLosesAnswersToCommitsDoesTransactionsOnce) {
    constexpr int runs = 60;
    server->ask("CREATE TABLE booked (id VARCHAR(40))");
    Engine engine{url(), {.max_bodies = 4}};
    auto function = engine.add("book", [](Context& ctx) {
        ctx.transaction("book", [&](Transaction& tx) {
            tx.exec("INSERT INTO booked (id) VALUES ($1)", ctx.id());
        });
    });
    engine.start();
    proxy->cut_commits(5);
    const auto name = [](int i) { return "r-" + std::to_string(i); };
    for (int i = 0; i < runs; ++i)
        EXPECT_TRUE(crash::await(
            [&] {
                try {
                    function.start(name(i));  // it is there, or it is made
                    return true;
                } catch (const Error&) {
                    return false;
                }
            },
            60s));
    ASSERT_TRUE(crash::await([&] { return proxy->commits_cut() >= 10; }, 60s));
    const auto has_ended = [&](int i) {
        try {
            return function.run(name(i)).result(1s).has_value();
        } catch (const Error&) {
            return false;
        }
    };
    for (int i = 0; i < runs; ++i)
        EXPECT_TRUE(crash::await([&] { return has_ended(i); }, 60s)) << name(i);
    proxy->cut_commits(0);
    EXPECT_EQ(server->ask("SELECT count(*) FROM booked"), std::to_string(runs));
    EXPECT_EQ(server->ask("SELECT count(DISTINCT id) FROM booked"), std::to_string(runs));
}

TEST_P(Network, ThatLosesAnswersToCommitsSignalsOnce) {
    constexpr int signals = 100;
    Engine engine{url(), {}};
    auto function = engine.add("gather", [](Context& ctx) {
        std::vector<int> numbers;
        while (numbers.empty() || numbers.back() != signals)
            numbers.push_back(*ctx.wait<int>("number", 1h));
        return numbers;
    });
    engine.start();
    auto run = function.start("r");
    proxy->cut_commits(3);
    std::vector<int> sent;
    for (int i = 0; i < signals; ++i) {
        try {
            run.signal("number", i);
            sent.push_back(i);
        } catch (const Error&) {
            // In doubt.
        }
    }
    EXPECT_GE(proxy->commits_cut(), 20u);
    proxy->cut_commits(0);
    run.signal("number", signals);
    sent.push_back(signals);
    const auto heard = run.result(60s);
    ASSERT_TRUE(heard);
    std::map<int, int> times;
    for (const int number : *heard) ++times[number];
    for (const int number : sent) EXPECT_EQ(times[number], 1) << number;
}

// Also what is delivered before it is known whether it was published.
TEST_P(Network, ThatLosesAnswersToCommitsPublishesOnceWhatHasAKey) {
    constexpr int messages = 200;
    std::mutex mutex;
    std::map<int, int> count;
    Engine consumer{server->url(), {}};
    consumer.subscribe("notes", [&](int number) {
        const std::lock_guard lock{mutex};
        ++count[number];
    });
    consumer.start();
    Engine producer{url(), {}};
    proxy->cut_commits(3);
    for (int i = 0; i < messages; ++i) {
        const PublishOptions once{.key = "k", .once = std::to_string(i)};
        EXPECT_TRUE(crash::await(
            [&] {
                try {
                    producer.publish("notes", i, once);
                    return true;
                } catch (const Error&) {
                    return false;
                }
            },
            60s));
    }
    EXPECT_GE(proxy->commits_cut(), 30u);
    proxy->cut_commits(0);
    ASSERT_TRUE(crash::await(
        [&] {
            const std::lock_guard lock{mutex};
            return count.size() == messages;
        },
        60s));
    producer.publish("notes", messages, {.key = "k"});
    ASSERT_TRUE(crash::await(
        [&] {
            const std::lock_guard lock{mutex};
            return count.contains(messages);
        },
        60s));
    const std::lock_guard lock{mutex};
    for (const auto& [number, times] : count) EXPECT_EQ(times, 1) << number;
}

// A call that fails may have published; no call publishes twice.
TEST_P(Network, ThatLosesAnswersToCommitsPublishesOnceWhatHasNoKey) {
    constexpr int messages = 200;
    std::mutex mutex;
    std::map<int, int> count;
    Engine consumer{server->url(), {}};
    consumer.subscribe("notes", [&](int number) {
        const std::lock_guard lock{mutex};
        ++count[number];
    });
    consumer.start();
    const auto has_heard = [&](int number) {
        const std::lock_guard lock{mutex};
        return count.contains(number);
    };
    Engine producer{url(), {}};
    proxy->cut_commits(3);
    std::vector<int> sent;
    for (int i = 0; i < messages; ++i) {
        try {
            producer.publish("notes", i);
            sent.push_back(i);
        } catch (const Error&) {
            // In doubt.
        }
    }
    EXPECT_GE(proxy->commits_cut(), 30u);
    proxy->cut_commits(0);
    EXPECT_GE(sent.size(), messages / 2u);
    for (const int number : sent)
        ASSERT_TRUE(crash::await([&] { return has_heard(number); }, 60s)) << number;
    consumer.stop();
    for (const auto& [number, times] : count) EXPECT_EQ(times, 1) << number;
}

TEST_P(Network, ThatLosesAnswersToCommitsPostsOnce) {
    constexpr int posts = 100;
    Engine engine{server->url(), {}};
    auto accounts =
        engine.add<crash::Account>("account", pawl::Handlers{[](const crash::Account::Notify&) {}});
    engine.start();
    Engine poster{url(), {}};
    auto remote =
        poster.add<crash::Account>("account", pawl::Handlers{[](const crash::Account::Notify&) {}});
    proxy->cut_commits(3);
    std::int64_t sure = 0;
    std::int64_t unsure = 0;
    for (int i = 0; i < posts; ++i) {
        try {
            remote.post("a", crash::Account::Note{.tag = std::to_string(i)});
            ++sure;
        } catch (const Error&) {
            ++unsure;
        }
    }
    EXPECT_GE(proxy->commits_cut(), 20u);
    proxy->cut_commits(0);
    const auto noted = [&] {
        const auto state = accounts.state("a");
        return state ? state->noted : 0;
    };
    ASSERT_TRUE(crash::await([&] { return noted() >= sure; }, 60s));
    // They are applied in their order: what comes twice is there before this.
    accounts.post("a", crash::Account::Note{.tag = "last"});
    std::map<std::string, int> times;
    const auto has_ended = [&] {
        times.clear();
        for (const auto& entry : accounts.journal("a")) ++times[entry.payload];
        return !times.empty() && noted() >= sure + 1 &&
               std::ranges::any_of(
                   times, [](const auto& one) { return one.first.find("last") != one.first.npos; });
    };
    ASSERT_TRUE(crash::await(has_ended, 60s));
    EXPECT_LE(noted(), sure + unsure + 1);
    for (const auto& [note, count] : times) EXPECT_EQ(count, 1) << note;
}

TEST_P(Network, ThatLosesAnswersToCommitsHidesNoVerbOnAChannel) {
    constexpr int rounds = 40;
    Engine onlooker{server->url(), {}};
    SubscribeOptions options{.partitions = 1, .poison = Poison::stop};
    options.policy.attempts = 1;
    Engine consumer{server->url(), {}};
    consumer.subscribe("notes", [](int) { throw std::runtime_error{"no"}; }, options);
    onlooker.channel("notes", 1);
    onlooker.publish("notes", 1);
    consumer.start();
    const auto has_stopped = [&] {
        const auto all = onlooker.partitions("notes");
        return all.size() == 1 && all[0].stopped;
    };
    Engine engine{url(), {}};
    engine.channel("empty", 1);
    proxy->cut_commits(3);
    int partitions = 1;
    for (int i = 0; i < rounds; ++i) {
        ASSERT_TRUE(crash::await(has_stopped, 60s));
        try {
            EXPECT_EQ(engine.resume("notes"), 1);
        } catch (const Error&) {
            // In doubt.
        }
        try {
            EXPECT_TRUE(engine.repartition("empty", partitions + 1));
            ++partitions;
        } catch (const Error&) {
            partitions = static_cast<int>(onlooker.partitions("empty").size());
        }
        EXPECT_EQ(onlooker.partitions("empty").size(), static_cast<std::size_t>(partitions));
    }
    EXPECT_GE(proxy->commits_cut(), 10u);
    proxy->cut_commits(0);
}

// Each verb says what it did, or that it could not find out.
TEST_P(Network, ThatLosesAnswersToCommitsHidesNoVerbOnDeadMessages) {
    constexpr int messages = 60;
    Engine engine{url(), {}};
    SubscribeOptions options;
    options.policy.attempts = 1;
    engine.subscribe("notes", [](int) { throw std::runtime_error{"no"}; }, options);
    for (int i = 0; i < messages; ++i) engine.publish("notes", i);
    engine.run_until_idle();
    const auto dead = engine.dead_messages({.limit = messages + 1});
    ASSERT_EQ(dead.size(), messages);
    proxy->cut_commits(3);
    const auto says = [&](const char* verb, auto&& call) {
        std::int64_t count = 0;
        try {
            count = static_cast<std::int64_t>(call());
        } catch (const Error&) {
            return false;
        }
        EXPECT_EQ(count, 1) << verb;
        return true;
    };
    for (int i = 0; i < messages; ++i) {
        const auto number = dead[static_cast<std::size_t>(i)].number;
        if (i % 3 == 0) {
            says("redeliver",
                 [&] { return engine.redeliver_dead_messages({.messages = {number}}); });
            continue;
        }
        if (!says("replay",
                  [&] { return engine.replay_dead_messages({.messages = {number}}, 1h).size(); }))
            continue;
        if (i % 3 == 1) says("resolve", [&] { return engine.resolve_dead_messages({number}); });
        if (i % 3 == 2) says("discard", [&] { return engine.discard_dead_messages({number}); });
    }
    EXPECT_GE(proxy->commits_cut(), 10u);
    proxy->cut_commits(0);
}

// Nor does one take effect on more letters than it was asked for.
TEST_P(Network, ThatLosesAnswersToCommitsHidesNoVerbOnDeadLetters) {
    constexpr int letters = 80;
    Engine engine{url(), {}};
    auto accounts = engine.add<crash::Account>(
        "account", pawl::Handlers{[](const crash::Account::Notify&) { throw Permanent{"no"}; }});
    for (int i = 0; i < letters; ++i)
        accounts.send("a", crash::Account::Add{.amount = 1, .tag = "t", .delay = 3'600'000});
    engine.run_until_idle();
    Engine onlooker{server->url(), {}};
    ASSERT_EQ(onlooker.count_dead_letters(), letters);
    proxy->cut_commits(3);
    for (int i = 0; i < letters / 2; ++i) {
        const bool discards = i % 2 == 0;
        const auto before = onlooker.count_dead_letters();
        std::int64_t count = 0;
        try {
            count = discards ? engine.discard_dead_letters({.limit = 1})
                             : engine.retry_dead_letters({.limit = 1});
        } catch (const Error&) {
            continue;
        }
        EXPECT_EQ(count, 1) << (discards ? "discard" : "retry");
        EXPECT_EQ(onlooker.count_dead_letters(), before - 1) << (discards ? "discard" : "retry");
    }
    EXPECT_GE(proxy->commits_cut(), 10u);
    proxy->cut_commits(0);
}

TEST_P(Network, ThatLosesEveryAnswerToCommitsSaysThatItIsInDoubt) {
    Caller caller{url()};
    ASSERT_TRUE(caller.gets_through(10s));
    proxy->cut_commits(1);
    ASSERT_TRUE(crash::await([&] { return caller.failures().size() >= 3; }, 60s));
    proxy->cut_commits(0);
    EXPECT_TRUE(caller.gets_through(30s));
    EXPECT_EQ(caller.failures().front().code, Code::in_doubt) << caller.failures().front().message;
    caller.check();
}

}  // namespace
}  // namespace pawl::faults
