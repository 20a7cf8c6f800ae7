#include <pawl/error.hpp>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Leases : public StoreTest {
protected:
    // Claims the marked item alone in a process that then dies.
    Item lose_alone() {
        const auto claimed = claim_lost(open_session(10s), {effects("Do")}).items;
        EXPECT_EQ(claimed.size(), 1u);
        clock.advance(10s);
        reap();
        return claimed.empty() ? Item{} : claimed[0];
    }
    void reap() { claim(open_session(), {effects("Nothing")}); }
    // Claims up to `limit` items in a process that then dies, and in another one that dies too:
    // nobody knows any more whose fault it was, and they are offered alone.
    void lose_twice(const std::vector<Line>& lines, std::size_t limit = 100) {
        for (int i = 0; i < 2; ++i) {
            claim(open_session(10s), lines, limit);
            clock.advance(10s);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Leases, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Leases, EndAtTheirTimeAndNotBefore) {
    const auto ids = create(order("1"), {"Do"});
    const SessionId dying = open_session(10s);
    claim_one(dying, effects("Do"));
    const SessionId living = open_session();
    clock.advance(10s - 1us);
    EXPECT_THAT(claim(living, {effects("Do")}).items, IsEmpty());
    EXPECT_EQ(item(ids[0])->session, dying);
    clock.advance(1us);
    reap();
    const auto lost = item(ids[0]);
    EXPECT_EQ(lost->session, 0);
    EXPECT_EQ(lost->fence, 0);
    EXPECT_EQ(lost->due_at, clock.now());
    EXPECT_EQ(lost->attempts, 1) << "a lost attempt stays counted";
    EXPECT_EQ(lost->losses, 1);
    EXPECT_EQ(lost->losses_alone, 0);
}

TEST_P(Leases, ThatPassMakeTheItemClaimableAgainWithoutRepair) {
    const auto ids = create(order("1"), {"Do"});
    claim_one(open_session(10s), effects("Do"));
    clock.advance(10s);
    const Claimed again = claim(open_session(), {effects("Do")});
    ASSERT_EQ(ids_of(again.items), ids);
    EXPECT_EQ(again.items[0].attempts, 2);
    EXPECT_EQ(again.items[0].losses, 1);
    EXPECT_FALSE(again.lost_ones_wait);
}

TEST_P(Leases, OfferWhatWasLostOnceTogether) {
    const auto ids = create(order("1"), {"Do", "Do", "Do"});
    claim(open_session(10s), {effects("Do")}, 2);
    clock.advance(10s);
    const SessionId session = open_session();
    EXPECT_THAT(claim_lost(session, {effects("Do")}).items, IsEmpty());
    const Claimed all = claim(session, {effects("Do")});
    EXPECT_THAT(ids_of(all.items), testing::UnorderedElementsAreArray(ids));
    EXPECT_FALSE(all.lost_ones_wait);
}

TEST_P(Leases, AreRenewedForEverythingTheSessionHolds) {
    create(order("1"), {"Do", "Do"});
    const SessionId session = open_session(10s);
    const auto held = claim(session, {effects("Do")}).items;
    for (int i = 0; i < 5; ++i) {
        clock.advance(9s);
        EXPECT_TRUE(store->renew(session, 10s));
        const Claimed other = claim(open_session(), {effects("Do")});
        EXPECT_THAT(other.items, IsEmpty());
        EXPECT_FALSE(other.lost_ones_wait);
    }
    EXPECT_EQ(commit(settling().ack(held[0]).ack(held[1])).fate, Fate::committed);
}

TEST_P(Leases, CanBeRenewedLateIfNobodyTookTheClaims) {
    create(order("1"), {"Do"});
    const SessionId session = open_session(10s);
    const Item held = claim_one(session, effects("Do"));
    clock.advance(1h);
    EXPECT_TRUE(store->renew(session, 10s));
    clock.advance(9s);
    reap();
    EXPECT_EQ(commit(settling().ack(held)).fate, Fate::committed);
}

TEST_P(Leases, CanNotBeRenewedOnceTheClaimsAreTaken) {
    create(order("1"), {"Do"});
    const SessionId session = open_session(10s);
    claim_one(session, effects("Do"));
    clock.advance(10s);
    reap();
    EXPECT_FALSE(store->renew(session, 10s));
    EXPECT_FALSE(store->renew(123456, 10s));
}

TEST_P(Leases, AreCountedWhileTheyLast) {
    EXPECT_EQ(store->sessions(), 0u);
    const SessionId first = open_session(10s);
    open_session(20s);
    EXPECT_EQ(store->sessions(), 2u);
    clock.advance(10s);
    EXPECT_EQ(store->sessions(), 1u) << "one has passed, also if nobody has reaped it";
    EXPECT_TRUE(store->renew(first, 10s));
    EXPECT_EQ(store->sessions(), 2u);
    store->close_session(first);
    EXPECT_EQ(store->sessions(), 1u);
}

TEST_P(Leases, HoldBackTheClaimOfASessionThatLetItsOwnPass) {
    create(order("1"), {"Do"});
    const SessionId session = open_session(10s);
    clock.advance(10s);
    try {
        claim(session, {effects("Do")});
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::unknown);
    }
    EXPECT_EQ(store->items({})[0].attempts, 0);
    EXPECT_TRUE(store->renew(session, 10s)) << "the failed call changed nothing";
    EXPECT_EQ(claim(session, {effects("Do")}).items.size(), 1u);
}

