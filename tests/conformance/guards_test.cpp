#include <functional>
#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Guards : public StoreTest {
protected:
    // A Commit that writes something of everything, to a new instance.
    static CommitBuilder everything(const InstanceName& name) {
        return on(name, 0)
            .event("Happened")
            .effect("Do")
            .timer("Expire", 1h, "key")
            .input("in-" + name.id)
            .inbox({.to = name, .input_id = "mail", .name = "Hello", .payload = {"1"}})
            .message({.channel = "news", .key = name.id});
    }
    struct Failing {
        std::string guard;
        Fate fate;
        std::function<CommitBuilder()> commit;
    };
    // Commits to which exactly one guard objects. Something of each would be visible if written.
    std::vector<Failing> failing_commits() {
        create({"order", "existing"});
        commit(on(order("holder"), 0).event("A").unique("taken"));
        commit(on(order("old"), 0).event("A").input("seen"));
        create({"work", "1"}, {"Work"});
        const Line line{ItemKind::effect, "work", "Work"};
        claimed_ = claim_one(open_session(), line);

        commit(on({"work", "2"}, 0).event("A").run());
        const Item run = claim_one(open_session(), {ItemKind::run, "work", "1"});
        commit(settling().letter({"work", "2"}));

        Settlement wrong{.item = claimed_.id, .fence = claimed_.fence + 1};
        return {
            {"version", Fate::stale, [] { return everything(order("existing")).expect(2); }},
            {"no such instance", Fate::stale, [] { return everything(order("bad")).expect(1); }},
            {"new instance", Fate::stale, [] { return everything(order("existing")); }},
            {"unique key", Fate::unique_key_taken,
             [] { return everything(order("bad")).unique("taken"); }},
            {"input id", Fate::duplicate,
             [] { return everything(order("old")).expect(1).input("seen"); }},
            {"fence", Fate::fence_lost, [wrong] { return everything(order("bad")).settle(wrong); }},
            {"mail", Fate::mail_waits,
             [run] { return everything(order("bad")).suspend(run, {}, 0); }},
            {"run", Fate::no_run, [] { return everything(order("bad")).letter({"work", "1"}); }},
        };
    }
    Item claimed_;
};
INSTANTIATE_TEST_SUITE_P(Stores, Guards, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Guards, FailAtEveryPositionOfAGroupAndTouchNoOther) {
    constexpr std::size_t size = 4;
    const auto all = failing_commits();
    int round = 0;
    for (const auto& failing : all) {
        for (std::size_t position = 0; position < size; ++position) {
            SCOPED_TRACE(failing.guard + " at " + std::to_string(position));
            const auto prefix = std::to_string(++round) + "-";
            const Commit bad = failing.commit();
            const Version before = version_of(bad.append->instance);
            const auto mail_before = store->inbox(bad.append->instance, 100).size();
            std::vector<Commit> group;
            for (std::size_t i = 0; i < size; ++i)
                group.push_back(i == position ? bad
                                              : everything(order(prefix + std::to_string(i))));
            const auto items_before = store->items({.limit = 10000}).size();
            const auto messages_before = store->messages("news", 0, 10000).size();

            const auto answers = commit_all(group);
            for (std::size_t i = 0; i < size; ++i) {
                const auto& name = group[i].append->instance;
                if (i == position) continue;
                EXPECT_EQ(answers[i].fate, Fate::committed) << i;
                EXPECT_EQ(answers[i].version, 1);
                EXPECT_EQ(answers[i].items.size(), 2u);
                EXPECT_EQ(version_of(name), 1);
                EXPECT_EQ(store->items({.type = "order", .id = name.id}).size(), 2u);
                EXPECT_EQ(store->inbox(name, 10).size(), 1u);
            }
            EXPECT_EQ(answers[position].fate, failing.fate);
            EXPECT_THAT(answers[position].items, IsEmpty());
            EXPECT_EQ(answers[position].at, clock.now());
            EXPECT_EQ(version_of(bad.append->instance), before);
            EXPECT_EQ(store->inbox(bad.append->instance, 100).size(), mail_before);
            EXPECT_EQ(store->items({.limit = 10000}).size(), items_before + 2 * (size - 1));
            EXPECT_EQ(store->messages("news", 0, 10000).size(), messages_before + size - 1);
            EXPECT_EQ(item(claimed_.id)->fence, claimed_.fence);
        }
    }
}

