// SQL of the user's own on MariaDB.
#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/moment.hpp"
#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/sql/mariadb/mariadb_statements.hpp"
#include "store/sql/user_statements.hpp"

namespace pawl::store::sql::mariadb {
namespace {

using detail::SqlValue;

constexpr unsigned binary_charset = 63;
constexpr std::size_t first_buffer = 256;

const Dialect dialect{.prefix = {},
                      .mark = '?',
                      .numbered = false,
                      .quoting = {.backslashes = true, .hashes = true, .dashes_need_space = true}};

struct CloseStatement {
    void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
};
using StatementHandle = std::unique_ptr<MYSQL_STMT, CloseStatement>;

// The server commits whatever is open before it does these.
bool commits_by_itself(const std::vector<std::string>& words) {
    static constexpr std::string_view verbs[] = {
        "ALTER", "ANALYZE", "BACKUP",   "CACHE", "CHANGE",   "CHECK",     "CREATE", "DROP",
        "FLUSH", "GRANT",   "INSTALL",  "LOAD",  "LOCK",     "OPTIMIZE",  "RENAME", "REPAIR",
        "RESET", "REVOKE",  "SHUTDOWN", "STOP",  "TRUNCATE", "UNINSTALL", "UNLOCK"};
    const bool temporary = words.size() > 1 && words[1] == "TEMPORARY" && words[0] != "ALTER";
    return !temporary && std::ranges::count(verbs, words[0]) > 0;
}

/// Arguments as the library takes them, in the order of the marks.
class Arguments {
public:
    Arguments(const std::vector<SqlValue>& values, const std::vector<std::size_t>& places) {
        held_.reserve(places.size());
        for (const auto place : places)
            std::visit([&](const auto& v) { add(v); }, values[place - 1]);
        for (std::size_t i = 0; i < held_.size(); ++i) {
            auto& bind = binds_[i];
            if (bind.buffer_type == MYSQL_TYPE_LONGLONG) bind.buffer = &held_[i].number;
            if (bind.buffer_type == MYSQL_TYPE_DOUBLE) bind.buffer = &held_[i].real;
            bind.length = &held_[i].length;
        }
    }
    MYSQL_BIND* binds() { return binds_.data(); }
    std::size_t size() const { return held_.size(); }

private:
    struct Held {
        long long number = 0;
        double real = 0;
        std::string text;
        unsigned long length = 0;
    };

    Held& add(enum_field_types type) {
        auto& bind = binds_.emplace_back();
        bind = {};
        bind.buffer_type = type;
        return held_.emplace_back();
    }
    void add(std::monostate) { add(MYSQL_TYPE_NULL); }
    void add(bool value) { add(MYSQL_TYPE_LONGLONG).number = value ? 1 : 0; }
    void add(std::int64_t value) { add(MYSQL_TYPE_LONGLONG).number = value; }
    void add(double value) { add(MYSQL_TYPE_DOUBLE).real = value; }
    void add(const detail::SqlDecimal& value) { add_view(MYSQL_TYPE_STRING, value.digits); }
    void add(const std::string& value) { add_view(MYSQL_TYPE_STRING, value); }
    void add(const std::vector<std::byte>& value) {
        add_view(MYSQL_TYPE_BLOB, {reinterpret_cast<const char*>(value.data()), value.size()});
    }
    void add(Time value) {
        auto text = base::time_text(value).value_or("");
        if (!text.empty()) text.pop_back();  // the server knows no Z; the session is UTC
        auto& held = add(MYSQL_TYPE_STRING);
        held.text = std::move(text);
        held.length = held.text.size();
        binds_.back().buffer = held.text.data();
        binds_.back().buffer_length = held.length;
    }
    void add_view(enum_field_types type, std::string_view view) {
        auto& held = add(type);
        held.length = view.size();
        binds_.back().buffer = const_cast<char*>(view.empty() ? "" : view.data());
        binds_.back().buffer_length = held.length;
    }

