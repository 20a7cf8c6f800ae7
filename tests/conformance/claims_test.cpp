#include <mutex>
#include <pawl/error.hpp>
#include <set>
#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Claims : public StoreTest {
protected:
    // `count` effects of each name, all due now, released one name after the other.
    void fill(const std::vector<std::string>& names, int count) {
        for (const auto& name : names) create(order(name), std::vector<std::string>(count, name));
    }
    static std::size_t count_of(const Claimed& claimed, const std::string& name) {
        return std::ranges::count_if(claimed.items,
                                     [&](const Item& item) { return item.line.name == name; });
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Claims, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Claims, CountTheAttemptAndCarryTheFence) {
    const auto ids = create(order("1"), {"Do"});
    const SessionId session = open_session();
    const Claimed claimed =
        store->claim({.claim = {session, 42}, .interests = {{effects("Do"), 10}}, .limit = 10});
    EXPECT_EQ(claimed.now, clock.now());
    EXPECT_EQ(claimed.next_due, std::nullopt);
    EXPECT_FALSE(claimed.lost_ones_wait);
    ASSERT_EQ(ids_of(claimed.items), ids);
    const Item& taken = claimed.items[0];
    EXPECT_EQ(taken.line, effects("Do"));
    EXPECT_EQ(taken.instance, order("1"));
    EXPECT_EQ(taken.payload, (Payload{"\"Do\""}));
    EXPECT_EQ(taken.attempts, 1);
    EXPECT_EQ(taken.losses, 0);
    EXPECT_EQ(taken.losses_alone, 0);
    EXPECT_EQ(taken.last_error, "");
    EXPECT_EQ(taken.session, session);
    EXPECT_EQ(taken.fence, 42);
    EXPECT_EQ(taken.due_at, std::nullopt);
    EXPECT_EQ(taken.created_at, clock.now());

    const auto stored = item(ids[0]);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->session, session);
    EXPECT_EQ(stored->fence, 42);
    EXPECT_EQ(stored->attempts, 1);
    EXPECT_EQ(stored->due_at, std::nullopt);
}

TEST_P(Claims, TakeAnItemOnce) {
    fill({"Do"}, 3);
    EXPECT_EQ(claim(open_session(), {effects("Do")}, 2).items.size(), 2u);
    EXPECT_EQ(claim(open_session(), {effects("Do")}).items.size(), 1u);
    EXPECT_THAT(claim(open_session(), {effects("Do")}).items, IsEmpty());
}

TEST_P(Claims, TakeOnlyTheLinesAskedFor) {
    create(order("1"), {"Do", "Other"});
    commit(on({"refund", "1"}, 0).event("A").effect("Do"));
    commit(on(order("2"), 0).event("A").timer("Do", 0s));
    const auto items = claim(open_session(), {effects("Do")}).items;
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].instance, order("1"));
    EXPECT_EQ(items[0].line, effects("Do"));
    EXPECT_THAT(claim(open_session(), {}).items, IsEmpty());
    EXPECT_EQ(claim(open_session(), {timers("Do")}).items.size(), 1u);
    EXPECT_EQ(store->depths().size(), 4u) << "an operator sees what waits";
}

TEST_P(Claims, TakeTheOldestDueFirst) {
    const auto late = commit(on(order("1"), 0).event("A").timer("Ring", 3s)).items[0];
    const auto early = commit(on(order("2"), 0).event("A").timer("Ring", 1s)).items[0];
    const auto middle = commit(on(order("3"), 0).event("A").timer("Ring", 2s)).items[0];
    const auto tie = commit(on(order("4"), 0).event("A").timer("Ring", 2s)).items[0];
    clock.advance(10s);
    const SessionId session = open_session();
    EXPECT_THAT(ids_of(claim(session, {timers("Ring")}, 2).items), ElementsAre(early, middle));
    EXPECT_THAT(ids_of(claim(session, {timers("Ring")}, 2).items), ElementsAre(tie, late));
}

TEST_P(Claims, TakeNothingEarly) {
    commit(on(order("1"), 0).event("A").timer("Ring", 10s));
    const Time due = clock.now() + 10s;
    const SessionId session = open_session();
    clock.set(due - 1us);
    const Claimed early = claim(session, {timers("Ring")});
    EXPECT_THAT(early.items, IsEmpty());
    EXPECT_EQ(early.next_due, due);
    clock.set(due);
    EXPECT_EQ(claim(session, {timers("Ring")}).items.size(), 1u);
}

