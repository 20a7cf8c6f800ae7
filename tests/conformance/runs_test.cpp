#include <atomic>
#include <set>
#include <thread>

#include "base/random.hpp"
#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Runs : public StoreTest {
protected:
    // A new instance with a run that waits, under its own version.
    ItemId start(const std::string& id, const std::string& version = "1") {
        const Answer answer = commit(on(order(id), 0).event("Started").run(version));
        EXPECT_EQ(answer.fate, Fate::committed);
        return answer.items.at(0);
    }
    Item start_claimed(const std::string& id, const std::string& version = "1") {
        start(id, version);
        return claim_one(open_session(), runs(version));
    }
    Answer send(const std::string& id) { return commit(settling().letter(order(id))); }
    std::vector<std::string> mail_of(const std::string& id) {
        std::vector<std::string> names;
        for (const auto& row : store->inbox(order(id), 100)) names.push_back(row.name);
        return names;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Runs, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Runs, AreClaimedLikeOtherWork) {
    const ItemId id = start("1", "2");
    EXPECT_THAT(claim(open_session(), {runs("1"), effects("2"), timers("2")}).items, IsEmpty());
    const Item run = claim_one(open_session(), runs("2"));
    EXPECT_EQ(run.id, id);
    EXPECT_EQ(run.line, runs("2"));
    EXPECT_EQ(run.instance, order("1"));
    EXPECT_EQ(run.attempts, 1);
    EXPECT_EQ(run.mail, 0);
    EXPECT_EQ(run.wakes_at_mail, 0);
    EXPECT_THAT(item_ids({.kind = ItemKind::run}), ElementsAre(id));
    EXPECT_THAT(item_ids({.kind = ItemKind::timer}), IsEmpty());
    EXPECT_EQ(commit(on(order("1"), 1).event("Finished").finish().ack(run)).fate, Fate::committed);
    EXPECT_THAT(item_ids(), IsEmpty());
}

TEST_P(Runs, CanBeBornClaimed) {
    const SessionId session = open_session();
    const Answer born =
        commit(on(order("1"), 0)
                   .event("Started")
                   .put({.kind = ItemKind::run, .name = "1", .born_claimed = Claim{session, 7}}));
    const auto run = item(born.items.at(0));
    EXPECT_EQ(run->session, session);
    EXPECT_EQ(run->fence, 7);
    EXPECT_EQ(commit(on(order("1"), 1).event("A").hold(*run)).fate, Fate::committed);
}

TEST_P(Runs, OutliveTheTimersOfAFinishedInstance) {
    commit(on(order("1"), 0).event("Started").run().timer("Ring", 1h));
    commit(on(order("1"), 1).event("Finished").finish());
    EXPECT_EQ(store->items({}).size(), 1u) << "only ack and ends_run remove a run";
    EXPECT_EQ(store->items({})[0].line.kind, ItemKind::run);
}

TEST_P(Runs, AreHeldWhileTheirJournalGrows) {
    const Item run = start_claimed("1");
    for (Version v = 1; v < 4; ++v) {
        const Answer answer =
            commit(on(order("1"), v).event("A").event("B").hold(run).expect(1 + 2 * (v - 1)));
        EXPECT_EQ(answer.fate, Fate::committed);
        EXPECT_EQ(answer.version, 1 + 2 * v);
        EXPECT_EQ(answer.mail, 0);
    }
    EXPECT_EQ(item(run.id)->fence, run.fence);
    EXPECT_EQ(item(run.id)->attempts, 1);
    EXPECT_EQ(item(run.id)->due_at, std::nullopt);
    EXPECT_EQ(commit(settling().hold(run)).fate, Fate::committed);
    store->release(std::vector<std::pair<ItemId, Fence>>{{run.id, run.fence}});
    EXPECT_EQ(commit(on(order("1"), 7).event("A").hold(run)).fate, Fate::fence_lost);
    EXPECT_EQ(commit(settling().hold(run)).fate, Fate::fence_lost);
    EXPECT_EQ(version_of(order("1")), 7);
}

TEST_P(Runs, AreHeldBeforeTheyAreSuspendedInOneGroup) {
    const Item run = start_claimed("1");
    const auto answers = commit_all({
        on(order("1"), 1).event("A").hold(run),
        on(order("1"), 2).event("B").hold(run),
        on(order("1"), 3).event("C").suspend(run),
        on(order("1"), 4).event("D").hold(run),
    });
    EXPECT_EQ(answers[2].fate, Fate::committed);
    EXPECT_EQ(answers[3].fate, Fate::fence_lost);
    EXPECT_EQ(version_of(order("1")), 4);
}

