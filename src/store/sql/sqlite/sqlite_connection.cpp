#include "store/sql/sqlite/sqlite_connection.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <pawl/error.hpp>

#include "store/constraint.hpp"
#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

class SqliteRow final : public Row {
public:
    explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

    bool is_null(int column) const override {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL;
    }
    std::int64_t number(int column) const override {
        return sqlite3_column_int64(statement_, column);
    }
    std::string_view view(int column) const override {
        const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
        if (data == nullptr) return {};
        return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
    }

private:
    sqlite3_stmt* statement_;
};

// A statement that goes back to its start, whatever happens in between.
class Running {
public:
    explicit Running(sqlite3_stmt* statement) : statement_(statement) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { sqlite3_reset(statement_); }

private:
    sqlite3_stmt* statement_;
};

struct Diagnosis {
    Code code;
    const char* advice;
};

// The one place that knows SQLite's codes.
Diagnosis diagnose(int result) {
    switch (result & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {Code::busy, "another program holds the file's lock; try again"};
        case SQLITE_FULL:
            return {Code::unavailable, "the disk is full; make room and try again"};
        case SQLITE_READONLY:
            return {Code::unavailable, "make the file and its directory writable"};
        case SQLITE_CANTOPEN:
            return {Code::unavailable, "see that its directory exists and can be written"};
        case SQLITE_IOERR:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_NOMEM:
        case SQLITE_PROTOCOL:
        case SQLITE_NOLFS:
            return {Code::unavailable, "see to the disk or the machine and try again"};
        case SQLITE_CORRUPT:
            return {Code::corrupt, "the file is damaged; restore it from a backup"};
        case SQLITE_NOTADB:
            return {Code::corrupt, "it is not a SQLite database; give another path"};
        case SQLITE_SCHEMA:
            return {Code::corrupt, "its tables are not pawl's; give another path or prefix"};
        default:
            return {Code::invalid, "the database refused this row"};
    }
}

}  // namespace

void CloseUnlessLent::operator()(sqlite3* database) const {
    if (!is_lent) sqlite3_close(database);
}
void SqliteConnection::Finalize::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

SqliteConnection::SqliteConnection(ConnectionOptions options) : options_(std::move(options)) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (options_.create ? SQLITE_OPEN_CREATE : 0);
    sqlite3* raw = nullptr;
    const int result = sqlite3_open_v2(options_.path.c_str(), &raw, flags, nullptr);
    database_.reset(raw);
    if (result != SQLITE_OK) fail(result, "open");
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(options_.busy_deadline);
    sqlite3_busy_timeout(raw, static_cast<int>(wait.count()));
}

SqliteConnection::SqliteConnection(sqlite3* lent, ConnectionOptions options)
    : options_(std::move(options)), database_(lent, CloseUnlessLent{.is_lent = true}) {}

SqliteConnection::~SqliteConnection() = default;

void SqliteConnection::fail(int result, const char* statement) const {
    const auto [code, advice] = diagnose(result);
    const std::string reason = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(result);
    std::string_view what{statement};
    while (!what.empty() && (what.front() == ' ' || what.front() == '\n')) what.remove_prefix(1);
    const auto message = fmt::format("SQLite file {}: {} (code {}) at \"{}\": {}", options_.path,
                                     reason, result, what.substr(0, 60), advice);
    // A value of another type than a STRICT table has is wrong whatever else is there.
    if ((result & 0xff) == SQLITE_CONSTRAINT && result != SQLITE_CONSTRAINT_DATATYPE)
        throw ConstraintViolated{code, message};
    throw Error{code, message};
}

SqliteConnection::Prepared SqliteConnection::prepare(std::string_view sql, const char** rest) {
    sqlite3_stmt* raw = nullptr;
    const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &raw, rest);
    Prepared prepared{raw};
    // A statement of ours that can't be prepared means that the tables are not what they should be.
    if (result == SQLITE_ERROR) fail(SQLITE_SCHEMA, std::string{sql}.c_str());
    if (result != SQLITE_OK) fail(result, std::string{sql}.c_str());
    return prepared;
}

sqlite3_stmt* SqliteConnection::prepared(Statement statement) {
    auto& cached = cache_[statement.text];
    if (!cached) {
        const auto sql = rewrite(statement.text, {.prefix = options_.prefix, .mark = '?'});
        cached = prepare(sql, nullptr);
    }
    return cached.get();
}

