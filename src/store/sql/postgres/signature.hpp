/// The types of a statement's parameters, read from its text.
#pragma once

#include <string_view>
#include <vector>

namespace pawl::store::sql::postgres {

enum class Type : unsigned char { none, bigint, integer, smallint, text, bytea };

/// What `$n::type` says at a parameter's first use. A statement is bulk if its parameters are
/// arrays; then all of them are. A parameter that is never used has no type, and is sent as NULL.
struct Signature {
    std::vector<Type> types;
    bool bulk = false;
};

/// Aborts for a parameter without a cast, or of a type that is not known: statements are ours.
Signature read_signature(std::string_view sql);

/// PostgreSQL's number of a type, or of the array of it.
unsigned number_of(Type type, bool array);

}  // namespace pawl::store::sql::postgres
