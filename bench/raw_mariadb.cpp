#include "raw_mariadb.hpp"

#include <mysql.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace pawl::bench {
namespace {

// An array of each parameter, as the client library wants it.
struct Column {
    std::vector<std::int64_t> numbers;
    std::vector<const char*> texts;
    std::vector<unsigned long> lengths;
    std::vector<char> indicators;
};

void bind(MYSQL_BIND& bind, Column& column, const std::vector<RawMariadb::Row>& rows,
          std::size_t at) {
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    for (const auto& row : rows) {
        const auto* number = std::get_if<std::int64_t>(&row[at]);
        const auto* text = std::get_if<std::string>(&row[at]);
        column.numbers.push_back(number ? *number : 0);
        column.texts.push_back(text ? text->data() : "");
        column.lengths.push_back(text ? text->size() : 0);
        column.indicators.push_back(number || text ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL);
        if (text) bind.buffer_type = MYSQL_TYPE_BLOB;
    }
    bind.length = column.lengths.data();
    bind.u.indicator = column.indicators.data();
    if (bind.buffer_type == MYSQL_TYPE_LONGLONG)
        bind.buffer = column.numbers.data();
    else
        bind.buffer = column.texts.data();
}

}  // namespace

MariadbServer MariadbServer::of_environment() {
    const char* url = std::getenv("PAWL_BENCH_MARIADB");
    if (!url) throw std::runtime_error{"PAWL_BENCH_MARIADB names no server: run ./dev bench"};
    MariadbServer out{.text = url};
    std::array<char, 64> user{}, password{}, host{};
    if (std::sscanf(url, "mariadb://%63[^:]:%63[^@]@%63[^:]:%u", user.data(), password.data(),
                    host.data(), &out.port) != 4)
        throw std::runtime_error{"PAWL_BENCH_MARIADB is not mariadb://user:password@host:port/..."};
    out.user = user.data();
    out.password = password.data();
    out.host = host.data();
    return out;
}

RawMariadb::RawMariadb(const std::string& database) : link_(mysql_init(nullptr)) {
    const auto where = MariadbServer::of_environment();
    if (!mysql_real_connect(link_, where.host.c_str(), where.user.c_str(), where.password.c_str(),
                            database.empty() ? nullptr : database.c_str(), where.port, nullptr, 0))
        throw std::runtime_error{mysql_error(link_)};
    query("SET NAMES utf8mb4");
    query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    query("SET autocommit = 0");  // saves a round trip at the beginning of each
}

RawMariadb::~RawMariadb() {
    for (const auto& [sql, statement] : statements_) mysql_stmt_close(statement);
    mysql_close(link_);
}

long RawMariadb::query(const std::string& sql) {
    if (mysql_real_query(link_, sql.data(), sql.size()) != 0)
        throw std::runtime_error{mysql_error(link_) + (": " + sql)};
    if (auto* result = mysql_store_result(link_)) mysql_free_result(result);
    return static_cast<long>(mysql_affected_rows(link_));
}

RawMariadb::Numbers RawMariadb::rows(const std::string& sql) {
    if (mysql_real_query(link_, sql.data(), sql.size()) != 0)
        throw std::runtime_error{mysql_error(link_) + (": " + sql)};
    auto* const result = mysql_store_result(link_);
    if (!result) throw std::runtime_error{mysql_error(link_) + (": " + sql)};
    Numbers out;
    while (auto* const row = mysql_fetch_row(result)) {
        auto& numbers = out.emplace_back();
        for (unsigned i = 0; i < mysql_num_fields(result); ++i)
            numbers.push_back(row[i] ? std::atoll(row[i]) : 0);
    }
    mysql_free_result(result);
    return out;
}

st_mysql_stmt* RawMariadb::prepare(const char* sql) {
    auto& statement = statements_[sql];
    if (statement) return statement;
    statement = mysql_stmt_init(link_);
    if (mysql_stmt_prepare(statement, sql, std::strlen(sql)) != 0)
        throw std::runtime_error{mysql_stmt_error(statement) + (": " + std::string{sql})};
    return statement;
}

void RawMariadb::run(const char* sql, const std::vector<Row>& rows) {
    auto* statement = prepare(sql);
    std::vector<Column> columns(rows.front().size());
    std::vector<MYSQL_BIND> binds(columns.size(), MYSQL_BIND{});
    for (std::size_t at = 0; at < columns.size(); ++at) bind(binds[at], columns[at], rows, at);
    const auto count = static_cast<unsigned>(rows.size());
    mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &count);
    if (!binds.empty()) mysql_stmt_bind_param(statement, binds.data());
    if (mysql_stmt_execute(statement) != 0) throw std::runtime_error{mysql_stmt_error(statement)};
    mysql_stmt_free_result(statement);
}

}  // namespace pawl::bench
