#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Instances : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Instances, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Instances, AreCreatedWithTheirFirstEvents) {
    const Event placed = event("Placed");
    const Event priced = event("Priced");
    const Answer answer = commit(on(order("1"), 0).event(placed).event(priced));
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(answer.version, 2);
    EXPECT_EQ(answer.at, clock.now());
    EXPECT_THAT(answer.items, IsEmpty());

    const Loaded loaded = load(order("1"));
    ASSERT_TRUE(loaded.row);
    EXPECT_EQ(loaded.row->name, order("1"));
    EXPECT_EQ(loaded.row->version, 2);
    EXPECT_EQ(loaded.row->unique_key, "");
    EXPECT_EQ(loaded.row->created_at, clock.now());
    EXPECT_EQ(loaded.row->updated_at, clock.now());
    EXPECT_EQ(loaded.row->finished_at, std::nullopt);
    EXPECT_FALSE(loaded.snapshot);
    EXPECT_EQ(loaded.events, (std::vector{placed, priced}));
}

TEST_P(Instances, AppendAfterTheVersionThatWasDecidedOn) {
    create(order("1"));
    const Time created = clock.now();
    clock.advance(3s);
    const Answer answer = commit(on(order("1"), 1).event("Paid").event("Thanked"));
    EXPECT_EQ(answer.version, 3);
    EXPECT_THAT(events_of(order("1")), ElementsAre("Created", "Paid", "Thanked"));
    EXPECT_EQ(load(order("1")).row->created_at, created);
    EXPECT_EQ(load(order("1")).row->updated_at, created + 3s);
}

TEST_P(Instances, KeepTheirJournalInOrder) {
    const Event placed = event("Placed");
    Event cancelled = event("pawl.timer_cancelled");
    cancelled.kind = EventKind::engine;
    commit(on(order("1"), 0).event(placed));
    create(order("2"));
    clock.advance(1s);
    commit(on(order("1"), 1).event(cancelled));

    const auto journal = store->journal(order("1"), 0, 100);
    ASSERT_EQ(journal.size(), 2u);
    EXPECT_EQ(journal[0].instance, order("1"));
    EXPECT_EQ(journal[0].sequence, 1);
    EXPECT_EQ(journal[0].event, placed);
    EXPECT_EQ(journal[0].at, clock.now() - 1s);
    EXPECT_EQ(journal[1].sequence, 2);
    EXPECT_EQ(journal[1].event, cancelled);
    EXPECT_EQ(journal[1].at, clock.now());
    EXPECT_LT(journal[0].position, store->journal(order("2"), 0, 100)[0].position);
    EXPECT_LT(store->journal(order("2"), 0, 100)[0].position, journal[1].position);
}

TEST_P(Instances, PageTheirJournal) {
    auto builder = on(order("1"), 0);
    for (int i = 0; i < 7; ++i) builder.event("Happened");
    commit(builder);
    const auto sequences = [&](Version after, std::size_t limit) {
        std::vector<Version> found;
        for (const auto& entry : store->journal(order("1"), after, limit))
            found.push_back(entry.sequence);
        return found;
    };
    EXPECT_THAT(sequences(0, 3), ElementsAre(1, 2, 3));
    EXPECT_THAT(sequences(3, 3), ElementsAre(4, 5, 6));
    EXPECT_THAT(sequences(6, 3), ElementsAre(7));
    EXPECT_THAT(sequences(7, 3), IsEmpty());
    EXPECT_THAT(store->journal(order("none"), 0, 3), IsEmpty());
}

TEST_P(Instances, AreLoadedManyAtOnce) {
    create(order("1"));
    commit(on(order("3"), 0).event("A").event("B"));
    const auto loaded = store->load(
        std::vector<LoadRequest>{{order("3")}, {order("2")}, {order("1")}, {order("3")}});
    ASSERT_EQ(loaded.size(), 4u);
    EXPECT_EQ(loaded[0].row->version, 2);
    EXPECT_FALSE(loaded[1].row);
    EXPECT_THAT(loaded[1].events, IsEmpty());
    EXPECT_EQ(loaded[2].row->version, 1);
    EXPECT_EQ(loaded[3].events, loaded[0].events);
    EXPECT_THAT(store->load({}), IsEmpty());
}

