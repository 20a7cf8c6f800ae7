#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

class Queries : public EngineTest {
protected:
    std::vector<std::string> ids(const InstanceQuery& query) {
        std::vector<std::string> out;
        for (const auto& one : engine->instances(query).instances) out.push_back(one.id);
        return out;
    }
    std::unique_ptr<Engine> engine = open();
    Workflow<Counter> counters = engine->add<Counter>("counter");
    Workflow<Courier> couriers = engine->add<Courier>("courier");
    Workflow<Alarm> alarms = engine->add<Alarm>("alarm");
};
INSTANTIATE_TEST_SUITE_P(Stores, Queries, every_store(), name_of);

TEST_P(Queries, FindInstancesByEveryFilter) {
    const auto start = clock.now();
    counters.send("a-1", Counter::Add{1}, {.tenant = "red"});
    clock.advance(1min);
    counters.send("a-2", Counter::Add{1000}, {.tenant = "blue"});
    clock.advance(1min);
    couriers.send("a-3", Courier::Send{"ada"}, {.tenant = "red"});
    counters.send("b%1", Counter::Add{1});
    counters.send("a-1", Counter::Add{1});
    EXPECT_THAT(ids({}), ElementsAre("a-1", "a-2", "a-3", "b%1"));
    EXPECT_THAT(ids({.type = "counter"}), ElementsAre("a-1", "a-2", "b%1"));
    EXPECT_THAT(ids({.type = "nothing"}), IsEmpty());
    EXPECT_THAT(ids({.id_prefix = "a-"}), ElementsAre("a-1", "a-2", "a-3"));
    EXPECT_THAT(ids({.id_prefix = "b%"}), ElementsAre("b%1"));
    EXPECT_THAT(ids({.id_prefix = "%"}), IsEmpty());
    EXPECT_THAT(ids({.tenant = "red"}), ElementsAre("a-1", "a-3"));
    EXPECT_THAT(ids({.finished = true}), ElementsAre("a-2"));
    EXPECT_THAT(ids({.type = "counter", .finished = false}), ElementsAre("a-1", "b%1"));
    EXPECT_THAT(ids({.created_from = start + 1min}), ElementsAre("a-2", "a-3", "b%1"));
    EXPECT_THAT(ids({.created_before = start + 1min}), ElementsAre("a-1"));
    const auto rows = counters.instances().instances;
    EXPECT_EQ(rows[0].type, "counter");
    EXPECT_EQ(rows[0].version, 2);
    EXPECT_EQ(rows[0].tenant, "red");
    EXPECT_EQ(rows[0].created_at, start);
    EXPECT_EQ(rows[0].updated_at, start + 2min);
    EXPECT_FALSE(rows[0].finished_at);
    EXPECT_EQ(rows[1].finished_at, start + 1min);
}

TEST_P(Queries, PageThroughInstancesWithoutMissingOne) {
    for (int i = 0; i < 25; ++i) counters.send("c-" + std::to_string(i), Counter::Add{1});
    std::vector<std::string> seen;
    InstanceQuery query{.type = "counter", .limit = 10};
    int pages = 0;
    do {
        const auto page = engine->instances(query);
        for (const auto& one : page.instances) seen.push_back(one.id);
        query.cursor = page.next;
        ++pages;
        counters.send("late-" + std::to_string(pages), Counter::Add{1});
    } while (!query.cursor.empty() && pages < 10);
    EXPECT_EQ(pages, 3);
    ASSERT_GE(seen.size(), 25u);
    for (int i = 0; i < 25; ++i)
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], "c-" + std::to_string(i));
}

TEST_P(Queries, RefuseACursorThatIsNone) {
    EXPECT_EQ(error_of([&] { engine->instances({.cursor = "nonsense"}); }).code(), Code::invalid);
}