TEST_P(Claims, KeepTheLimitOfALineAndOfAll) {
    fill({"A", "B"}, 10);
    const SessionId session = open_session();
    const Claimed claimed = store->claim(
        {.claim = {session, 1}, .interests = {{effects("A"), 2}, {effects("B"), 7}}, .limit = 8});
    EXPECT_EQ(count_of(claimed, "A"), 2u);
    EXPECT_EQ(count_of(claimed, "B"), 6u);
    EXPECT_THAT(claim(session, {effects("A")}, 0).items, IsEmpty());
}

TEST_P(Claims, ServeTheLinesInTurn) {
    create(order("long"), std::vector<std::string>(20, "Long"));
    clock.advance(1s);
    create(order("short"), {"Short", "Short"});
    create(order("other"), std::vector<std::string>(20, "Other"));
    const Claimed claimed =
        claim(open_session(), {effects("Long"), effects("Short"), effects("Other")}, 11);
    EXPECT_EQ(count_of(claimed, "Short"), 2u) << "a long line of older items starves nobody";
    EXPECT_EQ(count_of(claimed, "Long"), 5u) << "the odd one goes to the line named first";
    EXPECT_EQ(count_of(claimed, "Other"), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(ids_of(claimed.items))) << "oldest due first";
}

TEST_P(Claims, SayWhenThereIsWorkAgain) {
    fill({"Do"}, 3);
    commit(on(order("1"), 0).event("A").timer("Ring", 5s));
    commit(on(order("2"), 0).event("A").timer("Ring", 9s));
    commit(on(order("3"), 0).event("A").timer("Unheard", 1s));
    const SessionId session = open_session();
    const Time now = clock.now();
    EXPECT_EQ(claim(session, {effects("Do"), timers("Ring")}, 2).next_due, now)
        << "the limit cut it off";
    EXPECT_EQ(claim(session, {effects("Do"), timers("Ring")}).next_due, now + 5s);
    clock.advance(5s);
    EXPECT_EQ(claim(session, {effects("Do"), timers("Ring")}).next_due, now + 9s);
    clock.advance(5s);
    EXPECT_EQ(claim(session, {effects("Do"), timers("Ring")}).next_due, std::nullopt);
    EXPECT_EQ(claim(session, {effects("Nothing")}).next_due, std::nullopt);
}

TEST_P(Claims, NeedASession) {
    create(order("1"), {"Do"});
    const SessionId closed = open_session();
    store->close_session(closed);
    for (const SessionId session : {closed, SessionId{0}, SessionId{123456}}) {
        try {
            claim(session, {effects("Do")});
            FAIL() << session;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), Code::unknown);
        }
    }
    EXPECT_EQ(store->items({})[0].attempts, 0);
}

TEST_P(Claims, AreReleasedAsIfTheyHadNeverBeen) {
    create(order("1"), {"Do", "Do", "Do"});
    const SessionId session = open_session();
    const auto items = claim(session, {effects("Do")}).items;
    clock.advance(1s);
    store->release(std::vector<std::pair<ItemId, Fence>>{
        {items[0].id, items[0].fence}, {items[1].id, items[1].fence + 1}, {999999, 1}});
    const auto released = item(items[0].id);
    EXPECT_EQ(released->attempts, 0);
    EXPECT_EQ(released->due_at, clock.now());
    EXPECT_EQ(released->session, 0);
    EXPECT_EQ(released->fence, 0);
    EXPECT_EQ(released->losses, 0);
    EXPECT_EQ(item(items[1].id)->session, session) << "a wrong fence is ignored";
    EXPECT_EQ(commit(settling().ack(items[0])).fate, Fate::fence_lost);
    EXPECT_THAT(ids_of(claim(session, {effects("Do")}).items), ElementsAre(items[0].id));
    store->release(std::vector<std::pair<ItemId, Fence>>{{items[0].id, items[0].fence}});
    EXPECT_EQ(item(items[0].id)->session, session) << "an old fence is ignored";
}

