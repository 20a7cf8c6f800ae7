#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class DeadLetters : public StoreTest {
protected:
    // An effect that was claimed and buried.
    ItemId bury(const InstanceName& name, const std::string& effect, const std::string& reason) {
        commit(on(name, version_of(name)).event("A").effect(effect));
        const Item item = claim_one(session(), {ItemKind::effect, name.type, effect});
        EXPECT_EQ(commit(settling().bury(item, reason)).fate, Fate::committed);
        return item.id;
    }
    ItemId bury_timer(const InstanceName& name, const std::string& key) {
        commit(on(name, version_of(name)).event("A").timer("Ring", 0s, key));
        const Item item = claim_one(session(), timers("Ring"));
        EXPECT_EQ(commit(settling().bury(item, "silent")).fate, Fate::committed);
        return item.id;
    }
    std::vector<ItemId> dead_ids(const DeadLetterFilter& filter = {}) {
        std::vector<ItemId> ids;
        for (const auto& letter : store->dead_letters(filter)) ids.push_back(letter.item.id);
        return ids;
    }
    SessionId session() {
        if (session_ == 0) session_ = open_session(1000h);
        return session_;
    }

private:
    SessionId session_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, DeadLetters, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(DeadLetters, KeepTheItemTheReasonAndEveryFailure) {
    const Event cause = event("Placed");
    commit(on(order("1"), 0).event(cause).effect("Do").envelope({.tenant = "acme"}));
    const Item first = claim_one(session(), effects("Do"));
    commit(settling().retry(first, 1s, "no route"));
    const Time failed = clock.now();
    clock.advance(1s);
    const Item second = claim_one(session(), effects("Do"));
    clock.advance(1s);
    commit(settling().bury(second, "refused"));

    EXPECT_THAT(item_ids(), IsEmpty());
    EXPECT_EQ(store->count_dead_letters({}), 1);
    const auto letter = dead_letter(first.id);
    ASSERT_TRUE(letter);
    EXPECT_EQ(letter->reason, "refused");
    EXPECT_EQ(letter->died_at, clock.now());
    EXPECT_EQ(letter->failures,
              (std::vector<Failure>{{1, failed, "no route"}, {2, clock.now(), "refused"}}));
    const Item& item = letter->item;
    EXPECT_EQ(item.line, effects("Do"));
    EXPECT_EQ(item.instance, order("1"));
    EXPECT_EQ(item.sequence, 1);
    EXPECT_EQ(item.index, 0);
    EXPECT_EQ(item.payload, (Payload{"\"Do\""}));
    EXPECT_EQ(item.envelope.tenant, "acme");
    EXPECT_EQ(item.envelope.causation, cause.id);
    EXPECT_EQ(item.created_at, failed);
    EXPECT_EQ(item.attempts, 2);
    EXPECT_EQ(item.last_error, "refused");
    EXPECT_EQ(item.session, 0);
    EXPECT_EQ(item.fence, 0);
    EXPECT_EQ(item.due_at, std::nullopt);
}

TEST_P(DeadLetters, AreOutOfTheWay) {
    bury(order("1"), "Do", "x");
    EXPECT_THAT(store->depths(), IsEmpty());
    const Claimed claimed = claim(session(), {effects("Do")});
    EXPECT_THAT(claimed.items, IsEmpty());
    EXPECT_EQ(claimed.next_due, std::nullopt);
}

TEST_P(DeadLetters, AreItemsAgainWhenRetried) {
    const ItemId id = bury(order("1"), "Do", "x");
    clock.advance(1h);
    EXPECT_EQ(store->retry_dead_letters({}), 1);
    EXPECT_EQ(store->count_dead_letters({}), 0);
    const auto again = item(id);
    ASSERT_TRUE(again) << "under its own id";
    EXPECT_EQ(again->due_at, clock.now());
    EXPECT_EQ(again->attempts, 0);
    EXPECT_EQ(again->losses, 0);
    EXPECT_EQ(again->losses_alone, 0);
    EXPECT_EQ(again->payload, (Payload{"\"Do\""}));

    const Item second = claim_one(session(), effects("Do"));
    EXPECT_EQ(second.id, id);
    EXPECT_EQ(second.attempts, 1);
    commit(settling().bury(second, "y"));
    EXPECT_EQ(dead_letter(id)->failures,
              (std::vector<Failure>{{1, clock.now() - 1h, "x"}, {1, clock.now(), "y"}}))
        << "its history is kept";
}

