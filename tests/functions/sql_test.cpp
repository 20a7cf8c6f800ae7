// SQL of the user's own: arguments, rows, and what is said where something does not fit.
#include <limits>

#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "engine/outgoing.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::engine_test {
namespace {

using Bytes = std::vector<std::byte>;

struct Everything {
    int number = 0;
    bool truth = false;
    double real = 0;
    std::string text{};
    Bytes bytes{};
    Time time{};
    std::optional<std::string> maybe{};
    Uuid id{};
    friend bool operator==(const Everything&, const Everything&) = default;
};

class Sql : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        store = open_store();
        table = place().table("everything");
        const bool postgres = GetParam() == "postgres";
        const std::map<std::string, std::string> times{
            {"sqlite", "TEXT"}, {"postgres", "TIMESTAMPTZ"}, {"mariadb", "DATETIME(6)"}};
        place().run("CREATE TABLE " + table +
                    " (number INTEGER UNIQUE, truth BOOLEAN, real_number DOUBLE PRECISION, "
                    "words VARCHAR(300), raw " +
                    (postgres ? "BYTEA" : "BLOB") + ", moment " + times.at(GetParam()) +
                    ", maybe VARCHAR(10), id " + (postgres ? "UUID" : "CHAR(36)") + ")" +
                    (GetParam() == "mariadb" ? " CHARACTER SET utf8mb4" : ""));
        begin();
    }
    void begin() {
        transaction.reset();
        transaction = store->begin(10s);
        tx.emplace(*transaction, outgoing);
    }
    void commit() { EXPECT_EQ(transaction->commit({}).fate, store::Fate::committed); }
    /// What this says; the transaction is begun anew.
    template <class F>
    Error refusal(F&& f) {
        auto error = error_of(std::forward<F>(f));
        begin();
        return error;
    }

    std::unique_ptr<store::Store> store;
    std::unique_ptr<store::UserTransaction> transaction;
    engine::OutgoingBuffer outgoing{{}};
    std::optional<Transaction> tx;
    std::string table;
};
INSTANTIATE_TEST_SUITE_P(Stores, Sql, shared_stores(), name_of);

TEST_P(Sql, CarriesEveryTypeThereAndBack) {
    const Everything full{
        .number = -7,
        .truth = true,
        .real = 0.1,
        .text = "it's $1 \"and\" \\ \xc3\xa4\xf0\x9f\x92\xb6" + std::string(270, 'x'),
        .bytes = {std::byte{0}, std::byte{0xff}, std::byte{'\''}},
        .time = Time{Duration{1'709'208'000'123'456}},
        .maybe = "yes",
        .id = *Uuid::parse("0192f0c1-0000-7000-8000-00000000abcd")};
    const Everything poor{.number = 1};
    for (const auto& one : {full, poor})
        EXPECT_EQ(tx->exec("INSERT INTO " + table + " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                           one.number, one.truth, one.real, one.text, one.bytes, one.time,
                           one.maybe, one.id),
                  1);
    const auto found = tx->query<Everything>("SELECT * FROM " + table + " ORDER BY number");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0], full);
    EXPECT_EQ(found[1], poor);
    commit();
    begin();
    EXPECT_EQ(tx->query<Everything>("SELECT * FROM " + table + " WHERE moment = $1 AND words = $2",
                                    full.time, std::string_view{full.text})
                  .size(),
              1u);
    EXPECT_EQ(tx->query<std::string>("SELECT words FROM " + table + " WHERE raw = $1", full.bytes),
              std::vector{full.text});
    EXPECT_EQ(tx->query<int>("SELECT number FROM " + table + " WHERE truth = $1", false),
              std::vector{1});
    EXPECT_EQ(tx->query<Time>("SELECT moment FROM " + table + " WHERE id = $1", full.id),
              std::vector{full.time});
    EXPECT_EQ(tx->query<std::optional<std::string>>(
                  "SELECT maybe FROM " + table + " WHERE number = $1", 1),
              std::vector{std::optional<std::string>{}});
}

TEST_P(Sql, CountsTheRowsItChanges) {
    const auto add = "INSERT INTO " + table + " (number, words) VALUES ($1, 'a'), ($2, 'b')";
    EXPECT_EQ(tx->exec(add, 1, 2), 2);
    EXPECT_EQ(tx->exec("UPDATE " + table + " SET words = 'a' WHERE number = $1", 1), 1)
        << "also where it is the same";
    EXPECT_EQ(tx->exec("UPDATE " + table + " SET words = $1", "c"), 2);
    EXPECT_EQ(tx->exec("SELECT * FROM " + table), 0);
    EXPECT_EQ(tx->exec("DELETE FROM " + table + " WHERE number = 99"), 0);
    EXPECT_EQ(tx->query<int>("DELETE FROM " + table + " WHERE number = 2 RETURNING number"),
              std::vector{2});
    EXPECT_EQ(tx->exec("INSERT INTO " + table + " (number) VALUES (5) RETURNING number"), 1);
}

