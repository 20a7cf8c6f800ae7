// The answer to a commit is lost, and others go on before the same is sent again: it takes effect
// once, and says what it did.
#include <functional>
#include <pawl/error.hpp>

#include "conformance/store_test.hpp"
#include "store/sql/connection.hpp"

namespace pawl::store::conformance {
namespace {

class LostAnswers : public SharedStoreTest {
protected:
    void SetUp() override {
        SharedStoreTest::SetUp();
        if (IsSkipped()) return;
        lossy = database.hooked([this](std::string_view point) {
            if (point != base::points::group_committed || !std::exchange(loses, false)) return;
            if (meanwhile) meanwhile();
            throw sql::LostConnection{Code::unavailable, "the answer is lost"};
        });
        store->outbox().declare("news", 1);
    }

    /// The answers to a group whose first answer is lost.
    std::vector<Answer> commit_lossy(const std::vector<Commit>& group) {
        std::vector<Answer> answers(group.size());
        loses = true;
        lossy->commit(group, answers);
        EXPECT_FALSE(loses) << "nothing was committed";
        return answers;
    }
    /// What a verb says whose first answer is lost.
    template <class Verb>
    auto says(Verb&& verb) {
        loses = true;
        auto result = verb(*lossy);
        EXPECT_FALSE(loses) << "nothing was committed";
        return result;
    }
    static std::vector<Fate> fates(const std::vector<Answer>& answers) {
        std::vector<Fate> all;
        for (const auto& answer : answers) all.push_back(answer.fate);
        return all;
    }
    std::size_t messages() { return other->messages("news", 0, 100).size(); }
    CommitBuilder message() { return settling().message({.channel = "news"}); }

    /// Somebody else takes what is there, and is done with it, or buries it.
    std::vector<std::int64_t> deliver(bool buries = false) {
        const Fence fence = ++last_fence;
        Advance one{.partition = {"news", 0}, .fence = fence, .fetch = 100};
        const SessionId session = other->open_session({.lease = 1min});
        EXPECT_EQ(other->outbox().own({session, fence}, "news").taken.size(), 1u);
        const auto batch = other->outbox().advance({&one, 1})[0].fetched;
        for (const auto& found : batch) {
            one.done.push_back(found.position);
            ++one.sequence;
            if (buries)
                one.buried.push_back({.position = found.position, .sequence = one.sequence});
        }
        one.fetch = 0;
        EXPECT_FALSE(other->outbox().advance({&one, 1})[0].lost);
        other->close_session(session);
        return one.done;
    }
    std::vector<std::int64_t> dead_messages(int count) {
        for (int i = 0; i < count; ++i) commit(message());
        return deliver(true);
    }

