// What only a look at the tables of a server shows: how long after its commit an item is due where
// its group waits for a lock first, and which groups leave receipts.
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "conformance/builders.hpp"
#include "conformance/mariadb_tables.hpp"
#include "conformance/postgres_schema.hpp"

namespace pawl::store::conformance {
namespace {

using namespace std::chrono_literals;
using sql::Access;
using sql::Connection;
using sql::Row;
using sql::Statement;

constexpr Duration delay = 200ms;
/// How long a group waits at least: far more than two readings of one clock differ.
constexpr Duration wait = 50ms;

/// A server whose rows somebody else can lock.
class Server {
public:
    virtual ~Server() = default;
    virtual std::unique_ptr<Store> open() = 0;
    virtual std::unique_ptr<Connection> connect() = 0;
    virtual Time now(Connection& connection) = 0;
    /// Whether anybody seems to wait for a lock that `holder` has.
    virtual bool is_awaited(Connection& observer, Connection& holder) = 0;
};

std::int64_t number_from(Connection& connection, Statement statement,
                         std::initializer_list<sql::Value> row = {}) {
    std::int64_t number = 0;
    connection.query(statement, row, [&](const Row& found) { number = found.number(0); });
    return number;
}

class PostgresServer final : public Server {
public:
    std::unique_ptr<Store> open() override { return open_postgres(schema_.options()); }
    std::unique_ptr<Connection> connect() override {
        return std::make_unique<sql::postgres::PostgresConnection>(sql::postgres::ConnectionOptions{
            .link = {.conninfo = parse_postgres_url(PostgresSchema::url()).conninfo},
            .schema = schema_.name()});
    }
    Time now(Connection& connection) override {
        return Time{Duration{number_from(
            connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")}};
    }
    bool is_awaited(Connection& observer, Connection& holder) override {
        const auto backend = dynamic_cast<sql::postgres::PostgresConnection&>(holder).backend();
        return number_from(observer,
                           "SELECT count(*) FROM pg_stat_activity "
                           "WHERE $1::integer = ANY (pg_blocking_pids(pid))",
                           {backend}) > 0;
    }

private:
    PostgresSchema schema_;
};

class MariadbServer final : public Server {
public:
    std::unique_ptr<Store> open() override { return open_mariadb(tables_.options()); }
    std::unique_ptr<Connection> connect() override { return tables_.connect(); }
    Time now(Connection& connection) override {
        return Time{Duration{number_from(
            connection, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)")}};
    }
    // Its tables of locks are as they were when somebody last asked, and must not be asked often.
    bool is_awaited(Connection& observer, Connection& holder) override {
        const auto thread = number_from(holder, "SELECT CONNECTION_ID()");
        return number_from(observer,
                           "SELECT count(*) FROM information_schema.processlist "
                           "WHERE db = DATABASE() AND command = 'Execute' AND time_ms > 50 "
                           "AND id NOT IN (CONNECTION_ID(), $1)",
                           {thread}) > 0;
    }

private:
    MariadbTables tables_;
};

struct ServerUnderTest {
    const char* name;
    const char* variable;
    std::unique_ptr<Server> (*make)();
};

template <class Made>
std::unique_ptr<Server> make() {
    return std::make_unique<Made>();
}

class LockWaits : public testing::TestWithParam<ServerUnderTest> {
protected:
    void SetUp() override {
        if (!std::getenv(GetParam().variable))
            GTEST_SKIP() << GetParam().variable << " names no server: run ./dev test";
        server = GetParam().make();
        store = server->open();
        holder = server->connect();
        observer = server->connect();
    }

    Answer commit(const Commit& one) {
        std::vector<Answer> answers(1);
        store->commit({&one, 1}, answers);
        EXPECT_EQ(answers[0].fate, Fate::committed);
        return answers[0];
    }
    /// Commits it while somebody else holds what `lock` locks. Returns a moment before its commit.
    Time commit_behind(Statement lock, const Commit& one) {
        sql::Transaction transaction{*holder, Access::write};
        holder->query(lock, {}, [](const Row&) {});
        auto committed = std::async(std::launch::async, [&] { return commit(one); });
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!is_awaited() && std::chrono::steady_clock::now() < deadline) continue;
        EXPECT_LT(std::chrono::steady_clock::now(), deadline) << "nobody waits for the lock";
        const Time now = pass(wait);
        transaction.commit();
        committed.get();
        return now;
    }
    /// Until the server's clock has gone so far; what it says then.
    Time pass(Duration length) {
        const Time begun = server->now(*holder);
        Time now = begun;
        while (now < begun + length) now = server->now(*holder);
        return now;
    }
    bool is_awaited() {
        sql::Transaction transaction{*observer, Access::write};
        const bool awaited = server->is_awaited(*observer, *holder);
        transaction.commit();
        return awaited;
    }
    Time due() {
        const auto items = store->items({});
        EXPECT_EQ(items.size(), 1u);
        return items.at(0).due_at.value_or(Time{});
    }

    std::unique_ptr<Server> server;
    std::unique_ptr<Store> store;
    std::unique_ptr<Connection> holder, observer;
};

constexpr Statement lock_instances = "SELECT ref FROM pawl_instance FOR UPDATE";
constexpr Statement lock_items = "SELECT id FROM pawl_item FOR UPDATE";
constexpr Statement lock_keys = "SELECT id FROM pawl_once FOR UPDATE";

TEST_P(LockWaits, ForAnInstanceDoNotShortenATimer) {
    commit(on(order("1"), 0).event("Placed"));
    const Time before =
        commit_behind(lock_instances, on(order("1"), 1).event("Waited").timer("Remind", delay));
    EXPECT_GE(due(), before + delay);
}

TEST_P(LockWaits, ForAnInstanceThatIsReadFirstDoNotShortenATimer) {
    commit(on(order("1"), 0).event("Placed"));
    const Time before = commit_behind(
        lock_instances, on(order("1"), 1).event("Waited").timer("Remind", delay, "key"));
    EXPECT_GE(due(), before + delay);
}

TEST_P(LockWaits, ForAnItemDoNotShortenItsBackoff) {
    commit(on(order("1"), 0).event("Placed").effect("Invoice"));
    const SessionId session = store->open_session({.lease = 1min});
    ClaimRequest request{.claim = {session, 7}, .limit = 1};
    request.interests.push_back({effects("Invoice"), 1});
    const Item item = store->claim(request).items.at(0);
    const Time before = commit_behind(lock_items, settling().retry(item, delay, "down"));
    EXPECT_GE(due(), before + delay);
}

TEST_P(LockWaits, ForADeduplicationKeyDoNotShortenATimer) {
    const Message message{.channel = "mail", .once = "key", .once_for = 1h};
    commit(settling().message(message));
    const Time before = commit_behind(
        lock_keys, on(order("1"), 0).event("Placed").timer("Remind", delay).message(message));
    EXPECT_GE(due(), before + delay);
}

const auto servers =
    testing::Values(ServerUnderTest{"postgres", "PAWL_TEST_POSTGRES", make<PostgresServer>},
                    ServerUnderTest{"mariadb", "PAWL_TEST_MARIADB", make<MariadbServer>});
std::string name_of_server(const testing::TestParamInfo<ServerUnderTest>& info) {
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Servers, LockWaits, servers, name_of_server);

class Receipts : public LockWaits {
protected:
    std::int64_t count() {
        sql::Transaction transaction{*observer, Access::write};
        const auto found = number_from(*observer, "SELECT count(*) FROM pawl_receipt");
        transaction.commit();
        return found;
    }
};
INSTANTIATE_TEST_SUITE_P(Servers, Receipts, servers, name_of_server);

TEST_P(Receipts, AreLeftOnlyByGroupsThatDoNotShowTheirCommit) {
    commit(on(order("1"), 0).event("Placed").effect("Invoice").message({.channel = "news"}));
    commit(on(order("1"), 1).event("Next").timer("Remind", delay));
    const SessionId session = store->open_session({.lease = 1min});
    ClaimRequest request{.claim = {session, 7}, .limit = 1};
    request.interests.push_back({effects("Invoice"), 1});
    const auto claimed = store->claim(request);
    commit(settling().ack(claimed.items.at(0)));
    EXPECT_EQ(count(), 0);
    commit(settling().message({.channel = "news"}));
    EXPECT_EQ(count(), 1);
    store->outbox().resume("news");
    EXPECT_EQ(count(), 2);
}

}  // namespace
}  // namespace pawl::store::conformance