TEST_P(Runs, WaitAgainAsIfNeverClaimedWhenSuspended) {
    start("1");
    const SessionId first = open_session(5s);
    const Item lost = claim_one(first, runs("1"));
    clock.advance(6s);
    const SessionId session = open_session();
    Item run = claim_one(session, runs("1"));
    EXPECT_EQ(run.losses, 1);
    commit(settling().retry(run, 0s, "no luck"));
    run = claim_one(session, runs("1"));
    EXPECT_EQ(run.last_error, "no luck");

    const Time at = clock.now() + 1h;
    EXPECT_EQ(commit(settling().suspend(run, {.at = at, .mail = 3})).fate, Fate::committed);
    const auto asleep = item(run.id);
    EXPECT_EQ(asleep->due_at, at);
    EXPECT_EQ(asleep->session, 0);
    EXPECT_EQ(asleep->fence, 0);
    EXPECT_EQ(asleep->attempts, 0);
    EXPECT_EQ(asleep->losses, 0);
    EXPECT_EQ(asleep->losses_alone, 0);
    EXPECT_EQ(asleep->last_error, "");
    EXPECT_EQ(asleep->mail, 0);
    EXPECT_EQ(asleep->wakes_at_mail, 3);
    EXPECT_EQ(commit(settling().suspend(run)).fate, Fate::fence_lost);
    EXPECT_THAT(claim(session, {runs("1")}).items, IsEmpty());
    EXPECT_EQ(claim(session, {runs("1")}).next_due, at);
    clock.advance(1h);
    store->renew(session, 1min);
    EXPECT_EQ(claim_one(session, runs("1")).attempts, 1);
}

TEST_P(Runs, ThatGetFurtherForgetTheirLosses) {
    start("1");
    for (int i = 0; i < 2; ++i) {
        claim_one(open_session(5s), runs("1"));
        clock.advance(6s);
    }
    const SessionId session = open_session();
    EXPECT_TRUE(claim(session, {runs("1")}).lost_ones_wait);
    const Item run = store
                         ->claim({.claim = {session, 9},
                                  .interests = {{runs("1"), 1}},
                                  .limit = 1,
                                  .lost_ones = true})
                         .items.at(0);
    EXPECT_EQ(run.losses, 2);
    EXPECT_EQ(commit(on(order("1"), 1).event("A").hold(run)).fate, Fate::committed);
    EXPECT_EQ(item(run.id)->losses, 2);
    Commit further = on(order("1"), 2).event("B").hold(run);
    further.settlements.front().got_further = true;
    EXPECT_EQ(commit(further).fate, Fate::committed);
    EXPECT_EQ(item(run.id)->losses, 0);
    EXPECT_EQ(item(run.id)->losses_alone, 0);
    EXPECT_EQ(item(run.id)->fence, run.fence);
    // It is offered with the others again.
    clock.advance(1h);
    EXPECT_EQ(claim_one(open_session(), runs("1")).losses, 1);
}

TEST_P(Runs, SleepForeverWithoutATime) {
    const Item run = start_claimed("1");
    commit(settling().suspend(run));
    EXPECT_EQ(item(run.id)->due_at, never);
    EXPECT_EQ(item(run.id)->wakes_at_mail, 1);
    clock.advance(std::chrono::hours{24 * 365});
    EXPECT_THAT(claim(open_session(), {runs("1")}).items, IsEmpty());
}

TEST_P(Runs, WakeAtATimeThatHasPassed) {
    const Item run = start_claimed("1");
    commit(settling().suspend(run, {.at = clock.now() - 1h}));
    EXPECT_EQ(claim_one(open_session(), runs("1")).id, run.id);
}

TEST_P(Runs, AreWokenByMail) {
    const Item run = start_claimed("1");
    commit(settling().suspend(run));
    clock.advance(1s);
    const Answer sent = send("1");
    EXPECT_EQ(sent.fate, Fate::committed);
    EXPECT_EQ(item(run.id)->due_at, clock.now());
    clock.advance(1s);
    send("1");
    EXPECT_EQ(item(run.id)->due_at, clock.now() - 1s) << "it is due already";
    const Item woken = claim_one(open_session(), runs("1"));
    EXPECT_EQ(woken.mail, 2);
    EXPECT_THAT(mail_of("1"), ElementsAre("Hello", "Hello"));
}