TEST_P(Claims, AreBornWithTheItem) {
    const SessionId session = open_session();
    const Answer answer = commit(on(order("1"), 0).event("A").born("Do", {session, 77}));
    const auto born = item(answer.items[0]);
    ASSERT_TRUE(born);
    EXPECT_EQ(born->session, session);
    EXPECT_EQ(born->fence, 77);
    EXPECT_EQ(born->attempts, 1);
    EXPECT_EQ(born->due_at, std::nullopt);
    EXPECT_THAT(claim(open_session(), {effects("Do")}).items, IsEmpty());
    EXPECT_EQ(commit(settling().ack(*born)).fate, Fate::committed);
    EXPECT_THAT(item_ids(), IsEmpty());
}

TEST_P(Claims, AreNotBornForASessionThatIsGone) {
    const SessionId gone = open_session(1s);
    clock.advance(2s);
    const SessionId live = open_session();
    claim(live, {effects("Do")});
    const Answer answer = commit(on(order("1"), 0).event("A").born("Do", {gone, 77}));
    ASSERT_EQ(answer.fate, Fate::committed);
    const auto born = item(answer.items[0]);
    EXPECT_EQ(born->session, 0);
    EXPECT_EQ(born->attempts, 0);
    EXPECT_EQ(born->due_at, clock.now());
    EXPECT_EQ(claim(live, {effects("Do")}).items.size(), 1u);
}

TEST_P(Claims, OfManyWorkersNeitherSkipNorShareAnItem) {
    constexpr int workers = 4;
    constexpr int items = 200;
    for (int i = 0; i < items / 10; ++i)
        create(order(std::to_string(i)), std::vector<std::string>(10, "Do"));
    std::mutex mutex;
    std::multiset<ItemId> handled;
    {
        std::vector<std::jthread> running;
        for (int w = 0; w < workers; ++w)
            running.emplace_back([&] {
                const SessionId session = open_session();
                while (true) {
                    const auto claimed = claim(session, {effects("Do")}, 7).items;
                    if (claimed.empty()) return;
                    auto done = settling();
                    for (const auto& item : claimed) done.ack(item);
                    EXPECT_EQ(commit(done).fate, Fate::committed);
                    const std::lock_guard lock{mutex};
                    for (const auto& item : claimed) handled.insert(item.id);
                }
            });
    }
    EXPECT_EQ(handled.size(), std::size_t{items});
    EXPECT_EQ(std::set<ItemId>(handled.begin(), handled.end()).size(), std::size_t{items});
    EXPECT_THAT(item_ids(), IsEmpty());
}

class SharedClaims : public SharedStoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedClaims, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedClaims, OfTwoProcessesNeitherSkipNorShareAnItem) {
    constexpr std::size_t items = 200;
    for (std::size_t i = 0; i < items / 10; ++i)
        create(order(std::to_string(i)), std::vector<std::string>(10, "Do"));
    std::mutex mutex;
    std::multiset<ItemId> handled;
    const auto work = [&](Store& in) {
        const SessionId session = in.open_session({.lease = 1min});
        while (true) {
            const auto claimed = claim_in(in, session, {effects("Do")}, 7).items;
            if (claimed.empty()) return;
            auto done = settling();
            for (const auto& item : claimed) done.ack(item);
            const Commit group = done;
            std::vector<Answer> answers(1);
            in.commit({&group, 1}, answers);
            EXPECT_EQ(answers[0].fate, Fate::committed);
            const std::lock_guard lock{mutex};
            for (const auto& item : claimed) handled.insert(item.id);
        }
    };
    {
        std::jthread here{[&] { work(*store); }};
        std::jthread there{[&] { work(*other); }};
    }
    EXPECT_EQ(handled.size(), items);
    EXPECT_EQ(std::set<ItemId>(handled.begin(), handled.end()).size(), items);
    EXPECT_THAT(item_ids(), IsEmpty());
}

TEST_P(SharedClaims, AreReapedByTheOtherProcess) {
    create(order("1"), {"Do"});
    const Item held = claim_one(open_session(10s), effects("Do"));
    clock.advance(10s);
    const SessionId session = other->open_session({.lease = 1min});
    EXPECT_EQ(claim_in(*other, session, {effects("Do")}).items.size(), 1u);
    EXPECT_FALSE(store->renew(held.session, 10s));
    EXPECT_EQ(commit(settling().ack(held)).fate, Fate::fence_lost);
}

}  // namespace
}  // namespace pawl::store::conformance
