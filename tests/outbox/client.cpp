#include "outbox/client.hpp"

#include <gtest/gtest.h>

#include "outbox/handles.hpp"

namespace pawl::engine_test {
namespace {

class SqliteClient final : public Client {
public:
    explicit SqliteClient(const std::string& url) : handle_(open_sqlite(url)) {
        sqlite3_busy_timeout(handle_.get(), 10'000);
    }

    void run(const std::string& sql) override { run_on(handle_.get(), sql); }
    void run(const SqlText& text) override {
        sqlite3_stmt* raw = nullptr;
        ASSERT_EQ(sqlite3_prepare_v2(handle_.get(), text.sql.c_str(), -1, &raw, nullptr), SQLITE_OK)
            << text.sql << ": " << sqlite3_errmsg(handle_.get());
        const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement{
            raw, sqlite3_finalize};
        int at = 0;
        for (const auto& value : text.parameters) {
            ++at;
            if (value) sqlite3_bind_text(raw, at, value->c_str(), -1, SQLITE_STATIC);
        }
        ASSERT_EQ(sqlite3_bind_parameter_count(raw), at);
        ASSERT_EQ(sqlite3_step(raw), SQLITE_DONE) << sqlite3_errmsg(handle_.get());
    }
    JoinedTransaction join(Engine& engine) override { return engine.join(handle_.get()); }

private:
    SqliteHandle handle_;
};

#ifdef PAWL_POSTGRES
class PostgresClient final : public Client {
public:
    explicit PostgresClient(const std::string& url) : handle_(open_postgres(url)) {}

    void run(const std::string& sql) override { run_on(handle_.get(), sql); }
    void run(const SqlText& text) override {
        std::vector<const char*> values;
        for (const auto& value : text.parameters)
            values.push_back(value ? value->c_str() : nullptr);
        const std::unique_ptr<PGresult, decltype(&PQclear)> result{
            PQexecParams(handle_.get(), text.sql.c_str(), static_cast<int>(values.size()), nullptr,
                         values.data(), nullptr, nullptr, 0),
            PQclear};
        ASSERT_EQ(PQresultStatus(result.get()), PGRES_COMMAND_OK)
            << text.sql << ": " << PQerrorMessage(handle_.get());
    }
    JoinedTransaction join(Engine& engine) override { return engine.join(handle_.get()); }

private:
    PostgresHandle handle_;
};
#endif

#ifdef PAWL_MARIADB
class MariadbClient final : public Client {
public:
    explicit MariadbClient(const std::string& url) : handle_(open_mariadb(url)) {}

    void run(const std::string& sql) override { run_on(handle_.get(), sql); }
    void run(const SqlText& text) override {
        const std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)> statement{
            mysql_stmt_init(handle_.get()), mysql_stmt_close};
        ASSERT_EQ(mysql_stmt_prepare(statement.get(), text.sql.data(), text.sql.size()), 0)
            << text.sql << ": " << mysql_stmt_error(statement.get());
        ASSERT_EQ(mysql_stmt_param_count(statement.get()), text.parameters.size());
        std::vector<MYSQL_BIND> binds(text.parameters.size());
        for (std::size_t i = 0; i < binds.size(); ++i) {
            binds[i] = {};
            const auto& value = text.parameters[i];
            binds[i].buffer_type = value ? MYSQL_TYPE_STRING : MYSQL_TYPE_NULL;
            if (!value) continue;
            binds[i].buffer = const_cast<char*>(value->data());
            binds[i].buffer_length = value->size();
        }
        ASSERT_EQ(mysql_stmt_bind_param(statement.get(), binds.data()), 0);
        ASSERT_EQ(mysql_stmt_execute(statement.get()), 0) << mysql_stmt_error(statement.get());
    }
    JoinedTransaction join(Engine& engine) override { return engine.join(handle_.get()); }

private:
    MariadbHandle handle_;
};
#endif

}  // namespace

std::unique_ptr<Client> connect(const std::string& url) {
#ifdef PAWL_POSTGRES
    if (url.starts_with("postgres")) return std::make_unique<PostgresClient>(url);
#endif
#ifdef PAWL_MARIADB
    if (url.starts_with("mariadb")) return std::make_unique<MariadbClient>(url);
#endif
    return std::make_unique<SqliteClient>(url);
}

}  // namespace pawl::engine_test