TEST_P(Leases, ThatWereLostLeaveAnOldWordThatChangesNothing) {
    const auto ids = create(order("1"), {"Do"});
    const Item old = claim_one(open_session(10s), effects("Do"));
    clock.advance(10s);
    const SessionId session = open_session();
    const Item current = claim_one(session, effects("Do"));

    EXPECT_EQ(commit(settling().ack(old)).fate, Fate::fence_lost);
    EXPECT_EQ(commit(settling().retry(old, 1s, "x")).fate, Fate::fence_lost);
    EXPECT_EQ(commit(settling().bury(old, "x")).fate, Fate::fence_lost);
    EXPECT_EQ(commit(on(order("2"), 0).event("A").ack(old)).fate, Fate::fence_lost);
    store->release(std::vector<std::pair<ItemId, Fence>>{{old.id, old.fence}});
    store->close_session(old.session);
    EXPECT_FALSE(store->renew(old.session, 1h));

    EXPECT_FALSE(load(order("2")).row);
    const auto held = item(ids[0]);
    EXPECT_EQ(held->session, session);
    EXPECT_EQ(held->fence, current.fence);
    EXPECT_EQ(held->attempts, 2);
    EXPECT_EQ(held->last_error, "");
    EXPECT_EQ(store->count_dead_letters({}), 0);
    EXPECT_EQ(commit(settling().ack(current)).fate, Fate::committed);
}

TEST_P(Leases, OfferAloneWhatWasLostTwice) {
    const auto ids = create(order("1"), {"Do", "Do"});
    lose_twice({effects("Do")});
    const auto never_lost = create(order("2"), {"Do"});
    const SessionId session = open_session();
    const Claimed others = claim(session, {effects("Do")});
    EXPECT_EQ(ids_of(others.items), never_lost);
    EXPECT_TRUE(others.lost_ones_wait);
    EXPECT_EQ(others.next_due, std::nullopt) << "for a call of this sort";

    const Claimed first = claim_lost(session, {effects("Do")});
    EXPECT_THAT(ids_of(first.items), ElementsAre(ids[0]));
    EXPECT_TRUE(first.lost_ones_wait);
    EXPECT_EQ(first.next_due, clock.now());
    const Claimed second = claim_lost(session, {effects("Do")});
    EXPECT_THAT(ids_of(second.items), ElementsAre(ids[1]));
    EXPECT_FALSE(second.lost_ones_wait);
    EXPECT_THAT(claim_lost(session, {effects("Do")}).items, IsEmpty());
}

TEST_P(Leases, OfferLostOnesOfTheLinesAskedForOnly) {
    create(order("1"), {"Do", "Other"});
    lose_twice({effects("Do"), effects("Other")});
    const SessionId session = open_session();
    EXPECT_FALSE(claim(session, {effects("Third")}).lost_ones_wait);
    const auto items = claim_lost(session, {effects("Other")}).items;
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].line, effects("Other"));
    EXPECT_FALSE(claim(session, {effects("Other")}).lost_ones_wait);
    EXPECT_TRUE(claim(session, {effects("Do")}).lost_ones_wait);
}

TEST_P(Leases, CountLossesThatWereSufferedAlone) {
    const auto ids = create(order("1"), {"Do"});
    lose_twice({effects("Do")});
    reap();
    EXPECT_EQ(item(ids[0])->losses_alone, 0) << "it was not claimed as a lost one";
    lose_alone();
    EXPECT_EQ(item(ids[0])->losses, 3);
    EXPECT_EQ(item(ids[0])->losses_alone, 1);
    lose_alone();
    EXPECT_EQ(item(ids[0])->attempts, 4);
    EXPECT_EQ(item(ids[0])->losses, 4);
    EXPECT_EQ(item(ids[0])->losses_alone, 2);
}

