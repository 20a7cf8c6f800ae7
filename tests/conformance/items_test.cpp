#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Items : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Items, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Items, SayWhichCommitReleasedThemAndWhere) {
    create(order("1"));
    const Answer answer =
        commit(on(order("1"), 1).event("A").event("B").effect("Do").timer("Ring", 5s).effect("Do"));
    ASSERT_EQ(answer.items.size(), 3u);
    const auto items = store->items({});
    ASSERT_EQ(ids_of(items), answer.items);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(items[i].sequence, 3) << "of the last event of the commit";
        EXPECT_EQ(items[i].index, static_cast<std::int32_t>(i));
        EXPECT_EQ(items[i].instance, order("1"));
        EXPECT_EQ(items[i].created_at, clock.now());
        EXPECT_EQ(items[i].attempts, 0);
        EXPECT_EQ(items[i].session, 0);
        EXPECT_EQ(items[i].fence, 0);
    }
    EXPECT_EQ(items[0].line, effects("Do"));
    EXPECT_EQ(items[0].due_at, clock.now());
    EXPECT_EQ(items[1].line, timers("Ring"));
    EXPECT_EQ(items[1].due_at, clock.now() + 5s);
}

TEST_P(Items, AreDueWhenTheyWereAsked) {
    const Time at = clock.now() + 1h;
    const Answer answer = commit(on(order("1"), 0)
                                     .event("A")
                                     .put({.name = "Do", .at = at, .after = 5s})
                                     .put({.name = "Do", .at = clock.now() - 1h})
                                     .put({.name = "Do", .after = 1us}));
    EXPECT_EQ(item(answer.items[0])->due_at, at) << "`at` comes before `after`";
    EXPECT_EQ(item(answer.items[1])->due_at, clock.now() - 1h);
    EXPECT_EQ(item(answer.items[2])->due_at, clock.now() + 1us);
}

TEST_P(Items, HaveIdsThatOnlyGrow) {
    ItemId last = 0;
    const SessionId session = open_session();
    for (int i = 0; i < 5; ++i) {
        const auto ids = create(order(std::to_string(i)), {"Do", "Do"});
        EXPECT_GT(ids[0], last);
        EXPECT_GT(ids[1], ids[0]);
        last = ids[1];
        auto done = settling();
        for (const auto& item : claim(session, {effects("Do")}).items) done.ack(item);
        commit(done);
        EXPECT_THAT(item_ids(), IsEmpty()) << "and an id is not used again";
    }
}

TEST_P(Items, AreGoneWhenAcknowledged) {
    create(order("1"), {"Do"});
    const Item done = claim_one(open_session(), effects("Do"));
    const Answer answer = commit(on(order("1"), 1).event("Done").ack(done));
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(answer.version, 2);
    EXPECT_THAT(item_ids(), IsEmpty());
    EXPECT_THAT(store->endings({}), IsEmpty()) << "an applied input is in the journal";
    EXPECT_EQ(store->count_dead_letters({}), 0);
}

TEST_P(Items, AreAcknowledgedByTheResultForAnotherInstance) {
    create(order("1"), {"Do"});
    const Item done = claim_one(open_session(), effects("Do"));
    EXPECT_EQ(commit(on(order("2"), 5).event("A").ack(done)).fate, Fate::stale);
    EXPECT_TRUE(item(done.id)) << "acknowledged only with the result";
    EXPECT_EQ(commit(on(order("2"), 0).event("A").ack(done)).fate, Fate::committed);
    EXPECT_FALSE(item(done.id));
}

TEST_P(Items, KeepHowTheyEndedWhereNothingChanged) {
    create(order("1"), {"Do", "Do", "Do"});
    commit(on(order("2"), 0).event("A").timer("Ring", 0s, "bell"));
    const SessionId session = open_session();
    const auto items = claim(session, {effects("Do")}).items;
    const Item ring = claim_one(session, timers("Ring"));
    clock.advance(1s);
    commit(on(order("1"), 1).ack(items[0], Ending::rejected, "too late"));
    commit(settling().ack(ring, Ending::finished, ""));
    commit(settling().ack(items[1]));

    const auto endings = store->endings({});
    ASSERT_EQ(endings.size(), 2u);
    EXPECT_EQ(endings[0].item, items[0].id);
    EXPECT_EQ(endings[0].line, effects("Do"));
    EXPECT_EQ(endings[0].instance, order("1"));
    EXPECT_EQ(endings[0].key, "");
    EXPECT_EQ(endings[0].ending, Ending::rejected);
    EXPECT_EQ(endings[0].reason, "too late");
    EXPECT_EQ(endings[0].at, clock.now());
    EXPECT_EQ(endings[1].item, ring.id);
    EXPECT_EQ(endings[1].key, "bell");
    EXPECT_EQ(endings[1].ending, Ending::finished);
}

TEST_P(Items, AreRetriedLaterWithWhatWentWrong) {
    const auto ids = create(order("1"), {"Do"});
    const SessionId session = open_session();
    const Item first = claim_one(session, effects("Do"));
    commit(settling().retry(first, 30s, "no route"));
    const auto waiting = item(ids[0]);
    EXPECT_EQ(waiting->due_at, clock.now() + 30s);
    EXPECT_EQ(waiting->attempts, 1);
    EXPECT_EQ(waiting->losses, 0);
    EXPECT_EQ(waiting->last_error, "no route");
    EXPECT_EQ(waiting->session, 0);
    EXPECT_EQ(waiting->fence, 0);
    EXPECT_EQ(claim(session, {effects("Do")}).next_due, clock.now() + 30s);
    EXPECT_EQ(commit(settling().ack(first)).fate, Fate::fence_lost) << "it gave its word";

    clock.advance(30s);
    const Item second = claim_one(session, effects("Do"));
    EXPECT_EQ(second.attempts, 2);
    EXPECT_EQ(second.last_error, "no route");
    EXPECT_EQ(commit(settling().ack(second)).fate, Fate::committed);
}

TEST_P(Items, AreSettledInOneCommitWithDifferentWords) {
    create(order("1"), {"Do", "Do", "Do"});
    const auto items = claim(open_session(), {effects("Do")}).items;
    EXPECT_EQ(
        commit(settling().ack(items[0]).retry(items[1], 1s, "again").bury(items[2], "never")).fate,
        Fate::committed);
    EXPECT_THAT(item_ids(), ElementsAre(items[1].id));
    EXPECT_TRUE(dead_letter(items[2].id));
}

TEST_P(Items, OutliveTheirInstanceUnlessTheyAreTimers) {
    create(order("1"), {"Do"});
    const Answer answer =
        commit(on(order("1"), 1).event("Paid").effect("Ship").timer("Ring", 5s).finish());
    ASSERT_EQ(answer.items.size(), 2u);
    EXPECT_NE(answer.items[0], 0);
    EXPECT_EQ(answer.items[1], 0) << "dropped";
    EXPECT_EQ(store->items({.kind = ItemKind::effect}).size(), 2u);
    EXPECT_THAT(item_ids({.kind = ItemKind::timer}), IsEmpty());
}

}  // namespace
}  // namespace pawl::store::conformance