TEST_P(Runs, AreWokenByEnoughMailOrAnUrgentOne) {
    const Item first = start_claimed("1", "a");
    const Item second = start_claimed("2", "b");
    commit(settling().suspend(first, {.mail = 3}));
    commit(settling().suspend(second, {.mail = 3}));
    send("1");
    send("1");
    EXPECT_EQ(item(first.id)->due_at, never);
    EXPECT_EQ(item(first.id)->mail, 2);
    send("1");
    EXPECT_EQ(item(first.id)->due_at, clock.now());
    commit(settling().urgent_letter(order("2")));
    EXPECT_EQ(item(second.id)->due_at, clock.now());
    EXPECT_EQ(item(second.id)->mail, 1);
}

TEST_P(Runs, CountTheMailOfAGroupTogether) {
    const Item run = start_claimed("1");
    const Item other = start_claimed("2", "b");
    commit(settling().suspend(run, {.mail = 3}));
    commit(settling().suspend(other, {.mail = 3}));
    commit_all({
        on(order("3"), 0).event("A").letter(order("1"), "one"),
        settling().letter(order("1"), "two").letter(order("2"), "other"),
        on(order("4"), 0).event("A").letter(order("1"), "three"),
    });
    EXPECT_EQ(item(run.id)->mail, 3);
    EXPECT_EQ(item(run.id)->due_at, clock.now());
    EXPECT_EQ(item(other.id)->mail, 1);
    EXPECT_EQ(item(other.id)->due_at, never);
    EXPECT_THAT(mail_of("1"), ElementsAre("one", "two", "three"));
}

TEST_P(Runs, LearnOfMailWhileTheyAreHeld) {
    const Item run = start_claimed("1");
    send("1");
    send("1");
    EXPECT_EQ(item(run.id)->due_at, std::nullopt) << "it stays claimed";
    const Answer held = commit(on(order("1"), 1).event("A").hold(run));
    EXPECT_EQ(held.fate, Fate::committed);
    EXPECT_EQ(held.mail, 2);
    EXPECT_EQ(commit(on(order("1"), 2).event("B").hold(run, 1)).mail, 2) << "hold never fails";
    EXPECT_EQ(version_of(order("1")), 3);
}

TEST_P(Runs, DoNotEndOverMailThatWasNotSeen) {
    const Item run = start_claimed("1");
    send("1");
    for (const bool suspends : {true, false}) {
        auto end = on(order("1"), 1).event("A");
        if (suspends)
            end.suspend(run, {}, 0);
        else
            end.finish().settle({.item = run.id, .fence = run.fence, .seen_mail = 0});
        const Answer answer = commit(end);
        EXPECT_EQ(answer.fate, Fate::mail_waits);
        EXPECT_EQ(answer.mail, 1);
    }
    EXPECT_EQ(version_of(order("1")), 1);
    EXPECT_EQ(item(run.id)->fence, run.fence);

    const Answer asleep = commit(on(order("1"), 1).event("A").suspend(run, {}, 1));
    EXPECT_EQ(asleep.fate, Fate::committed);
    EXPECT_EQ(asleep.mail, 1);
    EXPECT_EQ(item(run.id)->mail, 0);
    EXPECT_EQ(item(run.id)->due_at, never);
}

TEST_P(Runs, MayPassOverMailThatNobodyAskedAbout) {
    const Item run = start_claimed("1");
    send("1");
    const Answer done = commit(settling().suspend(run));
    EXPECT_EQ(done.fate, Fate::committed);
    EXPECT_EQ(done.mail, 1);
    EXPECT_EQ(item(run.id)->mail, 0);
}

TEST_P(Runs, SeeTheMailOfEarlierCommitsOfTheirGroup) {
    const Item run = start_claimed("1");
    const auto answers = commit_all({
        settling().letter(order("1")),
        on(order("1"), 1).event("A").suspend(run, {}, 0),
        settling().hold(run),
        settling().suspend(run, {.mail = 2}, 1),
        settling().letter(order("1")),
        settling().letter(order("1")),
    });
    EXPECT_EQ(answers[1].fate, Fate::mail_waits);
    EXPECT_EQ(answers[1].mail, 1);
    EXPECT_EQ(answers[2].mail, 1);
    EXPECT_EQ(answers[3].fate, Fate::committed);
    EXPECT_EQ(answers[3].mail, 1);
    EXPECT_EQ(item(run.id)->mail, 2) << "since it was suspended";
    EXPECT_EQ(item(run.id)->due_at, clock.now());
    EXPECT_EQ(mail_of("1").size(), 3u);
}

