/// Who may write next: inside the process by rank and arrival, between processes by turns.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <pawl/time.hpp>
#include <string>
#include <thread>

namespace pawl::store::sql::sqlite {

/// Two locks on a file beside the database: whoever wants to write takes "next", waits for
/// "current", gives "next" back and works. So a process that writes all the time can't take the
/// lock again before one that waits has had it. The locks end with the process that holds them,
/// also if children that it forked live on. Whoever gives one back wakes who waits for it, by a
/// word that the processes share; one that died has told nobody, so they also look by themselves.
/// Used by one thread at a time.
class TurnFile {
public:
    /// Throws pawl::Error (unavailable) if the file can't be made.
    explicit TurnFile(std::string path);
    ~TurnFile();
    TurnFile(const TurnFile&) = delete;
    TurnFile& operator=(const TurnFile&) = delete;

    /// False when `deadline` has passed.
    bool take(std::chrono::steady_clock::time_point deadline);
    void give() noexcept;
    /// Changes the file, which the watches of other processes hear.
    void ring() noexcept;
    const std::string& path() const { return path_; }

private:
    struct Signal;
    struct Signals;
    Signals* share_signals() const;
    bool wait_for(std::int64_t byte, std::chrono::steady_clock::time_point deadline);
    void give(std::int64_t byte) noexcept;

    std::string path_;
    int file_ = -1;
    Signals* signals_ = nullptr;  ///< in the file; none where it can't be shared
};

/// The turn to write. Thread-safe.
class WriteTurn {
public:
    enum class Rank : std::uint8_t { urgent, ordinary };

    WriteTurn(std::string path, Duration deadline) : file_(std::move(path)), deadline_(deadline) {}

    /// Waits at most the deadline, then throws pawl::Error (busy). The urgent wait for the one that
    /// writes, never for those that wait too. A thread that has the turn would wait for itself:
    /// Error (misuse).
    void take(Rank rank);
    void give() noexcept;
    void ring() noexcept { file_.ring(); }
    const std::string& path() const { return file_.path(); }
    /// How many threads of this process wait now.
    std::size_t waiting() const;

private:
    using Ticket = std::uint64_t;
    bool is_next(Rank rank, Ticket ticket) const;

    TurnFile file_;
    Duration deadline_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::array<std::deque<Ticket>, 2> waiting_;  // by rank
    Ticket last_ticket_ = 0;
    bool taken_ = false;
    std::thread::id holder_;  ///< while it is taken
};

}  // namespace pawl::store::sql::sqlite
