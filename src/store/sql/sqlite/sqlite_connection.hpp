/// A connection to a SQLite file: prepared statements, kept, and errors, told apart once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <pawl/time.hpp>
#include <string>
#include <unordered_map>

#include "base/points.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/rewrite.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::store::sql::sqlite {

struct ConnectionOptions {
    std::string path{};
    std::string prefix = "pawl_";
    Duration busy_deadline{};  ///< how long to wait for a lock that a foreign program holds
    bool create = false;       ///< the file, if it is not there
    base::AtPoint at_point{};  ///< for crash tests
};

struct CloseUnlessLent {
    bool is_lent = false;
    void operator()(sqlite3* database) const;
};

class SqliteConnection final : public Connection {
public:
    explicit SqliteConnection(ConnectionOptions options);
    /// On a connection that is somebody else's, as it is; it stays open.
    SqliteConnection(sqlite3* lent, ConnectionOptions options);
    ~SqliteConnection() override;
    SqliteConnection(const SqliteConnection&) = delete;
    SqliteConnection& operator=(const SqliteConnection&) = delete;

    void begin(Access access) override;
    void commit() override;
    void rollback() noexcept override;
    void set_savepoint() override;
    void release_savepoint() override;
    void rollback_to_savepoint() override;
    void reach(std::string_view point) override { base::reach(options_.at_point, point); }

    void begin_users(Duration limit) override;
    detail::SqlResult run_users(std::string_view sql,
                                const std::vector<detail::SqlValue>& values) override;
    void end_users() override { lift_limit(); }

    /// Prepares, runs and forgets it: for settings, which need no cache.
    void configure(Statement statement);
    /// Runs every statement of a migration.
    void run_script(std::string_view script);
    /// So that whoever has lent the connection can close it.
    void forget_statements() noexcept { cache_.clear(); }
    bool is_read_only() const;
    sqlite3* handle() { return database_.get(); }
    const std::string& path() const { return options_.path; }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

    std::int64_t run_rows(Statement statement, std::span<const Value> values,
                          std::size_t rows) override;
    void query_rows(Statement statement, std::span<const Value> values, std::size_t rows,
                    Sink sink) override;

    sqlite3_stmt* prepared(Statement statement);
    Prepared prepare(std::string_view sql, const char** rest);
    void bind(sqlite3_stmt* prepared, std::span<const Value> row);
    [[noreturn]] void fail(int result, const char* statement) const;
    [[noreturn]] void fail_users(int result, std::string_view sql) const;
    Prepared prepare_users(std::string_view text, std::string_view sql);
    void lift_limit() noexcept;

    ConnectionOptions options_;
    std::unique_ptr<sqlite3, CloseUnlessLent> database_;
    std::optional<std::chrono::steady_clock::time_point> limit_;  // of SQL of the user's own
    std::unordered_map<const char*, Prepared> cache_;  // by the address of the statement's text
};

}  // namespace pawl::store::sql::sqlite
