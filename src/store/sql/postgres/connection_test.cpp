// Groups that are sent as one: what the server makes of them, and what becomes of the connection.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <pawl/error.hpp>

#include "conformance/builders.hpp"
#include "conformance/postgres_schema.hpp"
#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {
namespace {

using conformance::on;
using conformance::order;
using conformance::PostgresSchema;

constexpr Statement insert = "INSERT INTO pawl_late (id) SELECT * FROM unnest($1::bigint[])";
constexpr Statement count = "SELECT count(*) FROM pawl_late";
constexpr Statement count_bytes = "SELECT octet_length(b) FROM unnest($1::bytea[]) AS k (b)";
constexpr Statement terminate = "SELECT pg_terminate_backend($1::integer)";

class PostgresConnections : public testing::Test {
protected:
    void SetUp() override {
        if (PostgresSchema::url().empty())
            GTEST_SKIP() << "PAWL_TEST_POSTGRES names no server: run ./dev test";
        schema.run(fmt::format("CREATE SCHEMA {}", schema.name()));
    }

    PostgresConnection connect() const {
        return PostgresConnection{
            {.link = {.conninfo = parse_postgres_url(PostgresSchema::url()).conninfo},
             .schema = schema.name()}};
    }
    static std::vector<std::int64_t> numbers_of(Connection& connection, Statement statement) {
        std::vector<std::int64_t> numbers;
        Transaction transaction{connection, Access::read};
        connection.query(statement, {}, [&](const Row& row) { numbers.push_back(row.number(0)); });
        transaction.commit();
        return numbers;
    }
    /// Both rows at once, without waiting for an answer.
    static void write(Connection& connection, std::int64_t first, std::int64_t second) {
        Rows rows;
        rows.add({first});
        rows.add({second});
        Transaction transaction{connection, Access::write};
        connection.post(insert, rows);
        transaction.commit();
    }

    PostgresSchema schema;
};

TEST_F(PostgresConnections, SayWhatTheCommitSaysAndStayInStep) {
    schema.run("CREATE TABLE pawl_late (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    auto connection = connect();
    for (int i = 0; i < 3; ++i) {
        try {
            write(connection, 1, 1);
            FAIL() << "two rows with one id were committed";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::invalid) << error.what();
        }
        EXPECT_FALSE(connection.is_lost());
        EXPECT_EQ(numbers_of(connection, count), std::vector<std::int64_t>{0});
    }
    write(connection, 1, 2);
    EXPECT_EQ(numbers_of(connection, count), std::vector<std::int64_t>{2});
}

TEST_F(PostgresConnections, AreLostIfWhatTheyPostCanNotBeSent) {
    auto other = connect();
    const std::string much(1024 * 1024, 'x');
    Rows rows;
    for (int i = 0; i < 3; ++i) rows.add({bytes(much)});
    for (int i = 0; i < 20; ++i) {
        auto connection = connect();
        other.query(terminate, {std::int64_t{connection.backend()}}, [](const Row&) {});
        try {
            Transaction transaction{connection, Access::write};
            for (int k = 0; k < 4; ++k) connection.post(count_bytes, rows);
            transaction.commit();
            FAIL() << "the server took it";
        } catch (const LostConnection&) {
        }
        EXPECT_TRUE(connection.is_lost());
    }
}

// Else those who follow the journal would go past it: see `open_batch`.
TEST_F(PostgresConnections, HaveATransactionsNumberBeforeItsFirstPosition) {
    const auto store = open_postgres(schema.options());
    schema.run("CREATE SEQUENCE pawl_too_late");
    schema.run(
        fmt::format("ALTER TABLE pawl_event ALTER COLUMN xid SET DEFAULT coalesce("
                    "pg_current_xact_id_if_assigned(), "
                    "(1000000 + nextval('{}.too_late'))::text::xid8)",
                    schema.name()));
    // A position that is written to the server's log gives a number, too: that is every 32nd.
    for (int i = 0; i < 80; ++i) {
        auto commit = on(order(std::to_string(i)), 0).event("Placed").build();
        if (i % 2 == 0) commit.envelope.correlation = "c";  // the longer form of the statement
        std::vector<Answer> answers(1);
        store->commit({&commit, 1}, answers);
        ASSERT_EQ(answers[0].fate, Fate::committed);
    }
    auto connection = connect();
    EXPECT_EQ(numbers_of(connection, "SELECT is_called::integer FROM pawl_too_late"),
              std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace pawl::store::sql::postgres