// As after a failover that lost commits: at the version that is expected stands another event.
TEST_P(Guards, CompareTheHeadBesideTheVersion) {
    const auto name = order("1");
    const auto first = event("Created"), second = event("Happened"), third = event("Happened");
    EXPECT_EQ(commit(on(name, 0).event(first)).fate, Fate::committed);
    ASSERT_EQ(load(name).row->head, head_of(first.id));
    EXPECT_EQ(commit(on(name, 1).head(head_of(second.id)).event(second).effect("Do")).fate,
              Fate::stale);
    EXPECT_EQ(commit(on(name, 1).head(head_of(second.id))).fate, Fate::stale) << "nor confirmed";
    EXPECT_EQ(version_of(name), 1);
    EXPECT_THAT(item_ids(), IsEmpty());

    EXPECT_EQ(commit(on(name, 1).head(head_of(first.id))).fate, Fate::committed);
    const auto answers = commit_all({on(name, 1).head(head_of(first.id)).event(second),
                                     on(name, 2).head(head_of(second.id)).event(third),
                                     on(name, 3).head(head_of(second.id)).event("Lost")});
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::committed);
    EXPECT_EQ(answers[2].fate, Fate::stale);
    EXPECT_EQ(load(name).row->head, head_of(third.id));
    EXPECT_EQ(store->instances({}).rows.at(0).head, head_of(third.id));
    EXPECT_THAT(events_of(name), ElementsAre("Created", "Happened", "Happened"));
}

TEST_P(Guards, TakeNoSnapshotOfALostHistory) {
    const auto name = order("1");
    const auto first = event("Created");
    commit(on(name, 0).event(first));
    Commit lost = on(name, 1).head(head_of(first.id) + 1).event("Happened");
    lost.append->snapshot = Snapshot{.sequence = 2, .version = 1, .payload = {"lost"}};
    EXPECT_EQ(commit(lost).fate, Fate::stale);
    EXPECT_EQ(commit(on(name, 1).head(head_of(first.id)).event("Happened")).fate, Fate::committed);
    const auto loaded = store->load(std::vector<LoadRequest>{{name, 1}})[0];
    EXPECT_FALSE(loaded.snapshot);
}

TEST_P(Guards, DropTheRestOfTheirChainOnly) {
    for (std::size_t position = 0; position < 3; ++position) {
        SCOPED_TRACE(position);
        const auto chained = order("c" + std::to_string(position));
        const auto other = order("o" + std::to_string(position));
        std::vector<Commit> group;
        for (Version v = 0; v < 3; ++v) {
            auto link = on(chained, v).event("Happened").effect("Do");
            if (v == static_cast<Version>(position)) link.settle({.item = 999999, .fence = 1});
            group.push_back(link);
            group.push_back(on(other, v).event("Happened").effect("Do"));
        }
        const auto answers = commit_all(group);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(answers[2 * i + 1].fate, Fate::committed);
            EXPECT_EQ(answers[2 * i + 1].version, static_cast<Version>(i + 1));
            if (i < position) {
                EXPECT_EQ(answers[2 * i].fate, Fate::committed);
            } else if (i == position) {
                EXPECT_EQ(answers[2 * i].fate, Fate::fence_lost);
            } else {
                EXPECT_EQ(answers[2 * i].fate, Fate::stale);
                EXPECT_EQ(answers[2 * i].version, static_cast<Version>(position));
            }
        }
        EXPECT_EQ(version_of(chained), static_cast<Version>(position));
        EXPECT_EQ(store->items({.type = "order", .id = chained.id}).size(), position);
        EXPECT_EQ(version_of(other), 3);
    }
}

