// Statements that are sent as one.
#include "store/sql/postgres/joined_statements.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

std::string join(const std::vector<std::string_view>& statements) {
    return join_statements(statements);
}

TEST(Joining, LooksAtTheGuardsAndWritesTheRest) {
    EXPECT_EQ(join({"\n  WITH a AS (UPDATE t SET x = $2::bigint WHERE y = $1::bigint RETURNING 1)"
                    "\n  SELECT 1 / ((SELECT count(*) FROM a) = cardinality($1))::integer",
                    "INSERT INTO u SELECT * FROM unnest($1::bigint[], $2::bytea[])",
                    "WITH b AS (SELECT FROM v WHERE z = $1::bigint) SELECT 1 / ((SELECT count(*) "
                    "FROM b) = 1)::integer"}),
              "WITH a AS (UPDATE t SET x = $2::bigint WHERE y = $1::bigint RETURNING 1), "
              "joined1 AS (INSERT INTO u SELECT * FROM unnest($3::bigint[], $4::bytea[])), "
              "b AS (SELECT FROM v WHERE z = $5::bigint) "
              "SELECT 1 / ((SELECT count(*) FROM a) = cardinality($1) AND "
              "(SELECT count(*) FROM b) = 1)::integer");
}

TEST(Joining, NeedsNoGuard) {
    EXPECT_EQ(join({"INSERT INTO t VALUES ($2::bigint)", "INSERT INTO u VALUES ($10::bigint)",
                    "INSERT INTO v VALUES ($1::bigint)"}),
              "WITH joined0 AS (INSERT INTO t VALUES ($2::bigint)), "
              "joined1 AS (INSERT INTO u VALUES ($12::bigint)), "
              "joined2 AS (INSERT INTO v VALUES ($13::bigint)) SELECT 1")
        << "a parameter that is not used has its place, too";
}

TEST(Joining, IsForStatementsThatDoNotSeeEachOther) {
    EXPECT_TRUE(can_join(statements.events.add.text));
    EXPECT_TRUE(can_join(statements.presumed->writing->instances.text));
    EXPECT_FALSE(can_join(statements.items.retry.text)) << "of items that a guard has locked";
    EXPECT_FALSE(can_join(statements.presumed->of_instances->remove_timers.text));
}

}  // namespace
}  // namespace pawl::store::sql::postgres
