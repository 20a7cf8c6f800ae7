/// Arguments and columns of SQL as C++ values, and back.
#pragma once

#include <chrono>
#include <concepts>
#include <limits>
#include <optional>
#include <pawl/detail/sql.hpp>
#include <pawl/export.hpp>
#include <pawl/reflect/fields.hpp>
#include <pawl/uuid.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_moment = false;
template <class D>
inline constexpr bool is_moment<std::chrono::sys_time<D>> = true;

/// An integer, and no character.
template <class T>
concept SqlInteger =
    std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8 && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
    !std::same_as<T, char32_t>;

template <class T>
consteval bool is_sql_argument() {
    if constexpr (is_optional<T>)
        return is_sql_argument<typename T::value_type>();
    else
        return std::same_as<T, std::nullopt_t> || std::same_as<T, bool> || SqlInteger<T> ||
               std::floating_point<T> || std::is_convertible_v<const T&, std::string_view> ||
               std::same_as<T, std::vector<std::byte>> || std::same_as<T, Uuid> || is_moment<T>;
}

/// Throw Error (invalid) for what no database takes.
PAWL_API SqlValue unsigned_argument(std::uint64_t number);
PAWL_API SqlValue real_argument(double number);
PAWL_API SqlValue text_argument(std::string_view text);
PAWL_API SqlValue time_argument(Time time);

template <class T>
SqlValue sql_argument(const T& value) {
    static_assert(is_sql_argument<T>(),
                  "pawl: an argument of SQL is a number, a bool, a text, a std::vector<std::byte>, "
                  "a pawl::Uuid, a time, or a std::optional of these");
    if constexpr (std::same_as<T, std::nullopt_t>)
        return {};
    else if constexpr (is_optional<T>)
        return value ? sql_argument(*value) : SqlValue{};
    else if constexpr (std::same_as<T, bool>)
        return value;
    else if constexpr (SqlInteger<T> && std::signed_integral<T>)
        return static_cast<std::int64_t>(value);
    else if constexpr (SqlInteger<T>)
        return unsigned_argument(value);
    else if constexpr (std::floating_point<T>)
        return real_argument(static_cast<double>(value));
    else if constexpr (std::same_as<T, std::vector<std::byte>>)
        return value;
    else if constexpr (std::same_as<T, Uuid>)
        return value.text();
    else if constexpr (is_moment<T>)
        return time_argument(std::chrono::floor<Duration>(value));
    else
        return text_argument(value);
}

/// Which column of which statement is read, for messages.
struct SqlColumn {
    std::string_view sql{};
    std::size_t number = 0;  ///< from 1
    std::string_view name{};
    std::string_view field{};  ///< empty: the row is this one value
};

struct SqlLimits {
    std::int64_t lowest = 0;
    std::uint64_t highest = 0;
};

/// Throw Error (invalid) that says which column it is, what it holds and what was wanted.
PAWL_API std::int64_t read_integer(const SqlValue& value, const SqlColumn& column, SqlLimits);
PAWL_API bool read_boolean(const SqlValue& value, const SqlColumn& column);
PAWL_API double read_real(const SqlValue& value, const SqlColumn& column);
PAWL_API std::string read_text(SqlValue& value, const SqlColumn& column);
PAWL_API std::vector<std::byte> read_bytes(SqlValue& value, const SqlColumn& column);
PAWL_API Time read_time(const SqlValue& value, const SqlColumn& column);
PAWL_API Uuid read_uuid(const SqlValue& value, const SqlColumn& column);
/// That a row has as many columns as there are fields.
PAWL_API void check_columns(std::string_view sql, const SqlResult& result, std::size_t fields);

template <class T>
consteval bool is_sql_column() {
    if constexpr (is_optional<T>)
        return !is_optional<typename T::value_type> && is_sql_column<typename T::value_type>();
    else
        return std::same_as<T, bool> || SqlInteger<T> || std::same_as<T, double> ||
               std::same_as<T, float> || std::same_as<T, std::string> ||
               std::same_as<T, std::vector<std::byte>> || std::same_as<T, Uuid> ||
               std::same_as<T, Time>;
}

template <class T>
T read_column(SqlValue& value, const SqlColumn& column) {
    if constexpr (is_optional<T>) {
        if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
        return read_column<typename T::value_type>(value, column);
    } else if constexpr (std::same_as<T, bool>) {
        return read_boolean(value, column);
    } else if constexpr (SqlInteger<T>) {
        using Limits = std::numeric_limits<T>;
        return static_cast<T>(read_integer(value, column, {Limits::min(), Limits::max()}));
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(read_real(value, column));
    } else if constexpr (std::same_as<T, std::string>) {
        return read_text(value, column);
    } else if constexpr (std::same_as<T, std::vector<std::byte>>) {
        return read_bytes(value, column);
    } else if constexpr (std::same_as<T, Uuid>) {
        return read_uuid(value, column);
    } else {
        return read_time(value, column);
    }
}

template <class Row, std::size_t... I>
consteval bool has_sql_fields(std::index_sequence<I...>) {
    return (is_sql_column<reflect::Field<Row, I>>() && ...);
}

/// One value, or a plain struct of such.
template <class Row>
consteval bool is_sql_row() {
    if constexpr (is_sql_column<Row>())
        return true;
    else if constexpr (reflect::Record<Row>)
        return has_sql_fields<Row>(std::make_index_sequence<reflect::field_count<Row>>{});
    else
        return false;
}

template <class Row, std::size_t... I>
Row read_record(std::string_view sql, const std::vector<std::string>& names,
                std::span<SqlValue> values, std::index_sequence<I...>) {
    Row row{};
    const auto fields = reflect::fields(row);
    const auto read = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
        std::get<N>(fields) = read_column<reflect::Field<Row, N>>(
            values[N], {sql, N + 1, names[N], reflect::field_names<Row>[N]});
    };
    (read(std::integral_constant<std::size_t, I>{}), ...);
    return row;
}

template <class Row>
std::vector<Row> read_rows(std::string_view sql, SqlResult result) {
    constexpr bool single = is_sql_column<Row>();
    std::size_t width = 1;
    if constexpr (!single) width = reflect::field_count<Row>;
    check_columns(sql, result, width);
    std::vector<Row> rows;
    rows.reserve(result.values.size() / width);
    for (std::size_t at = 0; at < result.values.size(); at += width) {
        if constexpr (single)
            rows.push_back(read_column<Row>(result.values[at], {sql, 1, result.columns[0], {}}));
        else
            rows.push_back(read_record<Row>(sql, result.columns,
                                            std::span{result.values}.subspan(at, width),
                                            std::make_index_sequence<reflect::field_count<Row>>{}));
    }
    return rows;
}

}  // namespace pawl::inline v0::detail