TEST_P(Guards, DropALinkThatWouldHaveHeldByItself) {
    create(order("1"));
    const auto answers = commit_all({
        on(order("1"), 7).event("Wrong"),
        on(order("1"), 1).event("Right"),
    });
    EXPECT_EQ(answers[0].fate, Fate::stale);
    EXPECT_EQ(answers[0].version, 1);
    EXPECT_EQ(answers[1].fate, Fate::stale) << "it was decided on what the first would have made";
    EXPECT_EQ(answers[1].version, 1);
    EXPECT_THAT(events_of(order("1")), ElementsAre("Created"));
}

TEST_P(Guards, LetAGuardOnlyCommitRideInAChain) {
    const auto answers = commit_all({
        on(order("1"), 0).event("A"),
        on(order("1"), 1),
        on(order("1"), 1).event("B"),
        on(order("1"), 1),
        on(order("1"), 2).event("C"),
    });
    EXPECT_EQ(answers[1].fate, Fate::committed);
    EXPECT_EQ(answers[1].version, 1);
    EXPECT_EQ(answers[2].fate, Fate::committed);
    EXPECT_EQ(answers[3].fate, Fate::stale);
    EXPECT_EQ(answers[3].version, 2);
    EXPECT_EQ(answers[4].fate, Fate::stale);
    EXPECT_THAT(events_of(order("1")), ElementsAre("A", "B"));
}

TEST_P(Guards, SeeTheCommitsBeforeThem) {
    const auto answers = commit_all({
        on(order("1"), 0).event("A").input("in").unique("key"),
        on(order("2"), 0).event("A").unique("key"),
        on(order("1"), 1).event("B").finish(),
        on(order("3"), 0).event("A").unique("key"),
        on(order("1"), 0).event("A").input("in"),
    });
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::unique_key_taken);
    EXPECT_EQ(answers[1].holder, "1");
    EXPECT_EQ(answers[2].fate, Fate::committed);
    EXPECT_EQ(answers[3].fate, Fate::committed) << "the key was freed two Commits before";
    EXPECT_EQ(answers[4].fate, Fate::duplicate);
    EXPECT_EQ(answers[4].version, 1);
    EXPECT_THAT(instance_ids(), ElementsAre("1", "3"));
}

TEST_P(Guards, AreEvaluatedInAFixedOrder) {
    commit(on(order("holder"), 0).event("A").unique("key"));
    commit(on(order("1"), 0).event("A").input("in"));
    commit(on(order("1"), 1).event("B"));
    const Settlement lost{.item = 999999, .fence = 1};
    const auto bad = [&] { return on(order("1"), 7).event("C").unique("key"); };
    EXPECT_EQ(commit(bad().input("in").settle(lost)).fate, Fate::fence_lost);
    const Answer duplicate = commit(bad().input("in"));
    EXPECT_EQ(duplicate.fate, Fate::duplicate);
    EXPECT_EQ(duplicate.version, 1) << "the version it led to, not the current one";
    const Answer stale = commit(bad());
    EXPECT_EQ(stale.fate, Fate::stale);
    EXPECT_EQ(stale.version, 2);
    EXPECT_EQ(commit(on(order("1"), 2).event("C").unique("key")).fate, Fate::unique_key_taken);
    EXPECT_EQ(version_of(order("1")), 2);
}

