// The ordered outbox: numbers without gaps, one owner at a time, and what became of each message.
#include <map>
#include <pawl/error.hpp>
#include <set>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Outboxes : public StoreTest {
protected:
    Message message(std::string text, std::string key = "k") {
        Message message;
        message.id.bytes.back() = ++ids;
        message.channel = "news";
        message.key = std::move(key);
        message.payload.bytes = std::move(text);
        return message;
    }
    Uuid publish(Message one) {
        const Uuid id = one.id;
        Commit all;
        all.messages.push_back(std::move(one));
        EXPECT_EQ(commit(all).fate, Fate::committed);
        return id;
    }
    /// Takes everything of the channel.
    std::vector<OwnedPartition> own(SessionId session) {
        fence = ++last_fence;
        return store->outbox().own({session, fence}, "news").taken;
    }
    Advanced advance(Advance one) {
        one.partition.channel = "news";
        if (one.fence == 0) one.fence = fence;
        return store->outbox().advance(std::vector{one})[0];
    }
    static std::vector<std::string> texts(const std::vector<Message>& messages) {
        std::vector<std::string> out;
        for (const auto& one : messages) out.push_back(one.payload.bytes);
        return out;
    }
    static std::vector<std::int64_t> positions(const std::vector<Message>& messages) {
        std::vector<std::int64_t> out;
        for (const auto& one : messages) out.push_back(one.position);
        return out;
    }
    std::optional<Time> look() {
        return store->outbox().look(std::vector<Partition>{{"news", 0}})[0];
    }
    std::int64_t waiting() {
        std::int64_t all = 0;
        for (const auto& depth : store->outbox().depths("news")) all += depth.waiting;
        return all;
    }

    Fence fence = 0;
    std::uint8_t ids = 0;
};

TEST_P(Outboxes, KeepOneNumberOfPartitions) {
    EXPECT_EQ(store->outbox().declare("news", 4), 4);
    EXPECT_EQ(store->outbox().declare("news", 4), 4);
    EXPECT_EQ(store->outbox().declare("news", 0), 4);
    EXPECT_THROW(store->outbox().declare("news", 8), Error);
    EXPECT_EQ(store->outbox().declare("other", 0), default_partitions);
}

TEST_P(Outboxes, DeliverInTheOrderOfPublishing) {
    store->outbox().declare("news", 1);
    for (const char* text : {"a", "b", "c"}) publish(message(text));
    const auto owned = own(open_session());
    ASSERT_EQ(owned.size(), 1u);
    EXPECT_EQ(owned[0].sequence, 0);
    EXPECT_THAT(owned[0].batch, IsEmpty());
    const auto first = advance({.fetch = 2}).fetched;
    EXPECT_THAT(texts(first), ElementsAre("a", "b"));
    EXPECT_EQ(first[0].channel, "news");
    EXPECT_EQ(first[0].partition, 0);
    EXPECT_EQ(waiting(), 3);
    const auto next = advance({.sequence = 2, .done = positions(first), .fetch = 2}).fetched;
    EXPECT_THAT(texts(next), ElementsAre("c"));
    EXPECT_EQ(waiting(), 1);
    EXPECT_EQ(store->outbox().depths("news")[0].sequence, 2);
    EXPECT_THAT(advance({.sequence = 3, .done = positions(next), .fetch = 2}).fetched, IsEmpty());
    EXPECT_EQ(waiting(), 0);
}

TEST_P(Outboxes, KeepWhatIsLeftOfABatchBeforeWhatIsNew) {
    store->outbox().declare("news", 1);
    for (const char* text : {"a", "b", "c", "d"}) publish(message(text));
    own(open_session());
    const auto first = advance({.fetch = 3}).fetched;
    const auto all = positions(first);
    const auto more =
        advance(
            {.sequence = 1, .done = {all[0]}, .left = {all[1], all[2]}, .attempts = 2, .fetch = 5})
            .fetched;
    EXPECT_THAT(texts(more), ElementsAre("d"));
    clock.advance(2min);  // its owner is gone
    const auto owned = own(open_session());
    ASSERT_EQ(owned.size(), 1u);
    EXPECT_EQ(owned[0].sequence, 1);
    EXPECT_THAT(texts(owned[0].batch), ElementsAre("b", "c", "d"));
    EXPECT_EQ(owned[0].attempts, 2);
}