TEST_P(Leases, DoNotBlameAnItemThatHadNeighbours) {
    const auto ids = create(order("1"), {"Do", "Do"});
    lose_twice({effects("Do")});
    const auto fresh = create(order("2"), {"Do"});
    const SessionId session = open_session(10s);
    EXPECT_EQ(claim_lost(session, {effects("Do")}).items.size(), 1u);
    EXPECT_EQ(ids_of(claim(session, {effects("Do")}).items), fresh);
    clock.advance(10s);
    reap();
    const std::map<ItemId, int> losses{{ids[0], 3}, {ids[1], 2}, {fresh[0], 1}};
    for (const auto& lost : store->items({})) {
        EXPECT_EQ(lost.losses, losses.at(lost.id));
        EXPECT_EQ(lost.losses_alone, 0);
    }
}

TEST_P(Leases, ClearTheMarkWithAWord) {
    const auto ids = create(order("1"), {"Do"});
    lose_twice({effects("Do")});
    const SessionId session = open_session();
    const Item alone = claim_lost(session, {effects("Do")}).items.at(0);
    commit(settling().retry(alone, 0s, "failed in an orderly way"));
    const Claimed again = claim(session, {effects("Do")});
    EXPECT_EQ(ids_of(again.items), ids);
    EXPECT_FALSE(again.lost_ones_wait);
    EXPECT_EQ(again.items.at(0).losses, 2);
}

TEST_P(Leases, KeepTheMarkOfWhatIsGivenBack) {
    create(order("1"), {"Do", "Do"});
    lose_twice({effects("Do")});
    const SessionId session = open_session();
    const Item released = claim_lost(session, {effects("Do")}).items.at(0);
    store->release(std::vector<std::pair<ItemId, Fence>>{{released.id, released.fence}});
    EXPECT_EQ(item(released.id)->losses, 2);
    claim_lost(session, {effects("Do")});
    store->close_session(session);
    const Claimed after = claim(open_session(), {effects("Do")});
    EXPECT_THAT(after.items, IsEmpty());
    EXPECT_TRUE(after.lost_ones_wait);
}

TEST_P(Leases, EndWithTheirSessionWithoutChargingAnAttempt) {
    const auto ids = create(order("1"), {"Do", "Do"});
    const SessionId session = open_session();
    const auto held = claim(session, {effects("Do")}).items;
    clock.advance(1s);
    store->close_session(session);
    for (const ItemId id : ids) {
        const auto back = item(id);
        EXPECT_EQ(back->attempts, 0);
        EXPECT_EQ(back->losses, 0);
        EXPECT_EQ(back->due_at, clock.now());
        EXPECT_EQ(back->session, 0);
        EXPECT_EQ(back->fence, 0);
    }
    EXPECT_FALSE(store->renew(session, 1h));
    EXPECT_EQ(commit(settling().ack(held[0])).fate, Fate::fence_lost);
    const Claimed again = claim(open_session(), {effects("Do")});
    EXPECT_EQ(ids_of(again.items), ids);
    EXPECT_FALSE(again.lost_ones_wait);
    store->close_session(session);
    EXPECT_EQ(item(ids[0])->attempts, 1) << "closing twice changes nothing";
}

TEST_P(Leases, CoverWhatWasBornClaimed) {
    const SessionId session = open_session(10s);
    const auto id = commit(on(order("1"), 0).event("A").born("Do", {session, 5})).items.at(0);
    clock.advance(10s);
    reap();
    EXPECT_EQ(item(id)->losses, 1);
    EXPECT_EQ(item(id)->attempts, 1);
    EXPECT_EQ(claim(open_session(), {effects("Do")}).items.size(), 1u);
}

TEST_P(Leases, OfSeveralSessionsEndApart) {
    create(order("1"), {"Do", "Do", "Do"});
    const SessionId brief = open_session(5s);
    const SessionId medium = open_session(10s);
    const SessionId lasting = open_session(1h);
    for (const SessionId session : {brief, medium, lasting})
        EXPECT_EQ(claim(session, {effects("Do")}, 1).items.size(), 1u);
    EXPECT_NE(brief, medium);
    EXPECT_NE(medium, lasting);
    clock.advance(10s);
    reap();
    EXPECT_FALSE(store->renew(brief, 1s));
    EXPECT_FALSE(store->renew(medium, 1s));
    EXPECT_TRUE(store->renew(lasting, 1h));
}

TEST_P(Leases, OfTheDeadEndInTimeThoughTheClockWentBack) {
    create(order("1"), {"Do"});
    claim_one(open_session(10s), effects("Do"));
    clock.set(clock.now() - 1h);
    const SessionId living = open_session();
    EXPECT_THAT(claim(living, {effects("Do")}).items, IsEmpty()) << "it may be alive";
    clock.advance(10s);
    const Item taken = claim_one(living, effects("Do"));
    EXPECT_EQ(taken.losses, 1);
}