TEST_P(Guards, ApplyAnInputIdOncePerInstance) {
    commit(on(order("1"), 0).event("A").event("B").input("in"));
    commit(on(order("1"), 2).event("C"));
    for (const Version expected : {0, 2, 3}) {
        const Answer again = commit(on(order("1"), expected).event("D").input("in"));
        EXPECT_EQ(again.fate, Fate::duplicate) << expected;
        EXPECT_EQ(again.version, 2);
        const Answer rejected = commit(on(order("1"), expected).input("in"));
        EXPECT_EQ(rejected.fate, Fate::duplicate) << expected;
        EXPECT_EQ(rejected.version, 2);
    }
    EXPECT_EQ(commit(on(order("2"), 0).event("A").input("in")).fate, Fate::committed);
    EXPECT_EQ(commit(on({"refund", "1"}, 0).event("A").input("in")).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("1"), 3).event("D").input("IN")).fate, Fate::committed);
    EXPECT_EQ(version_of(order("1")), 4);
}

TEST_P(Guards, DoNotRecordTheInputOfAFailedCommit) {
    create(order("1"));
    EXPECT_EQ(commit(on(order("1"), 5).event("A").input("in")).fate, Fate::stale);
    EXPECT_EQ(commit(on(order("1"), 1).event("A").input("in")).fate, Fate::committed);
}

TEST_P(Guards, AdmitOneActiveInstancePerUniqueKey) {
    EXPECT_EQ(commit(on(order("1"), 0).event("A").unique("key")).fate, Fate::committed);
    EXPECT_EQ(load(order("1")).row->unique_key, "key");
    const Answer refused = commit(on(order("2"), 0).event("A").unique("key"));
    EXPECT_EQ(refused.fate, Fate::unique_key_taken);
    EXPECT_EQ(refused.holder, "1");
    EXPECT_FALSE(load(order("2")).row);
    EXPECT_EQ(commit(on({"refund", "2"}, 0).event("A").unique("key")).fate, Fate::committed)
        << "another type has its own keys";
    EXPECT_EQ(commit(on(order("3"), 0).event("A").unique("KEY")).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("1"), 1).event("B").unique("key")).fate, Fate::committed)
        << "its own key is not in its way";

    commit(on(order("1"), 2).event("C").finish());
    EXPECT_EQ(load(order("1")).row->unique_key, "");
    EXPECT_EQ(commit(on(order("2"), 0).event("A").unique("key")).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("4"), 0).event("A").unique("key")).holder, "2");
}

TEST_P(Guards, ReplaceAUniqueKeyByAnother) {
    commit(on(order("1"), 0).event("A").unique("first"));
    commit(on(order("1"), 1).event("B"));
    EXPECT_EQ(load(order("1")).row->unique_key, "first") << "no key leaves it alone";
    commit(on(order("1"), 2).event("C").unique("second"));
    EXPECT_EQ(load(order("1")).row->unique_key, "second");
    EXPECT_EQ(commit(on(order("2"), 0).event("A").unique("first")).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("3"), 0).event("A").unique("second")).holder, "1");
}

TEST_P(Guards, CheckTheUniqueKeyOfAnInstanceThatFinishesAtOnce) {
    EXPECT_EQ(commit(on(order("1"), 0).event("A").unique("key").finish()).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("2"), 0).event("A").unique("key")).fate, Fate::committed);
    EXPECT_EQ(commit(on(order("3"), 0).event("A").unique("key").finish()).fate,
              Fate::unique_key_taken);
    EXPECT_FALSE(load(order("3")).row);
}

TEST_P(Guards, AskForEveryFenceOfACommit) {
    create(order("1"), {"Do", "Do"});
    const auto items = claim(open_session(), {effects("Do")}).items;
    ASSERT_EQ(items.size(), 2u);
    const Settlement wrong{.item = items[1].id, .fence = items[1].fence + 1};
    EXPECT_EQ(commit(settling().ack(items[0]).settle(wrong)).fate, Fate::fence_lost);
    EXPECT_EQ(commit(on(order("1"), 1).event("A").ack(items[0]).settle(wrong)).fate,
              Fate::fence_lost);
    EXPECT_EQ(item_ids(), ids_of(items)) << "not even the first was settled";
    EXPECT_EQ(version_of(order("1")), 1);

    const Answer both = commit(settling().ack(items[0]).ack(items[1]));
    EXPECT_EQ(both.fate, Fate::committed);
    EXPECT_EQ(both.version, 0);
    EXPECT_THAT(item_ids(), IsEmpty());
    EXPECT_EQ(commit(settling().ack(items[0])).fate, Fate::fence_lost) << "it is gone";
}

