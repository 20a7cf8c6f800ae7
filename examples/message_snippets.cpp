// What the documentation shows of messages, as a program: see snippets.cpp.
#include <iostream>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include "order.hpp"

void require(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "does not hold: " << what << '\n';
    std::exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

struct Reading { std::string sensor; double value = 0; };

struct Archive {
    std::vector<double> values;
    void write(const Reading& r) { values.push_back(r.value); }
    void write(const std::vector<Reading>& all) { for (const auto& r : all) write(r); }
};

void messages_are_published_and_taken() {
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    Archive archive;
    // [batch]
    engine.subscribe("readings", [&](pawl::Batch<Reading>& batch) {
        while (batch.remaining() > 0) {
            archive.write(batch.next(50));
            batch.ack();  // these do not come again if a later one throws
        }
    }, pawl::high_throughput());
    // [/batch]

    // [publish]
    engine.publish("readings", Reading{"roof", 21.5}, {.key = "roof"});  // durable when it returns
    engine.publish_all("readings", std::vector<Reading>{{"roof", 21.7}, {"cellar", 12.1}},
                       [](const Reading& r) { return pawl::PublishOptions{.key = r.sensor}; });
    // [/publish]
    fixture.run_until_idle();
    REQUIRE(archive.values.size() == 3);

    // [later]
    auto id = engine.publish("readings", Reading{"roof", 0}, {.key = "roof", .deliver_after = engine.now() + 1h});
    REQUIRE(engine.delivered(id) == pawl::MessageStatus::waiting);
    // [/later]
    fixture.advance(1h);
    REQUIRE(engine.delivered(id) == pawl::MessageStatus::delivered);

    // [once]
    engine.publish("readings", Reading{"roof", 20}, {.key = "roof", .once = "roof 2026-11-16", .once_for = 48h});
    engine.publish("readings", Reading{"roof", 20}, {.key = "roof", .once = "roof 2026-11-16", .once_for = 48h});
    // [/once]
    fixture.run_until_idle();
    REQUIRE(archive.values.size() == 5);

    // [rates]
    const auto before = engine.statistics("readings");
    fixture.advance(10s);
    const auto rates = pawl::rates(before, engine.statistics("readings"));
    // [/rates]
    REQUIRE(rates.delivered == 0);

    // [repartition]
    if (!engine.repartition("readings", 64)) std::cout << "there are messages left in it\n";
    // [/repartition]
    REQUIRE(engine.partitions("readings").size() == 64);
}

void a_batch_is_judged_message_by_message() {
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    Archive archive;
    // [bury]
    engine.subscribe("readings", [&](pawl::Batch<Reading>& batch) {
        while (auto reading = batch.next()) {
            if (reading->value < -273.15) batch.bury("colder than anything");
            else archive.write(*reading);
        }
    });
    // [/bury]
    engine.publish("readings", Reading{"roof", -300});
    engine.publish("readings", Reading{"roof", 3});
    fixture.run_until_idle();
    REQUIRE(archive.values.size() == 1);
    REQUIRE(engine.dead_messages().at(0).reason == "colder than anything");
}

void a_partition_stops_and_goes_on() {
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    bool full = true;
    Archive archive;
    // [stop]
    engine.subscribe("readings", [&](const Reading& r) {
        if (full) throw std::runtime_error{"the archive is full"};
        archive.write(r);
    }, {.policy = {.attempts = 3, .base = 1s}, .poison = pawl::Poison::stop});
    // [/stop]
    engine.publish("readings", Reading{"roof", 1}, {.key = "roof"});
    for (int i = 0; i < 5; ++i) fixture.advance(10s);
    full = false;
    fixture.advance(24h);
    REQUIRE(archive.values.empty());
    // [resume]
    for (const pawl::PartitionDepth& one : engine.partitions("readings"))
        if (one.stopped)
            std::cout << "partition " << one.partition << " waits with " << one.waiting
                      << " messages: " << one.error.value_or("") << '\n';
    engine.resume("readings");
    // [/resume]
    fixture.run_until_idle();
    fixture.advance(2s);
    REQUIRE(archive.values.size() == 1);
}

void inputs_wait_in_the_inbox() {
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    auto orders = engine.add<Order>("order", pawl::Handlers{[](const Order::Invoice&) {},
                                                            [](const Order::Ship&) {}});
    // [post]
    orders.post("o-1", Order::Place{"book", 2}, {.input_id = "request-17"});  // durable when it returns
    orders.post({{"o-2", Order::Place{"lamp"}}, {"o-2", Order::Pay{"r-2"}}});  // all or none
    // [/post]
    REQUIRE(!orders.state("o-1"));
    fixture.run_until_idle();
    REQUIRE(orders.state("o-1")->status == Order::Status::placed);
    REQUIRE(orders.state("o-2")->status == Order::Status::paid);
    // [inbox]
    for (const pawl::PartitionDepth& one : engine.partitions("pawl.inbox.order"))
        REQUIRE(one.waiting == 0);
    REQUIRE(engine.count_dead_messages({.channel = "pawl.inbox.order"}) == 0);
    // [/inbox]
}

int main() {
    messages_are_published_and_taken();
    a_batch_is_judged_message_by_message();
    a_partition_stops_and_goes_on();
    inputs_wait_in_the_inbox();
    std::cout << "everything in the documentation of messages holds\n";
}
