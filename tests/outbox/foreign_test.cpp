// Messages, inputs and starts in transactions of clients that are not pawl's.
#include <map>
#include <pawl/pawl.hpp>
#include <thread>

#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"
#include "outbox/client.hpp"

namespace pawl::engine_test {
namespace {

struct Paid {
    int order = 0;
    std::string note{};
};

class Foreign : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        producer = open();
        consumer = open();
        orders = place().table("orders");
        place().run("CREATE TABLE " + orders + " (id BIGINT PRIMARY KEY)");
        client = connect(url());
    }
    /// What `consumer` gets to see. Before a transaction begins: on SQLite it declares a channel.
    void listen(const std::string& channel = "payments") {
        consumer->subscribe(channel, [this](const Paid& p, const Received& received) {
            seen.push_back(p.order);
            last = p;
            envelope = received;
        });
        consumer->run_until_idle();
    }
    std::string rows() const { return place().ask("SELECT count(*) FROM " + orders); }
    std::int64_t waiting(const std::string& channel = "payments") {
        std::int64_t all = 0;
        for (const auto& one : consumer->partitions(channel)) all += one.waiting;
        return all;
    }
    void insert(int order) {
        client->run("INSERT INTO " + orders + " VALUES (" + std::to_string(order) + ")");
    }

    std::unique_ptr<Engine> producer;  // never started
    std::unique_ptr<Engine> consumer;
    std::unique_ptr<Client> client;
    std::string orders;
    std::vector<int> seen;
    Paid last;
    Received envelope;
};
INSTANTIATE_TEST_SUITE_P(Stores, Foreign, shared_stores(), name_of);

TEST_P(Foreign, AreDeliveredInOrderOnceCommitted) {
    listen();
    client->run("BEGIN");
    insert(1);
    auto joined = client->join(*producer);
    const auto first = joined.publish("payments", Paid{1}, {.key = "ada"});
    joined.publish("payments", Paid{2}, {.key = "ada"});
    std::vector<Paid> more;
    for (int i = 3; i <= 300; ++i) more.push_back({i});
    const auto ids = joined.publish_all("payments", more,
                                        [](const Paid&) { return PublishOptions{.key = "ada"}; });
    EXPECT_EQ(ids.size(), more.size());
    EXPECT_EQ(waiting(), 0);
    EXPECT_EQ(rows(), "0");
    client->run("COMMIT");
    joined.wake()();
    EXPECT_EQ(consumer->delivered(first), MessageStatus::waiting);
    consumer->run_until_idle();
    ASSERT_EQ(seen.size(), 300u);
    for (int i = 0; i < 300; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i + 1);
    EXPECT_EQ(consumer->delivered(first), MessageStatus::delivered);
    EXPECT_EQ(rows(), "1");
}

TEST_P(Foreign, DropWhatIsThereAlready) {
    listen();
    const PublishOptions options{.key = "k", .once = "receipt-1"};
    client->run("BEGIN");
    auto joined = client->join(*producer);
    joined.publish("payments", Paid{1}, options);
    joined.publish("payments", Paid{2}, options);
    client->run("ROLLBACK");
    client->run("BEGIN");
    joined.publish("payments", Paid{3}, options);
    client->run("COMMIT");
    producer->publish("payments", Paid{4}, options);
    consumer->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(3)) << "what was rolled back does not count";
    EXPECT_THAT(error_of([&] { producer->publish_sql("payments", Paid{5}, options); }).what(),
                HasSubstr("join the transaction instead"));
}

TEST_P(Foreign, LeaveNothingWhenTheyAreRolledBack) {
    client->run("BEGIN");
    insert(1);
    auto joined = client->join(*producer);
    joined.publish("new", Paid{1});
    client->run("ROLLBACK");
    joined.wake()();
    EXPECT_EQ(rows(), "0");
    EXPECT_EQ(place().ask("SELECT count(*) FROM pawl_message"), "0");
    EXPECT_EQ(place().ask("SELECT count(*) FROM pawl_channel"), "0");
    // Nobody believes that the channel is there.
    client->run("BEGIN");
    joined.publish("new", Paid{2}, {.key = "k"});
    client->run("COMMIT");
    producer->publish("new", Paid{3}, {.key = "k"});
    listen("new");
    consumer->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(2, 3));
}