TEST_P(Guards, LoseAFenceToAnEarlierCommitOfTheGroup) {
    create(order("1"), {"Do"});
    const Item done = claim_one(open_session(), effects("Do"));
    const auto answers = commit_all({
        on(order("2"), 0).event("A").ack(done),
        on(order("3"), 0).event("A").ack(done),
        settling().ack(done),
    });
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[1].fate, Fate::fence_lost);
    EXPECT_EQ(answers[2].fate, Fate::fence_lost);
    EXPECT_FALSE(load(order("3")).row);
}

TEST_P(Guards, RefuseAFenceOfAnItemThatNobodyClaimed) {
    const auto items = create(order("1"), {"Do"});
    EXPECT_EQ(commit(settling().settle({.item = items[0], .fence = 0})).fate, Fate::fence_lost);
    EXPECT_EQ(item_ids(), items);
}

TEST_P(Guards, SettleWithAGuardOnlyCommitWhenItHolds) {
    create(order("1"), {"Do"});
    const Item done = claim_one(open_session(), effects("Do"));
    const Answer stale = commit(on(order("1"), 0).ack(done, Ending::rejected, "no"));
    EXPECT_EQ(stale.fate, Fate::stale);
    EXPECT_EQ(stale.version, 1);
    EXPECT_EQ(item_ids().size(), 1u);
    EXPECT_EQ(commit(on(order("1"), 1).ack(done, Ending::rejected, "no")).fate, Fate::committed);
    EXPECT_THAT(item_ids(), IsEmpty());
    EXPECT_EQ(version_of(order("1")), 1);
    EXPECT_EQ(store->endings({}).size(), 1u);
}