TEST_P(Runs, AreWokenOutOfTheirBackoff) {
    const Item run = start_claimed("1");
    commit(settling().retry(run, 1h, "no"));
    send("1");
    EXPECT_EQ(item(run.id)->due_at, clock.now());
}

TEST_P(Runs, AreWokenOutOfTheirBackoffByMailThatComesBehindTheFailureOnly) {
    const Item before = start_claimed("1", "a");
    const Item around = start_claimed("2", "b");
    commit_all({
        settling().urgent_letter(order("1")).urgent_letter(order("2")),
        settling().retry(before, 1h, "no"),
        settling().retry(around, 1h, "no"),
        settling().letter(order("2")),
    });
    EXPECT_EQ(item(before.id)->due_at, clock.now() + 1h);
    EXPECT_EQ(item(before.id)->mail, 1);
    EXPECT_EQ(item(around.id)->due_at, clock.now());
    EXPECT_EQ(item(around.id)->mail, 2);
}

TEST_P(Runs, MustBeThereForMail) {
    create(order("1"));
    EXPECT_EQ(send("1").fate, Fate::no_run);
    EXPECT_EQ(send("nobody").fate, Fate::no_run);
    EXPECT_EQ(commit(settling().letter({"no such type", "1"})).fate, Fate::no_run);
    EXPECT_EQ(commit(on(order("2"), 0).event("A").letter(order("1"))).fate, Fate::no_run);
    EXPECT_FALSE(load(order("2")).row);
    EXPECT_THAT(mail_of("1"), IsEmpty());
    EXPECT_EQ(commit(settling().inbox({.to = order("1"), .name = "Plain"})).fate, Fate::committed);
}

TEST_P(Runs, OfTheSameGroupGetMail) {
    const auto answers = commit_all({
        settling().letter(order("1")),
        on(order("1"), 0).event("Started").run().letter(order("1")),
        on(order("1"), 0).event("Started").put({.kind = ItemKind::run, .name = "1", .after = 1h}),
        settling().letter(order("1"), "one"),
        on(order("2"), 0).event("Started").letter(order("1"), "two"),
    });
    EXPECT_EQ(answers[0].fate, Fate::no_run);
    EXPECT_EQ(answers[1].fate, Fate::no_run) << "its own put comes later";
    EXPECT_EQ(answers[2].fate, Fate::stale) << "the chain is broken";
    EXPECT_EQ(answers[3].fate, Fate::no_run);

    const auto again = commit_all({
        on(order("1"), 0).event("Started").put({.kind = ItemKind::run, .name = "1", .after = 1h}),
        settling().letter(order("1"), "one"),
        on(order("2"), 0).event("Started").letter(order("1"), "two"),
    });
    EXPECT_EQ(again[1].fate, Fate::committed);
    EXPECT_EQ(again[2].fate, Fate::committed);
    const auto run = item(again[0].items.at(0));
    EXPECT_EQ(run->mail, 2);
    EXPECT_EQ(run->due_at, clock.now());
    EXPECT_THAT(mail_of("1"), ElementsAre("one", "two"));
}

TEST_P(Runs, ThatEndedInTheGroupGetNoMail) {
    const Item acked = start_claimed("1", "a");
    start("2", "b");
    const auto answers = commit_all({
        on(order("1"), 1).event("Finished").finish().ack(acked),
        settling().letter(order("1")),
        on(order("2"), 1).event("Finished").finish().end_run(),
        settling().letter(order("2")),
    });
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::no_run);
    EXPECT_EQ(answers[2].fate, Fate::committed);
    EXPECT_EQ(answers[3].fate, Fate::no_run);
    EXPECT_THAT(item_ids(), IsEmpty());
}