TEST_P(Instances, AreLoadedUpToASequence) {
    commit(on(order("1"), 0).event("A").event("B").event("C"));
    const auto loaded = store->load(std::vector<LoadRequest>{{.instance = order("1"), .up_to = 2},
                                                             {.instance = order("1"), .up_to = 9}});
    ASSERT_EQ(loaded[0].events.size(), 2u);
    EXPECT_EQ(loaded[0].events[1].name, "B");
    EXPECT_EQ(loaded[0].row->version, 3) << "the row is the current one";
    EXPECT_EQ(loaded[1].events.size(), 3u);
}

TEST_P(Instances, LeaveNothingBehindWhenTheirFirstInputIsRejected) {
    const Answer answer = commit(on(order("1"), 0).input("in-1").unique("key"));
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(answer.version, 0);
    EXPECT_FALSE(load(order("1")).row);
    EXPECT_THAT(instance_ids(), IsEmpty());
    EXPECT_THAT(store->follow("", 10).events, IsEmpty());
    EXPECT_EQ(commit(on(order("2"), 0).event("A").unique("key")).fate, Fate::committed)
        << "the key was not taken";
    EXPECT_EQ(commit(on(order("1"), 0).event("A").input("in-1")).fate, Fate::committed)
        << "the input id was not recorded";
}

TEST_P(Instances, ChangeNothingWhenAnInputIsRejected) {
    create(order("1"));
    clock.advance(1s);
    const Answer answer = commit(on(order("1"), 1).input("in-1"));
    EXPECT_EQ(answer.fate, Fate::committed);
    EXPECT_EQ(answer.version, 1);
    EXPECT_EQ(load(order("1")).row->updated_at, clock.now() - 1s);
    EXPECT_EQ(commit(on(order("1"), 1).event("A").input("in-1")).fate, Fate::committed);
}

TEST_P(Instances, RememberWhenTheyFinished) {
    create(order("1"));
    clock.advance(1s);
    const Answer answer = commit(on(order("1"), 1).event("Paid").finish());
    EXPECT_EQ(answer.version, 2);
    EXPECT_EQ(load(order("1")).row->finished_at, clock.now());
    clock.advance(1s);
    EXPECT_EQ(commit(on(order("1"), 2)).fate, Fate::committed) << "a confirmed answer";
    EXPECT_EQ(load(order("1")).row->finished_at, clock.now() - 1s);
    EXPECT_EQ(version_of(order("1")), 2);
}

TEST_P(Instances, KeepTheTenantTheyWereCreatedWith) {
    commit(on(order("1"), 0).event("A").envelope({.tenant = "acme"}));
    commit(on(order("1"), 1).event("B").envelope({.tenant = "other"}));
    EXPECT_EQ(load(order("1")).row->tenant, "acme");
}

TEST_P(Instances, AreNamedByTypeAndIdByteForByte) {
    const std::vector<InstanceName> names{{"order", "a"},
                                          {"order", "A"},
                                          {"order", "a "},
                                          {"order", " a"},
                                          {"order", "\u00e4"},
                                          {"order", "a\u0308"},
                                          {"Order", "a"},
                                          {"orde", "ra"},
                                          {"order", "\u00df"},
                                          {"order", "ss"},
                                          {"order", std::string(255, 'x')},
                                          {"order", std::string(254, 'x')}};
    for (const auto& name : names)
        EXPECT_EQ(commit(on(name, 0).event("Created")).fate, Fate::committed) << name.id;
    for (const auto& name : names) {
        EXPECT_EQ(version_of(name), 1) << name.id;
        EXPECT_EQ(load(name).row->name, name);
    }
}

TEST_P(Instances, KeepAnyBytesOfAPayload) {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    const std::vector<std::string> payloads{all, "", std::string(1, '\0'), "\\x41",
                                            std::string(1 << 20, 'x')};
    auto builder = on(order("1"), 0);
    for (const auto& bytes : payloads) {
        Event sent = event("Happened");
        sent.payload.bytes = bytes;
        builder.event(sent);
        builder.put({.name = "Do", .payload = {bytes}});
    }
    commit(builder);
    const auto events = load(order("1")).events;
    const auto items = store->items({});
    ASSERT_EQ(events.size(), payloads.size());
    ASSERT_EQ(items.size(), payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        EXPECT_TRUE(events[i].payload.bytes == payloads[i]) << i;
        EXPECT_TRUE(items[i].payload.bytes == payloads[i]) << i;
    }
}