TEST_P(Sql, ReadsSumsAndCounts) {
    tx->exec("INSERT INTO " + table + " (number) VALUES (1), (2), ($1)", 40);
    struct Numbers {
        std::int64_t sum = 0;
        unsigned char count = 0;
        double mean = 0;
    };
    const auto all =
        tx->query<Numbers>("SELECT sum(number), count(*), sum(number) / 2.0 FROM " + table);
    EXPECT_EQ(all.front().sum, 43);
    EXPECT_EQ(all.front().count, 3);
    EXPECT_EQ(all.front().mean, 21.5);
    EXPECT_TRUE(tx->query<int>("SELECT number FROM " + table + " WHERE number > 100").empty());
}

TEST_P(Sql, LeavesLiteralsCommentsAndNamesAlone) {
    struct Two {
        std::string literal;
        std::string argument;
    };
    const auto two = tx->query<Two>("SELECT '$2 it''s $1', /* $3 */ $1 -- $4\n", "given").front();
    EXPECT_EQ(two.literal, "$2 it's $1");
    EXPECT_EQ(two.argument, "given");
    EXPECT_EQ(tx->query<int>("SELECT pawl_x FROM (SELECT 3 AS pawl_x) AS pawl_y"), std::vector{3});
}

TEST_P(Sql, UsesAnArgumentAsOftenAsItIsNamed) {
    tx->exec("INSERT INTO " + table + " (number, words, maybe) VALUES ($2, $1, $1)", "x", 4);
    EXPECT_EQ(tx->query<int>("SELECT number FROM " + table +
                                 " WHERE words = $1 AND maybe = $1 "
                                 "AND number = $2",
                             "x", 4),
              std::vector{4});
}

TEST_P(Sql, SaysWhichColumnDoesNotFit) {
    tx->exec("INSERT INTO " + table + " (number, words) VALUES (300, 'abc')");
    const auto says = [&]<class Row>(const std::string& columns, const Row&, const char* what) {
        const auto sql = "SELECT " + columns + " FROM " + table;
        const auto error = error_of([&] { tx->query<Row>(sql); });
        EXPECT_EQ(error.code(), Code::invalid);
        EXPECT_THAT(error.what(), HasSubstr(what));
        EXPECT_THAT(error.what(), HasSubstr("\"SELECT " + columns));
    };
    struct Pair {
        int number = 0;
        std::string words;
    };
    struct Small {
        std::int8_t number = 0;
    };
    says("number, words", 0, "returns 2 columns, and a row has 1 field");
    says("number", Pair{}, "returns 1 column, and a row has 2 fields");
    says("words, number", Pair{},
         "column 1 (words) holds the text \"abc\", and field \"number\" wants an integer");
    says("number, number", Pair{},
         "column 2 (number) holds the integer 300, and field \"words\" wants a text");
    says("number", Small{},
         "column 1 (number) holds the integer 300, and field \"number\" wants "
         "-128 to 127");
    says("number, maybe", Pair{},
         "column 2 (maybe) is NULL, and field \"words\" is not a std::optional");
    says("maybe", std::string{}, "column 1 (maybe) is NULL, and the row is not a std::optional");
    says("number", true, "wants a bool");
    says("words", 1.5, "wants a real number");
    says("words", Bytes{}, "wants bytes");
    says("words", Time{}, "wants a time");
    says("words", Uuid{}, "wants a UUID");
    // What does not fit says nothing about the transaction.
    EXPECT_EQ(tx->query<int>("SELECT number FROM " + table), std::vector{300});
}

TEST_P(Sql, SaysWhatTheDatabaseRefuses) {
    const auto syntax = refusal([&] { tx->exec("SELEKT 1"); });
    EXPECT_EQ(syntax.code(), Code::invalid) << syntax.what();
    EXPECT_THAT(syntax.what(), HasSubstr("at \"SELEKT 1\""));
    const auto unknown = refusal([&] { tx->exec("SELECT x FROM not_there"); });
    EXPECT_EQ(unknown.code(), Code::invalid) << unknown.what();
    EXPECT_THAT(unknown.what(), HasSubstr("not_there"));
    const auto twice = refusal([&] {
        tx->exec("INSERT INTO " + table + " (number) VALUES (1)");
        tx->exec("INSERT INTO " + table + " (number) VALUES ($1)", 1);
    });
    EXPECT_EQ(twice.code(), Code::invalid) << twice.what();
    EXPECT_EQ(refusal([&] { tx->query<int>("UPDATE " + table + " SET number = 1"); }).code(),
              Code::invalid);
    EXPECT_THAT(refusal([&] { tx->query<int>("DELETE FROM " + table); }).what(),
                HasSubstr("returns no rows: use exec"));
    EXPECT_EQ(refusal([&] { tx->exec("SELECT 1; SELECT 2"); }).code(), Code::invalid);
    if (GetParam() == "postgres") return;
    EXPECT_THAT(refusal([&] { tx->exec("SELECT ?"); }).what(),
                HasSubstr("write its parameters as $1"));
}