TEST_P(Runs, AreEndedWhoeverHoldsThem) {
    const Item run = start_claimed("1");
    start("2");
    send("1");
    send("2");
    commit(settling().inbox({.to = order("1"), .name = "Plain"}));
    const auto answers = commit_all({
        settling().letter(order("1"), "late"),
        on(order("1"), 1).event("Cancelled").end_run().finish(),
        settling().hold(run),
        settling().inbox({.to = order("1"), .name = "After"}),
    });
    EXPECT_EQ(answers[1].fate, Fate::committed);
    EXPECT_EQ(answers[2].fate, Fate::fence_lost);
    EXPECT_FALSE(item(run.id));
    EXPECT_THAT(mail_of("1"), ElementsAre("After"));
    EXPECT_THAT(mail_of("2"), ElementsAre("Hello")) << "another instance's";
    EXPECT_EQ(commit(on(order("1"), 2).event("A").ack(run)).fate, Fate::fence_lost);
    EXPECT_EQ(send("1").fate, Fate::no_run);
    EXPECT_EQ(commit(on(order("1"), 2).event("Again").end_run()).fate, Fate::committed)
        << "there need not be one";
}

TEST_P(Runs, CanBeEndedByTheirHolder) {
    const Item run = start_claimed("1");
    send("1");
    commit(on(order("1"), 1)
               .event("Finished")
               .finish()
               .end_run()
               .settle({.item = run.id, .fence = run.fence, .seen_mail = 1}));
    EXPECT_FALSE(item(run.id));
    EXPECT_THAT(mail_of("1"), IsEmpty());
    commit(on(order("1"), 2).event("Restarted").run());
    EXPECT_EQ(send("1").fate, Fate::committed);
}

TEST_P(Runs, LeaveNoFailuresWhenTheyEnd) {
    const Item first = start_claimed("1");
    commit(settling().retry(first, 0s, "no luck"));
    commit(on(order("1"), 1).event("Cancelled").end_run());
    const ItemId again = commit(on(order("1"), 2).event("Again").run()).items.at(0);
    const Item run = claim_one(open_session(), runs("1"));
    EXPECT_EQ(run.id, again);
    commit(settling().bury(run, "dead"));
    EXPECT_EQ(dead_letter(run.id)->failures.size(), 1u);
}

TEST_P(Runs, TakeMailOutOfTheirOwnInboxOnly) {
    start("1");
    start("2");
    for (const std::string name : {"a", "b", "c"})
        commit(settling().letter(order("1"), name).letter(order("2"), name));
    const auto rows = store->inbox(order("1"), 10);
    const auto foreign = store->inbox(order("2"), 10);
    ASSERT_EQ(rows.size(), 3u);
    commit(on(order("1"), 1)
               .event("A")
               .take(rows[0].position)
               .take(rows[2].position)
               .take(foreign[1].position)
               .take(123456789));
    EXPECT_THAT(mail_of("1"), ElementsAre("b"));
    EXPECT_THAT(mail_of("2"), ElementsAre("a", "b", "c"));
    EXPECT_EQ(commit(on(order("1"), 1).event("A").take(rows[1].position)).fate, Fate::stale);
    EXPECT_THAT(mail_of("1"), ElementsAre("b"));
}

TEST_P(Runs, ComeBackFromTheDeadWithMail) {
    const Item run = start_claimed("1");
    send("1");
    send("1");
    commit(settling().bury(run, "dead"));
    EXPECT_EQ(dead_letter(run.id)->item.mail, 0);
    EXPECT_EQ(send("1").fate, Fate::no_run) << "the dead get no mail";
    EXPECT_EQ(store->retry_dead_letters({}), 1);
    const Item revived = claim_one(open_session(), runs("1"));
    EXPECT_EQ(revived.id, run.id);
    EXPECT_EQ(revived.mail, 1) << "its inbox may hold something";
    EXPECT_EQ(send("1").fate, Fate::committed);
}

TEST_P(Runs, KeepTheirDeadLetterUntilTheyHaveEnded) {
    const Item run = start_claimed("1");
    commit(settling().bury(run, "dead"));
    clock.advance(2h);
    EXPECT_EQ(store->vacuum({.dead_letters_older_than = 1h}).removed, 0);
    commit(on(order("1"), 1).event("Ended").finish());
    EXPECT_EQ(store->vacuum({.dead_letters_older_than = 1h}).removed, 1);
}

TEST_P(Runs, AreNotRevivedBesideAnother) {
    const Item run = start_claimed("1");
    commit(settling().bury(run, "dead"));
    commit(on(order("1"), 1).event("Again").run());
    EXPECT_EQ(store->retry_dead_letters({}), 0);
    EXPECT_EQ(store->items({.kind = ItemKind::run}).size(), 1u);
    EXPECT_TRUE(dead_letter(run.id));
}

