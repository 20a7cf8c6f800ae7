#include "store/sql/mariadb/mariadb_migrating.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pawl/error.hpp>
#include <thread>

#include "conformance/builders.hpp"
#include "conformance/golden.hpp"
#include "conformance/mariadb_tables.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::mariadb {
namespace {

using conformance::MariadbTables;
using conformance::on;
using conformance::order;

class MariadbMigrating : public testing::Test {
protected:
    void SetUp() override {
        if (!std::getenv("PAWL_TEST_MARIADB"))
            GTEST_SKIP() << "PAWL_TEST_MARIADB names no server: run ./dev test";
    }

    static void expect_usable(Store& store) {
        const std::vector<Commit> group{on(order("1"), 0).event("Placed").effect("Do").build()};
        std::vector<Answer> answers(1);
        store.commit(group, answers);
        EXPECT_EQ(answers[0].fate, Fate::committed);
    }
    static std::string complaint(const MariadbOptions& options) {
        try {
            open_mariadb(options);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::corrupt) << error.what();
            return error.what();
        }
        return "";
    }
};

TEST_F(MariadbMigrating, IsDoneOnceHoweverManyTry) {
    const MariadbTables tables;
    std::vector<std::unique_ptr<Store>> stores(8);
    {
        std::vector<std::jthread> threads;
        for (auto& store : stores)
            threads.emplace_back([&] { store = open_mariadb(tables.options()); });
    }
    expect_usable(*stores.front());
}

TEST_F(MariadbMigrating, MakesTheSchemaOfTheGoldenFile) {
    const MariadbTables tables;
    open_mariadb(tables.options());
    constexpr Statement describe_columns = R"(
        SELECT CONCAT(table_name, '.', column_name, ' ', column_type,
                      IF(collation_name IS NULL, '', CONCAT(' collate ', collation_name)),
                      IF(is_nullable = 'NO', ' not null', ''),
                      IF(column_default IS NULL, '', CONCAT(' default ', column_default)),
                      IF(extra = '', '', CONCAT(' ', extra)))
          FROM information_schema.columns WHERE table_schema = DATABASE()
         ORDER BY table_name, ordinal_position)";
    constexpr Statement describe_indexes = R"(
        SELECT CONCAT(table_name, ': ', IF(non_unique = 0, 'unique ', ''), index_name, ' (',
                      GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', '), ')')
          FROM information_schema.statistics WHERE table_schema = DATABASE()
         GROUP BY table_name, index_name, non_unique ORDER BY table_name, index_name)";
    constexpr Statement describe_tables = R"(
        SELECT CONCAT(table_name, ' is ', engine, ' in ', table_collation)
          FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name)";
    const auto connection = tables.connect();
    std::string found;
    const auto add = [&](const Row& row) { found += std::string{row.view(0)} + "\n"; };
    connection->query(describe_tables, {}, add);
    connection->query(describe_columns, {}, add);
    connection->query(describe_indexes, {}, add);
    conformance::expect_golden(found, "mariadb_schema.txt");
}

TEST_F(MariadbMigrating, IsTakenUpWhereItWasKilled) {
    const auto statements = split_script(migration_sql("pawl_"));
    for (std::size_t done = 0; done < statements.size(); ++done) {
        const MariadbTables tables;
        std::string script = "USE " + tables.name() + ";";
        for (std::size_t i = 0; i < done; ++i) script += statements[i] + ";";
        tables.run(script);
        const auto store = open_mariadb(tables.options());
        expect_usable(*store);
    }
}

TEST_F(MariadbMigrating, IsDoneByHandWithThePrintedScript) {
    const MariadbTables tables;
    tables.run("USE " + tables.name() + ";" + migration_sql("shop_"));
    auto options = tables.options();
    options.prefix = "shop_";
    expect_usable(*open_mariadb(options));
}

TEST_F(MariadbMigrating, LetsSeveralPrefixesShareADatabase) {
    const MariadbTables tables;
    const auto one = open_mariadb(tables.options());
    const auto two = open_mariadb({.url = tables.url() + "?prefix=two_"});
    expect_usable(*one);
    expect_usable(*two);
}

TEST_F(MariadbMigrating, IsNotNeededByAUserWhoMayNotDoIt) {
    const MariadbTables tables;
    const std::string user = tables.name().substr(0, 30);
    tables.run("CREATE USER " + user +
               " IDENTIFIED BY 'x'; GRANT SELECT, INSERT, UPDATE, DELETE "
               "ON " +
               tables.name() + ".* TO " + user + ";");
    MariadbOptions options = tables.options();
    const auto at = options.url.find('@');
    options.url = "mariadb://" + user + ":x" + options.url.substr(at);
    try {
        open_mariadb(options);
        ADD_FAILURE() << "there are no tables yet";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::unavailable) << error.what();
        EXPECT_THAT(error.what(), testing::HasSubstr("grant the user"));
    }
    migrate_mariadb(tables.options());
    expect_usable(*open_mariadb(options));
    tables.run("DROP USER " + user + ";");
}

TEST_F(MariadbMigrating, RefusesTablesOfANewerPawl) {
    const MariadbTables tables;
    open_mariadb(tables.options());
    tables.run("UPDATE " + tables.name() +
               ".pawl_meta SET schema_version = 9, minimum_reader = 9;");
    EXPECT_THAT(complaint(tables.options()), testing::HasSubstr("use a newer pawl"));
    tables.run("UPDATE " + tables.name() + ".pawl_meta SET minimum_reader = 1;");
    expect_usable(*open_mariadb(tables.options()));
}

TEST_F(MariadbMigrating, RefusesTablesThatAreNotPawls) {
    const MariadbTables tables;
    tables.run("CREATE TABLE " + tables.name() + ".pawl_event (id INT);");
    EXPECT_THAT(complaint(tables.options()), testing::HasSubstr("are not pawl's"));
}

}  // namespace
}  // namespace pawl::store::sql::mariadb
