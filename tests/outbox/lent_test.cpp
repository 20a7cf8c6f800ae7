// Connections that are lent: whatever the user has set there holds, before and after.
#include <pawl/pawl.hpp>

#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "outbox/handles.hpp"

namespace pawl::engine_test {
namespace {

struct Note {
    std::string text;
};

class Lent : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (!IsSkipped()) engine = open();
    }
    /// What was published, and its correlation.
    std::vector<std::string> delivered() {
        std::vector<std::string> all;
        const auto consumer = open();
        consumer->subscribe("notes", [&](const Note& n, const Received& r) {
            all.push_back(n.text + "/" + r.correlation);
        });
        consumer->run_until_idle();
        return all;
    }

    std::unique_ptr<Engine> engine;
};

class SqliteLent : public Lent {};
INSTANTIATE_TEST_SUITE_P(Stores, SqliteLent, ::testing::Values("sqlite"), name_of);

TEST_P(SqliteLent, MustBeToTheSameFile) {
    const auto other = open_sqlite("sqlite:" + path().string() + ".other");
    run_on(other.get(), "BEGIN IMMEDIATE");
    const auto error = error_of([&] { (void)engine->join(other.get()); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr(".other"));
    EXPECT_THAT(error.what(), HasSubstr("and the store is " + path().string()));
    const auto memory = open_sqlite("sqlite::memory:");
    run_on(memory.get(), "BEGIN");
    EXPECT_EQ(error_of([&] { (void)engine->join(memory.get()); }).code(), Code::misuse);
}

TEST_P(SqliteLent, MayHaveTheFileAttachedUnderALink) {
    const auto other = open_sqlite("sqlite::memory:");
    const auto link = path().string() + ".link";
    std::filesystem::create_symlink(path(), link);
    run_on(other.get(), "CREATE TABLE pawl_message (x); CREATE TEMP TABLE pawl_channel (x)");
    run_on(other.get(), "ATTACH '" + link + "' AS \"the \"\"shop\"");
    run_on(other.get(), "BEGIN");
    engine->join(other.get()).publish("notes", Note{"a"}, {.correlation = "b"});
    run_on(other.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("a/b"));
}

TEST_P(SqliteLent, KeepsTheLastRowThatTheUserInserted) {
    const auto own = open_sqlite(url());
    run_on(own.get(), "CREATE TABLE mine (id INTEGER PRIMARY KEY); BEGIN;");
    run_on(own.get(), "INSERT INTO mine VALUES (4711)");
    auto joined = engine->join(own.get());
    joined.publish("notes", Note{"a"});
    EXPECT_EQ(sqlite3_last_insert_rowid(own.get()), 4711);
    run_on(own.get(), "COMMIT");
}

TEST_P(SqliteLent, SaysThatAnotherOneWrites) {
    const auto own = open_sqlite(url());
    const auto other = open_sqlite(url());
    run_on(own.get(), "CREATE TABLE mine (id INTEGER PRIMARY KEY)");
    run_on(own.get(), "BEGIN; SELECT count(*) FROM mine");
    run_on(other.get(), "BEGIN IMMEDIATE");
    auto joined = engine->join(own.get());
    const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
    EXPECT_EQ(error.code(), Code::busy) << error.what();
    run_on(other.get(), "ROLLBACK");
    joined.publish("notes", Note{"b"});
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("b/"));
}

#ifdef PAWL_POSTGRES
class PostgresLent : public Lent {
protected:
    std::string ask(PGconn* handle, const char* sql) {
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQexec(handle, sql), PQclear};
        return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0)
                                           : PQerrorMessage(handle);
    }
    std::string answer_to(PGconn* handle, const SqlText& text) {
        std::vector<const char*> values;
        for (const auto& value : text.parameters)
            values.push_back(value ? value->c_str() : nullptr);
        PQclear(PQexecParams(handle, text.sql.c_str(), static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0));
        return PQerrorMessage(handle);
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, PostgresLent, ::testing::Values("postgres"), name_of);

