// The ordered outbox with many at it at once: producers and owners in threads, on two handles.
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <pawl/error.hpp>
#include <set>
#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

namespace points = base::points;

// More than any test needs: a store that never comes to an end fails, and does not hang.
constexpr int most_rounds = 20'000;

template <class F>
std::jthread in_thread(F body) {
    return std::jthread{[body = std::move(body)]() mutable {
        try {
            body();
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
    }};
}

/// Who published it, and as which of its messages.
struct Stamp {
    int producer = 0;
    int number = 0;
    friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

Stamp stamp_of(const Message& message) {
    const auto& text = message.payload.bytes;
    return {std::stoi(text), std::stoi(text.substr(text.find('.') + 1))};
}

Message message(Stamp stamp, std::string key) {
    Message message;
    message.id = fresh_id();
    message.channel = "news";
    message.key = std::move(key);
    message.payload.bytes = std::to_string(stamp.producer) + "." + std::to_string(stamp.number);
    return message;
}

Fate publish(Store& to, const Message& one) {
    Commit commit;
    commit.messages = {one};
    Answer answer;
    to.commit({&commit, 1}, {&answer, 1});
    return answer.fate;
}

/// What all owners together have seen. Thread-safe.
class Ledger {
public:
    /// A number belongs to one message for ever, whoever finds the two together.
    void numbered(std::int32_t part, std::int64_t number, const Message& message) {
        const std::lock_guard lock{mutex_};
        EXPECT_EQ(message.partition, part);
        const auto [at, added] = numbers_.try_emplace(std::pair{part, number}, stamp_of(message));
        EXPECT_EQ(at->second, stamp_of(message)) << "number " << number << " of " << part;
    }
    void done(std::int32_t part, std::int64_t number, const Message& message) {
        const std::lock_guard lock{mutex_};
        EXPECT_TRUE(done_.insert({part, number}).second) << number << " of " << part << " again";
        EXPECT_TRUE(delivered_.insert(stamp_of(message)).second) << message.payload.bytes;
    }
    std::size_t delivered() const {
        const std::lock_guard lock{mutex_};
        return delivered_.size();
    }

    /// Once all is quiet: no number is missing, and no producer was overtaken by itself.
    void check_order() const {
        EXPECT_EQ(done_.size(), numbers_.size());
        std::map<std::int32_t, std::int64_t> last;
        std::map<std::pair<std::int32_t, int>, int> last_of_producer;
        for (const auto& [place, stamp] : numbers_) {
            EXPECT_EQ(place.second, ++last[place.first]) << "in partition " << place.first;
            auto& before = last_of_producer[{place.first, stamp.producer}];
            EXPECT_LT(before, stamp.number) << "of producer " << stamp.producer;
            before = stamp.number;
        }
    }

private:
    using Place = std::pair<std::int32_t, std::int64_t>;
    mutable std::mutex mutex_;
    std::map<Place, Stamp> numbers_;
    std::set<Place> done_;
    std::set<Stamp> delivered_;
};

/// A process that delivers: takes partitions, numbers messages, and is done with some of them.
class Owner {
public:
    Owner(Store& store, Ledger& ledger, std::atomic<Fence>& fences)
        : store_(store), ledger_(ledger), fences_(fences) {
        session_ = store_.open_session({.lease = 1min});
    }

    /// Takes what is free of its share. An engine renews its lease first, or opens another session.
    void own() {
        if (!store_.renew(session_, 1min)) session_ = store_.open_session({.lease = 1min});
        const Fence fence = ++fences_;
        const auto got = store_.outbox().own({session_, fence}, "news");
        share_ = got.share;
        for (const auto& taken : got.taken) {
            Held held{.fence = fence, .sequence = taken.sequence, .batch = taken.batch};
            note_numbers(taken.partition.index, held, 0);
            held_[taken.partition.index] = std::move(held);
        }
    }
    /// Is done with `done` of each partition, and wants `fetch` more. False if nothing happened.
    bool step(std::size_t done, std::size_t fetch) {
        std::vector<Advance> all;
        for (const auto& [part, held] : held_) all.push_back(advance_of(part, held, done, fetch));
        const auto answers = store_.outbox().advance(all);
        bool moved = false;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto part = all[i].partition.index;
            if (answers[i].lost) {
                EXPECT_TRUE(answers[i].fetched.empty());
                held_.erase(part);
            } else {
                moved = note(part, held_.at(part), all[i], answers[i]) || moved;
            }
        }
        return moved;
    }
    /// Gives the first `count` back, and has an old word on them refused.
    void disown(std::size_t count) {
        std::map<Fence, std::vector<Partition>> given;
        std::vector<Advance> late;
        for (std::size_t i = 0; i < count && !held_.empty(); ++i) {
            const auto& [part, held] = *held_.begin();
            given[held.fence].push_back({"news", part});
            late.push_back(advance_of(part, held, held.batch.size(), 5));
            for (const auto position : late.back().done)
                late.back().buried.push_back({.position = position, .reason = "late"});
            late.back().sequence += 100;
            held_.erase(part);
        }
        for (const auto& [fence, partitions] : given) store_.outbox().disown(partitions, fence);
        for (const auto& answer : store_.outbox().advance(late)) EXPECT_TRUE(answer.lost);
    }
    void close() {
        store_.close_session(session_);
        session_ = store_.open_session({.lease = 1min});
    }
    void rest() {
        if (held_.size() > share_) disown(held_.size() - share_);
    }

    std::size_t held() const { return held_.size(); }
    std::size_t share() const { return share_; }

private:
    struct Held {
        Fence fence = 0;
        std::int64_t sequence = 0;
        std::vector<Message> batch;
    };

    static Advance advance_of(std::int32_t part, const Held& held, std::size_t done,
                              std::size_t fetch) {
        Advance one{.partition = {"news", part}, .fence = held.fence, .fetch = fetch};
        const auto count = std::min(done, held.batch.size());
        one.sequence = held.sequence + static_cast<std::int64_t>(count);
        for (std::size_t i = 0; i < held.batch.size(); ++i)
            (i < count ? one.done : one.left).push_back(held.batch[i].position);
        return one;
    }
    void note_numbers(std::int32_t part, const Held& held, std::size_t from) {
        for (std::size_t i = from; i < held.batch.size(); ++i)
            ledger_.numbered(part, held.sequence + static_cast<std::int64_t>(i) + 1, held.batch[i]);
    }
    bool note(std::int32_t part, Held& held, const Advance& one, const Advanced& answer) {
        for (std::size_t i = 0; i < one.done.size(); ++i)
            ledger_.done(part, ++held.sequence, held.batch[i]);
        held.batch.erase(held.batch.begin(),
                         held.batch.begin() + static_cast<std::ptrdiff_t>(one.done.size()));
        const auto left = held.batch.size();
        held.batch.insert(held.batch.end(), answer.fetched.begin(), answer.fetched.end());
        note_numbers(part, held, left);
        return !one.done.empty() || !answer.fetched.empty();
    }

    Store& store_;
    Ledger& ledger_;
    std::atomic<Fence>& fences_;
    SessionId session_ = 0;
    std::size_t share_ = 0;
    std::map<std::int32_t, Held> held_;
};

/// Delivers whatever there is of a channel whose numbers begin anew when it is repartitioned.
class Drainer {
public:
    Drainer(Store& store, std::atomic<Fence>& fences)
        : outbox_(store.outbox()), fences_(fences), session_(store.open_session({.lease = 1h})) {}

    void drain() {
        const Fence fence = ++fences_;
        const auto got = outbox_.own({session_, fence}, "news");
        for (const auto& taken : got.taken) {
            EXPECT_THAT(taken.batch, IsEmpty()) << "only what is empty changes hands";
            held_[taken.partition.index] = {fence, taken.sequence};
        }
        for (auto at = held_.begin(); at != held_.end();)
            at = deliver(at->first, at->second) ? std::next(at) : held_.erase(at);
    }
    const std::set<Stamp>& delivered() const { return delivered_; }

private:
    struct Held {
        Fence fence = 0;
        std::int64_t sequence = 0;
    };

    /// False if it is not there any more.
    bool deliver(std::int32_t part, Held& held) {
        Advance one{.partition = {"news", part}, .fence = held.fence};
        one.sequence = held.sequence;
        one.fetch = 5;
        const auto got = outbox_.advance({&one, 1})[0];
        if (got.lost || got.fetched.empty()) return !got.lost;
        for (const auto& found : got.fetched) {
            one.done.push_back(found.position);
            EXPECT_TRUE(delivered_.insert(stamp_of(found)).second) << found.payload.bytes;
        }
        one.sequence = held.sequence += static_cast<std::int64_t>(got.fetched.size());
        one.fetch = 0;
        EXPECT_FALSE(outbox_.advance({&one, 1})[0].lost) << "what has messages stays as it is";
        return true;
    }

    Outbox& outbox_;
    std::atomic<Fence>& fences_;
    const SessionId session_;
    std::map<std::int32_t, Held> held_;
    std::set<Stamp> delivered_;
};

/// Stops a transaction after its last write, before it is committed.
class Gate {
public:
    base::AtPoint hook() {
        return [this](std::string_view point) {
            if (point == points::group_written) pass();
        };
    }
    bool await_someone() {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, 10s, [&] { return reached_; });
    }
    void open() {
        const std::lock_guard lock{mutex_};
        is_open_ = true;
        changed_.notify_all();
    }

private:
    void pass() {
        std::unique_lock lock{mutex_};
        reached_ = true;
        changed_.notify_all();
        changed_.wait_for(lock, 10s, [&] { return is_open_; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool reached_ = false;
    bool is_open_ = false;
};

class OutboxRaces : public SharedStoreTest {
protected:
    static constexpr int producers = 6;
    static constexpr int messages_each = 30;
    static constexpr std::size_t all_messages = producers * messages_each;

    /// Half of them in another process. A key is used by several, and each of them uses several.
    std::vector<std::jthread> start_producers() {
        running = producers;
        std::vector<std::jthread> threads;
        for (int p = 0; p < producers; ++p)
            threads.push_back(in_thread([this, p] {
                for (int i = 1; i <= messages_each; ++i)
                    EXPECT_EQ(publish(handle(p), message({p, i}, key_of(p + i))), Fate::committed);
                --running;
            }));
        return threads;
    }
    Store& handle(int number) { return number % 2 == 0 ? *store : *other; }
    static std::string key_of(int number) { return "key" + std::to_string(number % 5); }

    /// The next when the one before is delivered, so that the channel is empty now and then.
    void publish_one_by_one(int producer, int count) {
        Store& to = handle(producer);
        for (int i = 1; i <= count; ++i) {
            const auto one = message({producer, i}, key_of(i));
            EXPECT_EQ(publish(to, one), Fate::committed);
            for (int round = 0; round < most_rounds; ++round)
                if (to.outbox().delivered({&one.id, 1})[0] == Delivered::yes) break;
        }
        --running;
    }
    void expect_in_partitions(std::int32_t partitions) {
        for (const auto& found : store->messages("news", 0, 100))
            EXPECT_EQ(found.partition, partition_hash(found) % partitions);
    }

    /// Until a position is missing: that of a transaction which is open.
    void publish_past_a_gap() {
        for (int i = 1; i <= 100; ++i) {
            EXPECT_EQ(publish(*other, message({1, i}, "k")), Fate::committed);
            if (store->messages("news", 0, 100).back().position > i) return;
        }
        FAIL() << "it has no position";
    }

    Owner owner(Store& in) { return {in, ledger, last_fence}; }
    void check_all_delivered() {
        EXPECT_EQ(ledger.delivered(), all_messages);
        ledger.check_order();
        EXPECT_THAT(store->messages("news", 0, 10), IsEmpty());
        EXPECT_EQ(store->outbox().count_dead({}), 0);
    }

    Ledger ledger;
    std::atomic<int> running{0};
};
INSTANTIATE_TEST_SUITE_P(Stores, OutboxRaces, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(OutboxRaces, LoseNothingAndKeepTheOrderOfEveryProducer) {
    store->outbox().declare("news", 3);
    const auto threads = start_producers();
    auto one = owner(*store);
    one.own();
    for (int round = 0; round < most_rounds; ++round) {
        const bool was_quiet = running == 0;
        // Sometimes a part of a batch is left when more is fetched.
        if (!one.step(static_cast<std::size_t>(round % 4), 3) && was_quiet && round % 4 != 0) break;
    }
    check_all_delivered();
}

TEST_P(OutboxRaces, KeepNumbersWhileOwnersChange) {
    store->outbox().declare("news", 4);
    auto threads = start_producers();
    for (int which = 0; which < 3; ++which)
        threads.push_back(in_thread([&, which] {
            auto one = owner(handle(which));
            for (int round = 0; round < most_rounds && ledger.delivered() < all_messages; ++round) {
                one.own();
                for (std::size_t i = 0; i < 3; ++i) one.step(i, 4 - i);
                const int fate = (round + which) % 7;
                if (fate == 1) one.disown(1);
                if (fate == 3) one.disown(one.held());
                if (fate == 4) one.close();  // and does not know that it has lost all
                if (fate == 5 && which == 0) clock.advance(2min);  // everybody's lease is over
                one.rest();
            }
        }));
    threads.clear();
    check_all_delivered();
}

TEST_P(OutboxRaces, GiveAPartitionToOneOwnerOnly) {
    constexpr std::int32_t partitions = 6;
    store->outbox().declare("news", partitions);
    std::array<std::atomic<int>, partitions> owners{};
    std::vector<std::jthread> threads;
    for (int which = 1; which <= 4; ++which)
        threads.push_back(in_thread([&, which] {
            Store& in = handle(which);
            const auto session = in.open_session({.lease = 1h});
            for (int round = 0; round < 150; ++round) {
                const Fence fence = ++last_fence;
                std::vector<Partition> mine;
                const auto got = in.outbox().own({session, fence}, "news");
                for (const auto& taken : got.taken) {
                    mine.push_back(taken.partition);
                    const auto index = static_cast<std::size_t>(taken.partition.index);
                    EXPECT_EQ(owners[index].exchange(which), 0) << "partition " << index;
                }
                for (const auto& one : mine) owners[static_cast<std::size_t>(one.index)] = 0;
                in.outbox().disown(mine, fence);
            }
        }));
}

TEST_P(OutboxRaces, ShareAndFreeWhatASessionHad) {
    constexpr std::size_t partitions = 7;
    store->outbox().declare("news", partitions);
    std::vector<Owner> owners;
    for (int which = 0; which < 3; ++which) owners.push_back(owner(handle(which)));
    for (int round = 0; round < 3; ++round) {
        std::vector<std::jthread> threads;
        for (auto& one : owners)
            threads.push_back(in_thread([&] {
                one.own();
                one.rest();
            }));
    }
    std::size_t held = 0;
    for (auto& one : owners) {
        EXPECT_EQ(one.share(), 3u);
        EXPECT_LE(one.held(), one.share());
        held += one.held();
    }
    EXPECT_EQ(held, partitions);
    owners[0].close();
    owners[1].close();
    owners[2].own();
    EXPECT_EQ(owners[2].held(), partitions) << "the others have left";
}

TEST_P(OutboxRaces, ChangeTheNumberOfPartitionsUnderProducers) {
    constexpr int each = 40;
    std::int32_t partitions = 2;
    store->outbox().declare("news", partitions);
    running = 2;
    std::vector<std::jthread> threads;
    for (int p = 0; p < 2; ++p)
        threads.push_back(in_thread([this, p] { publish_one_by_one(p, each); }));
    Drainer drainer{*other, last_fence};
    threads.push_back(in_thread([&] {
        for (int round = 0; round < most_rounds && running > 0; ++round) drainer.drain();
    }));
    int changes = 0;
    for (int round = 0; round < most_rounds && running > 0; ++round) {
        const auto wanted = 1 + (partitions + round) % 5;
        if (handle(round).outbox().repartition("news", wanted)) {
            partitions = wanted;
            ++changes;
        }
        expect_in_partitions(partitions);
    }
    threads.clear();
    EXPECT_GT(changes, 0);
    EXPECT_EQ(drainer.delivered().size(), std::size_t{2 * each});
    EXPECT_EQ(store->outbox().depths("news").size(), static_cast<std::size_t>(partitions));
}

TEST_P(OutboxRaces, AgreeOnTheNumberOfPartitions) {
    store->outbox().declare("news", 2);
    {
        std::vector<std::jthread> threads;
        for (int which = 0; which < 2; ++which) {
            threads.push_back(in_thread([&, which] {
                for (int i = 0; i < 10; ++i) handle(which).outbox().repartition("news", 3 + which);
            }));
            threads.push_back(in_thread([&, which] {
                for (int i = 1; i <= 10; ++i)
                    publish(handle(which), message({which, i}, key_of(i)));
            }));
        }
    }
    const auto partitions = other->outbox().declare("news", 0);
    EXPECT_EQ(store->outbox().depths("news").size(), static_cast<std::size_t>(partitions));
    EXPECT_EQ(store->messages("news", 0, 100).size(), 20u);
    expect_in_partitions(partitions);
}

TEST_P(OutboxRaces, DeliverLowPositionsThatCommitLate) {
    store->outbox().declare("news", 1);
    auto first = owner(*store);
    first.own();
    Gate gate;
    const auto slow = database.hooked(gate.hook());
    std::vector<std::jthread> threads;
    threads.push_back(in_thread([&] {
        const auto open = slow->begin(1min);
        Commit commit;
        commit.messages = {message({0, 1}, "k")};
        EXPECT_EQ(open->commit(commit).fate, Fate::committed);
    }));
    ASSERT_TRUE(gate.await_someone());
    // The others have one commit after the other.
    if (GetParam().name == "postgres") {
        publish_past_a_gap();
        first.step(0, 100);  // what is there gets numbers
    } else {
        threads.push_back(in_thread([&] { publish(*other, message({1, 1}, "k")); }));
    }
    gate.open();
    threads.clear();
    const auto found = store->messages("news", 0, 100);
    EXPECT_GE(found.size(), 2u);
    EXPECT_EQ(stamp_of(found.back()).producer, 1) << "the one that was late is before it";
    first.step(1, 100);
    clock.advance(2min);
    auto second = owner(*other);
    second.own();
    second.step(100, 100);
    EXPECT_FALSE(second.step(100, 100));
    EXPECT_FALSE(first.step(100, 100)) << "it has lost them";
    EXPECT_EQ(ledger.delivered(), found.size());
    ledger.check_order();
}

TEST_P(OutboxRaces, GiveADeadMessageToOneOnly) {
    constexpr int count = 60;
    store->outbox().declare("news", 1);
    for (int i = 1; i <= count; ++i) publish(*store, message({0, i}, "k"));
    const Fence fence = ++last_fence;
    store->outbox().own({open_session(), fence}, "news");
    Advance bury{.partition = {"news", 0}, .fence = fence, .fetch = count};
    const auto batch = store->outbox().advance({&bury, 1})[0].fetched;
    for (const auto& found : batch) {
        bury.done.push_back(found.position);
        bury.buried.push_back({.position = found.position, .sequence = ++bury.sequence});
    }
    bury.fetch = 0;
    ASSERT_FALSE(store->outbox().advance({&bury, 1})[0].lost);
    // The second time they are those that somebody took and never came back with.
    for (int time = 0; time < 2; ++time) {
        std::mutex mutex;
        std::set<std::int64_t> taken;
        const Time until = clock.now() + 1min;
        std::vector<std::jthread> threads;
        for (int which = 0; which < 4; ++which)
            threads.push_back(in_thread([&, which] {
                for (int round = 0; round < count; ++round) {
                    const auto got = handle(which).outbox().reprocess({.limit = 7}, until);
                    const std::lock_guard lock{mutex};
                    for (const auto& dead : got)
                        EXPECT_TRUE(taken.insert(dead.message.position).second);
                }
            }));
        threads.clear();
        EXPECT_EQ(taken.size(), std::size_t{count});
        clock.advance(2min);
    }
}

}  // namespace
}  // namespace pawl::store::conformance
