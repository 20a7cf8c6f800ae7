/// Parameters in PostgreSQL's binary format: scalars, or arrays of a column each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/sql/postgres/signature.hpp"
#include "store/sql/value.hpp"

namespace pawl::store::sql::postgres {

/// Whether rows for one statement can be given to another, which uses some of its parameters: all
/// values of the others are NULL.
bool fits(const Signature& whole, const Signature& part, std::span<const Value> values);

/// Kept from call to call for its memory.
class Parameters {
public:
    /// `values` are rows, one after the other. Throws pawl::Error (invalid) for a value that its
    /// type can't hold.
    void encode(const Signature& signature, std::span<const Value> values, std::size_t rows);

    /// Those of another one, behind these. They stay where they are, and must not change.
    void append(const Parameters& other);
    void clear();

    int count() const { return static_cast<int>(pointers_.size()); }
    const char* const* pointers() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    void add_number(std::uint64_t number, int bytes);
    void add_value(Type type, const Value& value);

    std::string buffer_;
    std::vector<std::size_t> starts_;
    std::vector<const char*> pointers_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace pawl::store::sql::postgres
