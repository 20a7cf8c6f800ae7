#include "store/sql/postgres/parameters.hpp"

#include <fmt/format.h>

#include <limits>
#include <pawl/error.hpp>

namespace pawl::store::sql::postgres {
namespace {

constexpr auto absent = ~std::size_t{0};

template <class Int>
std::uint64_t fitted(std::int64_t number) {
    if (number < std::numeric_limits<Int>::min() || number > std::numeric_limits<Int>::max())
        throw Error{Code::invalid, fmt::format("{} is out of the range of its column", number)};
    return static_cast<std::uint64_t>(number);
}

std::size_t value_size(Type type, const Value& value) {
    switch (type) {
        case Type::bigint:
            return 8;
        case Type::integer:
            return 4;
        case Type::smallint:
            return 2;
        default:
            return static_cast<std::size_t>(value.number);
    }
}

// Of all rows. An array that is absent is one of nulls where `unnest` sets it beside others, and
// costs the server nothing.
bool is_null(std::span<const Value> values, std::size_t column, std::size_t columns) {
    for (std::size_t at = column; at < values.size(); at += columns)
        if (values[at].type != Value::Type::null) return false;
    return true;
}

}  // namespace

bool fits(const Signature& whole, const Signature& part, std::span<const Value> values) {
    const auto columns = whole.types.size();
    base::check(part.types.size() == columns, "they have the same parameters");
    for (std::size_t column = 0; column < columns; ++column)
        if (whole.types[column] != Type::none && part.types[column] == Type::none &&
            !is_null(values, column, columns))
            return false;
    return true;
}

void Parameters::add_number(std::uint64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        buffer_.push_back(static_cast<char>(number >> shift & 0xff));
}

// Its length, then its bytes.
void Parameters::add_value(Type type, const Value& value) {
    if (value.type == Value::Type::null) return add_number(0xffffffff, 4);
    const bool number = value.type == Value::Type::number;
    base::check(number == (type != Type::text && type != Type::bytea),
                "a value has the type of its parameter");
    switch (type) {
        case Type::bigint:
            add_number(8, 4);
            return add_number(static_cast<std::uint64_t>(value.number), 8);
        case Type::integer:
            add_number(4, 4);
            return add_number(fitted<std::int32_t>(value.number), 4);
        case Type::smallint:
            add_number(2, 4);
            return add_number(fitted<std::int16_t>(value.number), 2);
        case Type::text:
        case Type::bytea:
            add_number(static_cast<std::uint64_t>(value.number), 4);
            buffer_.append(value.view());
            return;
        case Type::none:
            return;
    }
}

void Parameters::clear() {
    buffer_.clear();
    starts_.clear();
    pointers_.clear();
    lengths_.clear();
    formats_.clear();
}

void Parameters::append(const Parameters& other) {
    const auto add = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    add(pointers_, other.pointers_);
    add(lengths_, other.lengths_);
    add(formats_, other.formats_);
}

void Parameters::encode(const Signature& signature, std::span<const Value> values,
                        std::size_t rows) {
    const std::size_t columns = signature.types.size();
    base::check(values.size() == columns * rows, "there is a value for every parameter");
    base::check(signature.bulk || rows == 1 || columns == 0, "only bulk statements take many rows");
    clear();
    for (std::size_t column = 0; column < columns; ++column) {
        const Type type = signature.types[column];
        if (type == Type::none || is_null(values, column, columns)) {
            starts_.push_back(absent);
            lengths_.push_back(0);
            continue;
        }
        if (!signature.bulk) {
            add_value(type, values[column]);
            // The length before a single value is given apart.
            const auto size = value_size(type, values[column]);
            starts_.push_back(buffer_.size() - size);
            lengths_.push_back(static_cast<int>(size));
            continue;
        }
        starts_.push_back(buffer_.size());
        add_number(1, 4);  // dimensions
        add_number(1, 4);  // there may be nulls
        add_number(number_of(type, false), 4);
        add_number(rows, 4);
        add_number(1, 4);  // the first index
        for (std::size_t row = 0; row < rows; ++row)
            add_value(type, values[row * columns + column]);
        lengths_.push_back(static_cast<int>(buffer_.size() - starts_.back()));
    }
    for (const auto start : starts_)
        pointers_.push_back(start == absent ? nullptr : buffer_.data() + start);
    formats_.assign(columns, 1);
}

}  // namespace pawl::store::sql::postgres
