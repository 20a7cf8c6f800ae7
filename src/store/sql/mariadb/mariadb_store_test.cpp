// What is MariaDB's own: its locks beside other transactions, its limits, its connections.
#include "store/sql/mariadb/mariadb_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <pawl/error.hpp>
#include <set>
#include <thread>

#include "conformance/builders.hpp"
#include "conformance/mariadb_tables.hpp"

namespace pawl::store::sql::mariadb {
namespace {

using namespace std::chrono_literals;
using conformance::effects;
using conformance::MariadbTables;
using conformance::on;
using conformance::order;

class MariadbStore : public testing::Test {
protected:
    void SetUp() override {
        if (!std::getenv("PAWL_TEST_MARIADB"))
            GTEST_SKIP() << "PAWL_TEST_MARIADB names no server: run ./dev test";
        tables = std::make_unique<MariadbTables>();
        store = open();
    }
    std::unique_ptr<Store> open(const Clock* clock = nullptr) const {
        auto options = tables->options();
        options.clock = clock;
        return open_mariadb(options);
    }

    std::vector<Answer> commit(const std::vector<Commit>& group) {
        std::vector<Answer> answers(group.size());
        store->commit(group, answers);
        return answers;
    }
    std::vector<ItemId> create(const std::string& id, int effects = 1) {
        auto builder = on(order(id), 0).event("Placed");
        for (int i = 0; i < effects; ++i) builder.effect("Do");
        const auto answers = commit({builder.build()});
        EXPECT_EQ(answers[0].fate, Fate::committed);
        return answers[0].items;
    }
    static ClaimRequest wanting(SessionId session, Fence fence, std::size_t limit) {
        ClaimRequest request{.claim = {session, fence}, .limit = limit};
        request.interests.push_back({effects("Do"), limit});
        return request;
    }
    /// Its result, which must come although somebody else holds a lock: well before the server
    /// would give up waiting for it.
    template <class F>
    auto promptly(F&& f) {
        const auto begin = std::chrono::steady_clock::now();
        auto result = f();
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms) << "it waited for a lock";
        return result;
    }

