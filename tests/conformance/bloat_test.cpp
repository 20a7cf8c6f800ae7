// A transaction that stays open for long beside a busy store: nothing that was claimed since can be
// removed, and claims must not pay for it.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "conformance/builders.hpp"
#include "conformance/postgres_schema.hpp"
#include "conformance/stores.hpp"

namespace pawl::store::conformance {
namespace {

using namespace std::chrono_literals;
using sql::Row;
using sql::postgres::PostgresConnection;

constexpr int groups = 150;
constexpr int per_group = 100;
constexpr std::int64_t all = groups * per_group;

bool await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

class Bloat : public testing::Test {
protected:
    void SetUp() override {
        if (PostgresSchema::url().empty())
            GTEST_SKIP() << "PAWL_TEST_POSTGRES names no server: run ./dev test";
        auto options = schema.options();
        options.clock = &clock;
        store = open_postgres(options);
        link = {.link = {.conninfo = options.conninfo}, .schema = schema.name()};
    }

    void put_all(const std::string& prefix = "") {
        for (int g = 0; g < groups; ++g) {
            std::vector<Commit> group;
            for (int i = 0; i < per_group; ++i)
                group.push_back(on(order(prefix + std::to_string(g * per_group + i)), 0)
                                    .event("Created")
                                    .effect("Invoice")
                                    .build());
            std::vector<Answer> answers(group.size());
            store->commit(group, answers);
            clock.advance(200ms);
        }
    }

    /// Claims and acknowledges until nothing is left; returns how many claims found something.
    int drain(std::set<ItemId>& handled) {
        const SessionId session = store->open_session({.lease = 1h});
        for (int claims = 0;; ++claims) {
            const auto items = store
                                   ->claim({.claim = {session, ++fence},
                                            .interests = {{effects("Invoice"), per_group}},
                                            .limit = per_group})
                                   .items;
            if (items.empty()) return claims;
            auto words = settling();
            for (const auto& item : items) {
                EXPECT_TRUE(handled.insert(item.id).second) << item.id;
                words.ack(item);
            }
            std::vector<Answer> answers(1);
            store->commit(std::vector<Commit>{words}, answers);
            EXPECT_EQ(answers[0].fate, Fate::committed);
        }
    }

    std::int64_t ask(sql::Statement question) {
        PostgresConnection connection{link};
        std::int64_t answer = 0;
        connection.query(question, {sql::text(schema.name())},
                         [&](const Row& row) { answer = row.number(0); });
        return answer;
    }

    /// Entries of the index of ids that were read, as far as it is known.
    std::int64_t read_by_id() {
        return ask(
            "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = $1::text "
            "AND indexrelname = 'item_pkey'");
    }

