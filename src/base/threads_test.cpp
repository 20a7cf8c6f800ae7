#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <vector>

#include "base/bounded_queue.hpp"
#include "base/latch.hpp"
#include "base/loop.hpp"
#include "base/meeting.hpp"
#include "base/pool.hpp"

namespace pawl::base {
namespace {

using std::chrono::seconds;
constexpr Duration patience = seconds{20};

TEST(Pool, WithoutThreadsKeepsTasksForItsOwner) {
    Pool pool{"test"};
    int ran = 0;
    pool.post([&] { ++ran; });
    pool.post([&] { ++ran; });
    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(pool.run_one());
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(pool.run_one());
    EXPECT_FALSE(pool.run_one());
}

TEST(Pool, RunsEveryTaskOnItsThreadsWithSignalsBlocked) {
    Pool pool{"test"};
    std::promise<bool> blocked;
    pool.start(3);
    std::atomic<int> ran{0};
    Latch all;
    for (int i = 0; i < 100; ++i)
        pool.post([&] {
            if (++ran == 100) all.set();
        });
    EXPECT_TRUE(all.wait_for(patience));
    pool.post([&] {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked.set_value(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1);
    });
    EXPECT_TRUE(blocked.get_future().get());
}

TEST(Pool, ATaskThatThrowsEndsNothingButItself) {
    std::atomic<int> failures{0};
    Pool pool{"test", [&](std::exception_ptr) { ++failures; }};
    pool.start(1);
    Latch after;
    pool.post([] { throw 1; });
    pool.post([&] { after.set(); });
    EXPECT_TRUE(after.wait_for(patience));
    EXPECT_EQ(failures, 1);
}

TEST(Loop, AStepThatThrowsIsCalledAgain) {
    std::atomic<int> failures{0};
    std::atomic<int> steps{0};
    Latch second;
    Loop loop{"test",
              [&]() -> Pause {
                  if (++steps == 1) throw 1;
                  second.set();
                  return std::nullopt;
              },
              [&](std::exception_ptr) { ++failures; }};
    loop.start();
    EXPECT_TRUE(second.wait_for(patience));
    EXPECT_EQ(failures, 1);
}

TEST(Pool, AbandonsAThreadThatDoesNotComeBack) {
    std::promise<void> release;
    const auto gate = release.get_future().share();
    std::promise<void> entered;
    std::promise<void> left;
    {
        Pool pool{"test"};
        pool.start(1);
        pool.post([&, gate] {
            entered.set_value();
            gate.wait();
            left.set_value();
        });
        entered.get_future().wait();
        int kept = 0;
        pool.post([&] { ++kept; });
        pool.stop(Pool::Running::abandon);
        EXPECT_TRUE(pool.run_one());  // what had not begun is still there
        EXPECT_EQ(kept, 1);
    }
    release.set_value();
    left.get_future().wait();
}

TEST(Loop, RunsWhenWokenAndWhenItsTimeHasCome) {
    std::atomic<int> steps{0};
    Latch stepped;
    Loop loop{"test", [&]() -> Pause {
                  const int n = ++steps;
                  stepped.set();
                  if (n == 1) return std::chrono::milliseconds{1};
                  return std::nullopt;
              }};
    loop.start();
    while (steps < 2) ASSERT_TRUE(stepped.wait_for(patience));
    loop.wake();
    while (steps < 3) ASSERT_TRUE(stepped.wait_for(patience));
    loop.stop();
    loop.wake();
    EXPECT_EQ(steps, 3);
}

TEST(Loop, AWakeDuringAStepIsNotLost) {
    std::atomic<int> steps{0};
    Latch third;
    Loop* self = nullptr;
    Loop loop{"test", [&]() -> Pause {
                  if (++steps < 3)
                      self->wake();
                  else
                      third.set();
                  return std::nullopt;
              }};
    self = &loop;
    loop.start();
    EXPECT_TRUE(third.wait_for(patience));
}

TEST(BoundedQueue, MakesProducersWaitAndTellsWhenTheTimeIsOver) {
    BoundedQueue<int> queue{2};
    int one = 1;
    int two = 2;
    int three = 3;
    EXPECT_TRUE(queue.push(one, Duration::zero()));
    EXPECT_TRUE(queue.push(two, Duration::zero()));
    EXPECT_FALSE(queue.push(three, std::chrono::milliseconds{1}));
    auto waiting = std::async(std::launch::async, [&] { return queue.push(three, patience); });
    std::vector<int> taken;
    queue.take(taken, [&](int) { return taken.empty(); });
    EXPECT_TRUE(waiting.get());
    queue.take(taken, [](int) { return true; });
    EXPECT_EQ(taken, (std::vector{1, 2, 3}));
    EXPECT_TRUE(queue.empty());
}

TEST(BoundedQueue, TellsWhoseTurnAValueIs) {
    BoundedQueue<int> queue{4};
    std::vector<int> taken;
    const auto all = [](int) { return true; };
    EXPECT_EQ(queue.take(taken, all), std::nullopt) << "there is nothing, and no turn passes";
    int value = 1;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    EXPECT_TRUE(queue.push(value, Duration::zero(), &first));
    EXPECT_TRUE(queue.push(value, Duration::zero(), &second));
    EXPECT_EQ(first, second);
    EXPECT_EQ(queue.take(taken, all), first);
    EXPECT_TRUE(queue.push(value, Duration::zero(), &second));
    EXPECT_EQ(second, first + 1);
}

TEST(Meeting, TellsWhoComesLateThatHisRoundIsOver) {
    Meeting meeting;
    std::atomic<bool> over{false};
    meeting.end(0);  // it had no room for him
    auto waiting = std::async(std::launch::async, [&] { meeting.wait(0, over); });
    over = true;
    meeting.end(1);
    EXPECT_EQ(waiting.wait_for(patience), std::future_status::ready);
    over = false;
    auto late = std::async(std::launch::async, [&] { meeting.wait(0, over); });
    meeting.end(2);
    over = true;
    meeting.end(3);
    EXPECT_EQ(late.wait_for(patience), std::future_status::ready);
}

TEST(Meeting, WakesEverybodyWhoIsServedAlsoWhenARoundHadNoRoom) {
    struct Guest {
        std::atomic<bool> over{false};
    };
    BoundedQueue<Guest*> queue{1000};
    Meeting meeting;
    std::atomic<int> left{8};
    std::vector<std::jthread> guests;
    for (int t = 0; t < 8; ++t)
        guests.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                Guest guest;
                auto* place = &guest;
                Meeting::Round round = 0;
                ASSERT_TRUE(queue.push(place, patience, &round));
                meeting.wait(round, guest.over);
                EXPECT_TRUE(guest.over);
            }
            --left;
        });
    while (left > 0) {
        std::vector<Guest*> served;
        const auto round = queue.take(served, [&](Guest*) { return served.size() < 3; });
        if (!round) {
            std::this_thread::yield();
            continue;
        }
        for (auto* guest : served) guest->over = true;
        meeting.end(*round);
    }
}

TEST(Latch, IsSetOnceAndWaitedForWithADeadline) {
    Latch latch;
    EXPECT_FALSE(latch.wait_for(std::chrono::milliseconds{1}));
    latch.set();
    EXPECT_TRUE(latch.wait_for(Duration::zero()));
    EXPECT_FALSE(latch.wait_for(Duration::zero()));
}

}  // namespace
}  // namespace pawl::base