TEST_P(Queries, ReadTheJournalInPages) {
    for (int i = 1; i <= 5; ++i) counters.send("c", Counter::Add{i});
    const auto all = counters.journal("c");
    ASSERT_EQ(all.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(all[i].sequence, static_cast<std::int64_t>(i) + 1);
        EXPECT_EQ(all[i].name, "Added");
        EXPECT_FALSE(all[i].id.is_nil());
        if (i > 0) {
            EXPECT_GT(all[i].position, all[i - 1].position);
        }
    }
    const auto some = counters.journal("c", 2, 2);
    ASSERT_EQ(some.size(), 2u);
    EXPECT_EQ(some[0].sequence, 3);
    EXPECT_EQ(some[1].payload, R"({"type":"Added","amount":4})");
    EXPECT_THAT(counters.journal("c", 5), IsEmpty());
    EXPECT_THAT(counters.journal("nobody"), IsEmpty());
}

TEST_P(Queries, ReadTheStateAfterAnyEvent) {
    for (int i = 1; i <= 5; ++i) counters.send("c", Counter::Add{i});
    EXPECT_EQ(counters.state("c")->total, 15);
    EXPECT_EQ(counters.state_at("c", 0)->total, 15);
    EXPECT_EQ(counters.state_at("c", 1)->total, 1);
    EXPECT_EQ(counters.state_at("c", 3)->total, 6);
    EXPECT_EQ(counters.state_at("c", 5)->total, 15);
    EXPECT_EQ(counters.state_at("c", 99)->total, 15);
    EXPECT_FALSE(counters.state("nobody"));
    EXPECT_FALSE(counters.state_at("nobody", 1));
    EXPECT_FALSE(engine->state("counter", "nobody"));
}

TEST_P(Queries, ReadTheStateBeforeASnapshot) {
    auto often = open();
    auto some = often->add<Counter>("often", {.snapshot_every = 2});
    for (int i = 1; i <= 7; ++i) some.send("c", Counter::Add{1});
    for (int i = 1; i <= 7; ++i) EXPECT_EQ(some.state_at("c", i)->total, i);
}

TEST_P(Queries, ListPendingWorkByEveryFilter) {
    couriers.send("c", Courier::Send{"ada", 2});
    alarms.send("a", Alarm::Set{"k", 60s, "x"});
    EXPECT_EQ(engine->pending().size(), 3u);
    EXPECT_EQ(engine->pending({.kind = WorkKind::timer}).size(), 1u);
    EXPECT_EQ(engine->pending({.type = "courier"}).size(), 2u);
    EXPECT_EQ(engine->pending({.type = "courier", .id = "d"}).size(), 0u);
    EXPECT_EQ(engine->pending({.name = "Ring"}).size(), 1u);
    EXPECT_EQ(engine->pending({.limit = 1}).size(), 1u);
    const auto first = engine->pending({.limit = 1}).at(0);
    EXPECT_EQ(engine->pending({.after = first.item}).size(), 2u);
    EXPECT_EQ(first.created_at, clock.now());
    EXPECT_EQ(first.due_at, clock.now());
    EXPECT_EQ(error_of([&] { engine->pending({.id = "c"}); }).code(), Code::invalid);
}

TEST_P(Queries, ShowTheBacklogOfWhatNobodyHandles) {
    const auto start = clock.now();
    couriers.send("c", Courier::Send{"ada", 3});
    alarms.send("a", Alarm::Set{"k", 60s, "x"});
    advance(*engine, 1s);
    const auto backlog = engine->backlog();
    ASSERT_EQ(backlog.size(), 2u);
    const auto& carry = backlog[0].type == "courier" ? backlog[0] : backlog[1];
    const auto& ring = backlog[0].type == "courier" ? backlog[1] : backlog[0];
    EXPECT_EQ(carry.kind, WorkKind::effect);
    EXPECT_EQ(carry.name, "Carry");
    EXPECT_EQ(carry.ready, 3);
    EXPECT_EQ(carry.waiting, 0);
    EXPECT_EQ(carry.claimed, 0);
    EXPECT_EQ(carry.oldest_due, start);
    EXPECT_EQ(ring.kind, WorkKind::timer);
    EXPECT_EQ(ring.type, "alarm");
    EXPECT_EQ(ring.name, "Ring");
    EXPECT_EQ(ring.ready, 0);
    EXPECT_EQ(ring.waiting, 1);
}

TEST_P(Queries, TellTheStoresTime) {
    EXPECT_EQ(engine->now(), clock.now());
    clock.advance(1h);
    EXPECT_EQ(engine->now(), clock.now());
}

}  // namespace
}  // namespace pawl::engine_test