TEST_P(DeadLetters, LoseTheirLossesAndTheirMarkWhenRetried) {
    create(order("1"), {"Do"});
    for (int i = 0; i < 2; ++i) {
        claim_one(open_session(10s), effects("Do"));
        clock.advance(10s);
    }
    const Item lost = claim_lost(session(), {effects("Do")}).items.at(0);
    EXPECT_EQ(lost.losses, 2);
    commit(settling().bury(lost, "it kills"));
    EXPECT_EQ(dead_letter(lost.id)->item.losses, 2);
    store->retry_dead_letters({});
    EXPECT_EQ(item(lost.id)->losses, 0);
    EXPECT_EQ(claim(session(), {effects("Do")}).items.size(), 1u) << "beside others again";
}

TEST_P(DeadLetters, OfAKeyThatIsPendingAgainStayDead) {
    const ItemId replaced = bury_timer(order("1"), "bell");
    const ItemId alone = bury_timer(order("2"), "bell");
    const ItemId unkeyed = bury_timer(order("1"), "");
    const ItemId next = commit(on(order("1"), 2).event("A").timer("Ring", 1h, "bell")).items.at(0);
    EXPECT_EQ(store->retry_dead_letters({}), 2);
    EXPECT_THAT(dead_ids(), ElementsAre(replaced));
    EXPECT_THAT(item_ids(), ElementsAre(alone, unkeyed, next));
    commit(on(order("1"), 3).event("A").cancel("bell"));
    EXPECT_EQ(store->retry_dead_letters({}), 1);
}

TEST_P(DeadLetters, OfOneKeyAreRetriedOneAtATime) {
    const ItemId first = bury_timer(order("1"), "bell");
    const ItemId second = bury_timer(order("1"), "bell");
    EXPECT_EQ(store->retry_dead_letters({}), 1);
    EXPECT_THAT(item_ids(), ElementsAre(first));
    EXPECT_THAT(dead_ids(), ElementsAre(second));
    claim_one(session(), timers("Ring"));
    EXPECT_EQ(store->retry_dead_letters({}), 0) << "a claimed timer is pending too";
}

TEST_P(DeadLetters, ThatStayDeadDoNotUseUpTheLimit) {
    bury_timer(order("1"), "bell");
    const ItemId other = bury_timer(order("2"), "bell");
    commit(on(order("1"), 1).event("A").timer("Ring", 1h, "bell"));
    EXPECT_EQ(store->retry_dead_letters({.limit = 1}), 1);
    EXPECT_TRUE(item(other));
}

TEST_P(DeadLetters, AreNeitherCancelledNorReplaced) {
    const ItemId timer = bury_timer(order("1"), "bell");
    const ItemId effect = bury(order("1"), "Do", "x");
    commit(on(order("1"), 2).event("A").cancel("bell").timer("Ring", 1s, "bell"));
    commit(on(order("1"), 3).event("A").finish());
    EXPECT_THAT(dead_ids(), ElementsAre(timer, effect));
}