    ManualClock clock;
    PostgresSchema schema;
    std::unique_ptr<Store> store;
    sql::postgres::ConnectionOptions link;
    Fence fence = 0;
};

TEST_F(Bloat, ClaimsDoNotPassWhatAnOldReaderKeeps) {
    put_all();
    PostgresConnection reader{link};
    reader.begin(sql::Access::read);
    std::int64_t seen = 0;
    reader.query("SELECT count(*) FROM pawl_item", {},
                 [&](const Row& row) { seen = row.number(0); });
    EXPECT_EQ(seen, all);

    std::set<ItemId> handled;
    const int claims = drain(handled);
    EXPECT_EQ(handled.size(), static_cast<std::size_t>(all));
    EXPECT_EQ(claims, groups);
    store.reset();  // its connections report what they have read when they end

    const auto scans = [&] {
        return ask(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = $1::text "
            "AND indexrelname = 'item_waiting'");
    };
    EXPECT_TRUE(await([&] { return scans() >= 3 * groups; }));
    const auto read =
        ask("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = "
            "$1::text AND indexrelname = 'item_waiting'");
    // Looks from the start only: three for each claim, past half of all on average.
    constexpr auto from_the_start = std::int64_t{3} * groups * all / 2;
    EXPECT_GT(read, all);
    EXPECT_LT(read, from_the_start / 3);

    reader.query("SELECT count(*) FROM pawl_item", {},
                 [&](const Row& row) { seen = row.number(0); });
    EXPECT_EQ(seen, all) << "the reader's snapshot was open all the time";
    reader.rollback();
    // Transactions of other tests on this server may be open for a moment.
    const auto dead = [&] {
        PostgresConnection{link}.run_script("VACUUM pawl_item;");
        return ask(
            "SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = $1::text "
            "AND relname = 'item'");
    };
    EXPECT_TRUE(await([&] { return dead() == 0; }));
}

// Plans are made once for each connection: one that is made while a table is nearly empty has to be
// right when it is full.
TEST_F(Bloat, GroupsReadOnlyTheItemsTheyName) {
    put_all();
    std::set<ItemId> handled;
    drain(handled);
    std::vector<Answer> answers(1);
    store->commit(std::vector<Commit>{on(order("last"), 0).event("Created").effect("Invoice")},
                  answers);
    PostgresConnection{link}.run_script("VACUUM pawl_item;");  // the server counts one row
    SetUp();
    EXPECT_EQ(drain(handled), 1);
    const auto before = read_by_id();
    put_all("more-");
    EXPECT_EQ(drain(handled), groups);
    store.reset();  // its connections report what they have read when they end

    EXPECT_TRUE(await([&] { return read_by_id() - before > all; }));
    // Claimed, read, locked, removed; a group that began at the table would read half of it.
    EXPECT_LT(read_by_id() - before, 12 * all);
}

TEST_F(Bloat, AKeyThatIsTakenAgainIsNotVacuumed) {
    PostgresConnection{link}.run_script(
        "INSERT INTO pawl_once (scope, id, at, until, token) VALUES (1, 'a', 0, 1, 't');");
    PostgresConnection taker{link};
    taker.begin(sql::Access::write);
    taker.run("UPDATE pawl_once SET until = 9000000000000000000");
    store->vacuum({});  // and does not wait for it
    taker.commit();
    store->vacuum({});
    EXPECT_EQ(ask("SELECT count(*) FROM pawl_once WHERE $1::text <> ''"), 1);
}

TEST_F(Bloat, WhatComesToStandBeforeTheMarkIsFoundToo) {
    put_all();
    std::set<ItemId> handled;
    const SessionId session = store->open_session({.lease = 1h});
    // A look that found as many as it asked for.
    auto items = store
                     ->claim({.claim = {session, ++fence},
                              .interests = {{effects("Invoice"), per_group}},
                              .limit = per_group})
                     .items;
    items = store
                ->claim({.claim = {session, ++fence},
                         .interests = {{effects("Invoice"), per_group}},
                         .limit = per_group})
                .items;
    ASSERT_EQ(items.size(), static_cast<std::size_t>(per_group));
    schema.run(
        "UPDATE pawl_item SET due_at = 1 WHERE id = (SELECT max(id) FROM pawl_item "
        "WHERE due_at IS NOT NULL);");
    drain(handled);
    EXPECT_EQ(handled.size(), static_cast<std::size_t>(all - 2 * per_group));
}

class MessageBloat : public Bloat {
protected:
    void SetUp() override {
        Bloat::SetUp();
        if (!IsSkipped()) store->outbox().declare("news", 1);
    }
    void publish(const std::string& text, int count = 1) {
        Commit commit;
        for (int i = 0; i < count; ++i) {
            auto& message = commit.messages.emplace_back();
            message.id = fresh_id();
            message.channel = "news";
            message.payload.bytes = text;
        }
        std::vector<Answer> answers(1);
        store->commit(std::vector<Commit>{std::move(commit)}, answers);
        ASSERT_EQ(answers[0].fate, Fate::committed);
    }
    void own() {
        const SessionId session = store->open_session({.lease = 1h});
        ASSERT_EQ(store->outbox().own({session, ++fence}, "news").taken.size(), 1u);
        last = {.partition = {"news", 0}, .fence = fence, .fetch = per_group};
    }
    /// Is done with what it had, and takes more: the texts.
    std::vector<std::string> deliver() {
        const auto answer = store->outbox().advance(std::vector{last})[0];
        EXPECT_FALSE(answer.lost);
        last.done.clear();
        std::vector<std::string> texts;
        for (const auto& message : answer.fetched) {
            last.done.push_back(message.position);
            texts.push_back(message.payload.bytes);
        }
        last.sequence += static_cast<std::int64_t>(last.done.size());
        return texts;
    }
    std::int64_t deliver_all() {
        std::int64_t delivered = 0;
        for (;;) {
            store->outbox().look(std::vector<Partition>{{"news", 0}});
            const auto texts = deliver();
            if (texts.empty()) return delivered;
            delivered += static_cast<std::int64_t>(texts.size());
        }
    }
    /// A message by a transaction of somebody else's.
    static constexpr const char* late =
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, payload) "
        "SELECT ref, 0, 0, 0, 1, '\\x00', 'late' FROM pawl_channel";