    std::unique_ptr<Store> lossy;
    bool loses = false;
    std::function<void()> meanwhile;
};
// The others commit in the process: there is no answer that could be lost.
std::vector<StoreUnderTest> stores_on_servers() {
    auto stores = stores_under_test();
    std::erase_if(
        stores, [](const auto& store) { return store.name == "memory" || store.name == "sqlite"; });
    return stores;
}
INSTANTIATE_TEST_SUITE_P(Stores, LostAnswers, testing::ValuesIn(stores_on_servers()),
                         name_of_store);

TEST_P(LostAnswers, PublishOnceWhatIsDeliveredMeanwhile) {
    meanwhile = [&] { EXPECT_EQ(deliver().size(), 1u); };
    EXPECT_THAT(fates(commit_lossy({message()})), ElementsAre(Fate::committed));
    EXPECT_EQ(messages(), 0u);
}

TEST_P(LostAnswers, SendMailOnce) {
    commit(on(order("1"), 0).event("Started").run());
    EXPECT_THAT(fates(commit_lossy({settling().letter(order("1"))})), ElementsAre(Fate::committed));
    EXPECT_EQ(other->inbox(order("1"), 10).size(), 1u);
}

TEST_P(LostAnswers, AreGivenToEachCommitOfAGroup) {
    create(order("1"));
    meanwhile = [&] {
        deliver();
        commit(on(order("1"), 2).event("Later"));
        commit(on(order("2"), 0).event("Later"));
    };
    const auto answers = commit_lossy({message(), on(order("1"), 1).event("Next").effect("Invoice"),
                                       on(order("1"), 1).event("Stale"),
                                       on(order("2"), 7).event("None"), message()});
    EXPECT_THAT(fates(answers), ElementsAre(Fate::committed, Fate::committed, Fate::stale,
                                            Fate::stale, Fate::committed));
    EXPECT_EQ(answers[1].version, 2);
    EXPECT_EQ(answers[2].version, 2);
    EXPECT_EQ(answers[3].version, 0);
    EXPECT_THAT(item_ids(), ElementsAre(answers[1].items.at(0)));
    EXPECT_THAT(events_of(order("1")), ElementsAre("Created", "Next", "Later"));
    EXPECT_EQ(messages(), 0u);
}

TEST_P(LostAnswers, AreGivenToAGroupOfWhichAPartWasRefused) {
    meanwhile = [&] { EXPECT_EQ(deliver().size(), 2u); };
    const auto answers =
        commit_lossy({message(), settling().message({.channel = "news", .partition = 99}),
                      on(order("1"), 0).event("Placed"), message()});
    EXPECT_THAT(fates(answers),
                ElementsAre(Fate::committed, Fate::failed, Fate::committed, Fate::committed));
    EXPECT_TRUE(answers[1].error);
    EXPECT_EQ(answers[2].version, 1);
    EXPECT_EQ(version_of(order("1")), 1);
    EXPECT_EQ(messages(), 0u);
}

TEST_P(LostAnswers, SettleOnce) {
    create(order("1"), {"Invoice", "Ship"});
    const SessionId session = open_session();
    const Item first = claim_one(session, effects("Invoice"));
    const Item second = claim_one(session, effects("Ship"));
    EXPECT_THAT(
        fates(commit_lossy({settling().retry(first, 1min, "down"), settling().suspend(second)})),
        ElementsAre(Fate::committed, Fate::committed));
    EXPECT_EQ(item(first.id)->due_at, clock.now() + 1min);
    // By its fence: the one that was sent again would be refused.
    EXPECT_THAT(fates(commit_lossy({message().retry(first, 1min, "down")})),
                ElementsAre(Fate::fence_lost));
    EXPECT_EQ(messages(), 0u);
}

TEST_P(LostAnswers, CountWhatTheVerbsOfAChannelDid) {
    commit(message());
    Advance stop{.partition = {"news", 0}, .fence = ++last_fence, .error = "no", .stopped = true};
    other->outbox().own({open_session(), stop.fence}, "news");
    ASSERT_FALSE(other->outbox().advance({&stop, 1})[0].lost);
    EXPECT_EQ(says([](Store& in) { return in.outbox().resume("news"); }), 1);
    deliver();
    meanwhile = [&] { commit(message()); };
    EXPECT_TRUE(says([](Store& in) { return in.outbox().repartition("news", 2); }));
    EXPECT_EQ(other->outbox().declare("news", 0), 2);
    EXPECT_FALSE(says([](Store& in) { return in.outbox().repartition("news", 3); }));
}

TEST_P(LostAnswers, CountWhatTheVerbsOnDeadMessagesDid) {
    const auto dead = dead_messages(6);
    ASSERT_EQ(dead.size(), 6u);
    const Time until = clock.now() + 1h;
    const auto taken =
        says([&](Store& in) { return in.outbox().reprocess({.positions = {dead[0]}}, until); });
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].status, DeadStatus::reprocessing);
    // Whoever is asked next does the same to it before the first knows.
    const auto settle = [&](std::int64_t position, DeadStatus status, Store& in) {
        return in.outbox().settle_dead({&position, 1}, status, "");
    };
    meanwhile = [&] { EXPECT_EQ(settle(dead[0], DeadStatus::pending, *other), 0); };
    EXPECT_EQ(says([&](Store& in) { return settle(dead[0], DeadStatus::resolved, in); }), 1);
    meanwhile = [&] { EXPECT_EQ(settle(dead[1], DeadStatus::discarded, *other), 1); };
    EXPECT_EQ(says([&](Store& in) { return settle(dead[1], DeadStatus::pending, in); }), 1);
    meanwhile = [&] { EXPECT_EQ(deliver().size(), 1u); };
    EXPECT_EQ(says([&](Store& in) { return in.outbox().redeliver({.positions = {dead[2]}}); }), 1);
    EXPECT_EQ(messages(), 0u);
    meanwhile = nullptr;
    const Time later = clock.now() + 1min;
    EXPECT_EQ(says([&](Store& in) { return in.outbox().clean_up_dead(later, 2); }), 2);
    EXPECT_EQ(other->outbox().count_dead({}), 4);
}

TEST_P(LostAnswers, CountWhatTheVerbsOnDeadLettersDid) {
    create(order("1"), {"Do", "Do", "Do", "Do"});
    const SessionId session = open_session();
    const auto claimed = claim(session, {effects("Do")});
    for (const auto& one : claimed.items) commit(settling().bury(one, "no"));
    meanwhile = [&] {
        const auto again = claim(session, {effects("Do")});
        for (const auto& one : again.items) commit(settling().bury(one, "again"));
    };
    EXPECT_EQ(says([](Store& in) { return in.retry_dead_letters({.limit = 1}); }), 1);
    EXPECT_EQ(other->count_dead_letters({}), 4);
    meanwhile = nullptr;
    EXPECT_EQ(says([](Store& in) { return in.discard_dead_letters({.limit = 2}); }), 2);
    EXPECT_EQ(other->count_dead_letters({}), 2);
}

TEST_P(LostAnswers, AreKnownForHalfAnHourAndThenInDoubt) {
    meanwhile = [&] { clock.advance(29min); };
    EXPECT_THAT(fates(commit_lossy({message()})), ElementsAre(Fate::committed));
    EXPECT_EQ(messages(), 1u);
    meanwhile = [&] {
        clock.advance(2h);
        other->vacuum({});
    };
    try {
        commit_lossy({message()});
        FAIL() << "it was sent again though its receipt is gone";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::in_doubt) << error.what();
    }
    EXPECT_EQ(messages(), 2u);
    try {
        says([](Store& in) { return in.outbox().resume("news"); });
        FAIL() << "it was sent again though its receipt is gone";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::in_doubt) << error.what();
    }
}

}  // namespace
}  // namespace pawl::store::conformance