TEST_P(Foreign, GoBackWithASavepointOfTheUsers) {
    client->run("BEGIN");
    auto joined = client->join(*producer);
    client->run("SAVEPOINT mine");
    joined.publish("new", Paid{1});
    client->run("ROLLBACK TO SAVEPOINT mine");
    joined.publish("new", Paid{2});
    client->run("COMMIT");
    listen("new");
    consumer->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(2));
}

TEST_P(Foreign, AreFoundByThePollWhenNobodyIsWoken) {
    Watched<int> sum;
    const auto started = open(Options{});
    started->subscribe("payments",
                       [&](const Paid& p) { sum.change([&](int& s) { s += p.order; }); },
                       {.poll = 20ms});
    started->start();
    client->run("BEGIN");
    auto joined = client->join(*producer);
    joined.publish("payments", Paid{7});
    client->run("COMMIT");
    EXPECT_TRUE(sum.wait([](int s) { return s == 7; }));
}

TEST_P(Foreign, WakeThoseWhoDeliverInOtherProcesses) {
    Watched<int> sum;
    const auto started = open(Options{});
    started->subscribe("payments",
                       [&](const Paid& p) { sum.change([&](int& s) { s += p.order; }); },
                       {.poll = 1h});
    started->start();
    for (int i = 1; i <= 3; ++i) {
        client->run("BEGIN");
        auto joined = client->join(*producer);
        joined.publish("payments", Paid{1});
        client->run("COMMIT");
        joined.wake()();
        EXPECT_TRUE(sum.wait([&](int s) { return s == i; }));
    }
}

TEST_P(Foreign, NeedATransactionThatIsOpen) {
    const auto none = error_of([&] { (void)client->join(*producer); });
    EXPECT_EQ(none.code(), Code::misuse);
    EXPECT_THAT(none.what(), HasSubstr("no transaction is open"));
    client->run("BEGIN");
    auto joined = client->join(*producer);
    client->run("COMMIT");
    const auto over = error_of([&] { joined.publish("payments", Paid{1}); });
    EXPECT_EQ(over.code(), Code::misuse);
    EXPECT_THAT(over.what(), HasSubstr("no transaction is open"));
    EXPECT_EQ(place().ask("SELECT count(*) FROM pawl_message"), "0");
}

TEST_P(Foreign, CanBeOfTheStoresKindOnly) {
    int nothing = 0;
    const std::string store = GetParam();
    const auto joins = [&](auto* handle) {
        return error_of([&] { (void)producer->join(handle); });
    };
    std::vector<Error> errors;
    if (store != "sqlite") errors.push_back(joins(reinterpret_cast<sqlite3*>(&nothing)));
    if (store != "postgres") errors.push_back(joins(reinterpret_cast<pg_conn*>(&nothing)));
    if (store != "mariadb") errors.push_back(joins(reinterpret_cast<st_mysql*>(&nothing)));
    errors.push_back(joins(static_cast<sqlite3*>(nullptr)));
    for (const auto& error : errors) EXPECT_EQ(error.code(), Code::misuse) << error.what();
    EXPECT_THAT(errors[0].what(), HasSubstr("and the store is"));
    EXPECT_THAT(errors[2].what(), HasSubstr("null"));
}

TEST_P(Foreign, SendAndStartIfAndOnlyIfTheyCommit) {
    std::vector<std::string> started;
    const auto add = [&](Engine& engine) {
        return std::pair{engine.add<Counter>("counter"),
                         engine.add("greet", [&](Context& ctx, const std::string& name) {
                             ctx.step("say", [&] { started.push_back(name); });
                         })};
    };
    const auto [counters, greet] = add(*producer);
    const auto states = add(*consumer).first;
    client->run("BEGIN");
    {
        auto joined = client->join(*producer);
        joined.send(counters, "c", Counter::Add{100});
        joined.start(greet, "lost", "nobody");
    }
    client->run("ROLLBACK");
    client->run("BEGIN");
    auto joined = client->join(*producer);
    joined.send(counters, "c", Counter::Add{5}, {.input_id = "five"});
    joined.send(counters, "c", Counter::Add{5}, {.input_id = "five"});
    joined.send(counters, "c", Counter::Add{7});
    joined.start(greet, "ada", "Ada");
    client->run("COMMIT");
    for (int i = 0; i < 3; ++i) consumer->run_until_idle();
    EXPECT_EQ(states.state("c")->total, 12);
    EXPECT_THAT(started, ElementsAre("Ada"));
}

