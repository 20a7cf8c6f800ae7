#include "raw_sqlite.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace pawl::bench {

RawSqlite::RawSqlite(const std::string& path) {
    if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr))
        throw std::runtime_error(sqlite3_errmsg(db_));
    run("PRAGMA synchronous = FULL");
    rows("PRAGMA cache_size = -16384");
    rows("PRAGMA wal_autocheckpoint = 4000");
}

RawSqlite::~RawSqlite() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
    sqlite3_close(db_);
}

sqlite3_stmt* RawSqlite::prepare(const char* sql, std::initializer_list<Value> values) {
    auto& statement = statements_[sql];
    if (!statement &&
        sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr))
        throw std::runtime_error(std::string{sqlite3_errmsg(db_)} + ": " + sql);
    int at = 0;
    for (const auto& value : values) {
        ++at;
        if (const auto* n = std::get_if<std::int64_t>(&value))
            sqlite3_bind_int64(statement, at, *n);
        else if (const auto* text = std::get_if<std::string_view>(&value))
            sqlite3_bind_blob(statement, at, text->data(), static_cast<int>(text->size()),
                              SQLITE_STATIC);
        else
            sqlite3_bind_null(statement, at);
    }
    return statement;
}

void RawSqlite::run(const char* sql, std::initializer_list<Value> values) {
    auto* statement = prepare(sql, values);
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        throw std::runtime_error(std::string{sqlite3_errmsg(db_)} + ": " + sql);
}

std::vector<std::vector<std::int64_t>> RawSqlite::rows(const char* sql,
                                                       std::initializer_list<Value> values) {
    auto* statement = prepare(sql, values);
    std::vector<std::vector<std::int64_t>> out;
    int code = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        auto& row = out.emplace_back();
        for (int i = 0; i < sqlite3_column_count(statement); ++i)
            row.push_back(sqlite3_column_int64(statement, i));
    }
    sqlite3_reset(statement);
    if (code != SQLITE_DONE)
        throw std::runtime_error(std::string{sqlite3_errmsg(db_)} + ": " + sql);
    return out;
}

}  // namespace pawl::bench
