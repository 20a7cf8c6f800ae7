// Those who wait for runs: who is woken, and what waiting costs while others commit.
#include <atomic>
#include <deque>

#include "engine/fixture.hpp"
#include "engine/forwarding_store.hpp"
#include "engine/run_waiters.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::engine_test {
namespace {

using store::InstanceName;

InstanceName run_named(int number) { return {"f", "r-" + std::to_string(number)}; }

/// Counts what is read of runs.
class CountingStore final : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;
    std::vector<store::Tail> tails(std::span<const InstanceName> instances) override {
        tails_read += static_cast<int>(instances.size());
        return ForwardingStore::tails(instances);
    }
    std::vector<store::FinishedRow> finished_since(Time since, std::size_t limit) override {
        ++looks;
        return ForwardingStore::finished_since(since, limit);
    }
    std::atomic<int> tails_read{0};
    std::atomic<int> looks{0};
};

class Waiters : public ::testing::Test {
protected:
    ~Waiters() override {
        for (auto& thread : threads) thread.join();
    }
    void write(const InstanceName& run, store::Version version, const char* name, std::string bytes,
               bool finished) {
        store::Commit commit;
        auto& append = commit.append.emplace();
        append.instance = run;
        append.expected = version;
        append.events.emplace_back();
        append.events.back().id.bytes.back() = static_cast<std::uint8_t>(version + 1);
        append.events.back().name = name;
        append.events.back().kind = store::EventKind::engine;
        append.events.back().payload.bytes = std::move(bytes);
        append.finished = finished;
        store::Answer answer;
        store.commit({&commit, 1}, {&answer, 1});
        ASSERT_EQ(answer.fate, store::Fate::committed);
    }
    void start(const InstanceName& run) { write(run, 0, "pawl.started", "{}", false); }
    void end(const InstanceName& run) {
        write(run, 1, engine::records::Finished::tag,
              json::encode_enveloped(
                  engine::records::Finished{.status = "succeeded", .result = {"7"}, .error = ""}),
              true);
    }
    /// Waits for so many runs, each on a thread of its own, and returns when all of them wait.
    void wait_for(int count) {
        for (int i = 0; i < count; ++i) {
            start(run_named(i));
            threads.emplace_back([this, i] {
                engine::RunWaiters::Seat seat{waiters, run_named(i)};
                if (seat.wait(1h)) ended.change([&](auto& runs) { runs.push_back(i); });
            });
        }
        ASSERT_TRUE(eventually([&] { return store.tails_read == count; }));
    }
    /// Looks as often as is asked for.
    void look() {
        for (auto pause = waiters.look(true); pause == Duration::zero();)
            pause = waiters.look(false);
    }
    void end_all(int count) {
        for (int i = 0; i < count; ++i)
            if (const auto runs = ended.get(); std::ranges::count(runs, i) == 0) end(run_named(i));
        clock.advance(1s);
        look();
        EXPECT_TRUE(ended.wait([&](const auto& runs) { return std::ssize(runs) == count; }));
    }

    ManualClock clock;
    CountingStore store{store::open_memory(clock)};
    engine::RunWaiters waiters{store, clock};
    Watched<std::vector<int>> ended;
    std::deque<std::thread> threads;
};

TEST_F(Waiters, ReadNothingOfTheirRunsWhileOthersCommit) {
    constexpr int many = 40;
    wait_for(many);
    look();  // the first one sweeps
    const int read = store.tails_read;
    for (int i = 0; i < 100; ++i) {
        start(run_named(1000 + i));
        end(run_named(1000 + i));
        look();
    }
    EXPECT_EQ(store.tails_read, read);
    EXPECT_EQ(store.looks, 100);
    end(run_named(7));
    look();
    EXPECT_TRUE(ended.wait([](const auto& runs) { return runs == std::vector{7}; }));
    EXPECT_EQ(store.tails_read, read + 1);
    end_all(many);
}

TEST_F(Waiters, OfFewRunsAreWokenByTheEndOfTheirOwn) {
    wait_for(3);
    look();
    const int read = store.tails_read;
    look();
    EXPECT_EQ(store.tails_read, read + 3);
    end(run_named(1));
    look();
    EXPECT_TRUE(ended.wait([](const auto& runs) { return runs == std::vector{1}; }));
    // Nobody looked for itself: the others were not woken.
    EXPECT_EQ(store.tails_read, read + 6);
    end_all(3);
}

TEST_F(Waiters, AreNotLookedForWhereThisProcessExecutesTheRun) {
    waiters.began(run_named(0));
    start(run_named(0));
    engine::RunWaiters::Seat seat{waiters, run_named(0)};
    look();
    look();
    EXPECT_EQ(store.tails_read, 0);
    const engine::records::Finished finished{.status = "succeeded", .result = {"7"}, .error = ""};
    waiters.left(run_named(0), &finished);
    EXPECT_TRUE(seat.wait(1h));
    EXPECT_EQ(store.tails_read, 0);
}

// More than one look reads, all with the same time.
TEST_F(Waiters, FindTheirRunAmongThousandsThatEndAtOneMoment) {
    constexpr int many = 20;
    wait_for(many);
    look();
    for (int i = 0; i < 10'000; ++i) {
        start(run_named(100'000 + i));
        end(run_named(100'000 + i));
    }
    end_all(many);
}

TEST_F(Waiters, AreToldByTheNextSweepOfAnEndThatNoLookFound) {
    constexpr int many = 20;
    wait_for(many);
    look();
    start(run_named(100));
    end(run_named(100));
    look();
    clock.set(clock.now() - 1h);  // the server's clock was set back
    end(run_named(3));
    look();
    EXPECT_THAT(ended.get(), IsEmpty());
    clock.advance(1s);
    EXPECT_LE(*waiters.look(false), 1s);
    EXPECT_TRUE(ended.wait([](const auto& runs) { return runs == std::vector{3}; }));
    end_all(many);
}

TEST_F(Waiters, ForNewsAreWokenWhenTheJournalHasGrown) {
    start(run_named(0));
    threads.emplace_back([&] {
        waiters.wait_for_news(run_named(0), 1, 1h);
        ended.change([](auto& runs) { runs.push_back(0); });
    });
    look();
    write(run_named(0), 1, "pawl.value", "{}", false);
    EXPECT_TRUE(eventually([&] {
        look();
        return ended.get().size() == 1;
    }));
}

}  // namespace
}  // namespace pawl::engine_test
