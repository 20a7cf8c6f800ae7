#include "store/sql/sqlite/sqlite_lent.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <pawl/error.hpp>

#include "base/text.hpp"
#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

// The name by which the store's file is attached, as it stands before a table.
std::string schema_of(sqlite3* handle, const ConnectionOptions& store) {
    SqliteConnection connection{handle, store};
    std::string found;
    std::string main;
    connection.query(attached, {}, [&](const Row& row) {
        const std::string file{row.view(2)};
        if (row.view(1) == "main") main = file;
        std::error_code ignored;
        if (!file.empty() && std::filesystem::equivalent(file, store.path, ignored))
            found = row.view(1);
    });
    if (found.empty())
        throw Error{Code::misuse,
                    fmt::format("join: this connection is to {}, and the store is {}: open that "
                                "file, or attach it, before the transaction begins",
                                main.empty() ? "a database in memory" : main, store.path)};
    std::string quoted = "\"";
    for (const char c : found) quoted += c == '"' ? "\"\"" : std::string{c};
    return quoted + "\".";
}

ConnectionOptions with_schema(sqlite3* handle, ConnectionOptions store) {
    store.prefix = schema_of(handle, store) + store.prefix;
    return store;
}

}  // namespace

SqliteLent::SqliteLent(sqlite3* handle, const ConnectionOptions& store)
    : handle_(handle), connection_(handle, with_schema(handle, store)) {
    enter();
    leave();
}

Connection& SqliteLent::enter() {
    if (sqlite3_get_autocommit(handle_))
        throw Error{Code::misuse,
                    fmt::format("join: no transaction is open on this connection to {}: begin it "
                                "first, best with BEGIN IMMEDIATE",
                                connection_.path())};
    last_row_ = sqlite3_last_insert_rowid(handle_);
    return connection_;
}

void SqliteLent::leave() noexcept {
    connection_.forget_statements();
    sqlite3_set_last_insert_rowid(handle_, last_row_);
}

// Bytes that are no text can't be a parameter, and SQLite has no function for them before 3.41.
SpelledValue spelled(const Value& value) {
    switch (value.type) {
        case Value::Type::null:
            return {};
        case Value::Type::number:
            return {"CAST(", " AS INTEGER)", std::to_string(value.number)};
        case Value::Type::text:
            return {"", "", std::string{value.view()}};
        case Value::Type::bytes:
            break;
    }
    const auto bytes = value.view();
    if (bytes.find('\0') == bytes.npos && base::is_utf8(bytes))
        return {"CAST(", " AS BLOB)", std::string{bytes}};
    return {.before = "X'" + hex_of(bytes) + "'", .is_literal = true};
}

}  // namespace pawl::store::sql::sqlite
