#include "raw_sqlite.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <stdexcept>

namespace pawl::bench {
namespace {

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string uuid() {
    static std::mt19937_64 random{std::random_device{}()};
    std::string out(16, '\0');
    for (int half = 0; half < 2; ++half) {
        const auto word = random();
        out.replace(half * 8, 8, reinterpret_cast<const char*>(&word), 8);
    }
    return out;
}

}  // namespace

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

void RawParcels::prepare() {
    db_.run("INSERT OR IGNORE INTO pawl_name (ref, name) VALUES (1, 'parcel'), (2, 'Posted')");
    db_.run("INSERT OR IGNORE INTO pawl_line (ref, kind, type, name) VALUES (1, 1, 1, 'Carry')");
    number_ = db_.rows("SELECT max(instance, position, item) FROM pawl_counter").front().front();
}

void RawParcels::insert(const std::string& id) {
    static constexpr std::string_view event = R"({"type":"Posted","to":"Ada","weight":2})";
    static constexpr std::string_view effect = R"({"type":"Carry","to":"Ada","weight":2})";
    const auto n = ++number_;
    const auto at = now();
    const auto event_id = uuid();
    db_.run(
        "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
        "VALUES (?, 1, ?, 1, ?, ?)",
        {n, std::string_view{id}, at, at});
    db_.run(
        "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, "
        "payload) VALUES (?, ?, 1, ?, 2, 0, 1, ?, ?)",
        {n, n, at, std::string_view{event_id}, event});
    db_.run(
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, timer, shard, created_at, "
        "due_at, encoding, causation, payload) VALUES (?, 1, ?, 1, 0, 0, ?, ?, ?, 1, ?, ?)",
        {n, n, static_cast<std::int64_t>(std::hash<std::string>{}(id) % 1024), at, at,
         std::string_view{event_id}, effect});
}

void RawParcels::commit() {
    db_.run("UPDATE pawl_counter SET instance = ?, position = ?, item = ?",
            {number_, number_, number_});
    db_.run("COMMIT");
}

}  // namespace pawl::bench