class SharedGuards : public SharedStoreTest {
protected:
    // Sends `first` and `second` at the same time from two processes.
    std::pair<Answer, Answer> race(const Commit& first, const Commit& second) {
        std::vector<Answer> here(1);
        std::vector<Answer> there(1);
        {
            std::jthread a{[&] { store->commit({&first, 1}, here); }};
            std::jthread b{[&] { other->commit({&second, 1}, there); }};
        }
        return {here[0], there[0]};
    }
    static bool one_of(const std::pair<Answer, Answer>& fates, Fate won, Fate lost) {
        return (fates.first.fate == won && fates.second.fate == lost) ||
               (fates.first.fate == lost && fates.second.fate == won);
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedGuards, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedGuards, SeeWhatTheOtherProcessCommitted) {
    create(order("1"), {"Do"});
    const SessionId session = other->open_session({.lease = 1min});
    const auto items = claim_in(*other, session, {effects("Do")}).items;
    ASSERT_EQ(items.size(), 1u);
    std::vector<Answer> answers(1);
    const Commit there = on(order("1"), 1).event("A").input("in").unique("key").ack(items[0]);
    other->commit({&there, 1}, answers);
    ASSERT_EQ(answers[0].fate, Fate::committed);

    const auto fates = commit_all({
        on(order("1"), 1).event("B"),
        on(order("2"), 0).event("A").unique("key"),
        settling().ack(items[0]),
        on(order("3"), 0).event("A"),
    });
    EXPECT_EQ(fates[0].fate, Fate::stale);
    EXPECT_EQ(fates[0].version, 2);
    EXPECT_EQ(fates[1].fate, Fate::unique_key_taken);
    EXPECT_EQ(fates[1].holder, "1");
    EXPECT_EQ(fates[2].fate, Fate::fence_lost);
    EXPECT_EQ(fates[3].fate, Fate::committed);
    EXPECT_EQ(commit(on(order("1"), 2).event("B").input("in")).fate, Fate::duplicate);
}

TEST_P(SharedGuards, LetOneOfTwoConcurrentCreatorsHaveTheKey) {
    for (int i = 0; i < 20; ++i) {
        const auto key = "key" + std::to_string(i);
        const auto fates = race(on(order(key + "a"), 0).event("A").unique(key),
                                on(order(key + "b"), 0).event("A").unique(key));
        EXPECT_TRUE(one_of(fates, Fate::committed, Fate::unique_key_taken)) << i;
    }
    EXPECT_EQ(instance_ids().size(), 20u);
}

TEST_P(SharedGuards, LetOneOfTwoConcurrentCreatorsMakeTheInstance) {
    for (int i = 0; i < 20; ++i) {
        const auto name = order(std::to_string(i));
        const auto fates = race(on(name, 0).event("A"), on(name, 0).event("B"));
        EXPECT_TRUE(one_of(fates, Fate::committed, Fate::stale)) << i;
        EXPECT_EQ(version_of(name), 1);
    }
}

TEST_P(SharedGuards, ApplyAConcurrentInputIdOnce) {
    for (int i = 0; i < 20; ++i) {
        const auto name = order(std::to_string(i));
        const auto fates =
            race(on(name, 0).event("A").input("in"), on(name, 0).event("A").input("in"));
        EXPECT_TRUE(one_of(fates, Fate::committed, Fate::duplicate)) << i;
        EXPECT_EQ(version_of(name), 1);
    }
}

TEST_P(SharedGuards, LetOneOfTwoConcurrentAcknowledgementsWin) {
    const SessionId session = open_session();
    for (int i = 0; i < 20; ++i) {
        const auto id = std::to_string(i);
        create(order(id), {"Do"});
        const Item done = claim_one(session, effects("Do"));
        const auto fates = race(on(order(id + "a"), 0).event("A").ack(done),
                                on(order(id + "b"), 0).event("A").ack(done));
        EXPECT_TRUE(one_of(fates, Fate::committed, Fate::fence_lost)) << i;
    }
    EXPECT_EQ(instance_ids().size(), 40u);
}

TEST_P(SharedGuards, DoNotDeadlockGroupsInOppositeOrder) {
    constexpr int size = 16;
    for (int i = 0; i < size; ++i) create(order(std::to_string(i)));
    const auto send_all = [&](Store& to, bool reversed) {
        for (int round = 0; round < 10; ++round) {
            std::vector<Commit> group;
            for (int i = 0; i < size; ++i) {
                const auto name = order(std::to_string(reversed ? size - 1 - i : i));
                const auto row = to.load(std::vector<LoadRequest>{{name}})[0].row;
                group.push_back(on(name, row->version).event("A").build());
            }
            std::vector<Answer> answers(group.size());
            to.commit(group, answers);
            for (const auto& answer : answers)
                ASSERT_TRUE(answer.fate == Fate::committed || answer.fate == Fate::stale);
        }
    };
    {
        std::jthread here{[&] { send_all(*store, false); }};
        std::jthread there{[&] { send_all(*other, true); }};
    }
    for (int i = 0; i < size; ++i) EXPECT_GE(version_of(order(std::to_string(i))), 11);
}

class SharedRaces : public SharedStoreTest {
protected:
    static constexpr std::size_t size = 4;
    // Somebody else is faster with the instance, the item or the new name at this position.
    enum class Race { version, new_instance, input, unique_key, fence, session, mail, run };

