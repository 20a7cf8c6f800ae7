#include "store/sql/sqlite/write_turn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <pawl/error.hpp>
#include <thread>
#include <vector>

namespace pawl::store::sql::sqlite {
namespace {

constexpr std::int64_t next_byte = 0;
constexpr std::int64_t current_byte = 1;
constexpr std::int64_t ring_byte = 64;
constexpr int tries_at_once = 4;
constexpr std::chrono::microseconds shortest_pause{20};
constexpr std::chrono::microseconds longest_pause{200};
// So soon it is noticed that whoever had the turn has died.
constexpr std::chrono::milliseconds longest_sleep{2};

// False when somebody else holds it. On a file system without locks there are no turns, and
// SQLite's own lock decides.
bool try_lock(int file, short type, std::int64_t byte) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return ::fcntl(file, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

// A forked child shares the locks of the files it inherits, and would hold the turn of a parent
// that dies for as long as it lives itself. So a child closes them; it can't use the engine anyway.
class OpenTurnFiles {
public:
    static OpenTurnFiles& all() {
        static auto* const files = new OpenTurnFiles;  // never ends: a fork may come at any time
        return *files;
    }
    void add(int file) {
        const std::lock_guard lock{mutex_};
        files_.push_back(file);
    }
    void close(int file) {
        const std::lock_guard lock{mutex_};
        std::erase(files_, file);
        ::close(file);
    }

private:
    OpenTurnFiles() {
        ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                         [] {
                             for (const int file : all().files_) ::close(file);
                             all().files_.clear();
                             all().mutex_.unlock();
                         });
    }

    std::mutex mutex_;
    std::vector<int> files_;
};

}  // namespace

/// Of one lock: those who wait sleep until it is given back.
struct TurnFile::Signal {
    std::atomic<std::uint32_t> given;
    std::atomic<std::uint32_t> sleepers;  // too many, where some were killed

    void give() {
        ++given;
        if (sleepers > 0) ::syscall(SYS_futex, &given, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    // Until it is given, if it was not since it stood at `seen`.
    void sleep(std::uint32_t seen) {
        const timespec pause{.tv_sec = 0,
                             .tv_nsec = std::chrono::nanoseconds{longest_sleep}.count()};
        ++sleepers;
        ::syscall(SYS_futex, &given, FUTEX_WAIT, seen, &pause, nullptr, 0);
        --sleepers;
    }
};

struct TurnFile::Signals {
    Signal of[2];
};

TurnFile::TurnFile(std::string path) : path_(std::move(path)) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0)
        throw Error{Code::unavailable,
                    fmt::format("{} can't be opened: {}; it stands beside the database and orders "
                                "its writers, make the directory writable",
                                path_, std::strerror(errno))};
    OpenTurnFiles::all().add(file_);
    static_assert(sizeof(Signals) <= ring_byte);
    signals_ = share_signals();
}

// Opened once more for this: what is shared keeps the file that it came from open in children that
// are forked, and the locks with it.
TurnFile::Signals* TurnFile::share_signals() const {
    const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* at = MAP_FAILED;
    // A page for which the disk has no room any more would end the process.
    if (::posix_fallocate(file, 0, ring_byte + 1) == 0)
        at = ::mmap(nullptr, sizeof(Signals), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return at == MAP_FAILED ? nullptr : static_cast<Signals*>(at);
}

TurnFile::~TurnFile() {
    if (signals_) ::munmap(signals_, sizeof(Signals));
    OpenTurnFiles::all().close(file_);
}

// A few tries at once come first: "next" is mostly held for microseconds.
bool TurnFile::wait_for(std::int64_t byte, std::chrono::steady_clock::time_point deadline) {
    auto pause = shortest_pause;
    for (int tries = 1;; ++tries) {
        // Before the look: what is given back after it is not slept through.
        const std::uint32_t given = signals_ ? signals_->of[byte].given.load() : 0;
        if (try_lock(file_, F_WRLCK, byte)) return true;
        if (tries <= tries_at_once) {
            std::this_thread::yield();
            continue;
        }
        if (std::chrono::steady_clock::now() >= deadline) return false;
        if (signals_) {
            signals_->of[byte].sleep(given);
            continue;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
}

void TurnFile::give(std::int64_t byte) noexcept {
    try_lock(file_, F_UNLCK, byte);
    if (signals_) signals_->of[byte].give();
}

bool TurnFile::take(std::chrono::steady_clock::time_point deadline) {
    if (!wait_for(next_byte, deadline)) return false;
    const bool taken = wait_for(current_byte, deadline);
    give(next_byte);
    return taken;
}

void TurnFile::give() noexcept { give(current_byte); }

void TurnFile::ring() noexcept {
    // Nothing is lost if it fails: watches also look by themselves.
    [[maybe_unused]] const auto written = ::pwrite(file_, "!", 1, ring_byte);
}

bool WriteTurn::is_next(Rank rank, Ticket ticket) const {
    const auto& urgent = waiting_[static_cast<std::size_t>(Rank::urgent)];
    const auto& own = waiting_[static_cast<std::size_t>(rank)];
    return !taken_ && own.front() == ticket && (rank == Rank::urgent || urgent.empty());
}

std::size_t WriteTurn::waiting() const {
    const std::lock_guard lock{mutex_};
    return waiting_[0].size() + waiting_[1].size();
}

void WriteTurn::take(Rank rank) {
    const auto deadline = std::chrono::steady_clock::now() + deadline_;
    {
        std::unique_lock lock{mutex_};
        if (taken_ && holder_ == std::this_thread::get_id())
            throw Error{Code::misuse,
                        "this thread is in a transaction and writes to the same SQLite file beside "
                        "it: do it in the transaction, or after it"};
        auto& own = waiting_[static_cast<std::size_t>(rank)];
        const Ticket ticket = ++last_ticket_;
        own.push_back(ticket);
        const bool mine =
            changed_.wait_until(lock, deadline, [&] { return is_next(rank, ticket); });
        std::erase(own, ticket);
        if (!mine) {
            changed_.notify_all();
            throw Error{Code::busy, fmt::format("other threads have been writing for {} ms: give "
                                                "it more time or fewer writers",
                                                deadline_ / std::chrono::milliseconds{1})};
        }
        taken_ = true;
        holder_ = std::this_thread::get_id();
    }
    if (file_.take(deadline)) return;
    give();
    throw Error{Code::busy, fmt::format("other processes have been writing for {} ms ({}): give it "
                                        "more time or fewer writers",
                                        deadline_ / std::chrono::milliseconds{1}, file_.path())};
}

void WriteTurn::give() noexcept {
    file_.give();
    {
        const std::lock_guard lock{mutex_};
        taken_ = false;
    }
    changed_.notify_all();
}

}  // namespace pawl::store::sql::sqlite
