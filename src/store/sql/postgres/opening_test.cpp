#include "store/sql/postgres/opening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pawl/error.hpp>
#include <thread>

#include "conformance/builders.hpp"
#include "conformance/golden.hpp"
#include "conformance/postgres_schema.hpp"

namespace pawl::store::sql::postgres {
namespace {

using conformance::on;
using conformance::order;
using conformance::PostgresSchema;
using testing::HasSubstr;

Error refusal(const PostgresOptions& options) {
    try {
        open_postgres(options);
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "it was opened";
    return {Code::misuse, ""};
}

class PostgresOpening : public testing::Test {
protected:
    void SetUp() override {
        if (PostgresSchema::url().empty())
            GTEST_SKIP() << "PAWL_TEST_POSTGRES names no server: run ./dev test";
    }

    // Everything that a worker does.
    static void expect_usable(Store& store) {
        const std::vector<Commit> group{
            on(order("1"), 0).event("Placed").effect("Do").input("i").unique("k").build()};
        std::vector<Answer> answers(1);
        store.commit(group, answers);
        ASSERT_EQ(answers[0].fate, Fate::committed);
        const auto session = store.open_session({.lease = std::chrono::minutes{1}});
        const auto claimed = store.claim(
            {.claim = {session, 7}, .interests = {{conformance::effects("Do"), 1}}, .limit = 1});
        ASSERT_EQ(claimed.items.size(), 1u);
        std::vector<Commit> ack(1);
        ack[0].settlements.push_back({.item = claimed.items[0].id, .fence = 7});
        store.commit(ack, answers);
        EXPECT_EQ(answers[0].fate, Fate::committed);
        EXPECT_EQ(store.follow("", 10).events.size(), 1u);
        store.close_session(session);
        store.vacuum({.finished_older_than = std::chrono::minutes{1}});
    }
};

TEST_F(PostgresOpening, MakesTheTablesOnceHoweverManyTry) {
    const PostgresSchema schema;
    std::vector<std::unique_ptr<Store>> stores(8);
    {
        std::vector<std::jthread> threads;
        for (auto& store : stores)
            threads.emplace_back([&] { store = open_postgres(schema.options()); });
    }
    expect_usable(*stores.front());
}

// A group that is a transaction by itself says of no isolation and no access what it needs.
TEST_F(PostgresOpening, WritesWhateverTheServersDefaultsAre) {
    const PostgresSchema schema;
    auto options = schema.options();
    options.conninfo += options.conninfo.find('?') == std::string::npos ? '?' : '&';
    options.conninfo +=
        "options=-c%20default_transaction_read_only%3Don%20"
        "-c%20default_transaction_isolation%3Dserializable";
    const auto store = open_postgres(options);
    expect_usable(*store);
}

TEST_F(PostgresOpening, NeedsNoRightToChangeTablesOnceTheyAreThere) {
    const PostgresSchema schema;
    migrate_postgres(schema.options());
    const auto role = schema.name() + "_role";
    schema.run("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + schema.name() + " TO " +
               role + "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " +
               schema.name() + " TO " + role + "; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA " +
               schema.name() + " TO " + role + ";");
    auto options = schema.options();
    const auto user = options.conninfo.find("postgres@");
    ASSERT_NE(user, options.conninfo.npos) << options.conninfo;
    options.conninfo.replace(user, 8, role);
    expect_usable(*open_postgres(options));

    options.schema += "_other";
    EXPECT_THAT(refusal(options).what(), HasSubstr("permission denied"));
    schema.run("DROP OWNED BY " + role + "; DROP ROLE " + role + ";");
}

TEST_F(PostgresOpening, CanBeDoneByHandWithThePrintedScript) {
    const PostgresSchema schema;
    schema.run(postgres_migration_sql(schema.options()));
    expect_usable(*open_postgres(schema.options()));
}

TEST_F(PostgresOpening, MakesTheSchemaOfTheGoldenFile) {
    const PostgresSchema schema;
    migrate_postgres(schema.options());
    constexpr Statement describe = R"(
        WITH t AS (SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname = $1::text)
        SELECT line FROM (
            SELECT t.relname AS of, 1 AS part, a.attnum AS place,
                   t.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
                   || CASE WHEN a.attcollation = '"C"'::regcollation THEN ' collate C' ELSE '' END
                   || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
                   || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
                   || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
              FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
                     AND NOT a.attisdropped
              LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
             WHERE t.relkind = 'r'
            UNION ALL
            SELECT t.relname, 2, 0, pg_get_indexdef(i.indexrelid)
              FROM pg_index i JOIN t ON t.oid = i.indrelid
            UNION ALL
            SELECT t.relname, 3, 0, t.relname || ': ' || pg_get_constraintdef(k.oid)
              FROM pg_constraint k JOIN t ON t.oid = k.conrelid
            UNION ALL
            SELECT t.relname, 4, 0, t.relname || ' counts by ' || q.seqincrement
              FROM pg_sequence q JOIN t ON t.oid = q.seqrelid) lines
         ORDER BY of COLLATE "C", part, place, line COLLATE "C")";
    PostgresConnection connection{
        {.link = {.conninfo = schema.options().conninfo}, .schema = schema.name()}};
    std::string found;
    connection.query(describe, {text(schema.name())}, [&](const Row& row) {
        std::string line{row.view(0)};
        for (auto at = line.find(schema.name()); at != line.npos; at = line.find(schema.name()))
            line.replace(at, schema.name().size(), "pawl");
        found += line + "\n";
    });
    conformance::expect_golden(found, "postgres_schema.txt");
}

TEST_F(PostgresOpening, LetsSeveralSchemasShareADatabase) {
    const PostgresSchema one;
    const PostgresSchema two;
    expect_usable(*open_postgres(one.options()));
    expect_usable(*open_postgres(two.options()));
}

TEST_F(PostgresOpening, RefusesWhatIsTooNewOrSomebodyElses) {
    const PostgresSchema schema;
    migrate_postgres(schema.options());
    schema.run("UPDATE pawl_meta SET minimum_reader = 1000;");
    const auto too_new = refusal(schema.options());
    EXPECT_EQ(too_new.code(), Code::corrupt);
    EXPECT_THAT(too_new.what(), HasSubstr("use a newer pawl"));

    const PostgresSchema foreign;
    foreign.run("CREATE SCHEMA " + foreign.name() + "; CREATE TABLE " + foreign.name() +
                ".event (id integer);");
    const auto not_ours = refusal(foreign.options());
    EXPECT_EQ(not_ours.code(), Code::corrupt);
    EXPECT_THAT(not_ours.what(), HasSubstr("schema=NAME"));
}

TEST_F(PostgresOpening, KnowsARestoredDatabaseByItsServer) {
    const PostgresSchema schema;
    expect_usable(*open_postgres(schema.options()));
    const auto cursor = open_postgres(schema.options())->follow("", 10).cursor;
    schema.run("UPDATE pawl_meta SET system_identifier = 1;");  // as a dump of another one has it
    const auto store = open_postgres(schema.options());
    std::vector<Answer> answers(1);
    const std::vector<Commit> group{on(order("2"), 0).event("Placed").build()};
    store->commit(group, answers);
    const auto followed = store->follow(cursor, 10);
    ASSERT_GE(followed.events.size(), 1u) << "nothing is skipped";
    EXPECT_EQ(followed.events.back().instance, order("2"));
}

TEST(PostgresUrl, KeepsItsOwnParametersAndLeavesTheRestToLibpq) {
    const auto options = parse_postgres_url(
        "postgres://ada@db1,db2/shop?schema=orders&target_session_attrs=read-write"
        "&connections=3&statement_timeout=5&pooler=yes&sslmode=require");
    EXPECT_EQ(options.conninfo,
              "postgres://ada@db1,db2/shop?target_session_attrs=read-write&sslmode=require");
    EXPECT_EQ(options.schema, "orders");
    EXPECT_EQ(options.connections, 3u);
    EXPECT_EQ(options.statement_timeout, std::chrono::seconds{5});
    EXPECT_TRUE(options.pooler);
    EXPECT_EQ(parse_postgres_url("postgres:///shop?host=/run").conninfo,
              "postgres:///shop?host=/run");
}

TEST(PostgresUrl, SaysWhatIsWrong) {
    const auto complaint = [](const char* url) {
        try {
            check_options(parse_postgres_url(url));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::invalid);
            return std::string{error.what()};
        }
        return std::string{};
    };
    EXPECT_THAT(complaint("postgres://h/d?schema=x&connections=none"),
                HasSubstr("connections is \"none\", it must be a number"));
    EXPECT_THAT(complaint("postgres://h/d?schema=x&pooler=maybe"), HasSubstr("yes or no"));
    EXPECT_THAT(complaint("postgres://h/d?schema"), HasSubstr("not NAME=VALUE"));
    EXPECT_THAT(complaint("postgres://h/d?schema=My-Shop"), HasSubstr("\"My-Shop\""));
}

}  // namespace
}  // namespace pawl::store::sql::postgres
