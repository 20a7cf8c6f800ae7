/// A connection to a PostgreSQL server: prepared statements, kept, sent without waiting.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/points.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/postgres/failures.hpp"
#include "store/sql/postgres/link.hpp"
#include "store/sql/postgres/parameters.hpp"

namespace pawl::store::sql::postgres {

struct ConnectionOptions {
    LinkOptions link{};
    std::string schema = "pawl";
    bool users = false;   ///< for SQL of the user's own: the server's settings stay as they are
    bool pooler = false;  ///< statements are not kept, settings are made anew for each transaction
    bool lent = false;    ///< a connection of somebody else's, with a transaction open on it
    base::AtPoint at_point{};  ///< for crash tests
};

class PostgresConnection final : public Connection {
public:
    explicit PostgresConnection(ConnectionOptions options);
    /// In a transaction that is open on somebody else's connection. Nothing is left there: no
    /// statement, and no setting.
    PostgresConnection(PGconn* lent, const std::string& schema);

    void begin(Access access) override;
    void commit() override;
    void rollback() noexcept override;
    void set_savepoint() override;
    void release_savepoint() override;
    void rollback_to_savepoint() override;
    /// What was posted is at the server then, as it may be when a process dies.
    void reach(std::string_view point) override;

    void begin_users(Duration limit) override;
    detail::SqlResult run_users(std::string_view sql,
                                const std::vector<detail::SqlValue>& values) override;
    void end_users() override {
        send_begin();
        send_settings(true);
    }

    bool is_for_users() const { return options_.users; }
    /// It can't be used any more.
    bool is_lost() const { return broken_ || link_.has_failed(); }
    /// After a transaction: if it was given up because it had to wait too long, ends those of
    /// pawl's transactions that nobody goes on with.
    void clear_the_way() noexcept;
    /// The server's own name for something in pawl's schema.
    std::string qualified(std::string_view name) const;
    /// Runs the statements of a migration. Not for statements with parameters.
    void run_script(std::string_view script);
    int backend() const { return link_.backend(); }
    const std::string& place() const { return link_.place(); }
    Link& link() { return link_; }

private:
    struct Prepared {
        std::string name;
        std::string sql;
        Signature signature;
        std::vector<Oid> types;
        bool can_join = false;
        Prepared* plain = nullptr;  ///< the same, for rows without what it does not use
        enum class State { unknown, sent, known } state = State::unknown;
    };
    /// A statement that goes out with those behind it.
    struct Posted {
        Prepared* prepared = nullptr;
        const char* text = nullptr;
        std::unique_ptr<Parameters> parameters = std::make_unique<Parameters>();
    };
    /// An answer that is on its way.
    struct Awaited {
        Prepared* prepared = nullptr;  ///< of a preparation
        const char* text = nullptr;    ///< null: the end of a pipeline
        const Sink* sink = nullptr;
        bool bulk = false;
        std::int64_t* changed = nullptr;
        detail::SqlResult* users = nullptr;  ///< of a statement of the user's own
    };

    std::int64_t run_rows(Statement statement, std::span<const Value> values,
                          std::size_t rows) override;
    void query_rows(Statement statement, std::span<const Value> values, std::size_t rows,
                    Sink sink) override;
    void post_rows(Statement statement, std::span<const Value> values, std::size_t rows) override;

    Prepared& prepared(Statement statement);
    Prepared& prepared(Statement statement, std::span<const Value> values);
    void send(Statement statement, std::span<const Value> values, std::size_t rows, Awaited answer);
    void send(Statement statement) { send(statement, {}, 1, {}); }
    void send(Prepared& known, const Parameters& parameters, const Awaited& answer);
    Prepared& made(Prepared& fresh, const char* sort, std::string sql);
    Prepared& joined(std::span<Posted> all);
    void send_posted();
    void send_joined(std::span<Posted> all);
    void send_settings(bool local);
    /// Long enough for a process that is slow, short enough for those who wait for its locks.
    Duration idle_timeout() const { return options_.link.statement_timeout * 2; }
    void send_users_settings();
    void send_begin();
    /// Ends the pipeline and takes all answers that are on their way. Throws the first failure.
    void finish();
    void take_answers();
    void take_results(const Awaited& awaited, Link::Deadline deadline, Failure& failure);
    static void read_users_result(const PGresult* from, detail::SqlResult& result);

    ConnectionOptions options_;
    Link link_;
    std::string prefix_;
    std::unordered_map<const char*, Prepared> cache_;  // by the address of the statement's text
    std::map<std::vector<const Prepared*>, Prepared> joined_;  // by the statements it consists of
    std::int64_t made_ = 0;                                    ///< how many statements have a name
    Parameters parameters_;
    std::vector<Posted> posted_;  // kept for its memory; the first `posted_count_` are to be sent
    std::size_t posted_count_ = 0;
    std::vector<Awaited> awaited_;
    bool broken_ = false;
    bool held_up_ = false;  ///< by somebody else's locks, for longer than a statement may take
    enum class Stage { none, wanted, begun } stage_ = Stage::none;
    Access access_ = Access::read;
    std::optional<Duration> users_limit_;  ///< of the transaction, if it is the user's own
};

}  // namespace pawl::store::sql::postgres
