#include "store/sql/rewrite.hpp"

#include <gtest/gtest.h>

#include <pawl/error.hpp>

namespace pawl::store::sql {
namespace {

TEST(Rewrite, ReplacesThePrefixWhereANameBegins) {
    const Dialect dialect{.prefix = "shop_"};
    EXPECT_EQ(rewrite("SELECT e.id FROM pawl_event e JOIN pawl_instance n", dialect),
              "SELECT e.id FROM shop_event e JOIN shop_instance n");
    EXPECT_EQ(rewrite("my_pawl_event,pawl_event", dialect), "my_pawl_event,shop_event");
}

TEST(Rewrite, ReplacesTheMarksOfParameters) {
    EXPECT_EQ(rewrite("a = $1 AND b = $12 OR $2", {.mark = '?'}), "a = ?1 AND b = ?12 OR ?2");
    EXPECT_EQ(rewrite("a = $1", {}), "a = $1");
    EXPECT_EQ(rewrite("a = $name, $", {.mark = '?'}), "a = $name, $");
}

TEST(Rewrite, TellsWhichParameterStandsWhere) {
    std::vector<std::size_t> places;
    EXPECT_EQ(rewrite("b = $2 AND a = $1, $12 '$3' $2", {.mark = '?', .numbered = false}, &places),
              "b = ? AND a = ?, ? '$3' ?");
    EXPECT_EQ(places, (std::vector<std::size_t>{2, 1, 12, 2}));
}

TEST(Rewrite, LeavesQuotedTextAndCommentsAlone) {
    const Dialect dialect{.prefix = "shop_", .mark = '?'};
    EXPECT_EQ(rewrite("'pawl_event $1' \"pawl_x\"", dialect), "'pawl_event $1' \"pawl_x\"");
    EXPECT_EQ(rewrite("-- pawl_event $1\npawl_event $1", dialect),
              "-- pawl_event $1\nshop_event ?1");
    EXPECT_EQ(rewrite("'it''s pawl_a' pawl_b", dialect), "'it''s pawl_a' shop_b");
    EXPECT_EQ(rewrite("'open", dialect), "'open");
}

TEST(CheckPrefix, AcceptsOnlyWhatNeedsNoQuotes) {
    EXPECT_NO_THROW(check_prefix("pawl_"));
    EXPECT_NO_THROW(check_prefix("a1_b_"));
    for (const char* bad : {"", "pawl", "_", "1_", "Pawl_", "a b_", "a'_", "\xc3\xa4_",
                            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_"})
        EXPECT_THROW(check_prefix(bad), Error) << bad;
}

}  // namespace
}  // namespace pawl::store::sql
