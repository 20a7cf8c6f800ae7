/// Keeps the write-ahead log short, on a thread of its own, so that no commit pays for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "store/sql/sqlite/sqlite_connection.hpp"
#include "store/sql/sqlite/write_turn.hpp"

namespace pawl::store::sql::sqlite {

/// Bounds in pages of 4 KiB.
struct LogBounds {
    std::int64_t copy = 2048;     ///< from here on, pages are copied beside the writers
    std::int64_t restart = 8192;  ///< from here on, a turn is taken to begin the log anew
};

/// The store's only thread. It owns its connection, and ends in the destructor.
class Checkpointer {
public:
    Checkpointer(ConnectionOptions connection, WriteTurn& turn, LogBounds bounds);
    ~Checkpointer();
    Checkpointer(const Checkpointer&) = delete;
    Checkpointer& operator=(const Checkpointer&) = delete;

    /// After a commit: how many pages the log has. Thread-safe, never waits.
    void committed(std::int64_t pages) noexcept;
    /// Before a group, without the turn: waits a little while the log is twice as long as it should
    /// be, unless a reader is in the way, which waiting would not change. Thread-safe.
    void let_catch_up();

private:
    void run();
    struct Outcome {
        std::int64_t wake_at = 0;  ///< how long the log must be for it to be worth coming back
        bool is_copied = false;    ///< all of it, and the log begins anew
        bool is_hindered = false;  ///< by a reader that stays on the old log
    };
    Outcome work();
    bool copy_beside_writers(int& pages, int& copied);
    bool wait_for_work();

    SqliteConnection connection_;
    SqliteConnection guard_;  ///< reads while the other copies
    WriteTurn& turn_;
    LogBounds bounds_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable worked_;
    std::int64_t pages_ = 0;
    std::int64_t wake_at_;
    bool wanted_ = false;
    bool is_hindered_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pawl::store::sql::sqlite