TEST_P(Outboxes, FetchNoMoreOnceTheyHaveEnoughBytes) {
    store->outbox().declare("news", 1);
    const std::string large(3000, 'x');
    for (const auto& text : {large, large, large, std::string{"a"}, std::string{"b"}})
        publish(message(text));
    own(open_session());
    const auto fetch = [&](std::size_t bytes, std::vector<std::int64_t> done = {}) {
        return advance({.done = std::move(done), .fetch = 10, .fetch_bytes = bytes}).fetched;
    };
    auto got = fetch(1);
    EXPECT_THAT(texts(got), ElementsAre(large)) << "one in any case";
    got = fetch(6000, positions(got));
    EXPECT_THAT(texts(got), ElementsAre(large, large));
    const auto more = advance({.left = positions(got), .fetch = 10, .fetch_bytes = 1}).fetched;
    EXPECT_THAT(texts(more), ElementsAre("a")) << "what is left does not count";
    got.insert(got.end(), more.begin(), more.end());
    EXPECT_THAT(texts(fetch(6000, positions(got))), ElementsAre("b"));
}

TEST_P(Outboxes, BelongToOneSessionAtATime) {
    store->outbox().declare("news", 4);
    const auto first = open_session();
    EXPECT_EQ(own(first).size(), 4u);
    const Fence old = fence;
    const auto second = open_session();
    EXPECT_THAT(own(second), IsEmpty()) << "they are all taken";
    const auto share = store->outbox().own({first, old}, "news").share;
    EXPECT_EQ(share, 2u) << "another process wants some";
    store->outbox().disown(std::vector<Partition>{{"news", 0}, {"news", 3}}, old);
    EXPECT_EQ(own(second).size(), 2u);
    EXPECT_TRUE(advance({.partition = {.index = 0}, .fence = old, .sequence = 9}).lost);
    EXPECT_FALSE(advance({.partition = {.index = 1}, .fence = old, .fetch = 1}).lost);
    EXPECT_EQ(store->outbox().depths("news")[0].sequence, 0) << "an old word changes nothing";
    clock.advance(2min);
    EXPECT_EQ(own(open_session()).size(), 4u);
}

TEST_P(Outboxes, CountABatchAsBegunWhenItIsFetched) {
    store->outbox().declare("news", 1);
    publish(message("a"));
    own(open_session());
    advance({.fetch = 1});
    EXPECT_EQ(store->outbox().depths("news")[0].attempts, 1);
}

TEST_P(Outboxes, KeepWhatTheirOwnerHadBegunWhenItDied) {
    store->outbox().declare("news", 1);
    publish(message("a"));
    publish(message("b"));
    own(open_session());
    const auto all = positions(advance({.begun = Begun::beside_others, .fetch = 2}).fetched);
    clock.advance(2min);
    auto found = own(open_session()).at(0);
    EXPECT_EQ(found.begun, Begun::beside_others);
    EXPECT_EQ(found.losses, 0) << "whoever takes it counts";
    advance({.left = all, .attempts = 2, .losses = 1, .begun = Begun::alone});
    clock.advance(2min);
    found = own(open_session()).at(0);
    EXPECT_EQ(found.begun, Begun::alone);
    EXPECT_EQ(found.attempts, 2);
    EXPECT_EQ(found.losses, 1);
    advance({.left = all, .attempts = 3, .losses = 2, .losses_alone = 1, .begun = Begun::alone});
    store->outbox().accompany(found.partition, fence + 1);
    clock.advance(2min);
    found = own(open_session()).at(0);
    EXPECT_EQ(found.begun, Begun::alone) << "the fence was another one";
    EXPECT_EQ(found.losses_alone, 1);
    store->outbox().accompany(found.partition, fence);
    clock.advance(2min);
    EXPECT_EQ(own(open_session()).at(0).begun, Begun::beside_others);
}

TEST_P(Outboxes, HaveNothingBegunWhenTheyAreGivenBackStoppedOrEmpty) {
    store->outbox().declare("news", 1);
    publish(message("a"));
    const auto session = open_session();
    const auto partition = own(session).at(0).partition;
    const auto all = positions(advance({.begun = Begun::beside_others, .fetch = 1}).fetched);
    store->outbox().accompany(partition, fence);
    store->outbox().disown(std::vector{partition}, fence);
    EXPECT_EQ(own(session).at(0).begun, Begun::no) << "given back";
    advance({.left = all,
             .attempts = 2,
             .losses = 2,
             .losses_alone = 1,
             .begun = Begun::alone,
             .stopped = true});
    EXPECT_EQ(store->outbox().resume("news"), 1);
    const auto resumed = own(session).at(0);
    EXPECT_EQ(resumed.begun, Begun::no);
    EXPECT_EQ(resumed.losses, 0);
    EXPECT_EQ(resumed.losses_alone, 0);
    advance({.sequence = 1, .done = all, .begun = Begun::beside_others, .fetch = 1});
    clock.advance(2min);
    EXPECT_EQ(own(open_session()).at(0).begun, Begun::no) << "there was nothing to begin";
}