    Advance last;
};

TEST_F(MessageBloat, SearchesDoNotPassWhatAnOldReaderKeeps) {
    for (int g = 0; g < groups; ++g) publish("a", per_group);
    PostgresConnection reader{link};
    reader.begin(sql::Access::read);
    reader.query("SELECT count(*) FROM pawl_message", {}, [](const Row&) {});
    own();
    EXPECT_EQ(deliver_all(), all);
    constexpr int polls = 50;
    for (int i = 0; i < polls; ++i) EXPECT_EQ(store->outbox().depths("news")[0].waiting, 0);
    store.reset();  // its connections report what they have read when they end

    const auto of_index = [&](sql::Statement question) { return ask(question); };
    EXPECT_TRUE(await([&] {
        return of_index(
                   "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = $1::text "
                   "AND indexrelname = 'message_of_partition'") >= 2 * groups + polls;
    }));
    const auto read = of_index(
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = $1::text "
        "AND indexrelname = 'message_of_partition'");
    // Each search and each poll from the start.
    constexpr auto from_the_start = std::int64_t{2} * groups * all / 2 + polls * all;
    EXPECT_GE(read, all);
    EXPECT_LT(read, from_the_start / 10);
    reader.rollback();
}

// A mark must not stand before what a transaction leaves that was open when it was set.
TEST_F(MessageBloat, WhatATransactionLeavesThatTookLongIsFoundByTheFirstSearch) {
    publish("a", 3 * per_group);
    PostgresConnection writer{link};
    writer.begin(sql::Access::write);
    writer.run(late);
    publish("b", 3 * per_group);
    own();
    EXPECT_EQ(deliver_all(), 6 * per_group);
    // Marks are set anew a few times, behind the position that nobody sees yet.
    const auto until = std::chrono::steady_clock::now() + 500ms;
    EXPECT_TRUE(await([&] {
        publish("c");
        EXPECT_EQ(deliver_all(), 1);
        return std::chrono::steady_clock::now() > until;
    }));
    writer.commit();
    publish("d");
    EXPECT_EQ(store->outbox().depths("news")[0].waiting, 2);
    EXPECT_EQ(deliver(), (std::vector<std::string>{"late", "d"}));
}

TEST_F(MessageBloat, WhatBecomesDueIsFoundBeforeTheMark) {
    Commit later;
    later.messages.push_back({.id = fresh_id(),
                              .channel = "news",
                              .payload = {"later"},
                              .deliver_after = clock.now() + 1h});
    std::vector<Answer> answers(1);
    store->commit(std::vector<Commit>{later}, answers);
    publish("a", 3 * per_group);
    own();
    EXPECT_EQ(deliver_all(), 3 * per_group);
    publish("b");
    clock.advance(1h);
    EXPECT_EQ(store->outbox().look(std::vector<Partition>{{"news", 0}})[0], Time{});
    last.ripen = true;
    EXPECT_EQ(deliver(), (std::vector<std::string>{"later", "b"}));
    EXPECT_EQ(store->outbox().depths("news")[0].waiting, 2);
    EXPECT_EQ(deliver_all(), 0);
    EXPECT_EQ(store->outbox().depths("news")[0].waiting, 0);
}

}  // namespace
}  // namespace pawl::store::conformance