TEST_P(Foreign, PublishSeveralWithoutOptions) {
    listen();
    client->run("BEGIN");
    const auto ids =
        client->join(*producer).publish_all("payments", std::vector<Paid>{{1}, {2}, {3}});
    client->run("COMMIT");
    consumer->run_until_idle();
    EXPECT_THAT(seen, ::testing::UnorderedElementsAre(1, 2, 3));
    for (const auto& id : ids) EXPECT_EQ(consumer->delivered(id), MessageStatus::delivered);
}

TEST_P(Foreign, RouteIfAndOnlyIfTheyCommit) {
    consumer->add<Counter>("counter");
    const auto there = producer->add<Counter>("counter");
    const auto waits = [&] {
        for (int i = 0; i < 3; ++i) consumer->run_until_idle();
        return consumer->state("pawl.router", "counter/tag").value_or("nothing");
    };
    client->run("BEGIN");
    client->join(*producer).route(there, "tag", Counter::Add{1});
    client->run("ROLLBACK");
    EXPECT_EQ(waits(), "nothing");
    client->run("BEGIN");
    client->join(*producer).route(there, "tag", Counter::Add{2});
    client->run("COMMIT");
    EXPECT_THAT(waits(), HasSubstr(R"("amount":2)"));
    client->run("BEGIN");
    client->run(producer->route_sql(there, "tag", Counter::Add{3}));
    client->run("COMMIT");
    EXPECT_THAT(waits(), HasSubstr(R"("amount":3)"));
}

TEST_P(Foreign, AreCheckedBeforeAnythingIsWritten) {
    producer->channel("payments", 4);
    client->run("BEGIN");
    insert(1);
    auto joined = client->join(*producer);
    const auto options = [](const Paid& p) { return PublishOptions{.partition = p.order}; };
    const auto range = error_of(
        [&] { joined.publish_all("payments", std::vector<Paid>{{1}, {2}, {4}}, options); });
    EXPECT_EQ(range.code(), Code::invalid);
    EXPECT_THAT(range.what(), HasSubstr("has partition 4"));
    EXPECT_THAT(range.what(), HasSubstr("your transaction can go on"));
    const std::string large(2 << 20, 'x');
    EXPECT_EQ(error_of([&] { joined.publish("payments", Paid{1, large}); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { joined.publish("pawl.mine", Paid{1}); }).code(), Code::invalid);
    joined.publish("payments", Paid{3}, {.partition = 3});
    client->run("COMMIT");
    EXPECT_EQ(rows(), "1");
    EXPECT_EQ(place().ask("SELECT count(*) FROM pawl_message"), "1");
}

// They meet at a channel that none of them finds.
TEST_P(Foreign, OfManyClientsKeepTheOrderOfTheirKeys) {
    constexpr int producers = 4;
    constexpr int each = 15;
    const auto produce = [&](int which) {
        const auto own = connect(url());
        for (int i = 1; i <= each;) {
            own->run("BEGIN");
            try {
                auto joined = own->join(*producer);
                joined.publish("new", Paid{i}, {.key = std::to_string(which)});
                own->run("COMMIT");
                ++i;
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), Code::busy) << error.what();
                own->run("ROLLBACK");
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int which = 0; which < producers; ++which) threads.emplace_back(produce, which);
    }
    std::map<std::string, std::vector<int>> by_key;
    consumer->subscribe("new", [&](const Paid& p, const Received& received) {
        by_key[received.id].push_back(p.order);
    });
    for (int i = 0; i < 5; ++i) consumer->run_until_idle();
    EXPECT_EQ(by_key.size(), static_cast<std::size_t>(producers));
    for (const auto& [key, all] : by_key) {
        ASSERT_EQ(all.size(), static_cast<std::size_t>(each)) << key;
        for (int i = 0; i < each; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i + 1) << key;
    }
}

