#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Timers : public StoreTest {
protected:
    ItemId set(const InstanceName& name, Duration after, std::string key) {
        return commit(on(name, version_of(name)).event("Set").timer("Ring", after, std::move(key)))
            .items.at(0);
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Timers, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Timers, ReplaceThePendingOneOfTheirKey) {
    set(order("1"), 10s, "bell");
    const ItemId other_key = set(order("1"), 10s, "alarm");
    const ItemId other_instance = set(order("2"), 10s, "bell");
    const ItemId other_case = set(order("1"), 10s, "Bell");
    const ItemId second = set(order("1"), 20s, "bell");
    EXPECT_THAT(item_ids(), ElementsAre(other_key, other_instance, other_case, second));
    EXPECT_EQ(item(second)->key, "bell");
    EXPECT_EQ(item(second)->due_at, clock.now() + 20s);
}

TEST_P(Timers, OfAnotherNameAreReplacedByTheirKeyToo) {
    set(order("1"), 10s, "bell");
    commit(on(order("1"), 1).event("A").timer("Other", 10s, "bell"));
    const auto items = store->items({});
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].line, timers("Other"));
}

TEST_P(Timers, WithoutAKeyReplaceNothing) {
    const ItemId first = set(order("1"), 10s, "");
    const ItemId second = set(order("1"), 10s, "");
    EXPECT_THAT(item_ids(), ElementsAre(first, second));
    commit(on(order("1"), 2).event("A").cancel("bell"));
    EXPECT_EQ(item_ids().size(), 2u);
}

TEST_P(Timers, AreReplacedWhileTheyAreHandled) {
    set(order("1"), 0s, "bell");
    const Item old = claim_one(open_session(), timers("Ring"));
    const ItemId next = set(order("1"), 5s, "bell");
    EXPECT_THAT(item_ids(), ElementsAre(next));
    const Answer word = commit(on(order("1"), 2).event("Rang").ack(old));
    EXPECT_EQ(word.fate, Fate::fence_lost);
    EXPECT_THAT(events_of(order("1")), ElementsAre("Set", "Set"));
    EXPECT_THAT(item_ids(), ElementsAre(next));
}

TEST_P(Timers, ReplaceAnEarlierOneOfTheSameCommit) {
    const Answer answer =
        commit(on(order("1"), 0).event("A").timer("Ring", 1s, "bell").timer("Ring", 2s, "bell"));
    ASSERT_EQ(answer.items.size(), 2u);
    EXPECT_THAT(item_ids(), ElementsAre(answer.items[1]));
    EXPECT_EQ(item(answer.items[1])->index, 1);
}

TEST_P(Timers, AreCancelledByTheirKey) {
    set(order("1"), 10s, "bell");
    const ItemId other_key = set(order("1"), 10s, "alarm");
    const ItemId other_instance = set(order("2"), 10s, "bell");
    EXPECT_EQ(commit(on(order("1"), 2).event("A").cancel("bell").cancel("none")).fate,
              Fate::committed);
    EXPECT_THAT(item_ids(), ElementsAre(other_key, other_instance));
}

TEST_P(Timers, AreCancelledWhileTheyAreHandled) {
    set(order("1"), 0s, "bell");
    const Item old = claim_one(open_session(), timers("Ring"));
    commit(on(order("1"), 1).event("A").cancel("bell"));
    EXPECT_THAT(item_ids(), IsEmpty());
    EXPECT_EQ(commit(on(order("1"), 2).event("Rang").ack(old)).fate, Fate::fence_lost);
}

TEST_P(Timers, AreCancelledBeforeTheyArePut) {
    set(order("1"), 10s, "bell");
    const Answer answer =
        commit(on(order("1"), 1).event("A").timer("Ring", 5s, "bell").cancel("bell"));
    EXPECT_EQ(item_ids(), answer.items);
    EXPECT_EQ(item(answer.items[0])->due_at, clock.now() + 5s);
}

TEST_P(Timers, OfAChainAreCancelledByTheCommitAfterThem) {
    const auto answers = commit_all({
        on(order("1"), 0).event("A").timer("Ring", 5s, "bell"),
        on(order("1"), 1).event("B").cancel("bell"),
        on(order("2"), 0).event("A").timer("Ring", 5s, "bell"),
        on(order("2"), 1).event("B").timer("Ring", 9s, "bell"),
        on(order("3"), 0).event("A").timer("Ring", 5s, "bell"),
        on(order("3"), 1).event("B").finish(),
        on(order("4"), 0).event("A").timer("Ring", 5s, "bell"),
        on(order("4"), 1).event("B").cancel("bell"),
        on(order("4"), 2).event("C").timer("Ring", 7s, "bell"),
    });
    for (const auto& answer : answers) EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_THAT(item_ids(), ElementsAre(answers[3].items.at(0), answers[8].items.at(0)));
}