TEST_P(Runs, GuardsAskForMailAfterFencesAndBeforeTheRest) {
    const Item run = start_claimed("1");
    commit(on(order("holder"), 0).event("A").unique("key"));
    commit(on(order("1"), 1).event("A").input("in").hold(run));
    send("1");
    const auto bad = [&] { return on(order("1"), 7).event("C").unique("key").input("in"); };
    const Settlement unseen{.item = run.id, .fence = run.fence, .seen_mail = 0};
    EXPECT_EQ(commit(bad().letter(order("none")).settle(unseen).settle({.item = 999999})).fate,
              Fate::fence_lost);
    EXPECT_EQ(commit(bad().letter(order("none")).settle(unseen)).fate, Fate::mail_waits);
    EXPECT_EQ(commit(bad().letter(order("none"))).fate, Fate::no_run);
    EXPECT_EQ(commit(bad()).fate, Fate::duplicate);
    EXPECT_EQ(version_of(order("1")), 2);
}

TEST_P(Runs, AnswerWithTheMailOfTheLastSettlement) {
    const Item first = start_claimed("1", "a");
    const Item second = start_claimed("2", "b");
    send("2");
    EXPECT_EQ(commit(settling().hold(first).hold(second)).mail, 1);
    EXPECT_EQ(commit(settling().hold(second).hold(first)).mail, 0);
}

TEST_P(Runs, HaveAStatusOnTheirInstance) {
    commit(on(order("1"), 0).event("A").status(1));
    commit(on(order("2"), 0).event("A"));
    commit(on(order("3"), 0).event("A").status(highest_status));
    EXPECT_EQ(load(order("1")).row->status, 1);
    EXPECT_EQ(load(order("2")).row->status, 0);
    commit(on(order("1"), 1).event("B"));
    EXPECT_EQ(load(order("1")).row->status, 1) << "0 leaves it alone";
    commit_all({
        on(order("1"), 2).event("C").status(2),
        on(order("1"), 3).event("D"),
        on(order("2"), 1).event("B").status(5).finish(),
    });
    EXPECT_EQ(load(order("1")).row->status, 2);
    EXPECT_EQ(load(order("2")).row->status, 5);
    EXPECT_EQ(store->instances({}).rows[0].status, 2);

    EXPECT_THAT(instance_ids({.statuses = {2}}), ElementsAre("1"));
    EXPECT_THAT(instance_ids({.statuses = {5, 2}}), ElementsAre("1", "2"));
    EXPECT_THAT(instance_ids({.statuses = {highest_status}}), ElementsAre("3"));
    EXPECT_THAT(instance_ids({.statuses = {0, 1}}), IsEmpty());
    EXPECT_THAT(instance_ids({.type = "order", .id_prefix = "2", .statuses = {5}}),
                ElementsAre("2"));
    EXPECT_THAT(instance_ids({.type = "order", .id_prefix = "2", .statuses = {2}}), IsEmpty());
    EXPECT_THAT(instance_ids({.finished = true, .statuses = {2, 5}}), ElementsAre("2"));
}

TEST_P(Runs, ReadTheirJournalBackwards) {
    commit(on(order("1"), 0).event("A").event("B").event("A").event("C").event("A"));
    commit(on(order("2"), 0).event("A"));
    const auto back = [&](const std::string& name, Version before, std::size_t limit) {
        std::vector<Version> sequences;
        for (const auto& e : store->journal_back(order("1"), name, before, limit)) {
            EXPECT_EQ(e.event.name, name);
            EXPECT_EQ(e.instance, order("1"));
            sequences.push_back(e.sequence);
        }
        return sequences;
    };
    EXPECT_THAT(back("A", 0, 10), ElementsAre(5, 3, 1));
    EXPECT_THAT(back("A", 0, 2), ElementsAre(5, 3));
    EXPECT_THAT(back("A", 5, 10), ElementsAre(3, 1));
    EXPECT_THAT(back("A", 1, 10), IsEmpty());
    EXPECT_THAT(back("B", 100, 10), ElementsAre(2));
    EXPECT_THAT(back("never seen", 0, 10), IsEmpty());
    EXPECT_THAT(store->journal_back(order("3"), "A", 0, 10), IsEmpty());
    EXPECT_THAT(store->journal_back({"no such type", "3"}, "A", 0, 10), IsEmpty());
}