TEST_P(Outboxes, DeliverLaterWhatIsForLater) {
    store->outbox().declare("news", 1);
    auto later = message("later");
    later.deliver_after = clock.now() + 1h;
    publish(later);
    publish(message("now"));
    own(open_session(2h));
    const auto first = advance({.fetch = 5});
    EXPECT_THAT(texts(first.fetched), ElementsAre("now"));
    EXPECT_EQ(look(), Time{}) << "the one that is fetched is still there";
    advance({.sequence = 1, .done = positions(first.fetched)});
    EXPECT_EQ(look(), later.deliver_after);
    clock.advance(1h);
    const auto then = advance({.sequence = 1, .ripen = true, .fetch = 5});
    EXPECT_THAT(texts(then.fetched), ElementsAre("later"));
    advance({.sequence = 2, .done = positions(then.fetched)});
    EXPECT_EQ(look(), std::nullopt);
}

TEST_P(Outboxes, SpreadByKeyOrByIndex) {
    store->outbox().declare("news", 8);
    for (int i = 0; i < 40; ++i) publish(message("x", "key" + std::to_string(i % 20)));
    auto one = message("there");
    one.partition = 5;
    publish(one);
    std::map<std::string, std::set<std::int32_t>> seen;
    for (const auto& found : store->messages("news", 0, 100))
        if (found.payload.bytes == "x")
            seen[found.key].insert(*found.partition);
        else
            EXPECT_EQ(found.partition, 5);
    std::set<std::int32_t> all;
    for (const auto& [key, parts] : seen) {
        EXPECT_EQ(parts.size(), 1u) << key;
        all.insert(parts.begin(), parts.end());
    }
    EXPECT_GT(all.size(), 3u);
}

TEST_P(Outboxes, RefuseAnIndexThatIsNotThere) {
    store->outbox().declare("news", 2);
    auto wrong = message("x");
    wrong.partition = 2;
    Commit bad;
    bad.messages = {message("with it"), wrong};
    Commit good;
    good.messages = {message("fine")};
    const auto answers = commit_all({bad, good});
    EXPECT_EQ(answers[0].fate, Fate::failed);
    EXPECT_EQ(answers[1].fate, Fate::committed);
    EXPECT_THAT(texts(store->messages("news", 0, 10)), ElementsAre("fine"));
}

TEST_P(Outboxes, AreNotThoughtToBeThereAfterAFirstMessageThatWasRefused) {
    create({.type = "news", .id = "1"});  // so that the channel's name outlives the refusal
    auto wrong = message("x");
    wrong.partition = default_partitions;
    Commit bad;
    bad.messages = {wrong};
    EXPECT_EQ(commit(bad).fate, Fate::failed);
    publish(message("fine"));
    EXPECT_THAT(texts(store->messages("news", 0, 10)), ElementsAre("fine"));
}

TEST_P(Outboxes, BuryAMessageWithItsReasonAndGoOn) {
    store->outbox().declare("news", 1);
    auto poison = message("poison");
    poison.type = "Bad";
    const auto id = publish(poison);
    const auto fine = publish(message("fine"));
    own(open_session());
    const auto batch = advance({.fetch = 2}).fetched;
    const auto all = positions(batch);
    advance({.sequence = 2,
             .done = all,
             .buried = {{.position = all[0], .sequence = 1, .attempts = 3, .reason = "no way"}}});
    const auto dead = store->outbox().dead({.channel = "news"});
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_EQ(dead[0].message.payload.bytes, "poison");
    EXPECT_EQ(dead[0].message.id, id);
    EXPECT_EQ(dead[0].message.channel, "news");
    EXPECT_EQ(dead[0].sequence, 1);
    EXPECT_EQ(dead[0].attempts, 3);
    EXPECT_EQ(dead[0].reason, "no way");
    EXPECT_EQ(dead[0].status, DeadStatus::pending);
    EXPECT_EQ(dead[0].died_at, clock.now());
    EXPECT_THAT(store->outbox().delivered(std::vector{id, fine}),
                ElementsAre(Delivered::dead, Delivered::yes));
    EXPECT_EQ(store->outbox().count_dead({.type = "Bad"}), 1);
    EXPECT_EQ(store->outbox().count_dead({.type = "Good"}), 0);
    EXPECT_EQ(store->outbox().count_dead({.reason = "way"}), 1);
    EXPECT_EQ(store->outbox().count_dead({.partition = 1}), 0);
    EXPECT_EQ(store->outbox().count_dead({.channel = "other"}), 0);
    EXPECT_EQ(store->outbox().count_dead({.died_before = clock.now()}), 0);
}

