/// A SQLite file as a Database: one connection that writes, some that read, and turns.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/sql/database.hpp"
#include "store/sql/sqlite/checkpointer.hpp"
#include "store/sql/sqlite/sqlite_connection.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"
#include "store/sql/sqlite/write_turn.hpp"

namespace pawl::store::sql::sqlite {

/// One writer, because a second one would find its page cache outdated after each commit of the
/// first. The user's own SQL has another: what it sets must not change how pawl writes.
class SqliteDatabase final : public Database {
public:
    explicit SqliteDatabase(const SqliteOptions& options);
    ~SqliteDatabase() override;

    Time now() override { return clock_.now(); }
    const Statements& statements() const override;
    Lease write(Purpose purpose) override;
    Lease read() override;
    std::unique_ptr<Numbers> numbers() override;
    void announce() noexcept override { turn_->ring(); }
    std::unique_ptr<Watch> watch() override;
    std::unique_ptr<LentConnection> borrow(const ForeignHandle& handle) override;
    Spelling spelling() const override;

private:
    void give_back(Connection& connection, Access access) noexcept override;
    void open_writer();
    std::unique_ptr<SqliteConnection> open_reader();
    std::unique_ptr<SqliteConnection> open_users();
    ConnectionOptions connection_options() const;
    void set_durable(bool durable);

    SqliteOptions options_;
    const Clock& clock_;
    std::unique_ptr<SqliteConnection> writer_;
    std::unique_ptr<SqliteConnection> users_;  // who has the turn opens it
    std::unique_ptr<WriteTurn> turn_;
    bool durable_ = false;  // how the writer commits now; only changed with the turn

    std::mutex mutex_;
    std::condition_variable reader_free_;
    std::vector<std::unique_ptr<SqliteConnection>> readers_;
    std::vector<SqliteConnection*> free_readers_;

    std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace pawl::store::sql::sqlite
