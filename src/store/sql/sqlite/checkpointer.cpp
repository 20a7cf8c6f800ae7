#include "store/sql/sqlite/checkpointer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>

#include <pawl/error.hpp>
#include <utility>

#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

// How long a restart may hold the writers up while a reader still looks at the old log.
constexpr int longest_wait_for_readers_ms = 20;

// A thread that inherits a mask with every signal blocked never runs a user's signal handler.
class BlockedSignals {
public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

}  // namespace

Checkpointer::Checkpointer(ConnectionOptions connection, WriteTurn& turn, LogBounds bounds)
    : connection_(std::move(connection)), turn_(turn), bounds_(bounds) {
    connection_.configure(keep_some_log);
    connection_.configure(small_cache);
    connection_.configure(sync_every_commit);
    sqlite3_busy_timeout(connection_.handle(), longest_wait_for_readers_ms);
    const BlockedSignals blocked;
    thread_ = std::thread{[this] { run(); }};
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
    if (pages < bounds_.copy) return;
    {
        const std::lock_guard lock{mutex_};
        pages_ = pages;
    }
    changed_.notify_one();
}

std::int64_t Checkpointer::wait_for_work() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return stopping_ || pages_ > 0; });
    return stopping_ ? 0 : std::exchange(pages_, 0);
}

void Checkpointer::run() {
    while (wait_for_work() > 0) {
        try {
            work();
        } catch (const std::exception&) {
            // The log stays long, and the next commit asks again; if the disk is at fault, the
            // commits say so.
        }
    }
}

// Copying runs beside the writers, but only a moment without any lets the log begin anew. Most
// pages are copied by then, so that moment is short.
void Checkpointer::work() {
    int pages = 0;
    int copied = 0;
    sqlite3* const handle = connection_.handle();
    sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
    if (pages < bounds_.restart) return;
    turn_.take(WriteTurn::Rank::urgent);
    sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_RESTART, &pages, &copied);
    turn_.give();
}

}  // namespace pawl::store::sql::sqlite
