// SQL of the user's own on SQLite.
#include <fmt/format.h>
#include <sqlite3.h>

#include <pawl/error.hpp>

#include "base/moment.hpp"
#include "store/sql/sqlite/sqlite_connection.hpp"
#include "store/sql/user_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using detail::SqlValue;

// How many of the virtual machine's steps are between two looks at the clock: less than a
// millisecond.
constexpr int steps_between_looks = 4000;

const Dialect dialect{.prefix = {}, .mark = '?', .quoting = {.brackets = true}};

struct Bind {
    sqlite3_stmt* statement;
    int at;

    int operator()(std::monostate) const { return sqlite3_bind_null(statement, at); }
    int operator()(bool value) const { return sqlite3_bind_int64(statement, at, value ? 1 : 0); }
    int operator()(std::int64_t value) const { return sqlite3_bind_int64(statement, at, value); }
    int operator()(double value) const { return sqlite3_bind_double(statement, at, value); }
    int operator()(const detail::SqlDecimal& value) const { return (*this)(value.digits); }
    int operator()(const std::string& value) const {
        return sqlite3_bind_text64(statement, at, value.data(), value.size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    }
    int operator()(const std::vector<std::byte>& value) const {
        static constexpr std::byte nothing[1]{};  // a null pointer would bind NULL
        return sqlite3_bind_blob64(statement, at, value.empty() ? nothing : value.data(),
                                   value.size(), SQLITE_TRANSIENT);
    }
    int operator()(Time value) const { return (*this)(base::time_text(value).value_or("")); }
};

SqlValue value_at(sqlite3_stmt* statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
        case SQLITE_INTEGER:
            return std::int64_t{sqlite3_column_int64(statement, column)};
        case SQLITE_FLOAT:
            return sqlite3_column_double(statement, column);
        case SQLITE_TEXT: {
            const auto* text =
                reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
            return std::string{text,
                               static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
        }
        case SQLITE_BLOB: {
            const auto* data =
                static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
            return std::vector<std::byte>(data, data + sqlite3_column_bytes(statement, column));
        }
        default:
            return {};
    }
}

}  // namespace

void SqliteConnection::begin_users(Duration limit) {
    begin(Access::write);
    limit_ = std::chrono::steady_clock::now() + limit;
    const auto is_over = [](void* until) {
        return std::chrono::steady_clock::now() >
                       *static_cast<const std::chrono::steady_clock::time_point*>(until)
                   ? 1
                   : 0;
    };
    sqlite3_progress_handler(database_.get(), steps_between_looks, is_over, &*limit_);
}

void SqliteConnection::lift_limit() noexcept {
    if (!limit_) return;
    sqlite3_progress_handler(database_.get(), 0, nullptr, nullptr);
    limit_.reset();
}

void SqliteConnection::fail_users(int result, std::string_view sql) const {
    const int primary = result & 0xff;
    const auto what = beginning_of(sql);
    if (primary == SQLITE_INTERRUPT)
        throw Error{Code::busy, fmt::format("SQLite file {}: the transaction took too long at "
                                            "\"{}\": see Options::transaction_limit",
                                            options_.path, what)};
    if (primary == SQLITE_ERROR || primary == SQLITE_SCHEMA)
        throw Error{Code::invalid,
                    fmt::format("SQLite file {}: {} (code {}) at \"{}\"", options_.path,
                                sqlite3_errmsg(database_.get()), result, what)};
    fail(result, what.c_str());
}

SqliteConnection::Prepared SqliteConnection::prepare_users(std::string_view text,
                                                           std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    const char* rest = nullptr;
    const int result = sqlite3_prepare_v3(database_.get(), text.data(),
                                          static_cast<int>(text.size()), 0, &raw, &rest);
    Prepared prepared{raw};
    if (result != SQLITE_OK) fail_users(result, sql);
    const auto left = text.substr(static_cast<std::size_t>(rest - text.data()));
    if (!prepared || !first_words(left, dialect.quoting, 1).empty())
        throw Error{Code::invalid, fmt::format("\"{}\" is not one statement: run them one by one",
                                               beginning_of(sql))};
    return prepared;
}

detail::SqlResult SqliteConnection::run_users(std::string_view sql,
                                              const std::vector<SqlValue>& values) {
    const auto statement = read_user_statement(sql, values.size(), dialect);
    const auto prepared = prepare_users(statement.text, sql);
    sqlite3_stmt* const stmt = prepared.get();
    if (static_cast<std::size_t>(sqlite3_bind_parameter_count(stmt)) != values.size())
        throw Error{Code::invalid,
                    fmt::format("\"{}\": write its parameters as $1, $2, ...", beginning_of(sql))};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const int result = std::visit(Bind{stmt, static_cast<int>(i) + 1}, values[i]);
        if (result != SQLITE_OK) fail_users(result, sql);
    }
    const auto before = sqlite3_total_changes64(database_.get());
    detail::SqlResult out;
    const int columns = sqlite3_column_count(stmt);
    for (int i = 0; i < columns; ++i) out.columns.emplace_back(sqlite3_column_name(stmt, i));
    int result = sqlite3_step(stmt);
    for (; result == SQLITE_ROW; result = sqlite3_step(stmt))
        for (int i = 0; i < columns; ++i) out.values.push_back(value_at(stmt, i));
    if (result != SQLITE_DONE) fail_users(result, sql);
    // Of this statement alone, without what triggers and foreign keys do: as others count.
    if (sqlite3_total_changes64(database_.get()) != before)
        out.changed = sqlite3_changes64(database_.get());
    if (sqlite3_get_autocommit(database_.get()))
        throw Error{Code::misuse,
                    fmt::format("\"{}\" has ended the transaction", beginning_of(sql))};
    return out;
}

}  // namespace pawl::store::sql::sqlite
