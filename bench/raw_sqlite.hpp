/// SQLite without pawl: statements that are prepared once, for the rival.
#pragma once

#include <cstdint>
#include <initializer_list>
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

}  // namespace pawl::bench