    std::vector<Held> held_;  // never grows beyond what was reserved
    std::vector<MYSQL_BIND> binds_;
};

/// The columns of a result, each read as what it is.
class Columns {
public:
    Columns(MYSQL_STMT* statement, MYSQL_RES* metadata)
        : statement_(statement),
          fields_(mysql_fetch_fields(metadata), mysql_num_fields(metadata)),
          columns_(fields_.size()),
          binds_(fields_.size()) {
        for (std::size_t i = 0; i < fields_.size(); ++i) prepare(i);
    }

    bool attach() { return mysql_stmt_bind_result(statement_, binds_.data()) == 0; }
    void add_names(std::vector<std::string>& names) const {
        for (const auto& field : fields_) names.emplace_back(field.name, field.name_length);
    }
    /// False when a column could not be fetched.
    bool add_values(std::vector<SqlValue>& values) {
        bool has_grown = false;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto& column = columns_[i];
            if (column.sort == Sort::text && !column.is_null &&
                column.length > column.buffer.size()) {
                grow(i, column.length);
                has_grown = true;
                if (mysql_stmt_fetch_column(statement_, &binds_[i], static_cast<unsigned>(i), 0))
                    return false;
            }
            values.push_back(value(i));
        }
        return !has_grown || attach();
    }

private:
    enum class Sort { number, real, text };
    struct Column {
        Sort sort = Sort::text;
        long long number = 0;
        double real = 0;
        std::vector<char> buffer;
        unsigned long length = 0;
        my_bool is_null = 0;
        my_bool is_cut = 0;
    };

    void grow(std::size_t i, std::size_t size) {
        columns_[i].buffer.resize(size);
        binds_[i].buffer = columns_[i].buffer.data();
        binds_[i].buffer_length = size;
    }

    void prepare(std::size_t i) {
        auto& column = columns_[i];
        auto& bind = binds_[i] = {};
        bind.is_null = &column.is_null;
        bind.error = &column.is_cut;
        bind.length = &column.length;
        switch (fields_[i].type) {
            case MYSQL_TYPE_TINY:
            case MYSQL_TYPE_SHORT:
            case MYSQL_TYPE_INT24:
            case MYSQL_TYPE_LONG:
            case MYSQL_TYPE_LONGLONG:
            case MYSQL_TYPE_YEAR:
                column.sort = Sort::number;
                bind.buffer_type = MYSQL_TYPE_LONGLONG;
                bind.is_unsigned = (fields_[i].flags & UNSIGNED_FLAG) != 0;
                bind.buffer = &column.number;
                break;
            case MYSQL_TYPE_FLOAT:
            case MYSQL_TYPE_DOUBLE:
                column.sort = Sort::real;
                bind.buffer_type = MYSQL_TYPE_DOUBLE;
                bind.buffer = &column.real;
                break;
            default:
                bind.buffer_type = MYSQL_TYPE_STRING;
                grow(i, first_buffer);
        }
    }

    SqlValue value(std::size_t i) const {
        const auto& column = columns_[i];
        if (column.is_null) return {};
        if (column.sort == Sort::real) return column.real;
        if (column.sort == Sort::number) {
            if (binds_[i].is_unsigned && column.number < 0)
                return detail::SqlDecimal{
                    std::to_string(static_cast<unsigned long long>(column.number))};
            return std::int64_t{column.number};
        }
        return text_value(fields_[i], {column.buffer.data(), column.length});
    }

    static SqlValue text_value(const MYSQL_FIELD& field, std::string_view text) {
        switch (field.type) {
            case MYSQL_TYPE_DECIMAL:
            case MYSQL_TYPE_NEWDECIMAL:
                return detail::SqlDecimal{std::string{text}};
            case MYSQL_TYPE_DATETIME:
            case MYSQL_TYPE_TIMESTAMP:
                // What is none, as a date of zeros, is a text.
                if (const auto time = base::parse_time(text)) return *time;
                return std::string{text};
            case MYSQL_TYPE_DATE:
            case MYSQL_TYPE_NEWDATE:
            case MYSQL_TYPE_TIME:
                return std::string{text};
            default:
                break;
        }
        if (field.charsetnr != binary_charset) return std::string{text};
        const auto* const data = reinterpret_cast<const std::byte*>(text.data());
        return std::vector<std::byte>(data, data + text.size());
    }