TEST_P(Runs, AreSeenByTheirTails) {
    commit(on(order("1"), 0).event("A").event("B").status(3));
    commit(on({"refund", "1"}, 0).event("C").finish());
    const auto tails = store->tails(std::vector<InstanceName>{
        {"refund", "1"}, order("none"), order("1"), {"no such type", "1"}, order("1")});
    ASSERT_EQ(tails.size(), 5u);
    EXPECT_EQ(tails[0].row->name, (InstanceName{"refund", "1"}));
    EXPECT_TRUE(tails[0].row->finished_at);
    EXPECT_EQ(tails[0].last->event.name, "C");
    EXPECT_EQ(tails[0].last->instance.type, "refund");
    EXPECT_FALSE(tails[1].row);
    EXPECT_FALSE(tails[1].last);
    for (const std::size_t i : {2, 4}) {
        EXPECT_EQ(tails[i].row->version, 2);
        EXPECT_EQ(tails[i].row->status, 3);
        EXPECT_EQ(tails[i].last->event.name, "B");
        EXPECT_EQ(tails[i].last->sequence, 2);
        EXPECT_EQ(tails[i].last->event.payload.bytes, "{\"B\":1}");
    }
    EXPECT_FALSE(tails[3].row);
    EXPECT_THAT(store->tails({}), IsEmpty());
}

// What a process presumes when it does not read first must hold in the same cases.
TEST_P(Runs, FinishInstancesWhoseTimersTheGroupSettles) {
    const auto ring = [&](const std::string& id) {
        commit(on(order(id), 0).event("A").timer("Ring" + id, 0s).timer("Late", 1h));
        return claim_one(open_session(), timers("Ring" + id));
    };
    const Item own = ring("1");
    const Item later = ring("2");
    const Item before = ring("3");
    const auto answers = commit_all({
        on(order("1"), 1).event("Rung").finish().ack(own),
        on(order("2"), 1).event("Finished").finish(),
        settling().ack(later),
        settling().ack(before),
        on(order("3"), 1).event("Finished").finish(),
    });
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::committed);
    EXPECT_EQ(answers[2].fate, Fate::fence_lost) << "it went with its instance";
    EXPECT_EQ(answers[3].fate, Fate::committed);
    EXPECT_EQ(answers[4].fate, Fate::committed);
    EXPECT_THAT(item_ids(), IsEmpty());
}

