/// The rival: the same rows in the same schema, written by hand with prepared statements.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::bench {

/// One connection with full durability on a file that pawl has given its schema.
class RawSqlite {
public:
    explicit RawSqlite(const std::string& path);
    ~RawSqlite();
    RawSqlite(const RawSqlite&) = delete;
    RawSqlite& operator=(const RawSqlite&) = delete;

    using Value = std::variant<std::nullptr_t, std::int64_t, std::string_view>;
    /// Runs a statement, prepared once.
    void run(const char* sql, std::initializer_list<Value> values = {});
    /// The rows of a query, as integers (0 for NULL).
    std::vector<std::vector<std::int64_t>> rows(const char* sql,
                                                std::initializer_list<Value> values = {});

private:
    sqlite3_stmt* prepare(const char* sql, std::initializer_list<Value> values);

    sqlite3* db_ = nullptr;
    std::map<const char*, sqlite3_stmt*> statements_;
};

/// What the engine writes for one parcel: an instance, an event and an effect.
class RawParcels {
public:
    explicit RawParcels(RawSqlite& db) : db_(db) {}
    /// Interns the names; once per file.
    void prepare();
    void begin() { db_.run("BEGIN IMMEDIATE"); }
    void insert(const std::string& id);
    /// The same, born claimed; `finish` then appends the result, finishes and acknowledges.
    void insert_claimed(const std::string& id);
    void finish(std::int64_t instance);
    /// One more event and effect of instance 1.
    void append_to_hot(std::int64_t sequence);
    void snapshot_hot(std::int64_t sequence);
    void update_hot(std::int64_t version);
    /// Dead letters and items that are due tomorrow, older than everything after them.
    void add_burden(long count);
    /// Writes the counters, as any program that hands out numbers must, and commits.
    void commit();

private:
    void insert_item(std::int64_t sequence, std::int64_t instance, bool claimed);

    RawSqlite& db_;
    std::int64_t number_ = 0;
    std::int64_t items_ = 0;
    std::int64_t instances_ = 0;
};

/// Fires due alarms: claims some, then decides and writes each.
class RawAlarms {
public:
    explicit RawAlarms(RawSqlite& db);
    /// Up to `batch`; returns how many there were.
    long fire(int batch);

private:
    RawSqlite& db_;
    std::int64_t position_ = 0;
    std::int64_t rung_ = 0;
};

}  // namespace pawl::bench
