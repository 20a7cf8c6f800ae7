#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Queries : public StoreTest {
protected:
    static std::string text(const LineDepth& depth) {
        const auto& line = depth.line;
        return line.type + "." + line.name + " " + std::to_string(depth.ready) + "/" +
               std::to_string(depth.waiting) + "/" + std::to_string(depth.claimed);
    }
    std::vector<std::string> depth_texts() {
        std::vector<std::string> texts;
        for (const auto& depth : store->depths()) texts.push_back(text(depth));
        return texts;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Queries, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Queries, ListInstancesByEveryField) {
    const Time start = clock.now();
    commit(on(order("b-1"), 0).event("A").envelope({.tenant = "acme"}));
    clock.advance(1s);
    commit(on(order("a-1"), 0).event("A").finish());
    clock.advance(1s);
    commit(on({"refund", "b-2"}, 0).event("A").envelope({.tenant = "acme"}));
    clock.advance(1s);
    commit(on(order("B-3"), 0).event("A").envelope({.tenant = "other"}));

    EXPECT_THAT(instance_ids(), ElementsAre("b-1", "a-1", "b-2", "B-3")) << "by creation";
    EXPECT_THAT(instance_ids({.type = "order"}), ElementsAre("b-1", "a-1", "B-3"));
    EXPECT_THAT(instance_ids({.type = "ORDER"}), IsEmpty());
    EXPECT_THAT(instance_ids({.id_prefix = "b-"}), ElementsAre("b-1", "b-2"));
    EXPECT_THAT(instance_ids({.type = "order", .id_prefix = "b-"}), ElementsAre("b-1"));
    EXPECT_THAT(instance_ids({.tenant = "acme"}), ElementsAre("b-1", "b-2"));
    EXPECT_THAT(instance_ids({.finished = true}), ElementsAre("a-1"));
    EXPECT_THAT(instance_ids({.finished = false}), ElementsAre("b-1", "b-2", "B-3"));
    EXPECT_THAT(instance_ids({.created_from = start + 1s}), ElementsAre("a-1", "b-2", "B-3"));
    EXPECT_THAT(instance_ids({.created_before = start + 1s}), ElementsAre("b-1"));
    EXPECT_THAT(instance_ids({.created_from = start + 1s, .created_before = start + 3s}),
                ElementsAre("a-1", "b-2"));
}

TEST_P(Queries, TakeAPrefixLiterally) {
    for (const std::string id : {"a%b", "a_b", "axb", "a%bc", "a\\b"}) create(order(id));
    EXPECT_THAT(instance_ids({.id_prefix = "a%"}), ElementsAre("a%b", "a%bc"));
    EXPECT_THAT(instance_ids({.id_prefix = "a_"}), ElementsAre("a_b"));
    EXPECT_THAT(instance_ids({.id_prefix = "a\\"}), ElementsAre("a\\b"));
}

TEST_P(Queries, PageInstances) {
    for (int i = 0; i < 6; ++i)
        create(i == 2 ? InstanceName{"refund", "2"} : order(std::to_string(i)));
    InstanceFilter filter{.type = "order", .limit = 2};
    std::vector<std::string> seen;
    int pages = 0;
    do {
        const InstancePage page = store->instances(filter);
        EXPECT_LE(page.rows.size(), 2u);
        for (const auto& row : page.rows) seen.push_back(row.name.id);
        if (++pages == 1) {
            create(order("late"));
            commit(on(order("0"), 1).event("Touched"));
        }
        filter.cursor = page.next;
    } while (!filter.cursor.empty());
    EXPECT_THAT(seen, ElementsAre("0", "1", "3", "4", "5", "late"));
    EXPECT_EQ(pages, 3) << "a full last page has no next";
    EXPECT_EQ(store->instances({.type = "none"}).next, "");
}

TEST_P(Queries, ListInstanceRowsInFull) {
    commit(on(order("1"), 0).event("A").unique("key").envelope({.tenant = "acme"}));
    clock.advance(1s);
    commit(on(order("1"), 1).event("B").event("C"));
    const auto rows = store->instances({}).rows;
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].name, order("1"));
    EXPECT_EQ(rows[0].version, 3);
    EXPECT_EQ(rows[0].tenant, "acme");
    EXPECT_EQ(rows[0].unique_key, "key");
    EXPECT_EQ(rows[0].created_at, clock.now() - 1s);
    EXPECT_EQ(rows[0].updated_at, clock.now());
    EXPECT_EQ(rows[0].finished_at, std::nullopt);
}