TEST_P(Leases, OfTheDeadFreeTheirPartitionsThoughTheClockWentBack) {
    store->outbox().declare("notes", 1);
    const SessionId dead = open_session(10s);
    EXPECT_EQ(store->outbox().own({dead, 1}, "notes").taken.size(), 1u);
    clock.set(clock.now() - 1h);
    const SessionId living = open_session();
    EXPECT_THAT(store->outbox().own({living, 2}, "notes").taken, IsEmpty());
    clock.advance(10s);
    EXPECT_EQ(store->outbox().own({living, 3}, "notes").taken.size(), 1u);
}

TEST_P(Leases, OfTheLivingLastThoughTheClockWentBack) {
    const auto ids = create(order("1"), {"Do"});
    const SessionId living = open_session(10s);
    claim_one(living, effects("Do"));
    clock.set(clock.now() - 1h);
    const SessionId other = open_session();
    for (int i = 0; i < 3; ++i) {
        clock.advance(9s);
        EXPECT_THAT(claim(other, {effects("Do")}).items, IsEmpty());
        EXPECT_TRUE(store->renew(living, 10s));
    }
    EXPECT_EQ(item(ids[0])->session, living);
    EXPECT_EQ(item(ids[0])->losses, 0);
}

// Whoever notices first: one that renews, one that claims, or one that begins.
TEST_P(Leases, KeepDueWhatWasDueBeforeTheClockWentBack) {
    const std::vector<Line> lines{effects("New"), effects("Returned"), timers("Now"),
                                  timers("Later"), effects("Failed")};
    enum class Notices { renewal, claim, beginning, beginning_alone };
    for (const auto notices :
         {Notices::renewal, Notices::claim, Notices::beginning, Notices::beginning_alone}) {
        SCOPED_TRACE(static_cast<int>(notices));
        const auto session = open_session(10s);
        const auto name = order(std::to_string(static_cast<int>(notices)));
        ASSERT_EQ(commit(on(name, 0)
                             .event("A")
                             .effect("Returned")
                             .effect("Failed")
                             .timer("Now", 0s)
                             .timer("Later", 30min))
                      .fate,
                  Fate::committed);
        const Item returned = claim_one(session, effects("Returned"));
        const Item failed = claim_one(session, effects("Failed"));
        clock.advance(5s);
        ASSERT_TRUE(store->renew(session, 10s));
        store->release(std::vector<std::pair<ItemId, Fence>>{{returned.id, returned.fence}});
        ASSERT_EQ(commit(settling().retry(failed, 30min, "no")).fate, Fate::committed);
        ASSERT_EQ(commit(on(name, 1).event("B").effect("New")).fate, Fate::committed);
        if (notices == Notices::beginning_alone) store->close_session(session);
        clock.set(clock.now() - 1h);
        auto by = session;
        if (notices == Notices::renewal) {
            EXPECT_TRUE(store->renew(session, 10s));
        }
        if (notices >= Notices::beginning) by = open_session(10s);
        std::vector<std::string> names;
        for (const auto& one : claim(by, lines).items) names.push_back(one.line.name);
        EXPECT_THAT(names, testing::UnorderedElementsAre("New", "Returned", "Now"));
        clock.advance(89min);
        names.clear();
        by = open_session(10s);
        for (const auto& one : claim(by, {timers("Later"), effects("Failed")}).items)
            names.push_back(one.line.name);
        EXPECT_THAT(names, IsEmpty()) << "due by the store's time";
        clock.advance(1min + 5s);
        by = open_session(10s);
        for (const auto& one : claim(by, {timers("Later"), effects("Failed")}).items)
            names.push_back(one.line.name);
        EXPECT_THAT(names, testing::UnorderedElementsAre("Later", "Failed"));
        store->close_session(by);
        store->close_session(session);
        // What is left is for nobody.
        for (const auto& line : lines)
            for (const auto& one : claim(open_session(10s), {line}).items)
                commit(settling().ack(one));
    }
}

TEST_P(Leases, AreNoReasonToRemoveAnythingEarlyOrNeverThoughTheClockWasSet) {
    ASSERT_EQ(commit(on(order("1"), 0).event("A").input("i")).fate, Fate::committed);
    const VacuumRequest request{.input_ids_older_than = 2h};
    clock.set(clock.now() - 1h);
    EXPECT_EQ(store->vacuum(request).removed, 0);
    clock.advance(2h);
    EXPECT_EQ(store->vacuum(request).removed, 0);
    clock.advance(1h + 1us);
    EXPECT_EQ(store->vacuum(request).removed, 1);
    ASSERT_EQ(commit(on(order("1"), 1).event("B").input("j")).fate, Fate::committed);
    clock.set(clock.now() + 1h);
    EXPECT_EQ(store->vacuum(request).removed, 0);
    clock.advance(1h + 1us);
    EXPECT_EQ(store->vacuum(request).removed, 1);
}

}  // namespace
}  // namespace pawl::store::conformance