    static Commit plain(const InstanceName& name, Version expected) {
        return on(name, expected).event("Happened").effect("Do");
    }
    Answer commit_in(Store& to, const Commit& one) {
        std::vector<Answer> answers(1);
        to.commit({&one, 1}, answers);
        return answers[0];
    }
    // The Commit that loses, and what the other process does before it.
    Commit lose(Race race, const InstanceName& name) {
        switch (race) {
            case Race::version:
                create(name);
                EXPECT_EQ(commit_in(*other, plain(name, 1)).fate, Fate::committed);
                return plain(name, 1);
            case Race::new_instance:
                EXPECT_EQ(commit_in(*other, plain(name, 0)).fate, Fate::committed);
                return plain(name, 0);
            case Race::input: {
                create(name);
                const Commit first = on(name, 1).event("Happened").input("in");
                EXPECT_EQ(commit_in(*other, first).fate, Fate::committed);
                return on(name, 2).event("Happened").input("in");
            }
            case Race::unique_key: {
                const Commit first = on(order(name.id + "-holder"), 0).event("A").unique(name.id);
                EXPECT_EQ(commit_in(*other, first).fate, Fate::committed);
                return on(name, 0).event("Happened").unique(name.id);
            }
            case Race::fence:
            case Race::session: {
                create(name, {"Work" + name.id});
                const Item item =
                    claim_one(open_session(), {ItemKind::effect, name.type, "Work" + name.id});
                const Commit ack = on(name, 1)
                                       .event("Happened")
                                       .settle(Settlement{.item = item.id, .fence = item.fence});
                if (race == Race::session)
                    other->close_session(item.session);
                else
                    other->release(std::vector<std::pair<ItemId, Fence>>{{item.id, item.fence}});
                return ack;
            }
            case Race::mail: {
                commit(on(name, 0).event("Started").run("run" + name.id));
                const Item run = claim_one(open_session(), runs("run" + name.id));
                EXPECT_EQ(commit_in(*other, settling().letter(name)).fate, Fate::committed);
                return on(name, 1).event("Happened").suspend(run, {}, 0);
            }
            case Race::run: {
                const auto target = order(name.id + "-target");
                commit(on(target, 0).event("Started").run("run" + name.id));
                create(name);
                const Commit end = on(target, 1).event("Cancelled").finish().end_run();
                EXPECT_EQ(commit_in(*other, end).fate, Fate::committed);
                return on(name, 1).event("Happened").letter(target);
            }
        }
        return {};
    }
    static Fate fate_of(Race race) {
        switch (race) {
            case Race::input:
                return Fate::duplicate;
            case Race::unique_key:
                return Fate::unique_key_taken;
            case Race::fence:
            case Race::session:
                return Fate::fence_lost;
            case Race::mail:
                return Fate::mail_waits;
            case Race::run:
                return Fate::no_run;
            default:
                return Fate::stale;
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedRaces, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedRaces, AreLostAtEveryPositionOfAGroupAndTouchNoOther) {
    int round = 0;
    for (const auto race : {Race::version, Race::new_instance, Race::input, Race::unique_key,
                            Race::fence, Race::session, Race::mail, Race::run}) {
        for (std::size_t position = 0; position < size; ++position) {
            SCOPED_TRACE(std::to_string(static_cast<int>(race)) + " at " +
                         std::to_string(position));
            const auto prefix = std::to_string(++round) + "-";
            std::vector<Commit> group;
            for (std::size_t i = 0; i < size; ++i) {
                const auto name = order(prefix + std::to_string(i));
                if (i == position) {
                    group.push_back(lose(race, name));
                } else {
                    const bool known = i % 2 == 0;
                    if (known) create(name);
                    group.push_back(plain(name, known ? 1 : 0));
                }
            }
            const Version before = version_of(group[position].append->instance);
            const auto answers = commit_all(group);
            for (std::size_t i = 0; i < size; ++i) {
                const auto& append = *group[i].append;
                EXPECT_EQ(answers[i].fate, i == position ? fate_of(race) : Fate::committed) << i;
                const Version after = i == position ? before : append.expected + 1;
                EXPECT_EQ(version_of(append.instance), after) << i;
                EXPECT_EQ(answers[i].items.size(), i == position ? 0u : 1u) << i;
            }
        }
    }
}

}  // namespace
}  // namespace pawl::store::conformance