    std::unique_ptr<MariadbTables> tables;
    std::unique_ptr<Store> store;
};

TEST_F(MariadbStore, TellsIdsApartByTheirBytes) {
    for (const char* id : {"a", "A", "a ", "\xc3\xa4", "a\xcc\x88"}) create(id);
    EXPECT_EQ(store->instances({}).rows.size(), 5u);
    const auto answers = commit({on({.type = "t", .id = "1"}, 0).event("E").build(),
                                 on({.type = "T", .id = "1"}, 0).event("e").build(),
                                 on({.type = "t ", .id = "1"}, 0).event("e ").build()});
    for (const auto& answer : answers) EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(store->instances({.type = "t"}).rows.size(), 1u);
}

TEST_F(MariadbStore, ClaimsBesideWhatOthersAreClaiming) {
    create("1", 4);
    const auto somebody = tables->connect();
    somebody->run_script(
        "SELECT id FROM pawl_item WHERE session IS NULL ORDER BY id LIMIT 2 FOR UPDATE;");
    const SessionId session = store->open_session({.lease = 1min});
    const auto claimed = promptly([&] { return store->claim(wanting(session, 1, 4)); });
    EXPECT_EQ(claimed.items.size(), 2u);
    somebody->rollback();
    EXPECT_EQ(store->claim(wanting(session, 2, 4)).items.size(), 2u);
}

TEST_F(MariadbStore, LetsProducersPassWhereSomebodyClaims) {
    create("1", 1);
    const auto somebody = tables->connect();
    somebody->run_script(
        "SELECT id FROM pawl_item FORCE INDEX (pawl_item_waiting) WHERE line = 1 AND alone = 0 "
        "AND session IS NULL AND due_at <= 9000000000000000000 ORDER BY due_at, id LIMIT 10 "
        "FOR UPDATE SKIP LOCKED;");
    promptly([&] { return create("2", 3); });
}

TEST_F(MariadbStore, GivesEveryItemToOneOfManyClaimants) {
    constexpr int count = 400;
    for (int i = 0; i < 8; ++i) create(std::to_string(i), count / 8);
    std::vector<std::vector<ItemId>> taken(4);
    std::atomic<Fence> fence{0};
    {
        std::vector<std::jthread> threads;
        for (auto& mine : taken)
            threads.emplace_back([&] {
                const auto own = open();
                const SessionId session = own->open_session({.lease = 1min});
                while (true) {
                    const auto claimed = own->claim(wanting(session, ++fence, 7));
                    for (const auto& item : claimed.items) mine.push_back(item.id);
                    if (claimed.items.empty() && !claimed.next_due) return;
                }
            });
    }
    std::set<ItemId> all;
    for (const auto& mine : taken) {
        EXPECT_FALSE(mine.empty());
        all.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(taken[0].size() + taken[1].size() + taken[2].size() + taken[3].size(),
              static_cast<std::size_t>(count));
}

TEST_F(MariadbStore, RenewsALeaseWhileAGroupHoldsTheSession) {
    ManualClock clock;
    store = open(&clock);
    create("1");
    const SessionId session = store->open_session({.lease = 10s});
    ASSERT_EQ(store->claim(wanting(session, 1, 1)).items.size(), 1u);
    const auto group = tables->connect();
    group->run_script("SELECT id FROM pawl_session FORCE INDEX (pawl_session_hold) WHERE id = " +
                      std::to_string(session) + " LOCK IN SHARE MODE;");
    EXPECT_TRUE(promptly([&] { return store->renew(session, 10s); }));

    // Nobody reaps it meanwhile, nor waits for it.
    clock.advance(1min);
    const SessionId other = store->open_session({.lease = 1min});
    EXPECT_TRUE(promptly([&] { return store->claim(wanting(other, 2, 1)); }).items.empty());
    group->rollback();
    EXPECT_EQ(store->claim(wanting(other, 3, 1)).items.size(), 1u);
}

TEST_F(MariadbStore, FollowsInTheOrderOfCommitsBesideSlowAndUndoneOnes) {
    create("1");
    const auto slow = tables->connect();
    slow->run_script(
        "SELECT position FROM pawl_counter FOR UPDATE;"
        "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, "
        "payload) SELECT c.position + 1, 1, 2, 0, 2, 0, 1, 'abcdefghabcdefgh', '{}' "
        "FROM pawl_counter c;"
        "UPDATE pawl_counter SET position = position + 1;");
    auto later = std::async(std::launch::async, [&] { return create("2"); });
    auto seen = store->follow("", 100);
    EXPECT_EQ(seen.events.size(), 1u) << "what is not committed, and nothing behind it";
    slow->commit();
    later.get();
    auto rest = store->follow(seen.cursor, 100);
    ASSERT_EQ(rest.events.size(), 2u) << "none was skipped";
    EXPECT_EQ(rest.events[0].instance.id, "1");
    EXPECT_EQ(rest.events[1].instance.id, "2");

    slow->run_script("UPDATE pawl_counter SET position = position + 5;");
    auto last = std::async(std::launch::async, [&] { return create("3"); });
    EXPECT_TRUE(store->follow(rest.cursor, 100).events.empty());
    slow->rollback();
    last.get();
    EXPECT_EQ(store->follow(rest.cursor, 100).events.size(), 1u);
}

TEST_F(MariadbStore, WaitsForALockOfSomebodyElsesAndRunsAgain) {
    create("1");
    const auto somebody = tables->connect();
    somebody->run_script("SELECT ref FROM pawl_instance FOR UPDATE;");
    auto appending = std::async(std::launch::async,
                                [&] { return commit({on(order("1"), 1).event("Paid").build()}); });
    // Longer than one wait for a lock lasts.
    EXPECT_EQ(appending.wait_for(2500ms), std::future_status::timeout);
    somebody->rollback();
    EXPECT_EQ(appending.get()[0].fate, Fate::committed);
}

TEST_F(MariadbStore, LosesNoWordWhenTwoProcessesCreateTheSame) {
    const auto other = open();
    for (int round = 0; round < 20; ++round) {
        const auto id = std::to_string(round);
        const std::vector<Commit> group{on(order(id), 0).event("Placed").unique("k" + id).build()};
        std::vector<Answer> here(1), there(1);
        {
            std::jthread first{[&] { store->commit(group, here); }};
            std::jthread second{[&] {
                const std::vector<Commit> same{
                    on(order(id + "b"), 0).event("Placed").unique("k" + id).build()};
                other->commit(same, there);
            }};
        }
        const int committed =
            (here[0].fate == Fate::committed) + (there[0].fate == Fate::committed);
        EXPECT_EQ(committed, 1);
        const auto& refused = here[0].fate == Fate::committed ? there[0] : here[0];
        EXPECT_EQ(refused.fate, Fate::unique_key_taken);
        EXPECT_EQ(refused.holder, here[0].fate == Fate::committed ? id : id + "b");
    }
}

TEST_F(MariadbStore, RefusesARowThatIsTooLargeAlone) {
    auto large = conformance::event("Large");
    large.payload.bytes.assign(20 * 1024 * 1024, 'x');  // max_allowed_packet is 16 MiB
    const auto answers =
        commit({on(order("1"), 0).event("Placed").build(), on(order("2"), 0).event(large).build(),
                on(order("3"), 0).event("Placed").build()});
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::failed);
    EXPECT_EQ(answers[2].fate, Fate::committed);
    try {
        std::rethrow_exception(answers[1].error);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::invalid);
        EXPECT_THAT(error.what(), testing::HasSubstr("max_allowed_packet"));
    }
}