TEST_P(DeadLetters, AreFoundByEveryField) {
    const Time start = clock.now();
    const ItemId a = bury(order("1"), "Do", "no route to host");
    clock.advance(1s);
    const ItemId b = bury(order("2"), "Other", "refused");
    clock.advance(1s);
    const ItemId c = bury({"refund", "1"}, "Do", "No Route");
    clock.advance(1s);
    const ItemId d = bury_timer(order("1"), "bell");

    EXPECT_THAT(dead_ids(), ElementsAre(a, b, c, d));
    EXPECT_THAT(dead_ids({.items = {d, a, 999999}}), ElementsAre(a, d));
    EXPECT_THAT(dead_ids({.kind = ItemKind::timer}), ElementsAre(d));
    EXPECT_THAT(dead_ids({.kind = ItemKind::effect}), ElementsAre(a, b, c));
    EXPECT_THAT(dead_ids({.type = "refund"}), ElementsAre(c));
    EXPECT_THAT(dead_ids({.type = "order", .id = "1"}), ElementsAre(a, d));
    EXPECT_THAT(dead_ids({.name = "Do"}), ElementsAre(a, c));
    EXPECT_THAT(dead_ids({.type = "order", .name = "Do"}), ElementsAre(a));
    EXPECT_THAT(dead_ids({.reason = "route"}), ElementsAre(a)) << "byte for byte";
    EXPECT_THAT(dead_ids({.reason = "%"}), IsEmpty()) << "no pattern";
    EXPECT_THAT(dead_ids({.died_from = start + 1s}), ElementsAre(b, c, d));
    EXPECT_THAT(dead_ids({.died_before = start + 1s}), ElementsAre(a));
    EXPECT_THAT(dead_ids({.died_from = start + 1s, .died_before = start + 3s}), ElementsAre(b, c));
    EXPECT_THAT(dead_ids({.limit = 2}), ElementsAre(a, b));
    EXPECT_THAT(dead_ids({.after = b, .limit = 1}), ElementsAre(c));
    EXPECT_EQ(store->count_dead_letters({.name = "Do", .limit = 1}), 2) << "counting has no limit";
    EXPECT_EQ(store->count_dead_letters({.name = "None"}), 0);
}

TEST_P(DeadLetters, AreRetriedAndDiscardedByFilterAndLimit) {
    const ItemId a = bury(order("1"), "Do", "x");
    const ItemId b = bury(order("2"), "Do", "x");
    const ItemId c = bury(order("3"), "Do", "y");
    const ItemId d = bury(order("4"), "Do", "x");
    EXPECT_EQ(store->retry_dead_letters({.reason = "x", .limit = 2}), 2);
    EXPECT_THAT(dead_ids(), ElementsAre(c, d));
    EXPECT_THAT(item_ids(), ElementsAre(a, b));
    EXPECT_EQ(store->discard_dead_letters({.items = {a, d}}), 1) << "an item is no dead letter";
    EXPECT_THAT(dead_ids(), ElementsAre(c));
    EXPECT_EQ(store->discard_dead_letters({}), 1);
    EXPECT_EQ(store->discard_dead_letters({}), 0);
    EXPECT_EQ(store->retry_dead_letters({}), 0);
    EXPECT_THAT(item_ids(), ElementsAre(a, b));
}

TEST_P(DeadLetters, HaveNoFailuresOfAnAcknowledgedNamesake) {
    create(order("1"), {"Do"});
    const Item first = claim_one(session(), effects("Do"));
    commit(settling().retry(first, 0s, "x"));
    commit(settling().ack(claim_one(session(), effects("Do"))));
    const ItemId id = bury(order("1"), "Do", "y");
    EXPECT_EQ(dead_letter(id)->failures, (std::vector<Failure>{{1, clock.now(), "y"}}));
}

class SharedDeadLetters : public SharedStoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedDeadLetters, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedDeadLetters, OfOneTimerAreRevivedFromTheOldestWhicheverProcessSetIt) {
    std::vector<Answer> answers(1);
    const auto set_and_bury = [&](Store& by, Version version) {
        const Commit set = on(order("1"), version).event("Set").timer("Ring", 0s, "k");
        by.commit({&set, 1}, answers);
        ASSERT_EQ(answers[0].fate, Fate::committed);
        const Commit bury = settling().bury(claim_one(open_session(), timers("Ring")), "cause");
        by.commit({&bury, 1}, answers);
        ASSERT_EQ(answers[0].fate, Fate::committed);
    };
    create(order("2"), {"First"});  // where numbers are taken in advance, these are the earlier
    set_and_bury(*other, 0);
    set_and_bury(*store, 1);
    EXPECT_EQ(store->retry_dead_letters({}), 1);
    EXPECT_EQ(claim_one(open_session(), timers("Ring")).sequence, 1);
}

}  // namespace
}  // namespace pawl::store::conformance