TEST_P(Sql, RefusesArgumentsThatNoDatabaseHolds) {
    const auto says = [&](const auto& argument, const char* what) {
        const auto error = error_of([&] { tx->exec("SELECT $1", argument); });
        EXPECT_EQ(error.code(), Code::invalid);
        EXPECT_THAT(error.what(), HasSubstr(what));
    };
    says(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615 is more than");
    says(std::numeric_limits<double>::quiet_NaN(), "no number that every database holds");
    says(std::string{"a\0b", 3}, "has a NUL in it");
    says(Time::max(), "outside the years 0 to 9999");
}

TEST_P(Sql, CannotEndItsTransaction) {
    const auto add = [&] { tx->exec("INSERT INTO " + table + " (number) VALUES (1)"); };
    for (const char* sql : {"COMMIT", "rollback", "/* x */ BEGIN", "SAVEPOINT a"}) {
        add();
        EXPECT_EQ(refusal([&] { tx->exec(sql); }).code(), Code::misuse) << sql;
    }
    if (GetParam() == "mariadb") {
        add();
        const auto made = refusal([&] { tx->exec("CREATE TABLE other (a INT)"); });
        EXPECT_EQ(made.code(), Code::misuse) << made.what();
        // It goes past what is looked at, and is found out by what it has done.
        const auto hidden = refusal([&] { tx->exec("/*! TRUNCATE */ TABLE " + table); });
        EXPECT_NE(hidden.code(), Code::unavailable) << hidden.what();
    }
    EXPECT_EQ(tx->query<int>("SELECT count(*) FROM " + table), std::vector{0});
}

TEST_P(Sql, IsRolledBackUnlessItIsCommitted) {
    tx->exec("INSERT INTO " + table + " (number) VALUES (1)");
    begin();
    EXPECT_EQ(tx->query<int>("SELECT count(*) FROM " + table), std::vector{0});
    tx->exec("INSERT INTO " + table + " (number) VALUES (2)");
    commit();
    EXPECT_EQ(error_of([&] { tx->exec("SELECT 1"); }).code(), Code::misuse);
    begin();
    EXPECT_EQ(tx->query<int>("SELECT number FROM " + table), std::vector{2});
}

TEST_P(Sql, IsKnownToItsThreadUntilItEnds) {
    transaction.reset();
    auto another = open_store();
    begin();
    EXPECT_TRUE(store->is_in_transaction());
    bool elsewhere = true;
    std::thread{[&] { elsewhere = store->is_in_transaction(); }}.join();
    EXPECT_FALSE(elsewhere);
    EXPECT_FALSE(another->is_in_transaction());
    if (GetParam() == "sqlite") {
        // Otherwise it would wait for itself.
        EXPECT_EQ(error_of([&] { store->begin(1s); }).code(), Code::misuse);
        EXPECT_EQ(error_of([&] { store->vacuum({}); }).code(), Code::misuse);
    }
    commit();
    EXPECT_FALSE(store->is_in_transaction());
}

TEST_P(Sql, HoldsWhatTheTablesDeclare) {
    transaction.reset();
    const auto parent = place().table("parent");
    const auto child = place().table("child");
    place().run("CREATE TABLE " + parent + " (id INTEGER PRIMARY KEY)");
    place().run("CREATE TABLE " + child + " (id INTEGER, FOREIGN KEY (id) REFERENCES " + parent +
                " (id)" + (GetParam() == "mariadb" ? "" : " DEFERRABLE INITIALLY DEFERRED") + ")");
    begin();
    const auto add = "INSERT INTO " + child + " VALUES (1)";
    const auto refused = refusal([&] {
        tx->exec(add);
        transaction->commit({});
    });
    EXPECT_EQ(refused.code(), Code::invalid) << refused.what();
    EXPECT_EQ(tx->query<int>("SELECT count(*) FROM " + child), std::vector{0});
}

}  // namespace
}  // namespace pawl::engine_test
