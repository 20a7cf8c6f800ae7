// Following the journal beside transactions that are slow, rolled back, or stay open for long:
// nothing is skipped, nothing comes twice, and each instance's events come in their order.
#include <future>
#include <map>
#include <random>
#include <set>

#include "base/points.hpp"
#include "conformance/builders.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

namespace points = base::points;
using store::Answer;
using store::Commit;
using store::Fate;
using store::conformance::on;
using store::conformance::order;

// Stops a transaction after its last write, before it is committed.
class Gate {
public:
    /// Inside the transaction.
    void pass() {
        std::unique_lock lock{mutex_};
        if (!closed_) return;
        reached_ = true;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !closed_; });
        if (rolls_back_) throw Error{Code::unavailable, "the test ends this transaction"};
    }
    bool await_someone() {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, patience, [&] { return reached_; });
    }
    void open(bool roll_back = false) {
        const std::lock_guard lock{mutex_};
        closed_ = false;
        rolls_back_ = roll_back;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = true;
    bool reached_ = false;
    bool rolls_back_ = false;
};

class Following : public SharedEngineTest {
protected:
    static Fate commit(store::Store& in, Commit commit) {
        // With an inbox row no database takes a short cut past the points of a transaction.
        commit.inbox.push_back({.to = order("elsewhere"), .name = "Note", .payload = {"{}"}});
        Answer answer;
        in.commit({&commit, 1}, {&answer, 1});
        return answer.fate;
    }

    std::unique_ptr<store::Store> open_slow(Gate& gate) {
        return open_store([&gate](std::string_view point) {
            if (point == points::group_written) gate.pass();
        });
    }

    /// Reads on, and holds what it reads against what must be true of every prefix.
    void read_on(std::size_t limit = 3) {
        for (;;) {
            const auto followed = reader->follow(cursor, limit);
            for (const auto& entry : followed.events) {
                auto& last = sequences[entry.instance.id];
                EXPECT_EQ(entry.sequence, last + 1) << entry.instance.id;
                last = entry.sequence;
                seen.push_back(entry.instance.id + "." + std::to_string(entry.sequence));
            }
            const bool done = followed.events.empty();
            cursor = followed.cursor;
            if (done) return;
        }
    }

    std::unique_ptr<store::Store> reader;
    std::string cursor;
    std::map<std::string, std::int64_t> sequences;
    std::vector<std::string> seen;

    void SetUp() override {
        SharedEngineTest::SetUp();
        if (!IsSkipped()) reader = open_store();
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Following, shared_stores(), name_of);

TEST_P(Following, SkipsNothingThatCommitsLate) {
    Gate gate;
    auto slow = open_slow(gate);
    auto quick = open_store();
    commit(*quick, on(order("x"), 0).event("A"));
    auto late =
        std::async(std::launch::async, [&] { return commit(*slow, on(order("x"), 1).event("B")); });
    ASSERT_TRUE(gate.await_someone());
    // Where writers take turns this one waits for the slow one.
    auto beside = std::async(std::launch::async,
                             [&] { return commit(*quick, on(order("y"), 0).event("A")); });
    beside.wait_for(200ms);
    read_on();
    EXPECT_EQ(std::ranges::count(seen, "x.2"), 0) << "it is not committed";
    gate.open();
    EXPECT_EQ(late.get(), Fate::committed);
    EXPECT_EQ(beside.get(), Fate::committed);
    commit(*quick, on(order("x"), 2).event("C"));
    read_on();
    EXPECT_EQ(seen.size(), 4u);
    EXPECT_EQ((std::set<std::string>{seen.begin(), seen.end()}),
              (std::set<std::string>{"x.1", "x.2", "x.3", "y.1"}));
}

TEST_P(Following, WaitsForNothingThatIsRolledBack) {
    Gate gate;
    auto slow = open_slow(gate);
    auto quick = open_store();
    auto lost = std::async(std::launch::async, [&] {
        EXPECT_THROW(commit(*slow, on(order("x"), 0).event("A").event("B")), Error);
    });
    ASSERT_TRUE(gate.await_someone());
    auto beside = std::async(std::launch::async,
                             [&] { return commit(*quick, on(order("y"), 0).event("A")); });
    beside.wait_for(200ms);
    gate.open(true);
    lost.get();
    EXPECT_EQ(beside.get(), Fate::committed);
    EXPECT_EQ(commit(*quick, on(order("y"), 1).event("B")), Fate::committed);
    read_on();
    EXPECT_THAT(seen, ElementsAre("y.1", "y.2"));
}

// Stays open while others commit by the hundred: they are seen meanwhile, and it is when it ends.
TEST_P(Following, IsNotHeldUpByATransactionThatStaysOpen) {
    if (GetParam() != "postgres") GTEST_SKIP() << "here writers take turns";
    Gate gate;
    auto slow = open_slow(gate);
    auto quick = open_store();
    // Of a name that is new to the database, the second transaction waits for the first.
    commit(*quick, on(order("before"), 0).event("A"));
    auto late = std::async(std::launch::async,
                           [&] { return commit(*slow, on(order("slow"), 0).event("A")); });
    ASSERT_TRUE(gate.await_someone());
    for (int i = 0; i < 300; ++i) {
        commit(*quick, on(order("n-" + std::to_string(i % 7)), i / 7).event("A"));
        if (i % 10 == 0) read_on();
    }
    read_on();
    EXPECT_EQ(seen.size(), 301u) << "others are not held up";
    gate.open();
    EXPECT_EQ(late.get(), Fate::committed);
    read_on();
    EXPECT_EQ(seen.size(), 302u);
    EXPECT_EQ(seen.back(), "slow.1");
}

TEST_P(Following, HoldsUnderManyWritersThatAreSlowAndFail) {
    constexpr int writers = 4;
    constexpr int commits = 40;
    std::atomic<int> running{writers};
    std::atomic<std::size_t> written{0};
    std::vector<std::minstd_rand> chances;
    for (int w = 0; w < writers; ++w) chances.emplace_back(static_cast<unsigned>(w + 1));
    // Before anybody is slow: whoever opens a store waits for those who write.
    std::vector<std::unique_ptr<store::Store>> stores;
    for (auto& random : chances)
        stores.push_back(open_store([&random](std::string_view point) {
            if (point != points::group_written) return;
            for (auto turns = random() % 2000; turns > 0; --turns) std::this_thread::yield();
            if (random() % 8 == 0) throw Error{Code::unavailable, "by chance"};
        }));
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            auto& random = chances[static_cast<std::size_t>(w)];
            auto& store = stores[static_cast<std::size_t>(w)];
            for (int i = 0; i < commits; ++i) {
                const auto name = order("i-" + std::to_string(random() % 3));
                const auto loaded = store->load(std::vector<store::LoadRequest>{{name}});
                const auto version = loaded[0].row ? loaded[0].row->version : 0;
                try {
                    if (commit(*store, on(name, version).event("A").event("B")) == Fate::committed)
                        written += 2;
                } catch (const Error&) {
                }
            }
            --running;
        });
    while (running > 0) read_on(5);
    threads.clear();
    read_on(5);
    EXPECT_GT(written, 0u);
    EXPECT_EQ(seen.size(), written);
}

}  // namespace
}  // namespace pawl::engine_test
