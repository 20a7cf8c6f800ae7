/// Parameters of SQL statements: typed views, many rows at a time, without an allocation per value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.hpp"

namespace pawl::store::sql {

/// Null, a number, a text or bytes. Text and bytes are views: what they show outlives the call.
struct Value {
    enum class Type : std::uint8_t { null, number, text, bytes };

    constexpr Value() = default;
    constexpr Value(std::int64_t n) : number(n), type(Type::number) {}
    constexpr Value(Time t) : Value(t.time_since_epoch().count()) {}
    constexpr Value(std::optional<Time> t) : Value(t ? Value{*t} : Value{}) {}

    const char* data = nullptr;
    std::int64_t number = 0;  ///< the number, or the size of the text or bytes
    Type type = Type::null;

    constexpr std::string_view view() const { return {data, static_cast<std::size_t>(number)}; }
};

inline Value text(std::string_view s) {
    Value v;
    v.data = s.data();
    v.number = static_cast<std::int64_t>(s.size());
    v.type = Value::Type::text;
    return v;
}

inline Value bytes(std::string_view s) {
    // A null pointer would bind as NULL, and an empty payload is not an absent one.
    Value v = text(s.data() == nullptr ? std::string_view{""} : s);
    v.type = Value::Type::bytes;
    return v;
}

inline Value bytes(const Uuid& id) {
    return bytes({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

/// Texts that were not given are stored as NULL.
inline Value given_text(std::string_view s) { return s.empty() ? Value{} : text(s); }
inline Value given_bytes(std::string_view s) { return s.empty() ? Value{} : bytes(s); }
inline Value given_bytes(const Uuid& id) { return id.is_nil() ? Value{} : bytes(id); }

/// Rows of parameters for one statement. Keeps its memory when cleared.
class Rows {
public:
    void add(std::initializer_list<Value> row) {
        base::check(values_.empty() || row.size() == columns_, "rows have one width");
        columns_ = row.size();
        values_.insert(values_.end(), row);
    }
    void clear() { values_.clear(); }
    bool empty() const { return values_.empty(); }
    std::size_t size() const { return columns_ == 0 ? 0 : values_.size() / columns_; }
    std::size_t columns() const { return columns_; }
    std::span<const Value> values() const { return values_; }

private:
    std::size_t columns_ = 0;
    std::vector<Value> values_;
};

}  // namespace pawl::store::sql