TEST_P(Timers, RemovedByAnEarlierCommitOfTheGroupCanNotBeSettled) {
    for (const std::string how : {"cancel", "replace", "finish"}) {
        SCOPED_TRACE(how);
        const auto name = order(how);
        set(name, 0s, "bell");
        const Item held = claim_one(open_session(), timers("Ring"));
        auto removing = on(name, 1).event("A");
        if (how == "cancel") removing.cancel("bell");
        if (how == "replace") removing.timer("Ring", 1h, "bell");
        if (how == "finish") removing.finish();
        const auto answers = commit_all({removing, on(order(how + "2"), 0).event("A").ack(held)});
        EXPECT_EQ(answers[0].fate, Fate::committed);
        EXPECT_EQ(answers[1].fate, Fate::fence_lost);
        EXPECT_FALSE(load(order(how + "2")).row);
    }
}

TEST_P(Timers, MayRearmTheirOwnKey) {
    set(order("1"), 0s, "bell");
    const Item rang = claim_one(open_session(), timers("Ring"));
    const Answer answer =
        commit(on(order("1"), 1).event("Rang").ack(rang).timer("Ring", 5s, "bell"));
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(item_ids(), answer.items);
    EXPECT_NE(answer.items.at(0), rang.id);
}

TEST_P(Timers, ThatAreRetriedCanBeCancelledInTheSameCommit) {
    set(order("1"), 0s, "bell");
    const Item rang = claim_one(open_session(), timers("Ring"));
    commit(on(order("1"), 1).event("A").retry(rang, 5s, "x").cancel("bell"));
    EXPECT_THAT(item_ids(), IsEmpty()) << "settlements come before cancellations";
}

TEST_P(Timers, AreGoneWhenTheirInstanceFinishes) {
    set(order("1"), 0s, "bell");
    set(order("1"), 0s, "");
    const ItemId other = set(order("2"), 10s, "bell");
    const auto held = claim(open_session(), {timers("Ring")}).items;
    ASSERT_EQ(held.size(), 2u);
    set(order("1"), 10s, "later");
    const Answer answer =
        commit(on(order("1"), 3).event("Done").timer("Ring", 1s, "again").finish());
    EXPECT_THAT(answer.items, ElementsAre(0));
    EXPECT_THAT(item_ids(), ElementsAre(other));
    EXPECT_EQ(commit(settling().ack(held[0])).fate, Fate::fence_lost);
}

TEST_P(Timers, ThatFireAndTheirDecisionAreOneCommit) {
    set(order("1"), 0s, "bell");
    const Item rang = claim_one(open_session(), timers("Ring"));
    EXPECT_EQ(commit(on(order("1"), 0).event("Rang").ack(rang)).fate, Fate::stale);
    EXPECT_TRUE(item(rang.id)) << "nothing without the decision";
    EXPECT_EQ(commit(on(order("1"), 1).event("Rang").finish().ack(rang)).fate, Fate::committed);
    EXPECT_FALSE(item(rang.id));
    EXPECT_THAT(events_of(order("1")), ElementsAre("Set", "Rang"));
}

TEST_P(Timers, KeepTheirTimeToTheMicrosecond) {
    const Time at = Time{1234567890123456us} + 24h * 365 * 30;
    commit(on(order("1"), 0).event("A").put({.kind = ItemKind::timer, .name = "Ring", .at = at}));
    EXPECT_EQ(store->items({})[0].due_at, at);
}

TEST_P(Timers, CountFromTheEndOfAGroupThatTakesLong) {
    if (!database.hooked) GTEST_SKIP() << GetParam().name << " writes at one moment";
    const auto slow = database.hooked([&](std::string_view point) {
        if (point == base::points::group_begun || point == base::points::group_new_items)
            clock.advance(3s);
    });
    std::vector<Answer> answers(1);
    const std::vector<Commit> group{on(order("1"), 0).event("Set").timer("Ring", 10s)};
    slow->commit(group, answers);
    ASSERT_EQ(answers[0].fate, Fate::committed);
    // A server may have the group done again: it is the end of the last try that counts.
    EXPECT_EQ(item(answers[0].items.at(0))->due_at, clock.now() + 10s);
}

}  // namespace
}  // namespace pawl::store::conformance
