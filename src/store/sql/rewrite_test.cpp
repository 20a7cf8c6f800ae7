#include "store/sql/rewrite.hpp"

#include <gtest/gtest.h>

#include <pawl/error.hpp>

#include "store/sql/user_statements.hpp"

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

TEST(Rewrite, LeavesNamesOfTheUserAlone) {
    EXPECT_EQ(rewrite("SELECT pawl_x FROM pawl_event WHERE id = $1", {.mark = '?'}),
              "SELECT pawl_x FROM pawl_event WHERE id = ?1");
    EXPECT_EQ(rewrite("a$1 + $1 + \xc3\xa4$1", {.mark = '?'}), "a$1 + ?1 + \xc3\xa4$1");
}

// Marks inside of quotes and comments stay, those behind them do not.
TEST(Rewrite, KnowsWhatEachDatabaseQuotes) {
    const auto with = [](const Quoting& quoting) {
        return Dialect{.prefix = {}, .mark = '?', .quoting = quoting};
    };
    EXPECT_EQ(rewrite("`$1` /* $1 */ $1 /* $1", with({})), "`$1` /* $1 */ ?1 /* $1");
    EXPECT_EQ(rewrite("'it''s $1' \"a\"\"$1\" $1", with({})), "'it''s $1' \"a\"\"$1\" ?1");
    EXPECT_EQ(rewrite("[$1] a[$1]", with({.brackets = true})), "[$1] a[$1]");
    EXPECT_EQ(rewrite("a[$1]", with({})), "a[?1]");
    EXPECT_EQ(rewrite("'\\' $1 ' $1", with({})), "'\\' ?1 ' $1");
    EXPECT_EQ(rewrite("'\\' $1 ' $1", with({.backslashes = true})), "'\\' $1 ' ?1");
    EXPECT_EQ(rewrite("E'\\' $1 ' $1 '\\' $1", with({.escape_texts = true})),
              "E'\\' $1 ' ?1 '\\' ?1");
    EXPECT_EQ(rewrite("mine'\\' $1", with({.escape_texts = true})), "mine'\\' ?1");
    EXPECT_EQ(rewrite("# $1\n$1", with({.hashes = true})), "# $1\n?1");
    EXPECT_EQ(rewrite("a # $1", with({})), "a # ?1");
    EXPECT_EQ(rewrite("1--$1", with({.dashes_need_space = true})), "1--?1");
    EXPECT_EQ(rewrite("1-- $1", with({.dashes_need_space = true})), "1-- $1");
    EXPECT_EQ(rewrite("/* /* */ $1 */ $1", with({.nested_comments = true})), "/* /* */ $1 */ ?1");
    EXPECT_EQ(rewrite("/* /* */ $1", with({})), "/* /* */ ?1");
    EXPECT_EQ(rewrite("$$ $1 $$ $1 $a$ $1 $b$ $a$ $1", with({.dollars = true})),
              "$$ $1 $$ ?1 $a$ $1 $b$ $a$ ?1");
    EXPECT_EQ(rewrite("$1$2", with({.dollars = true})), "?1?2");
}

TEST(FirstWords, AreFoundBehindCommentsAndParentheses) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(first_words(" -- x\n /* y */ (select 1)", {}, 2), (Words{"SELECT", "1"}));
    EXPECT_EQ(first_words("create temporary table", {}, 2), (Words{"CREATE", "TEMPORARY"}));
    EXPECT_EQ(first_words(" ; -- nothing", {}, 2), Words{});
}

Error refusal_of(std::string_view sql, std::size_t arguments) {
    try {
        read_user_statement(sql, arguments, {.prefix = {}});
    } catch (const Error& e) {
        return e;
    }
    ADD_FAILURE() << sql << " is not refused";
    return {Code::invalid, ""};
}

TEST(UserStatement, HasAnArgumentForEveryParameterAndAParameterForEveryArgument) {
    EXPECT_EQ(read_user_statement("b = $2, $1, '$3'", 2, {.prefix = {}}).places,
              (std::vector<std::size_t>{2, 1}));
    EXPECT_STREQ(refusal_of("UPDATE t SET a = $2", 1).what(),
                 "\"UPDATE t SET a = $2\" has a parameter $2, and was given 1 argument");
    EXPECT_STREQ(refusal_of("UPDATE t SET a = $1, b = $3", 3).what(),
                 "\"UPDATE t SET a = $1, b = $3\" was given 3 arguments, and has no parameter $2");
    EXPECT_STREQ(refusal_of("SELECT $0", 0).what(),
                 "\"SELECT $0\" has a parameter $0: the first is $1");
    EXPECT_EQ(refusal_of("SELECT $99999999999999999999", 1).code(), Code::invalid);
    EXPECT_STREQ(refusal_of(" -- nothing", 0).what(), "\"-- nothing\" is no statement");
}

TEST(UserStatement, DoesNotEndItsTransaction) {
    for (const char* sql : {"commit", "/* x */ ROLLBACK", "Begin", "savepoint a", "END",
                            "START TRANSACTION", "RELEASE a", "XA START 'a'"})
        EXPECT_EQ(refusal_of(sql, 0).code(), Code::misuse) << sql;
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
