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

namespace {

constexpr std::string_view posted = R"({"type":"Posted","to":"Ada","weight":2})";
constexpr std::string_view arrived = R"({"type":"Arrived"})";
constexpr std::string_view carry = R"({"type":"Carry","to":"Ada","weight":2})";
constexpr std::string_view state = R"({"posted":100,"arrived":false})";
constexpr std::string_view rung = R"({"type":"Rung"})";

constexpr const char* insert_event =
    "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, "
    "causation, "
    "correlation, payload) VALUES (?, ?, ?, ?, ?, 0, 1, ?, ?, ?, ?)";

}  // namespace

void RawParcels::prepare() {
    db_.run(
        "INSERT OR IGNORE INTO pawl_name (ref, name) "
        "VALUES (1, 'parcel'), (2, 'Posted'), (3, 'Arrived')");
    db_.run("INSERT OR IGNORE INTO pawl_line (ref, kind, type, name) VALUES (1, 1, 1, 'Carry')");
    const auto row = db_.rows("SELECT position, item, instance FROM pawl_counter").front();
    number_ = row[0];
    items_ = row[1];
    instances_ = row[2];
}

void RawParcels::insert_item(std::int64_t sequence, std::int64_t instance, bool claimed) {
    const auto at = now();
    const auto event_id = uuid();
    const RawSqlite::Value due = claimed ? RawSqlite::Value{nullptr} : RawSqlite::Value{at};
    const RawSqlite::Value session =
        claimed ? RawSqlite::Value{std::int64_t{1}} : RawSqlite::Value{nullptr};
    const RawSqlite::Value fence =
        claimed ? RawSqlite::Value{std::int64_t{7}} : RawSqlite::Value{nullptr};
    db_.run(insert_event, {++number_, instance, sequence, at, std::int64_t{2},
                           std::string_view{event_id}, nullptr, nullptr, posted});
    db_.run(
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
        "created_at, due_at, session, fence, encoding, causation, payload) "
        "VALUES (?, 1, ?, ?, 0, 1, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
        {++items_, instance, sequence, instance % 1024, std::int64_t{claimed ? 1 : 0}, at, due,
         session, fence, std::string_view{event_id}, carry});
}

void RawParcels::insert(const std::string& id) {
    const auto at = now();
    db_.run(
        "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
        "VALUES (?, 1, ?, 1, ?, ?)",
        {++instances_, std::string_view{id}, at, at});
    insert_item(1, instances_, false);
}

void RawParcels::insert_claimed(const std::string& id) {
    const auto at = now();
    db_.run(
        "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
        "VALUES (?, 1, ?, 1, ?, ?)",
        {++instances_, std::string_view{id}, at, at});
    insert_item(1, instances_, true);
}

void RawParcels::finish(std::int64_t instance) {
    const auto at = now();
    const auto event_id = uuid();
    // The guards: the claim must hold, and the version must be the one it was decided on.
    const auto item = db_.rows("SELECT id FROM pawl_item WHERE id = ? AND fence = 7", {instance});
    const auto row = db_.rows("SELECT version FROM pawl_instance WHERE ref = ?", {instance});
    if (item.empty() || row.empty() || row.front().front() != 1) std::abort();
    db_.run("DELETE FROM pawl_item WHERE id = ?", {instance});
    db_.run("DELETE FROM pawl_item WHERE instance = ? AND kind = 2", {instance});
    const std::string correlation(36, 'c');
    db_.run(insert_event,
            {++number_, instance, std::int64_t{2}, at, std::int64_t{3}, std::string_view{event_id},
             std::string_view{event_id}, std::string_view{correlation}, arrived});
    db_.run("UPDATE pawl_instance SET version = 2, updated_at = ?, finished_at = ? WHERE ref = ?",
            {at, at, instance});
}

void RawParcels::append_to_hot(std::int64_t sequence) {
    if (sequence == 1)
        db_.run(
            "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
            "VALUES (1, 1, ?, 1, 0, 0)",
            {std::string_view{"hot"}});
    instances_ = 1;
    insert_item(sequence, 1, false);
}