TEST_P(PostgresLent, MustBeToTheSameDatabase) {
    auto elsewhere = url();
    elsewhere.replace(elsewhere.rfind("/postgres"), 9, "/template1");
    const auto other = open_postgres(elsewhere);
    run_on(other.get(), "BEGIN");
    const auto error = error_of([&] { (void)engine->join(other.get()); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("\"template1\""));
    EXPECT_THAT(error.what(), HasSubstr("are not there; the store is"));
    EXPECT_EQ(ask(other.get(), "SELECT 1"), "1") << "the transaction goes on";
}

TEST_P(PostgresLent, KeepsItsSettings) {
    const auto own = open_postgres(url());
    PQsetnonblocking(own.get(), 1);
    run_on(own.get(),
           "SET search_path = nowhere; SET DateStyle = 'German'; SET client_encoding = 'LATIN1'; "
           "SET bytea_output = 'escape'; SET standard_conforming_strings = off");
    run_on(own.get(), "BEGIN ISOLATION LEVEL SERIALIZABLE");
    auto joined = engine->join(own.get());
    joined.publish("notes", Note{"é"}, {.correlation = "ü"});
    EXPECT_EQ(PQisnonblocking(own.get()), 1);
    EXPECT_EQ(PQpipelineStatus(own.get()), PQ_PIPELINE_OFF);
    EXPECT_EQ(ask(own.get(), "SHOW client_encoding"), "LATIN1");
    EXPECT_EQ(std::string{PQparameterStatus(own.get(), "client_encoding")}, "LATIN1");
    EXPECT_EQ(ask(own.get(), "SHOW search_path"), "nowhere");
    run_on(own.get(), "COMMIT");
    EXPECT_EQ(ask(own.get(), "SHOW client_encoding"), "LATIN1");
    EXPECT_EQ(ask(own.get(), "SELECT count(*) FROM pg_prepared_statements"), "0");
    EXPECT_THAT(delivered(), ElementsAre("é/ü"));
}

TEST_P(PostgresLent, IsRefusedInPipelineModeAndInTheMiddleOfACommand) {
    const auto own = open_postgres(url());
    run_on(own.get(), "BEGIN");
    auto joined = engine->join(own.get());
    const auto says = [&](const char* what) {
        const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
        EXPECT_EQ(error.code(), Code::misuse);
        EXPECT_THAT(error.what(), HasSubstr(what));
    };
    PQenterPipelineMode(own.get());
    says("pipeline mode");
    PQexitPipelineMode(own.get());
    PQsendQuery(own.get(), "SELECT 1");
    says("not read to their end");
    while (auto* const result = PQgetResult(own.get())) PQclear(result);
    PQclear(PQexec(own.get(), "SELECT 1/0"));
    says("has failed; roll it back");
}

TEST_P(PostgresLent, GoesOnAfterAFailure) {
    const auto own = open_postgres(url());
    run_on(own.get(), "BEGIN READ ONLY");
    auto joined = engine->join(own.get());
    const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
    EXPECT_THAT(error.what(), HasSubstr("your transaction can go on"));
    EXPECT_EQ(ask(own.get(), "SELECT 1"), "1");
    run_on(own.get(), "COMMIT");
    run_on(own.get(), "BEGIN");
    joined.publish("notes", Note{"b"});
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("b/"));
}

// It can neither see the channel nor make it.
TEST_P(PostgresLent, OfAnOlderMomentHasToBeginAgain) {
    const auto own = open_postgres(url());
    run_on(own.get(), "BEGIN ISOLATION LEVEL REPEATABLE READ");
    run_on(own.get(), "SELECT count(*) FROM pg_class");
    engine->channel("notes", 2);
    auto joined = engine->join(own.get());
    const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
    EXPECT_EQ(error.code(), Code::busy) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("begin it again"));
    run_on(own.get(), "ROLLBACK");
    run_on(own.get(), "BEGIN ISOLATION LEVEL REPEATABLE READ");
    joined.publish("notes", Note{"b"});
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("b/"));
}

// It would put the message into a partition that is gone, or is not that of its key any more.
TEST_P(PostgresLent, OfAnOlderMomentThanTheNumberOfPartitionsHasToBeginAgain) {
    engine->channel("notes", 8);
    const auto own = open_postgres(url());
    for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        const auto begin = [&] {
            run_on(own.get(), std::string{"BEGIN ISOLATION LEVEL "} + level);
            run_on(own.get(), "SELECT count(*) FROM pg_class");
        };
        begin();
        ASSERT_TRUE(engine->repartition("notes", 2));
        auto joined = engine->join(own.get());
        for (const char* correlation : {"", "c"}) {
            const auto error = error_of([&] {
                joined.publish("notes", Note{"a"}, {.partition = 7, .correlation = correlation});
            });
            EXPECT_EQ(error.code(), Code::busy) << error.what();
            EXPECT_THAT(error.what(), HasSubstr("begin it again"));
        }
        run_on(own.get(), "ROLLBACK");

        begin();
        const auto text = engine->publish_sql("notes", Note{"a"}, {.partition = 1});
        ASSERT_TRUE(engine->repartition("notes", 1));
        EXPECT_THAT(answer_to(own.get(), text), HasSubstr("could not serialize access"));
        run_on(own.get(), "ROLLBACK");

        begin();
        joined.publish("notes", Note{level});
        run_on(own.get(), "COMMIT");
        EXPECT_THAT(delivered(), ElementsAre(std::string{level} + "/"));
        ASSERT_TRUE(engine->repartition("notes", 8));
    }
}