TEST_P(Instances, AreWrittenInLargeGroups) {
    std::vector<Commit> group;
    for (int i = 0; i < 300; ++i)
        group.push_back(
            on(order(std::to_string(i % 100)), i / 100).event("Happened").effect("Do").build());
    const auto answers = commit_all(group);
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(answers[i].fate, Fate::committed) << i;
        EXPECT_EQ(answers[i].version, i / 100 + 1) << i;
    }
    for (int i = 0; i < 100; ++i) EXPECT_EQ(version_of(order(std::to_string(i))), 3);
    EXPECT_EQ(store->items({.limit = 1000}).size(), 300u);
    EXPECT_TRUE(commit_all({}).empty());
}

TEST_P(Instances, ProceedSideBySide) {
    constexpr int threads = 4;
    constexpr int inputs = 40;
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < threads; ++t)
            running.emplace_back([&, t] {
                for (int i = 0; i < inputs; ++i)
                    commit(on(order(std::to_string(t)), i).event("Happened").effect("Do"));
            });
    }
    for (int t = 0; t < threads; ++t) EXPECT_EQ(version_of(order(std::to_string(t))), inputs);
    EXPECT_EQ(store->follow("", 1000).events.size(), std::size_t{threads * inputs});
    EXPECT_EQ(store->items({.limit = 1000}).size(), std::size_t{threads * inputs});
}

class SharedInstances : public SharedStoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedInstances, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedInstances, AreSeenByTheOtherProcess) {
    create(order("1"), {"Invoice"});
    const auto seen = other->load(std::vector<LoadRequest>{{order("1")}})[0];
    ASSERT_TRUE(seen.row);
    EXPECT_EQ(seen.events, load(order("1")).events);
    EXPECT_EQ(other->items({}).size(), 1u);
}

TEST_P(SharedInstances, OutliveTheirProcess) {
    const auto items = create(order("1"), {"Invoice"});
    other.reset();
    store.reset();
    store = database.open();
    EXPECT_THAT(events_of(order("1")), ElementsAre("Created"));
    EXPECT_EQ(item_ids(), items);
}

TEST_P(SharedInstances, TakeInputsOfTwoProcessesOneAfterTheOther) {
    constexpr int inputs = 50;
    const auto send_all = [&](Store& to) {
        for (int sent = 0; sent < inputs;) {
            const auto row = to.load(std::vector<LoadRequest>{{order("1")}})[0].row;
            const std::vector<Commit> group{
                on(order("1"), row ? row->version : 0).event("Happened").effect("Do").build()};
            std::vector<Answer> answers(1);
            to.commit(group, answers);
            ASSERT_TRUE(answers[0].fate == Fate::committed || answers[0].fate == Fate::stale);
            if (answers[0].fate == Fate::committed) ++sent;
        }
    };
    {
        std::jthread here{[&] { send_all(*store); }};
        std::jthread there{[&] { send_all(*other); }};
    }
    const auto journal = store->journal(order("1"), 0, 1000);
    ASSERT_EQ(journal.size(), std::size_t{2 * inputs});
    for (int i = 0; i < 2 * inputs; ++i) EXPECT_EQ(journal[i].sequence, i + 1);
    EXPECT_EQ(store->items({.limit = 1000}).size(), std::size_t{2 * inputs});
}

TEST_P(Instances, ThatHaveFinishedAreListedFromATimeOn) {
    const auto finished = [&](Time since, std::size_t limit) {
        std::vector<std::string> ids;
        for (const auto& row : store->finished_since(since, limit))
            ids.push_back(row.name.type + "/" + row.name.id);
        return ids;
    };
    const Time begin = clock.now();
    for (const auto* id : {"1", "2", "3"}) create(order(id));
    commit(on({"refund", "1"}, 0).event("A").finish());
    clock.advance(1s);
    commit(on(order("3"), 1).event("A").finish());
    clock.advance(1s);
    commit(on(order("1"), 1).event("A").finish());
    EXPECT_THAT(finished(begin, 100), ElementsAre("refund/1", "order/3", "order/1"));
    EXPECT_THAT(finished(begin + 1s, 100), ElementsAre("order/3", "order/1"));
    EXPECT_THAT(finished(begin, 2), ElementsAre("refund/1", "order/3"));
    EXPECT_THAT(finished(begin + 2s + 1us, 100), IsEmpty());
    EXPECT_EQ(store->finished_since(begin + 2s, 100).front().at, begin + 2s);
}

}  // namespace
}  // namespace pawl::store::conformance