TEST_P(Queries, ListItemsByEveryField) {
    const auto a = create(order("1"), {"Do", "Other"});
    const auto b = create(order("2"), {"Do"});
    const auto c = commit(on({"refund", "1"}, 0).event("A").effect("Do")).items;
    const auto d = commit(on(order("1"), 1).event("A").timer("Ring", 1h, "bell")).items;
    claim(open_session(), {effects("Other")});

    EXPECT_THAT(item_ids(), ElementsAre(a[0], a[1], b[0], c[0], d[0])) << "in any state";
    EXPECT_THAT(item_ids({.kind = ItemKind::timer}), ElementsAre(d[0]));
    EXPECT_THAT(item_ids({.type = "refund"}), ElementsAre(c[0]));
    EXPECT_THAT(item_ids({.type = "order", .id = "1"}), ElementsAre(a[0], a[1], d[0]));
    EXPECT_THAT(item_ids({.name = "Do"}), ElementsAre(a[0], b[0], c[0]));
    EXPECT_THAT(item_ids({.limit = 2}), ElementsAre(a[0], a[1]));
    EXPECT_THAT(item_ids({.after = a[1], .limit = 2}), ElementsAre(b[0], c[0]));
    EXPECT_THAT(item_ids({.name = "Do", .after = a[0]}), ElementsAre(b[0], c[0]));
}

TEST_P(Queries, CountTheDepthOfEveryLine) {
    EXPECT_THAT(store->depths(), IsEmpty());
    create(order("1"), {"Do", "Do", "Do", "Other"});
    commit(on(order("2"), 0).event("A").timer("Ring", 10s).timer("Ring", 5s).timer("Ring", 0s));
    claim(open_session(), {effects("Do")}, 1);
    claim(open_session(), {effects("Other")});
    EXPECT_THAT(depth_texts(),
                ElementsAre("order.Do 2/0/1", "order.Other 0/0/1", "order.Ring 1/2/0"));
    const auto depths = store->depths();
    EXPECT_EQ(depths[0].line, effects("Do"));
    EXPECT_EQ(depths[0].oldest_due, clock.now());
    EXPECT_EQ(depths[1].oldest_due, std::nullopt);
    EXPECT_EQ(depths[2].line, timers("Ring"));
    EXPECT_EQ(depths[2].oldest_due, clock.now());
    clock.advance(5s);
    EXPECT_THAT(depth_texts(),
                ElementsAre("order.Do 2/0/1", "order.Other 0/0/1", "order.Ring 2/1/0"));
}

TEST_P(Queries, ListEndingsByEveryField) {
    create(order("1"), {"Do", "Other"});
    commit(on({"refund", "1"}, 0).event("A").effect("Do"));
    const Line refunds{ItemKind::effect, "refund", "Do"};
    const auto items = claim(open_session(), {effects("Do"), effects("Other"), refunds}).items;
    ASSERT_EQ(items.size(), 3u);
    for (const auto& item : items) commit(settling().ack(item, Ending::rejected, "no"));
    const auto endings = [&](const ItemFilter& filter) {
        std::vector<ItemId> ids;
        for (const auto& ending : store->endings(filter)) ids.push_back(ending.item);
        return ids;
    };
    EXPECT_EQ(endings({}), ids_of(items));
    EXPECT_THAT(endings({.type = "refund"}), ElementsAre(items[2].id));
    EXPECT_THAT(endings({.type = "order", .id = "1"}), ElementsAre(items[0].id, items[1].id));
    EXPECT_THAT(endings({.name = "Do"}), ElementsAre(items[0].id, items[2].id));
    EXPECT_THAT(endings({.kind = ItemKind::timer}), IsEmpty());
    EXPECT_THAT(endings({.after = items[0].id, .limit = 1}), ElementsAre(items[1].id));
}

TEST_P(Queries, VacuumOldInputIds) {
    commit(on(order("1"), 0).event("A").input("old"));
    clock.advance(1h);
    commit(on(order("1"), 1).event("A").input("young"));
    EXPECT_EQ(store->vacuum({.input_ids_older_than = 1h}).removed, 0) << "not older than an hour";
    clock.advance(1us);
    EXPECT_EQ(store->vacuum({}).removed, 0) << "nothing was asked for";
    EXPECT_EQ(store->vacuum({.input_ids_older_than = 1h}).removed, 1);
    EXPECT_EQ(store->vacuum({.input_ids_older_than = 1h}).removed, 0);
    EXPECT_EQ(commit(on(order("1"), 2).event("A").input("young")).fate, Fate::duplicate);
    EXPECT_EQ(commit(on(order("1"), 2).event("A").input("old")).fate, Fate::committed);
}

TEST_P(Queries, VacuumOldEndings) {
    create(order("1"), {"Do", "Do"});
    const auto items = claim(open_session(24h), {effects("Do")}).items;
    commit(settling().ack(items[0], Ending::rejected, "no"));
    clock.advance(1h);
    commit(settling().ack(items[1], Ending::rejected, "no"));
    EXPECT_EQ(store->vacuum({.endings_older_than = 1h}).removed, 0);
    clock.advance(1us);
    EXPECT_EQ(store->vacuum({.endings_older_than = 1h}).removed, 1);
    const auto left = store->endings({});
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].item, items[1].id);
}