TEST_P(PostgresLent, RunsAStatementForAMessageOnce) {
    const auto own = open_postgres(url());
    const auto text = engine->publish_sql("notes", Note{"a"});
    EXPECT_EQ(answer_to(own.get(), text), "");
    EXPECT_THAT(answer_to(own.get(), text), HasSubstr("duplicate key"));
    EXPECT_THAT(delivered(), ElementsAre("a/"));
}

TEST_P(PostgresLent, OfAnOlderMomentKeepsNobodyFromTakingPartitions) {
    engine->channel("notes", 8);
    const auto own = open_postgres(url());
    run_on(own.get(), "BEGIN ISOLATION LEVEL REPEATABLE READ");
    engine->join(own.get()).publish("notes", Note{"a"});
    engine->publish("notes", Note{"b"});
    EXPECT_THAT(delivered(), ElementsAre("b/")) << "nobody waits for the transaction";
    run_on(own.get(), "COMMIT");
}
#endif

#ifdef PAWL_MARIADB
class MariadbLent : public Lent {
protected:
    std::string ask(MYSQL* handle, const char* sql) {
        EXPECT_EQ(mysql_query(handle, sql), 0) << mysql_error(handle);
        const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result{
            mysql_store_result(handle), mysql_free_result};
        const auto row = mysql_fetch_row(result.get());
        return row && row[0] ? row[0] : "";
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, MariadbLent, ::testing::Values("mariadb"), name_of);

TEST_P(MariadbLent, KeepsItsSettings) {
    const auto own = open_mariadb(url());
    for (const char* sql : {"USE information_schema", "SET NAMES latin1",
                            "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'", "BEGIN"})
        run_on(own.get(), sql);
    auto joined = engine->join(own.get());
    joined.publish("notes", Note{"é"}, {.correlation = "ü"});
    EXPECT_EQ(ask(own.get(), "SELECT @@character_set_client"), "latin1");
    EXPECT_EQ(ask(own.get(), "SELECT DATABASE()"), "information_schema");
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("é/ü"));
}

TEST_P(MariadbLent, IsInATransactionWithoutAutocommit) {
    const auto own = open_mariadb(url());
    run_on(own.get(), "SET autocommit = 0");
    auto joined = engine->join(own.get());
    joined.publish("notes", Note{"a"});
    run_on(own.get(), "ROLLBACK");
    joined.publish("notes", Note{"b"});
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("b/"));
}

TEST_P(MariadbLent, IsRefusedInTheMiddleOfAResult) {
    const auto own = open_mariadb(url());
    run_on(own.get(), "BEGIN");
    auto joined = engine->join(own.get());
    ASSERT_EQ(mysql_query(own.get(), "SELECT 1"), 0);
    const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("not read to its end"));
    mysql_free_result(mysql_store_result(own.get()));
    joined.publish("notes", Note{"b"});
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("b/"));
}

TEST_P(MariadbLent, MustLeadToTheTables) {
    const auto own = open_mariadb(url());
    place().run("RENAME TABLE pawl_meta TO other_meta");
    run_on(own.get(), "BEGIN");
    const auto error = error_of([&] { (void)engine->join(own.get()); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("of the store are not there"));
    place().run("RENAME TABLE other_meta TO pawl_meta");
}

// The client library still believes that it is open.
TEST_P(MariadbLent, IsRefusedWhenTheServerHasEndedItsTransaction) {
    const auto own = open_mariadb(url());
    const auto other = open_mariadb(url());
    run_on(own.get(), "CREATE TABLE mine (id INT PRIMARY KEY, n INT)");
    run_on(own.get(), "INSERT INTO mine VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
    run_on(own.get(), "BEGIN");
    auto joined = engine->join(own.get());
    run_on(own.get(), "UPDATE mine SET n = 1 WHERE id = 1");
    run_on(other.get(), "BEGIN");
    run_on(other.get(), "UPDATE mine SET n = 1 WHERE id > 1");  // has done more: it survives
    std::thread waits{[&] { run_on(other.get(), "UPDATE mine SET n = 2 WHERE id = 1"); }};
    EXPECT_NE(mysql_query(own.get(), "UPDATE mine SET n = 2 WHERE id = 2"), 0);
    waits.join();
    const auto error = error_of([&] { joined.publish("notes", Note{"a"}); });
    EXPECT_EQ(error.code(), Code::misuse) << error.what();
    EXPECT_THAT(delivered(), IsEmpty());
}

// While it is open it keeps no group of pawl's waiting.
TEST_P(MariadbLent, StandsInNobodysWay) {
    const auto own = open_mariadb(url());
    engine->channel("notes", 1);
    run_on(own.get(), "BEGIN");
    auto joined = engine->join(own.get());
    joined.publish("notes", Note{"second"});
    engine->publish("notes", Note{"first"});
    EXPECT_THAT(delivered(), ElementsAre("first/"));
    run_on(own.get(), "COMMIT");
    EXPECT_THAT(delivered(), ElementsAre("second/"));
}
#endif

}  // namespace
}  // namespace pawl::engine_test