void RawParcels::snapshot_hot(std::int64_t sequence) {
    db_.run(
        "INSERT OR REPLACE INTO pawl_snapshot (instance, sequence, version, encoding, payload) "
        "VALUES (1, ?, 1, 1, ?)",
        {sequence, state});
}

void RawParcels::update_hot(std::int64_t version) {
    db_.run("UPDATE pawl_instance SET version = ?, updated_at = ? WHERE ref = 1", {version, now()});
}

void RawParcels::add_burden(long count) {
    begin();
    const auto at = now();
    const auto tomorrow = at + 86'400'000'000;
    for (long i = 0; i < count; ++i) {
        db_.run(
            "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
            "VALUES (?, 1, ?, 1, ?, ?)",
            {++instances_, std::string_view{"burden-" + std::to_string(i)}, at, at});
        db_.run(
            "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, created_at, "
            "due_at, encoding, payload) VALUES (?, 1, ?, 1, 0, 1, 0, ?, ?, 1, ?)",
            {++items_, instances_, at, tomorrow, carry});
        db_.run(
            "INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, "
            "attempts, losses, losses_alone, failures, created_at, died_at, encoding, reason, "
            "payload) VALUES (?, 1, ?, 1, 0, 1, 0, 1, 0, 0, 0, ?, ?, 1, 'no', ?)",
            {++items_, instances_, at, at, carry});
    }
    commit();
}

void RawParcels::commit() {
    db_.run("UPDATE pawl_counter SET instance = ?, position = ?, item = ?",
            {instances_, number_, items_});
    db_.run("COMMIT");
}

RawAlarms::RawAlarms(RawSqlite& db) : db_(db) {
    db_.run("INSERT OR IGNORE INTO pawl_name (name) VALUES ('Rung')");
    rung_ = db_.rows("SELECT ref FROM pawl_name WHERE name = 'Rung'").front().front();
    position_ = db_.rows("SELECT position FROM pawl_counter").front().front();
}

long RawAlarms::fire(int batch) {
    // The claim.
    db_.run("BEGIN IMMEDIATE");
    const auto due = db_.rows(
        "SELECT id, instance FROM pawl_item WHERE line = 1 AND alone = 0 AND "
        "due_at <= ? ORDER BY due_at LIMIT ?",
        {now(), std::int64_t{batch}});
    for (const auto& item : due)
        db_.run(
            "UPDATE pawl_item SET due_at = NULL, session = 1, fence = 7, attempts = attempts + 1 "
            "WHERE id = ?",
            {item[0]});
    db_.run("COMMIT");
    if (due.empty()) return 0;
    // The decisions: state from the journal, then the event, the finish and the acknowledgement.
    db_.run("BEGIN IMMEDIATE");
    for (const auto& item : due) {
        const auto at = now();
        const auto event_id = uuid();
        const auto held =
            db_.rows("SELECT id FROM pawl_item WHERE id = ? AND fence = 7", {item[0]});
        const auto row = db_.rows("SELECT version FROM pawl_instance WHERE ref = ?", {item[1]});
        const auto events = db_.rows(
            "SELECT sequence, payload FROM pawl_event WHERE instance = ? ORDER BY sequence",
            {item[1]});
        if (held.empty() || row.front().front() != 1 || events.size() != 1) std::abort();
        db_.run("DELETE FROM pawl_item WHERE id = ?", {item[0]});
        db_.run("DELETE FROM pawl_item WHERE instance = ? AND kind = 2", {item[1]});
        const std::string correlation(36, 'c');
        db_.run(insert_event,
                {++position_, item[1], std::int64_t{2}, at, rung_, std::string_view{event_id},
                 std::string_view{event_id}, std::string_view{correlation}, rung});
        db_.run(
            "UPDATE pawl_instance SET version = 2, updated_at = ?, finished_at = ? WHERE ref = ?",
            {at, at, item[1]});
    }
    db_.run("UPDATE pawl_counter SET position = ?", {position_});
    db_.run("COMMIT");
    return static_cast<long>(due.size());
}

}  // namespace pawl::bench