// Everything that a text could be taken for by a client or a database.
constexpr const char* difficult = "\"it's\" \\x41 {a,b} NULL ? $1 :1 % é 漢 \\";

TEST_P(Foreign, KeepTheirTexts) {
    listen();
    client->run("BEGIN");
    auto joined = client->join(*producer);
    joined.publish("payments", Paid{1, difficult},
                   {.key = difficult, .type = "é", .correlation = difficult, .tenant = "ü"});
    client->run("COMMIT");
    consumer->run_until_idle();
    EXPECT_EQ(last.note, difficult);
    EXPECT_EQ(envelope.id, difficult);
    EXPECT_EQ(envelope.type, "é");
    EXPECT_EQ(envelope.correlation, difficult);
}

TEST_P(Foreign, TextsArePublishedByWhoeverRunsThem) {
    listen();
    const auto text = producer->publish_sql(
        "payments", Paid{1, difficult}, {.key = difficult, .type = "é", .correlation = difficult});
    client->run("BEGIN");
    insert(1);
    client->run(text);
    client->run(producer->publish_sql("payments", Paid{2}, {.key = difficult}));
    client->run("COMMIT");
    text.wake();
    EXPECT_EQ(consumer->delivered(text.message), MessageStatus::waiting);
    consumer->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 2));
    EXPECT_EQ(consumer->delivered(text.message), MessageStatus::delivered);

    client->run("BEGIN");
    client->run(producer->publish_sql("payments", Paid{3}));
    client->run("ROLLBACK");
    client->run("BEGIN");
    client->run(producer->publish_sql("payments", Paid{4, difficult},
                                      {.partition = 15,
                                       .deliver_after = clock.now() + 1h,
                                       .type = "é",
                                       .correlation = difficult}));
    client->run("COMMIT");
    consumer->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 2)) << "it is for later";
    advance(*consumer, 2h);
    EXPECT_THAT(seen, ElementsAre(1, 2, 4));
    EXPECT_EQ(last.note, difficult);
    EXPECT_EQ(envelope.partition, 15);
    EXPECT_EQ(envelope.type, "é");
    EXPECT_EQ(envelope.correlation, difficult);
    EXPECT_EQ(
        error_of([&] { producer->publish_sql("payments", Paid{}, {.partition = 16}); }).code(),
        Code::invalid);
}

TEST_P(Foreign, TextsSendAndStart) {
    std::vector<std::string> started;
    const auto counters = producer->add<Counter>("counter");
    const auto greet =
        producer->add("greet", [&](Context&, const std::string& name) { started.push_back(name); });
    const auto send = producer->send_sql(counters, "c", Counter::Add{5});
    const auto start = producer->start_sql(greet, "ada", "Ada");
    client->run("BEGIN");
    client->run(send);
    client->run(start);
    client->run("COMMIT");
    for (int i = 0; i < 3; ++i) producer->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 5);
    EXPECT_THAT(started, ElementsAre("Ada"));
}

TEST_P(Foreign, TextsHaveTheMarksOfTheirClient) {
    const auto with = [&](Marks marks) {
        return producer->publish_sql("payments", Paid{}, {}, marks);
    };
    EXPECT_THAT(with(Marks::question).sql, HasSubstr("?"));
    EXPECT_THAT(with(Marks::question).sql, ::testing::Not(HasSubstr("?1")));
    EXPECT_THAT(with(Marks::dollar).sql, HasSubstr("$17"));
    EXPECT_THAT(with(Marks::colon).sql, HasSubstr(":17"));
    const auto native = with(Marks::native).sql;
    EXPECT_THAT(native, HasSubstr(GetParam() == "postgres" ? "$1" : "?"));
}

TEST(ForeignInMemory, HasNoDatabaseToJoin) {
    int nothing = 0;
    Engine engine{"memory:"};
    EXPECT_EQ(error_of([&] { (void)engine.join(reinterpret_cast<sqlite3*>(&nothing)); }).code(),
              Code::misuse);
    EXPECT_EQ(error_of([&] { engine.publish_sql("payments", Paid{}); }).code(), Code::misuse);
}

}  // namespace
}  // namespace pawl::engine_test
