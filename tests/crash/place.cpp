#include "crash/place.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>

#include "store/sql/rewrite.hpp"
#ifdef PAWL_POSTGRES
#include <libpq-fe.h>

#include "conformance/postgres_schema.hpp"
#endif
#ifdef PAWL_MARIADB
#include <mysql.h>

#include "conformance/mariadb_tables.hpp"
#endif

namespace pawl::crash {
namespace {

class File final : public Place {
public:
    explicit File(const std::filesystem::path& directory) : path_(directory / "shop.db") {}

    std::string url() const override { return "sqlite:" + path_.string(); }

    std::string ask(const std::string& sql) const override {
        sqlite3* raw = nullptr;
        EXPECT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
        const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> file{raw, sqlite3_close};
        std::string found;
        const auto take = [](void* out, int, char** values, char**) {
            *static_cast<std::string*>(out) = values[0] ? values[0] : "";
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), take, &found, nullptr), SQLITE_OK) << sql;
        return found;
    }

    std::string damage() const override {
        const auto said = ask("PRAGMA integrity_check");
        return said == "ok" ? "" : said;
    }

private:
    std::filesystem::path path_;
};

#ifdef PAWL_POSTGRES
class Schema final : public Place {
public:
    std::string url() const override {
        const auto server = store::conformance::PostgresSchema::url();
        return server + (server.find('?') == std::string::npos ? "?" : "&") +
               "schema=" + schema_.name();
    }

    void run(const std::string& sql) const override { schema_.run(sql); }
    std::string table(const std::string& name) const override {
        return schema_.name() + '.' + name;
    }

    std::string ask(const std::string& sql) const override {
        const std::unique_ptr<PGconn, decltype(&PQfinish)> connection{
            PQconnectdb(store::conformance::PostgresSchema::url().c_str()), PQfinish};
        const auto rewritten = store::sql::rewrite(sql, {.prefix = '"' + schema_.name() + "\"."});
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{
            PQexec(connection.get(), rewritten.c_str()), PQclear};
        EXPECT_EQ(PQresultStatus(result.get()), PGRES_TUPLES_OK)
            << rewritten << ": " << PQerrorMessage(connection.get());
        return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
    }

private:
    store::conformance::PostgresSchema schema_;
};
#endif

#ifdef PAWL_MARIADB
class Tables final : public Place {
public:
    std::string url() const override { return tables_.url(); }

    std::string ask(const std::string& sql) const override {
        const auto address = store::sql::mariadb::address_of(url());
        const std::unique_ptr<MYSQL, decltype(&mysql_close)> connection{mysql_init(nullptr),
                                                                        mysql_close};
        EXPECT_TRUE(mysql_real_connect(connection.get(), address.host.c_str(), address.user.c_str(),
                                       address.password.c_str(), address.database.c_str(),
                                       address.port, nullptr, 0))
            << mysql_error(connection.get());
        EXPECT_EQ(mysql_query(connection.get(), sql.c_str()), 0) << mysql_error(connection.get());
        const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result{
            mysql_store_result(connection.get()), mysql_free_result};
        const auto row = result ? mysql_fetch_row(result.get()) : nullptr;
        return row && row[0] ? row[0] : "";
    }

private:
    store::conformance::MariadbTables tables_;
};
#endif

std::string missing(const char* server) {
    return std::getenv(server) ? "" : std::string{server} + " names no server: run ./dev test";
}

}  // namespace

std::vector<PlaceUnderTest> places_under_test() {
    return {
        {.name = "sqlite",
         .create = [](const auto& directory) { return std::make_unique<File>(directory); }},
#ifdef PAWL_POSTGRES
        {.name = "postgres",
         .create = [](const auto&) { return std::make_unique<Schema>(); },
         .without = {"prepare:logged"},
         .missing = missing("PAWL_TEST_POSTGRES")},
#endif
#ifdef PAWL_MARIADB
        {.name = "mariadb",
         .create = [](const auto&) { return std::make_unique<Tables>(); },
         .without = {"prepare:logged"},
         .missing = missing("PAWL_TEST_MARIADB")},
#endif
    };
}

}  // namespace pawl::crash
