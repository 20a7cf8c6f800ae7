#include "store/sql/sqlite/sqlite_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <pawl/error.hpp>

#include "store/sql/sqlite/opening.hpp"
#include "store/sql/sqlite/sqlite_lent.hpp"
#include "store/sql/sqlite/sqlite_statements.hpp"
#include "store/sql/sqlite/sqlite_watch.hpp"

namespace pawl::store::sql::sqlite {
namespace {

constexpr std::int64_t page_size = 4096;

LogBounds log_bounds(std::size_t longest_log) {
    const auto pages =
        std::max<std::int64_t>(static_cast<std::int64_t>(longest_log) / page_size, 8);
    return {.copy = pages / 2, .restart = pages};
}

int tell_checkpointer(void* checkpointer, sqlite3*, const char*, int pages) {
    static_cast<Checkpointer*>(checkpointer)->committed(pages);
    return SQLITE_OK;
}

}  // namespace

SqliteDatabase::SqliteDatabase(const SqliteOptions& options)
    : options_(options), clock_(options.clock ? *options.clock : system_clock()) {
    if (options_.path == ":memory:")
        throw Error{Code::invalid, "a SQLite store is a file; for one in memory write memory:"};
    // Connections are opened as they are needed, wherever the process has gone in the meantime.
    options_.path = std::filesystem::absolute(options_.path);
    check_prefix(options_.prefix);
    if (options_.readers == 0)
        throw Error{Code::invalid, "a SQLite store needs at least one connection that reads"};
    open_writer();
    checkpointer_ = std::make_unique<Checkpointer>(connection_options(), *turn_,
                                                   log_bounds(options_.longest_log));
    sqlite3_wal_hook(writer_->handle(), tell_checkpointer, checkpointer_.get());
}

// The last connection to close empties the log, so the writer goes last.
SqliteDatabase::~SqliteDatabase() {
    sqlite3_wal_hook(writer_->handle(), nullptr, nullptr);
    if (users_) sqlite3_wal_hook(users_->handle(), nullptr, nullptr);
    checkpointer_.reset();
    users_.reset();
    readers_.clear();
}

ConnectionOptions SqliteDatabase::connection_options() const {
    return {
        .path = options_.path, .prefix = options_.prefix, .busy_deadline = options_.busy_deadline};
}

void SqliteDatabase::open_writer() {
    auto how = connection_options();
    how.create = true;
    how.at_point = options_.at_point;
    const OpeningOptions opening{.prefix = options_.prefix, .adopt = options_.adopt};
    writer_ = std::make_unique<SqliteConnection>(how);
    check_file(*writer_, opening);
    turn_ = std::make_unique<WriteTurn>(options_.path + "-turn", options_.busy_deadline);
    turn_->take(WriteTurn::Rank::ordinary);
    try {
        prepare_file(*writer_, opening);
    } catch (...) {
        turn_->give();
        throw;
    }
    turn_->give();
    durable_ = true;
    writer_->configure(large_cache);
    writer_->configure(temporary_in_memory);
    writer_->configure(keep_some_log);
}

const Statements& SqliteDatabase::statements() const { return sqlite::statements; }

// A claim that a power failure undoes is harmless: its claimant is gone too. So claims spare
// themselves the flush, and the next group's flush covers them.
void SqliteDatabase::set_durable(bool durable) {
    if (durable == durable_) return;
    writer_->configure(durable ? sync_every_commit : sync_at_checkpoints);
    durable_ = durable;
}

Database::Lease SqliteDatabase::write(Purpose purpose) {
    if (purpose == Purpose::group || purpose == Purpose::users) checkpointer_->let_catch_up();
    turn_->take(purpose == Purpose::renewal ? WriteTurn::Rank::urgent : WriteTurn::Rank::ordinary);
    try {
        if (purpose == Purpose::users) {
            if (!users_) users_ = open_users();
            return {*this, *users_, Access::write};
        }
        set_durable(purpose == Purpose::group && options_.full_sync);
    } catch (...) {
        turn_->give();
        throw;
    }
    return {*this, *writer_, Access::write};
}

std::unique_ptr<SqliteConnection> SqliteDatabase::open_reader() {
    auto reader = std::make_unique<SqliteConnection>(connection_options());
    reader->configure(only_read);
    reader->configure(small_cache);
    reader->configure(temporary_in_memory);
    return reader;
}

std::unique_ptr<SqliteConnection> SqliteDatabase::open_users() {
    auto how = connection_options();
    how.at_point = options_.at_point;
    auto users = std::make_unique<SqliteConnection>(how);
    users->configure(options_.full_sync ? sync_every_commit : sync_at_checkpoints);
    users->configure(keep_some_log);
    users->configure(keep_foreign_keys);
    sqlite3_wal_hook(users->handle(), tell_checkpointer, checkpointer_.get());
    return users;
}

Database::Lease SqliteDatabase::read() {
    std::unique_lock lock{mutex_};
    const bool free = reader_free_.wait_for(lock, options_.busy_deadline, [&] {
        return !free_readers_.empty() || readers_.size() < options_.readers;
    });
    if (!free)
        throw Error{Code::busy, fmt::format("all {} reading connections to {} are in use: give it "
                                            "more time or more readers",
                                            options_.readers, options_.path)};
    if (free_readers_.empty()) {
        readers_.push_back(open_reader());
        free_readers_.push_back(readers_.back().get());
    }
    // The one that was used last, because its cache is warm.
    SqliteConnection* const reader = free_readers_.back();
    free_readers_.pop_back();
    return {*this, *reader, Access::read};
}

void SqliteDatabase::give_back(Connection& connection, Access access) noexcept {
    if (access == Access::write) return turn_->give();
    {
        const std::lock_guard lock{mutex_};
        free_readers_.push_back(static_cast<SqliteConnection*>(&connection));
    }
    reader_free_.notify_one();
}

std::unique_ptr<Numbers> SqliteDatabase::numbers() {
    return std::make_unique<CounterRow>(standard_counters);
}

std::unique_ptr<Watch> SqliteDatabase::watch() {
    return make_watch(connection_options(), turn_->path());
}

std::unique_ptr<LentConnection> SqliteDatabase::borrow(const ForeignHandle& handle) {
    return std::make_unique<SqliteLent>(handle_of<sqlite3*>(handle, "a SQLite file"),
                                        connection_options());
}

Spelling SqliteDatabase::spelling() const {
    return {.prefix = options_.prefix, .native = Marks::question, .value = spelled};
}

}  // namespace pawl::store::sql::sqlite
