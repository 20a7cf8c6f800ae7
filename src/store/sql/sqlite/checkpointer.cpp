#include "store/sql/sqlite/checkpointer.hpp"

#include <sqlite3.h>

#include <exception>

#include "base/threads.hpp"
#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

// How long a restart may hold the writers up while a reader still looks at the old log.
constexpr int longest_wait_for_readers_ms = 20;
// How long a group may be held up by a log that has grown too long.
constexpr std::chrono::milliseconds longest_wait_for_copies{500};

}  // namespace

Checkpointer::Checkpointer(ConnectionOptions connection, WriteTurn& turn, LogBounds bounds)
    : connection_(connection),
      guard_(std::move(connection)),
      turn_(turn),
      bounds_(bounds),
      wake_at_(bounds.copy) {
    guard_.configure(only_read);
    guard_.configure(small_cache);
    connection_.configure(keep_some_log);
    connection_.configure(small_cache);
    connection_.configure(sync_every_commit);
    sqlite3_busy_timeout(connection_.handle(), longest_wait_for_readers_ms);
    thread_ = base::start_thread("pawl-checkpoint", [this] { run(); });
}

Checkpointer::~Checkpointer() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Checkpointer::committed(std::int64_t pages) noexcept {
    {
        const std::lock_guard lock{mutex_};
        pages_ = pages;
        if (pages < wake_at_) return;
        wanted_ = true;
    }
    changed_.notify_one();
}

void Checkpointer::let_catch_up() {
    std::unique_lock lock{mutex_};
    worked_.wait_for(lock, longest_wait_for_copies,
                     [&] { return pages_ < 2 * bounds_.restart || is_hindered_; });
}

bool Checkpointer::wait_for_work() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return stopping_ || wanted_; });
    wanted_ = false;
    return !stopping_;
}

void Checkpointer::run() {
    while (wait_for_work()) {
        Outcome outcome{.wake_at = bounds_.restart, .is_hindered = true};
        try {
            outcome = work();
        } catch (const std::exception&) {
            // No turn could be had. The log stays long and a later commit asks again; if the disk
            // is at fault, the commits say so.
        }
        {
            const std::lock_guard lock{mutex_};
            wake_at_ = outcome.wake_at;
            is_hindered_ = outcome.is_hindered;
            if (outcome.is_copied) pages_ = 0;
        }
        worked_.notify_all();
    }
}

// SQLite before 3.51.3 may lose pages if a writer begins the log anew just when a second look at it
// begins, after a first one had copied all of it (sqlite.org/wal.html, "The WAL-Reset Bug"). While
// somebody reads the log, no writer begins it anew; and if there is nothing left to copy, whoever
// reads the file itself keeps this from writing into it. So a read is held open meanwhile.
bool Checkpointer::copy_beside_writers(int& pages, int& copied) {
    Transaction reading{guard_, Access::read};
    guard_.query(application_id, {}, [](const Row&) {});
    sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages,
                              &copied);
    return pages == copied;
}

// Copying runs beside the writers, but only a moment without any lets the log begin anew. Most
// pages are copied by then, so that moment is short. Where a reader that stays on the old log is in
// the way, trying again at each commit would only slow the writers down.
Checkpointer::Outcome Checkpointer::work() {
    int pages = 0;
    int copied = 0;
    if (copy_beside_writers(pages, copied)) return {.wake_at = bounds_.copy, .is_copied = true};
    if (pages < bounds_.restart) return {.wake_at = pages + bounds_.copy};

    turn_.take(WriteTurn::Rank::urgent);
    const int result = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                                 SQLITE_CHECKPOINT_RESTART, &pages, &copied);
    turn_.give();
    if (result == SQLITE_OK) return {.wake_at = bounds_.copy, .is_copied = true};
    return {.wake_at = pages + bounds_.restart / 2, .is_hindered = true};
}

}  // namespace pawl::store::sql::sqlite
