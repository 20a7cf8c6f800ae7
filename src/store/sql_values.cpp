// Arguments and columns of the user's own SQL: what fits, and what is said where it does not.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <pawl/detail/sql_values.hpp>
#include <pawl/error.hpp>

#include "base/moment.hpp"
#include "base/text.hpp"

namespace pawl::inline v0::detail {
namespace {

constexpr std::size_t shown = 60;

std::string_view beginning(std::string_view sql) {
    sql.remove_prefix(std::min(sql.find_first_not_of(" \t\r\n"), sql.size()));
    return sql.substr(0, shown);
}

struct Describe {
    std::string operator()(std::monostate) const { return "NULL"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const {
        return fmt::format("the integer {}", value);
    }
    std::string operator()(double value) const { return fmt::format("the real number {}", value); }
    std::string operator()(const SqlDecimal& value) const {
        return fmt::format("the decimal {}", value.digits);
    }
    std::string operator()(const std::string& value) const {
        return fmt::format("the text \"{}\"", base::readable(value.substr(0, shown)));
    }
    std::string operator()(const std::vector<std::byte>& value) const {
        return fmt::format("{} bytes", value.size());
    }
    std::string operator()(Time value) const {
        return fmt::format("the time {}", base::time_text(value).value_or("?"));
    }
};

std::string place_of(const SqlColumn& column) {
    return fmt::format("\"{}\": column {} ({})", beginning(column.sql), column.number, column.name);
}

[[noreturn]] void fail(const SqlValue& value, const SqlColumn& column, const char* wanted) {
    const auto reader =
        column.field.empty() ? std::string{"the row"} : fmt::format("field \"{}\"", column.field);
    if (std::holds_alternative<std::monostate>(value))
        throw Error{Code::invalid, fmt::format("{} is NULL, and {} is not a std::optional",
                                               place_of(column), reader)};
    throw Error{Code::invalid, fmt::format("{} holds {}, and {} wants {}", place_of(column),
                                           std::visit(Describe{}, value), reader, wanted)};
}

// "12", "-3", "4.00"; nothing if there is a fraction, or more than 64 bits hold.
std::optional<std::int64_t> whole_number(std::string_view digits) {
    const auto point = digits.find('.');
    if (point != digits.npos && digits.find_first_not_of('0', point + 1) != digits.npos)
        return std::nullopt;
    const auto whole = digits.substr(0, point);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
    if (error != std::errc{} || end != whole.data() + whole.size()) return std::nullopt;
    return number;
}

}  // namespace

SqlValue unsigned_argument(std::uint64_t number) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        throw Error{Code::invalid,
                    fmt::format("the argument {} is more than an integer of SQL holds: give it as "
                                "a text",
                                number)};
    return static_cast<std::int64_t>(number);
}

SqlValue real_argument(double number) {
    if (!std::isfinite(number))
        throw Error{Code::invalid,
                    fmt::format("the argument {} is no number that every database holds", number)};
    return number;
}

SqlValue text_argument(std::string_view text) {
    if (text.find('\0') != text.npos)
        throw Error{Code::invalid,
                    fmt::format("the argument \"{}\" has a NUL in it, which a text of SQL can't "
                                "hold: give it as std::vector<std::byte>",
                                base::readable(text.substr(0, shown)))};
    return std::string{text};
}

SqlValue time_argument(Time time) {
    if (!base::time_text(time))
        throw Error{Code::invalid, "an argument is a time outside the years 0 to 9999"};
    return time;
}

std::int64_t read_integer(const SqlValue& value, const SqlColumn& column, SqlLimits limits) {
    std::optional<std::int64_t> number;
    if (const auto* found = std::get_if<std::int64_t>(&value)) number = *found;
    if (const auto* found = std::get_if<SqlDecimal>(&value)) number = whole_number(found->digits);
    if (!number) fail(value, column, "an integer");
    const bool low = *number < limits.lowest;
    const bool high = *number > 0 && static_cast<std::uint64_t>(*number) > limits.highest;
    if (low || high)
        fail(value, column, fmt::format("{} to {}", limits.lowest, limits.highest).c_str());
    return *number;
}

// Where a database has no booleans, they are 0 and 1.
bool read_boolean(const SqlValue& value, const SqlColumn& column) {
    if (const auto* found = std::get_if<bool>(&value)) return *found;
    const auto* number = std::get_if<std::int64_t>(&value);
    if (!number || (*number != 0 && *number != 1)) fail(value, column, "a bool");
    return *number == 1;
}

double read_real(const SqlValue& value, const SqlColumn& column) {
    if (const auto* found = std::get_if<double>(&value)) return *found;
    if (const auto* found = std::get_if<std::int64_t>(&value)) return static_cast<double>(*found);
    const auto* decimal = std::get_if<SqlDecimal>(&value);
    double number = 0;
    if (!decimal) fail(value, column, "a real number");
    const auto& digits = decimal->digits;
    const auto end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || at != end) fail(value, column, "a real number");
    return number;
}

std::string read_text(SqlValue& value, const SqlColumn& column) {
    if (auto* found = std::get_if<std::string>(&value)) return std::move(*found);
    if (auto* found = std::get_if<SqlDecimal>(&value)) return std::move(found->digits);
    // As it would be on SQLite, where times are texts.
    const auto* time = std::get_if<Time>(&value);
    const auto text = time ? base::time_text(*time) : std::nullopt;
    if (!text) fail(value, column, "a text");
    return *text;
}

std::vector<std::byte> read_bytes(SqlValue& value, const SqlColumn& column) {
    auto* found = std::get_if<std::vector<std::byte>>(&value);
    if (!found) fail(value, column, "bytes");
    return std::move(*found);
}

Time read_time(const SqlValue& value, const SqlColumn& column) {
    if (const auto* found = std::get_if<Time>(&value)) return *found;
    const auto* text = std::get_if<std::string>(&value);
    const auto time = text ? base::parse_time(*text) : std::nullopt;
    if (!time) fail(value, column, "a time");
    return *time;
}

Uuid read_uuid(const SqlValue& value, const SqlColumn& column) {
    const auto* text = std::get_if<std::string>(&value);
    const auto id = text ? Uuid::parse(*text) : std::nullopt;
    if (!id) fail(value, column, "a UUID");
    return *id;
}

void check_columns(std::string_view sql, const SqlResult& result, std::size_t fields) {
    if (result.columns.size() == fields) return;
    if (result.columns.empty())
        throw Error{Code::invalid,
                    fmt::format("\"{}\" returns no rows: use exec for it", beginning(sql))};
    throw Error{Code::invalid,
                fmt::format("\"{}\" returns {} column{}, and a row has {} field{}", beginning(sql),
                            result.columns.size(), result.columns.size() == 1 ? "" : "s", fields,
                            fields == 1 ? "" : "s")};
}

}  // namespace pawl::inline v0::detail