TEST_P(Queries, VacuumABoundedNumberOfRows) {
    for (int i = 0; i < 5; ++i)
        commit(on(order(std::to_string(i)), 0).event("A").input("in").effect("Do"));
    auto done = settling();
    for (const auto& item : claim(open_session(), {effects("Do")}).items)
        done.ack(item, Ending::rejected, "no");
    commit(done);
    clock.advance(1h);
    const VacuumRequest request{
        .input_ids_older_than = 1min, .endings_older_than = 1min, .limit = 2};
    EXPECT_EQ(store->vacuum(request).removed, 4) << "two of each";
    EXPECT_EQ(store->vacuum(request).removed, 4);
    EXPECT_EQ(store->vacuum(request).removed, 2);
    EXPECT_EQ(store->vacuum(request).removed, 0);
    EXPECT_EQ(instance_ids().size(), 5u);
}

TEST_P(Queries, VacuumOldDeadLettersAndTheirFailures) {
    create(order("1"), {"Do", "Do"});
    const auto items = claim(open_session(24h), {effects("Do")}).items;
    commit(settling().bury(items[0], "no"));
    clock.advance(1h);
    commit(settling().bury(items[1], "no"));
    EXPECT_EQ(store->vacuum({.dead_letters_older_than = 1h}).removed, 0);
    clock.advance(1us);
    EXPECT_EQ(store->vacuum({.dead_letters_older_than = 1h}).removed, 1);
    const auto left = store->dead_letters({});
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].item.id, items[1].id);
    EXPECT_EQ(left[0].failures.size(), 1u);
}

TEST_P(Queries, VacuumFinishedInstancesWithAllThatIsTheirs) {
    commit(on(order("1"), 0).event("A").input("in").unique("key"));
    commit(on(order("1"), 1).event("B").finish());
    commit(on(order("2"), 0).event("A"));
    clock.advance(1h);
    commit(on(order("3"), 0).event("A").finish());
    EXPECT_EQ(store->vacuum({.finished_older_than = 1h}).removed, 0);
    clock.advance(1us);
    EXPECT_EQ(store->vacuum({.finished_older_than = 1h}).removed, 1);
    EXPECT_EQ(store->vacuum({.finished_older_than = 1h}).removed, 0);

    EXPECT_THAT(instance_ids(), ElementsAre("2", "3"));
    EXPECT_FALSE(load(order("1")).row);
    EXPECT_THAT(store->journal(order("1"), 0, 10), IsEmpty());
    const auto followed = store->follow("", 10);
    ASSERT_EQ(followed.events.size(), 2u);
    EXPECT_EQ(followed.events[0].instance, order("2"));
    EXPECT_EQ(followed.events[1].instance, order("3"));
}

TEST_P(Queries, VacuumLeavesTheIdFreeForANewInstance) {
    commit(on(order("1"), 0).event("A").input("in").finish());
    clock.advance(1h);
    EXPECT_EQ(store->vacuum({.finished_older_than = 1min}).removed, 1);
    EXPECT_EQ(commit(on(order("1"), 1).event("B")).fate, Fate::stale);
    EXPECT_EQ(commit(on(order("1"), 0).event("C").input("in")).version, 1);
    const auto journal = store->journal(order("1"), 0, 10);
    ASSERT_EQ(journal.size(), 1u);
    EXPECT_EQ(journal[0].event.name, "C");
    EXPECT_EQ(store->follow("", 10).events.size(), 1u) << "only those of the new one";
}

TEST_P(Queries, VacuumNoFinishedInstanceThatHasWorkOrADeadLetter) {
    commit(on(order("1"), 0).event("A").effect("Do").finish());
    clock.advance(1h);
    EXPECT_EQ(store->vacuum({.finished_older_than = 1min}).removed, 0) << "an effect waits";
    const Item item = claim_one(open_session(24h), effects("Do"));
    EXPECT_EQ(store->vacuum({.finished_older_than = 1min}).removed, 0) << "it is claimed";
    commit(settling().bury(item, "no"));
    EXPECT_EQ(store->vacuum({.finished_older_than = 1min}).removed, 0) << "it is a dead letter";
    store->discard_dead_letters({});
    EXPECT_EQ(store->vacuum({.finished_older_than = 1min}).removed, 1);
}

TEST_P(Queries, VacuumLongJournalsInSeveralPasses) {
    commit(on(order("1"), 0).event("A").event("A").event("A").event("A").event("A").finish());
    commit(on(order("2"), 0).event("A").finish());
    clock.advance(1h);
    const VacuumRequest request{.finished_older_than = 1min, .limit = 2};
    const auto first = store->vacuum(request);
    EXPECT_EQ(first.removed, 2);
    EXPECT_TRUE(first.more);
    EXPECT_THAT(store->follow("", 10).events, IsEmpty()) << "nothing of them is seen any more";
    int passes = 0;
    while (store->vacuum(request).more && passes < 10) ++passes;
    EXPECT_LT(passes, 10);
    EXPECT_THAT(instance_ids(), IsEmpty());
}

TEST_P(Queries, TellTheStoresTime) {
    EXPECT_EQ(store->now(), clock.now());
    clock.advance(1s);
    EXPECT_EQ(store->now(), clock.now());
}

}  // namespace
}  // namespace pawl::store::conformance