class SharedRuns : public SharedStoreTest {
protected:
    Answer commit_in(Store& to, const Commit& one) {
        std::vector<Answer> answers(1);
        to.commit({&one, 1}, answers);
        return answers[0];
    }
    Item claimed_run(const std::string& id) {
        commit(on(order(id), 0).event("Started").run("run" + id));
        return claim_one(open_session(), runs("run" + id));
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedRuns, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(SharedRuns, SleepOrSeeTheMailOfAnotherProcess) {
    for (int i = 0; i < 30; ++i) {
        const auto id = std::to_string(i);
        const Item run = claimed_run(id);
        Answer slept, sent;
        {
            std::jthread a{[&] {
                slept = commit_in(*store, on(order(id), 1).event("A").suspend(run, {}, 0));
            }};
            std::jthread b{[&] { sent = commit_in(*other, settling().letter(order(id))); }};
        }
        EXPECT_EQ(sent.fate, Fate::committed);
        const auto after = item(run.id);
        EXPECT_EQ(after->mail, 1);
        if (slept.fate == Fate::committed) {
            EXPECT_EQ(after->due_at, clock.now()) << "it was woken";
        } else {
            EXPECT_EQ(slept.fate, Fate::mail_waits);
            EXPECT_EQ(after->fence, run.fence);
        }
    }
}

TEST_P(SharedRuns, EndOrGetTheMailOfAnotherProcess) {
    for (int i = 0; i < 30; ++i) {
        const auto id = std::to_string(i);
        const Item run = claimed_run(id);
        Answer ended, sent;
        {
            std::jthread a{[&] {
                ended = commit_in(
                    *store, on(order(id), 1)
                                .event("Finished")
                                .finish()
                                .settle({.item = run.id, .fence = run.fence, .seen_mail = 0}));
            }};
            std::jthread b{[&] {
                sent = commit_in(*other, on(order("s" + id), 0).event("A").letter(order(id)));
            }};
        }
        const bool first = ended.fate == Fate::committed;
        EXPECT_EQ(ended.fate, first ? Fate::committed : Fate::mail_waits);
        EXPECT_EQ(sent.fate, first ? Fate::no_run : Fate::committed);
        EXPECT_EQ(store->inbox(order(id), 10).size(), first ? 0u : 1u);
    }
}

TEST_P(SharedRuns, GetMailFromGroupsInOppositeOrder) {
    constexpr int size = 12, rounds = 10;
    std::vector<Item> held;
    for (int i = 0; i < size; ++i) held.push_back(claimed_run(std::to_string(i)));
    const auto send_all = [&](Store& to, bool reversed) {
        for (int round = 0; round < rounds; ++round) {
            std::vector<Commit> group;
            for (int i = 0; i < size; ++i) {
                const auto at = reversed ? size - 1 - i : i;
                group.push_back(settling().letter(order(std::to_string(at))).build());
                if (round % 2 == 0) group.push_back(settling().hold(held[at]).build());
            }
            std::vector<Answer> answers(group.size());
            to.commit(group, answers);
            for (const auto& answer : answers) ASSERT_EQ(answer.fate, Fate::committed);
        }
    };
    {
        std::jthread here{[&] { send_all(*store, false); }};
        std::jthread there{[&] { send_all(*other, true); }};
    }
    for (int i = 0; i < size; ++i) EXPECT_EQ(item(held[i].id)->mail, 2 * rounds);
}

// One holder, that claims the run, looks at its inbox, takes what is there and suspends, and many
// senders in two processes, who now and then wait until it sleeps again: each letter is seen once,
// and the run never sleeps over one.
TEST_P(SharedRuns, NeverSleepOverMail) {
    constexpr int senders = 4, letters = 40;
    commit(on(order("1"), 0).event("Started").run());
    std::atomic<int> sending = senders;
    std::atomic<int> sleeps = 0;
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    std::vector<std::jthread> threads;
    for (int s = 0; s < senders; ++s)
        threads.emplace_back([&, s] {
            const auto random = base::seeded_random(static_cast<std::uint64_t>(s));
            Store& from = s % 2 == 0 ? *store : *other;
            for (int i = 0; i < letters; ++i) {
                const auto name = std::to_string(s) + "-" + std::to_string(i);
                const int slept = sleeps;
                auto one = settling().inbox({.to = order("1"),
                                             .to_run = true,
                                             .urgent = random->next() % 4 == 0,
                                             .name = name});
                EXPECT_EQ(commit_in(from, one).fate, Fate::committed);
                const bool waits = random->next() % 2 == 0;
                while (waits && sleeps == slept && std::chrono::steady_clock::now() < deadline)
                    std::this_thread::yield();
            }
            --sending;
        });

    const SessionId session = open_session(1h);
    const auto random = base::seeded_random(99);
    std::set<std::string> seen;
    Version version = 1;
    int refused = 0;
    while (seen.size() < senders * letters && std::chrono::steady_clock::now() < deadline) {
        const bool all_sent = sending == 0;
        const auto claimed = claim(session, {runs("1")}).items;
        if (claimed.empty()) {
            ASSERT_FALSE(all_sent) << "it sleeps, and " << seen.size() << " letters were seen";
            continue;
        }
        std::int64_t mail = claimed[0].mail;
        for (bool asleep = false; !asleep;) {
            auto step = on(order("1"), version).event("Took");
            for (const auto& row : store->inbox(order("1"), 1000)) {
                EXPECT_TRUE(seen.insert(row.name).second) << row.name;
                step.take(row.position);
            }
            if (random->next() % 2 == 0) {
                const Answer held = commit(step.hold(claimed[0], mail));
                ASSERT_EQ(held.fate, Fate::committed);
                version = held.version;
                mail = held.mail;
                continue;
            }
            Answer slept = commit(step.suspend(claimed[0], {}, mail));
            while (slept.fate == Fate::mail_waits) {
                ++refused;
                ASSERT_GT(slept.mail, mail);
                mail = slept.mail;
                // What it took is still in its inbox: it is taken again, with what came.
                auto again = on(order("1"), version).event("Took");
                for (const auto& row : store->inbox(order("1"), 1000)) {
                    seen.insert(row.name);
                    again.take(row.position);
                }
                slept = commit(again.suspend(claimed[0], {}, mail));
            }
            ASSERT_EQ(slept.fate, Fate::committed);
            version = slept.version;
            asleep = true;
            ++sleeps;
        }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(senders * letters));
    EXPECT_GT(sleeps, 1);
    RecordProperty("refused", refused);
}

}  // namespace
}  // namespace pawl::store::conformance