TEST_F(MariadbStore, WritesGroupsThatAreLargerThanAPacket) {
    std::vector<Commit> group;
    for (int i = 0; i < 8; ++i) {
        auto event = conformance::event("Large");
        event.payload.bytes.assign(4 * 1024 * 1024, static_cast<char>('a' + i));
        group.push_back(on(order(std::to_string(i)), 0).event(event).build());
    }
    for (const auto& answer : commit(group)) EXPECT_EQ(answer.fate, Fate::committed);
    const auto loaded = store->load(std::vector<LoadRequest>{{order("7")}});
    EXPECT_EQ(loaded[0].events.at(0).payload.bytes, std::string(4 * 1024 * 1024, 'h'));
}

TEST_F(MariadbStore, GoesOnAfterItsConnectionsWereKilled) {
    create("1");
    const auto watch = store->watch();
    std::string kill;
    const auto admin = tables->connect();
    static constexpr Statement connections =
        "SELECT id FROM information_schema.processlist WHERE db = DATABASE() "
        "AND id <> CONNECTION_ID()";
    admin->query(connections, {},
                 [&](const Row& row) { kill += "KILL " + std::to_string(row.number(0)) + ";"; });
    admin->run_script(kill);
    create("2");
    EXPECT_EQ(store->instances({}).rows.size(), 2u);
    const SessionId session = store->open_session({.lease = 1min});
    EXPECT_TRUE(store->renew(session, 1min));
    EXPECT_THROW(watch->wait(0us), Error) << "once";
    EXPECT_TRUE(watch->wait(1min)) << "there may be something that it missed";
}

TEST_F(MariadbStore, HasTheTimeOfTheDatabase) {
    const auto admin = tables->connect();
    std::int64_t told = 0;
    static constexpr Statement time = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
    admin->query(time, {}, [&](const Row& row) { told = row.number(0); });
    const auto difference = store->now().time_since_epoch().count() - told;
    EXPECT_LT(std::abs(difference), 1'000'000);
}

TEST_F(MariadbStore, SaysWhyItCanNotBeOpened) {
    const auto complaint = [](const std::string& url, Code code) -> std::string {
        try {
            open_mariadb({.url = url, .deadline = 1s});
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
            return error.what();
        }
        return "";
    };
    const auto url = tables->url();
    EXPECT_THAT(complaint(url + "_not", Code::invalid), testing::HasSubstr("create the database"));
    const auto at = url.find('@');
    EXPECT_THAT(complaint("mariadb://pawl:wrong" + url.substr(at), Code::invalid),
                testing::HasSubstr("a user and a password"));
    EXPECT_THAT(complaint("mariadb://pawl@127.0.0.1:1/pawl", Code::unavailable),
                testing::HasSubstr("start the server"));
}

}  // namespace
}  // namespace pawl::store::sql::mariadb
