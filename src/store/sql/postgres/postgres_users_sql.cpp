// SQL of the user's own on PostgreSQL. Parameters are sent as texts without a type, so that the
// server takes them for what stands there: a literal can be a number, a UUID, a time or JSON.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <pawl/error.hpp>

#include "base/moment.hpp"
#include "store/sql/postgres/postgres_connection.hpp"
#include "store/sql/postgres/postgres_statements.hpp"
#include "store/sql/user_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

using detail::SqlValue;

const Dialect dialect{.prefix = {},
                      .quoting = {.escape_texts = true, .dollars = true, .nested_comments = true}};

// From the server's catalogue; these numbers never change.
enum : Oid {
    boolean = 16,
    bytea = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    oid = 26,
    float4 = 700,
    float8 = 701,
    timestamp = 1114,
    timestamptz = 1184,
    numeric = 1700,
};

/// Arguments as libpq takes them.
class Arguments {
public:
    explicit Arguments(const std::vector<SqlValue>& values) {
        texts_.reserve(values.size());
        for (const auto& value : values) std::visit([&](const auto& v) { add(v); }, value);
    }
    int count() const { return static_cast<int>(pointers_.size()); }
    const Oid* types() const { return types_.data(); }
    const char* const* pointers() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    void add(std::monostate) { add(nullptr, 0, 0, 0); }
    void add(bool value) { add_text(value ? "1" : "0"); }  // for a boolean, and for an integer
    void add(std::int64_t value) { add_text(std::to_string(value)); }
    void add(double value) {
        char buffer[32];
        add_text({buffer, std::to_chars(buffer, std::end(buffer), value).ptr});
    }
    void add(const detail::SqlDecimal& value) { add_text(value.digits); }
    void add(const std::string& value) { add(value.c_str(), 0, 0, 0); }
    void add(Time value) { add_text(base::time_text(value).value_or("")); }
    void add(const std::vector<std::byte>& value) {
        const char* const data = value.empty() ? "" : reinterpret_cast<const char*>(value.data());
        add(data, static_cast<int>(value.size()), bytea, 1);
    }
    void add_text(std::string text) { add(texts_.emplace_back(std::move(text)).c_str(), 0, 0, 0); }
    void add(const char* data, int length, Oid type, int format) {
        pointers_.push_back(data);
        lengths_.push_back(length);
        types_.push_back(type);
        formats_.push_back(format);
    }

    std::vector<std::string> texts_;  // never grows beyond what was reserved
    std::vector<const char*> pointers_;
    std::vector<int> lengths_;
    std::vector<Oid> types_;
    std::vector<int> formats_;
};

std::vector<std::byte> unhex(std::string_view text) {
    std::vector<std::byte> bytes;
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 2; i + 1 < text.size(); i += 2)  // behind "\x"
        bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    return bytes;
}

SqlValue value_of(Oid type, std::string_view text) {
    const auto end = text.data() + text.size();
    switch (type) {
        case boolean:
            return text == "t";
        case int2:
        case int4:
        case int8:
        case oid: {
            std::int64_t number = 0;
            std::from_chars(text.data(), end, number);
            return number;
        }
        case float4:
        case float8: {
            double number = 0;
            std::from_chars(text.data(), end, number);  // NaN and Infinity, too
            return number;
        }
        case numeric:
            return detail::SqlDecimal{std::string{text}};
        case bytea:
            return unhex(text);
        case timestamp:
        case timestamptz:
            // What lies outside of the years, as infinity does, is a text.
            if (const auto time = base::parse_time(text)) return *time;
            return std::string{text};
        default:
            return std::string{text};
    }
}

}  // namespace

void PostgresConnection::begin_users(Duration limit) {
    begin(Access::write);
    users_limit_ = limit;
}

void PostgresConnection::send_users_settings() {
    const auto limit = Link::milliseconds_of(*users_limit_);
    const Value values[] = {text(limit), text(limit)};
    send(users_settings, values, 1, {});
}

void PostgresConnection::read_users_result(const PGresult* from, detail::SqlResult& result) {
    const int columns = PQnfields(from);
    for (int i = 0; i < columns; ++i) result.columns.emplace_back(PQfname(from, i));
    for (int row = 0; row < PQntuples(from); ++row)
        for (int i = 0; i < columns; ++i)
            result.values.push_back(
                PQgetisnull(from, row, i)
                    ? SqlValue{}
                    : value_of(PQftype(from, i),
                               {PQgetvalue(from, row, i),
                                static_cast<std::size_t>(PQgetlength(from, row, i))}));
    // INSERT ... RETURNING changes as many rows as it returns; a query changes none.
    const std::string_view done = PQcmdStatus(const_cast<PGresult*>(from));
    if (done.starts_with("INSERT") || done.starts_with("UPDATE") || done.starts_with("DELETE") ||
        done.starts_with("MERGE"))
        result.changed = PQntuples(from);
}

detail::SqlResult PostgresConnection::run_users(std::string_view sql,
                                                const std::vector<SqlValue>& values) {
    const auto statement = read_user_statement(sql, values.size(), dialect);
    if (statement.words.front() == "COPY")
        throw Error{
            Code::invalid,
            fmt::format("\"{}\": there is no COPY in a transaction of pawl's", beginning_of(sql))};
    if (is_lost())
        throw_failure(link_.place(), {"", "the connection is closed", beginning_of(sql)});
    const Arguments arguments{values};
    const auto shown = beginning_of(sql);
    detail::SqlResult result;
    send_begin();
    link_.check_sent(PQsendQueryParams(link_.handle(), statement.text.c_str(), arguments.count(),
                                       arguments.types(), arguments.pointers(), arguments.lengths(),
                                       arguments.formats(), 0),
                     shown.c_str());
    awaited_.push_back({.text = shown.c_str(), .changed = &result.changed, .users = &result});
    finish();
    if (PQtransactionStatus(link_.handle()) != PQTRANS_INTRANS)
        throw Error{Code::misuse, fmt::format("\"{}\" has ended the transaction", shown)};
    return result;
}

}  // namespace pawl::store::sql::postgres