void SqliteConnection::bind(sqlite3_stmt* prepared, std::span<const Value> row) {
    int at = 0;
    for (const Value& value : row) {
        int result = SQLITE_OK;
        ++at;
        switch (value.type) {
            case Value::Type::null:
                result = sqlite3_bind_null(prepared, at);
                break;
            case Value::Type::number:
                result = sqlite3_bind_int64(prepared, at, value.number);
                break;
            case Value::Type::text:
                result = sqlite3_bind_text64(prepared, at, value.data,
                                             static_cast<sqlite3_uint64>(value.number),
                                             SQLITE_STATIC, SQLITE_UTF8);
                break;
            case Value::Type::bytes:
                result =
                    sqlite3_bind_blob64(prepared, at, value.data,
                                        static_cast<sqlite3_uint64>(value.number), SQLITE_STATIC);
                break;
        }
        if (result != SQLITE_OK) fail(result, sqlite3_sql(prepared));
    }
}

std::int64_t SqliteConnection::run_rows(Statement statement, std::span<const Value> values,
                                        std::size_t rows) {
    sqlite3_stmt* const stmt = prepared(statement);
    const Running running{stmt};
    const std::size_t columns = values.size() / rows;
    const std::int64_t before = sqlite3_total_changes64(database_.get());
    for (std::size_t i = 0; i < rows; ++i) {
        bind(stmt, values.subspan(i * columns, columns));
        int result = sqlite3_step(stmt);
        while (result == SQLITE_ROW) result = sqlite3_step(stmt);
        if (result != SQLITE_DONE) fail(result, statement.text);
        sqlite3_reset(stmt);
    }
    return sqlite3_total_changes64(database_.get()) - before;
}

void SqliteConnection::query_rows(Statement statement, std::span<const Value> values,
                                  std::size_t rows, Sink sink) {
    sqlite3_stmt* const stmt = prepared(statement);
    const Running running{stmt};
    const SqliteRow row{stmt};
    const std::size_t columns = values.size() / rows;
    for (std::size_t i = 0; i < rows; ++i) {
        bind(stmt, values.subspan(i * columns, columns));
        int result = sqlite3_step(stmt);
        for (; result == SQLITE_ROW; result = sqlite3_step(stmt)) sink(i, row);
        if (result != SQLITE_DONE) fail(result, statement.text);
        sqlite3_reset(stmt);
    }
}

void SqliteConnection::begin(Access access) {
    run(access == Access::write ? begin_write : begin_read);
}

void SqliteConnection::commit() {
    lift_limit();
    run(sqlite::commit);
}

// After some errors SQLite has rolled back by itself, and there is nothing left to do.
void SqliteConnection::rollback() noexcept {
    lift_limit();
    if (sqlite3_get_autocommit(database_.get())) return;
    try {
        run(sqlite::rollback);
    } catch (const Error&) {
        // The disk failed under the rollback too: SQLite drops the transaction with the next one.
    }
}

// The user's transaction may not have written yet, and one that reads first can't write any more
// when somebody else has.
void SqliteConnection::set_savepoint() {
    run(sqlite::set_savepoint);
    if (database_.get_deleter().is_lent) run(take_write_lock);
}
void SqliteConnection::release_savepoint() { run(sqlite::release_savepoint); }
void SqliteConnection::rollback_to_savepoint() { run(sqlite::rollback_to_savepoint); }

void SqliteConnection::configure(Statement statement) {
    const auto once = prepare(statement.text, nullptr);
    int result = sqlite3_step(once.get());
    while (result == SQLITE_ROW) result = sqlite3_step(once.get());
    if (result != SQLITE_DONE) fail(result, statement.text);
}

void SqliteConnection::run_script(std::string_view script) {
    const auto sql = rewrite(script, {.prefix = options_.prefix, .mark = '?'});
    const char* rest = sql.c_str();
    while (*rest != '\0') {
        const auto part = prepare(rest, &rest);
        if (!part) continue;  // only a comment was left
        const int result = sqlite3_step(part.get());
        if (result != SQLITE_DONE) fail(result, sqlite3_sql(part.get()));
    }
}

bool SqliteConnection::is_read_only() const {
    return sqlite3_db_readonly(database_.get(), "main") == 1;
}

}  // namespace pawl::store::sql::sqlite
