/// Connections in the words of each client library, for whoever tests what only one of them has.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#ifdef PAWL_POSTGRES
#include <libpq-fe.h>

#include "store/sql/postgres/postgres_store.hpp"
#endif
#ifdef PAWL_MARIADB
#include <mysql.h>

#include "store/sql/mariadb/mariadb_url.hpp"
#endif

namespace pawl::engine_test {

using SqliteHandle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

inline SqliteHandle open_sqlite(const std::string& url) {
    sqlite3* raw = nullptr;
    const auto path = url.substr(url.find(':') + 1);
    EXPECT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK) << path;
    return {raw, [](sqlite3* handle) {
                const int closed = sqlite3_close(handle);
                EXPECT_EQ(closed, SQLITE_OK) << "somebody has kept a statement";
                return closed;
            }};
}

inline void run_on(sqlite3* handle, const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(handle);
}

#ifdef PAWL_POSTGRES
using PostgresHandle = std::unique_ptr<PGconn, decltype(&PQfinish)>;

inline PostgresHandle open_postgres(const std::string& url) {
    PostgresHandle handle{PQconnectdb(store::parse_postgres_url(url).conninfo.c_str()), PQfinish};
    EXPECT_EQ(PQstatus(handle.get()), CONNECTION_OK) << PQerrorMessage(handle.get());
    return handle;
}

inline void run_on(PGconn* handle, const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQexec(handle, sql.c_str()),
                                                               PQclear};
    const auto status = PQresultStatus(result.get());
    ASSERT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQerrorMessage(handle);
}
#endif

#ifdef PAWL_MARIADB
using MariadbHandle = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

inline MariadbHandle open_mariadb(const std::string& url) {
    const auto address = store::sql::mariadb::address_of(url);
    MariadbHandle handle{mysql_init(nullptr), mysql_close};
    mysql_options(handle.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    EXPECT_TRUE(mysql_real_connect(handle.get(), address.host.c_str(), address.user.c_str(),
                                   address.password.c_str(), address.database.c_str(), address.port,
                                   nullptr, 0))
        << mysql_error(handle.get());
    return handle;
}

inline void run_on(MYSQL* handle, const std::string& sql) {
    ASSERT_EQ(mysql_query(handle, sql.c_str()), 0) << sql << ": " << mysql_error(handle);
    if (auto* const result = mysql_store_result(handle)) mysql_free_result(result);
}
#endif

}  // namespace pawl::engine_test