    MYSQL_STMT* statement_;
    std::span<MYSQL_FIELD> fields_;
    std::vector<Column> columns_;
    std::vector<MYSQL_BIND> binds_;
};

// INSERT ... RETURNING changes as many rows as it returns; a query changes none.
bool changes_what_it_returns(const std::string& verb) {
    return verb == "INSERT" || verb == "REPLACE" || verb == "DELETE";
}

}  // namespace

// Where the server counts in seconds, the limit is rounded up.
void MariadbConnection::begin_users(Duration limit) {
    limit_statements_to(limit);
    send(mariadb::begin_users.text);
}

void MariadbConnection::fail_users(const Failure& failure, std::string_view sql) {
    is_lost_ = is_lost_ || is_loss(failure.code);
    const auto what = beginning_of(sql);
    mariadb::fail(failure, {.server = server_, .what = what, .users = true});
}

detail::SqlResult MariadbConnection::run_users(std::string_view sql,
                                               const std::vector<SqlValue>& values) {
    const auto statement = read_user_statement(sql, values.size(), dialect);
    if (commits_by_itself(statement.words))
        throw Error{Code::misuse, fmt::format("\"{}\" in a transaction: MariaDB would commit what "
                                              "was done before it",
                                              beginning_of(sql))};
    const StatementHandle handle{mysql_stmt_init(link_.get())};
    MYSQL_STMT* const stmt = handle.get();
    if (!stmt) fail_users({CR_OUT_OF_MEMORY, "no memory is left"}, sql);
    if (mysql_stmt_prepare(stmt, statement.text.data(), statement.text.size()) != 0)
        fail_users(failure_of(stmt), sql);
    if (mysql_stmt_param_count(stmt) != statement.places.size())
        throw Error{Code::invalid,
                    fmt::format("\"{}\": write its parameters as $1, $2, ...", beginning_of(sql))};
    Arguments arguments{values, statement.places};
    if (arguments.size() > 0 && mysql_stmt_bind_param(stmt, arguments.binds()) != 0)
        fail_users(failure_of(stmt), sql);
    if (mysql_stmt_execute(stmt) != 0) fail_users(failure_of(stmt), sql);

    detail::SqlResult out;
    struct Free {
        void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
    };
    const std::unique_ptr<MYSQL_RES, Free> metadata{mysql_stmt_result_metadata(stmt)};
    if (!metadata) {
        out.changed = static_cast<std::int64_t>(mysql_stmt_affected_rows(stmt));
    } else {
        Columns columns{stmt, metadata.get()};
        columns.add_names(out.columns);
        if (!columns.attach()) fail_users(failure_of(stmt), sql);
        int fetched = mysql_stmt_fetch(stmt);
        for (; fetched == 0 || fetched == MYSQL_DATA_TRUNCATED; fetched = mysql_stmt_fetch(stmt)) {
            if (!columns.add_values(out.values)) fail_users(failure_of(stmt), sql);
            if (changes_what_it_returns(statement.words.front())) ++out.changed;
        }
        if (fetched != MYSQL_NO_DATA) fail_users(failure_of(stmt), sql);
    }
    // Of a procedure there may be more.
    while (mysql_stmt_more_results(stmt) && mysql_stmt_next_result(stmt) == 0) {
    }
    if ((link_->server_status & SERVER_STATUS_IN_TRANS) == 0)
        throw Error{Code::misuse,
                    fmt::format("\"{}\" has ended the transaction", beginning_of(sql))};
    return out;
}

}  // namespace pawl::store::sql::mariadb