TEST_P(Outboxes, LeadDeadMessagesThroughTheirLife) {
    store->outbox().declare("news", 1);
    for (const char* text : {"a", "b", "c"}) publish(message(text));
    own(open_session());
    const auto all = positions(advance({.fetch = 3}).fetched);
    Advance bury{.sequence = 3, .done = all};
    for (int i = 0; i < 3; ++i)
        bury.buried.push_back({.position = all[static_cast<std::size_t>(i)], .sequence = i + 1});
    advance(bury);
    auto& outbox = store->outbox();
    EXPECT_EQ(outbox.reprocess({.positions = {all[0], all[1]}}, clock.now() + 1min).size(), 2u);
    EXPECT_EQ(outbox.count_dead({.status = DeadStatus::reprocessing}), 2);
    EXPECT_EQ(outbox.reprocess({}, clock.now() + 1min).size(), 1u) << "the others are taken";
    EXPECT_EQ(outbox.settle_dead(std::vector{all[0]}, DeadStatus::resolved, ""), 1);
    const std::vector twice{all[1], all[1]};
    EXPECT_EQ(outbox.settle_dead(twice, DeadStatus::pending, "again no"), 1);
    EXPECT_EQ(outbox.dead({.status = DeadStatus::pending})[0].reason, "again no");
    clock.advance(2min);
    EXPECT_EQ(outbox.count_dead({.status = DeadStatus::pending}), 2) << "the time is over";
    EXPECT_EQ(outbox.settle_dead(std::vector{all[2]}, DeadStatus::discarded, ""), 1);
    EXPECT_EQ(outbox.settle_dead(std::vector{all[0]}, DeadStatus::pending, ""), 0) << "resolved";
    EXPECT_EQ(outbox.clean_up_dead(clock.now() + 1s, 10), 2);
    EXPECT_EQ(outbox.count_dead({}), 1);
}

TEST_P(Outboxes, StopUntilSomebodyHasThemGoOn) {
    store->outbox().declare("news", 1);
    publish(message("a"));
    const auto session = open_session();
    own(session);
    const auto all = positions(advance({.fetch = 1}).fetched);
    advance({.left = all, .attempts = 3, .error = "poison", .stopped = true});
    EXPECT_TRUE(store->outbox().depths("news")[0].stopped);
    EXPECT_EQ(store->outbox().depths("news")[0].error, "poison");
    EXPECT_EQ(store->outbox().resume("news"), 1);
    EXPECT_TRUE(advance({.fetch = 1}).lost) << "it is to be taken anew";
    const auto owned = own(session);
    ASSERT_EQ(owned.size(), 1u);
    EXPECT_FALSE(owned[0].stopped);
    EXPECT_EQ(owned[0].attempts, 0);
    EXPECT_THAT(texts(owned[0].batch), ElementsAre("a"));
}

TEST_P(Outboxes, ChangeTheNumberOfPartitionsOnceTheyAreEmpty) {
    store->outbox().declare("news", 2);
    publish(message("a"));
    EXPECT_FALSE(store->outbox().repartition("news", 4));
    const auto session = open_session();
    for (const auto& owned : own(session)) {
        const auto got = advance({.partition = owned.partition, .fetch = 1}).fetched;
        advance({.partition = owned.partition, .sequence = 1, .done = positions(got)});
    }
    EXPECT_TRUE(store->outbox().repartition("news", 4));
    EXPECT_EQ(store->outbox().declare("news", 4), 4);
    EXPECT_EQ(own(session).size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Stores, Outboxes, testing::ValuesIn(stores_under_test()), name_of_store);

}  // namespace
}  // namespace pawl::store::conformance
