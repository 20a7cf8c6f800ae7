/// A connection to a MariaDB server: prepared statements, kept, and run on many rows at a time.
#pragma once

#include <memory>
#include <pawl/time.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/points.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/mariadb/mariadb_errors.hpp"
#include "store/sql/mariadb/prepared.hpp"

struct st_mysql;

namespace pawl::store::sql::mariadb {

/// Where the server is and who we are there.
struct Address {
    std::string host{};
    unsigned port = 3306;
    std::string socket{};  ///< instead of host and port
    std::string user{};
    std::string password{};
    std::string database{};
    enum class Ssl { off, on, verify };
    Ssl ssl = Ssl::off;
    std::string ssl_ca{};

    std::string text() const;  ///< for messages: without the password
};

/// What a connection is for.
enum class Role : std::uint8_t {
    reader,   ///< its transactions see one moment, and can't write
    writer,   ///< its transactions see what is committed
    renewer,  ///< a writer that waits for nobody else's turn
    users,    ///< a writer for SQL of the user's own
};

struct ConnectionOptions {
    Address address{};
    std::string prefix = "pawl_";
    Role role = Role::writer;
    Duration deadline = std::chrono::seconds{30};  ///< of connecting, and of each statement
    /// Where the character set of the session is not known: the server takes bytes as they are.
    bool texts_as_bytes = false;
    base::AtPoint at_point{};  ///< for crash tests
};

struct CloseUnlessLent {
    bool is_lent = false;
    void operator()(st_mysql* link) const;
};

class MariadbConnection final : public Connection {
public:
    explicit MariadbConnection(ConnectionOptions options);
    /// On a connection that is somebody else's, as it is; it stays open.
    MariadbConnection(st_mysql* lent, ConnectionOptions options);
    ~MariadbConnection() override;
    MariadbConnection(const MariadbConnection&) = delete;
    MariadbConnection& operator=(const MariadbConnection&) = delete;

    /// A transaction begins with its first statement, so this sends nothing.
    void begin(Access) override {}
    void commit() override;
    void rollback() noexcept override;
    void set_savepoint() override;
    void release_savepoint() override;
    void rollback_to_savepoint() override;
    void reach(std::string_view point) override { base::reach(options_.at_point, point); }

    void begin_users(Duration limit) override;
    detail::SqlResult run_users(std::string_view sql,
                                const std::vector<detail::SqlValue>& values) override;

    /// Many statements, each ended by a semicolon; for migrations.
    void run_script(std::string_view script);

    /// By the server's last word: one is open, or the next statement opens one.
    bool is_in_transaction() const;

    Role role() const { return options_.role; }
    /// It must be replaced: nothing can be run on it any more.
    bool is_lost() const { return is_lost_; }

private:
    std::int64_t run_rows(Statement statement, std::span<const Value> values,
                          std::size_t rows) override;
    void query_rows(Statement statement, std::span<const Value> values, std::size_t rows,
                    Sink sink) override;

    void post_rows(Statement statement, std::span<const Value> values, std::size_t rows) override;

    void connect();
    void configure();
    void ask_for_largest_packet();
    /// Runs text that has no parameters and no result.
    void send(std::string_view text);
    Prepared& prepared(Statement statement);
    std::size_t fitting(std::span<const Value> values, std::size_t columns) const;
    void hear_answers();
    /// Guards an operation: notes a loss, and throws what the failure is.
    [[noreturn]] void fail(const Failure& failure, std::string_view what);
    [[noreturn]] void fail_commit(const Failure& failure);
    [[noreturn]] void fail_users(const Failure& failure, std::string_view sql);
    void limit_statements_to(Duration limit);

    ConnectionOptions options_;
    std::string server_;
    std::unique_ptr<st_mysql, CloseUnlessLent> link_;
    std::unordered_map<const char*, Prepared> cache_;  // before the link it belongs to
    std::size_t largest_packet_ = 0;
    int savepoints_ = 0;
    std::vector<const char*> posted_;  // statements whose answers were not read yet
    bool is_in_transaction_ = false;   // a statement was run since the last end of one
    bool is_lost_ = false;
};

}  // namespace pawl::store::sql::mariadb
