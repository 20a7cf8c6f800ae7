#include "store/sql/sqlite/write_turn.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <pawl/error.hpp>
#include <thread>
#include <vector>

#include "conformance/temporary_directory.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using conformance::TemporaryDirectory;
using namespace std::chrono_literals;

constexpr Duration patience = 30s;
constexpr std::chrono::nanoseconds length_of_turn = 500us;

// Numbers that two processes see.
struct Shared {
    std::atomic<std::int64_t> turns{0};
    std::atomic<bool> stop{false};
};

class SharedMemory {
public:
    SharedMemory()
        : address_(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          shared_(new(address_) Shared) {}
    ~SharedMemory() { ::munmap(address_, sizeof(Shared)); }
    Shared* operator->() const { return shared_; }

private:
    void* address_;
    Shared* shared_;
};

// Another process that takes turn after turn, each as long as a group.
class Saturator {
public:
    Saturator(const std::string& path, Shared* shared) : shared_(shared), child_(::fork()) {
        if (child_ != 0) return;
        WriteTurn turn{path, patience};
        while (!shared->stop) {
            turn.take(WriteTurn::Rank::ordinary);
            const auto end = std::chrono::steady_clock::now() + length_of_turn;
            while (std::chrono::steady_clock::now() < end) {
            }
            ++shared->turns;
            turn.give();
        }
        ::_exit(0);
    }
    ~Saturator() {
        shared_->stop = true;
        ::waitpid(child_, nullptr, 0);
    }

private:
    Shared* shared_;
    pid_t child_;
};

// How long this thread was ready to run and did not, because the machine was busy. Zero where the
// kernel does not say.
std::chrono::nanoseconds scheduling_delay() {
    std::ifstream file{"/proc/thread-self/schedstat"};
    std::int64_t run = 0, waited = 0;
    file >> run >> waited;
    return std::chrono::nanoseconds{waited};
}

TEST(WriteTurn, ComesSoonBesideAProcessThatWritesAllTheTime) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "turn";
    const SharedMemory shared;
    const Saturator saturator{path, shared.operator->()};
    WriteTurn turn{path, patience};
    while (shared->turns < 10) std::this_thread::yield();

    std::vector<std::int64_t> waits;  // how many turns the other had while this one waited
    for (int i = 0; i < 400; ++i) {
        const auto delay_before = scheduling_delay();
        const auto before = shared->turns.load();
        turn.take(WriteTurn::Rank::ordinary);
        const auto turns = shared->turns - before;
        // What the other did while this thread was kept from asking is not the lock's fault.
        const auto kept_away = (scheduling_delay() - delay_before) / length_of_turn;
        waits.push_back(turns - std::min<std::int64_t>(turns, kept_away));
        turn.give();
        while (shared->turns < before + 3) std::this_thread::yield();  // let it saturate again
    }
    std::ranges::sort(waits);
    EXPECT_LE(waits[waits.size() * 99 / 100], 5);
}

TEST(WriteTurn, EndsWithTheProcessThatHoldsIt) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "turn";
    if (const pid_t child = ::fork(); child == 0) {
        WriteTurn turn{path, patience};
        turn.take(WriteTurn::Rank::ordinary);
        ::_exit(0);
    } else {
        ::waitpid(child, nullptr, 0);
    }
    WriteTurn turn{path, patience};
    EXPECT_NO_THROW(turn.take(WriteTurn::Rank::ordinary));
    turn.give();
}

TEST(WriteTurn, EndsWithItsProcessAlsoIfAForkedChildLivesOn) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "turn";
    const SharedMemory shared;
    const pid_t holder = ::fork();
    if (holder == 0) {
        WriteTurn turn{path, patience};
        turn.take(WriteTurn::Rank::ordinary);
        if (::fork() == 0) {
            ++shared->turns;
            while (!shared->stop) std::this_thread::yield();
            ::_exit(0);
        }
        while (shared->turns == 0) std::this_thread::yield();
        ::_exit(0);
    }
    ::waitpid(holder, nullptr, 0);
    ASSERT_EQ(shared->turns, 1);
    WriteTurn turn{path, 1s};
    EXPECT_NO_THROW({
        turn.take(WriteTurn::Rank::ordinary);
        turn.give();
    });
    shared->stop = true;
}

TEST(WriteTurn, IsBusyWhenTheDeadlineHasPassed) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "turn";
    WriteTurn held{path, patience};
    held.take(WriteTurn::Rank::ordinary);
    WriteTurn impatient{path, 1ms};
    try {
        impatient.take(WriteTurn::Rank::ordinary);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::busy);
    }
    held.give();
    EXPECT_NO_THROW(impatient.take(WriteTurn::Rank::ordinary));
    impatient.give();
}

TEST(WriteTurn, GoesToTheUrgentBeforeThoseThatWait) {
    const TemporaryDirectory directory;
    WriteTurn turn{directory.path() / "turn", patience};
    std::vector<int> order;
    turn.take(WriteTurn::Rank::ordinary);
    const auto write = [&](WriteTurn::Rank rank, int name) {
        turn.take(rank);
        order.push_back(name);  // whoever has the turn is alone
        turn.give();
    };
    std::vector<std::jthread> threads;
    for (int i = 1; i <= 3; ++i) {
        threads.emplace_back([&, i] { write(WriteTurn::Rank::ordinary, i); });
        while (turn.waiting() < static_cast<std::size_t>(i)) std::this_thread::yield();
    }
    threads.emplace_back([&] { write(WriteTurn::Rank::urgent, 0); });
    while (turn.waiting() < 4) std::this_thread::yield();
    turn.give();
    threads.clear();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

}  // namespace
}  // namespace pawl::store::sql::sqlite
