/// Statements whose parameters are all texts, for clients that are not ours.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "store/foreign.hpp"
#include "store/sql/value.hpp"

namespace pawl::store::sql {

/// One value in a statement: what stands around its mark, and the text that it becomes.
struct SpelledValue {
    std::string before{};
    std::string after{};
    std::optional<std::string> parameter{};
    bool is_literal = false;  ///< it stands in the statement itself: there is no mark
};

/// How a database has it.
struct Spelling {
    std::string prefix;  ///< of tables
    Marks native = Marks::question;
    SpelledValue (*value)(const Value& value) = nullptr;
};

/// Each mark has a parameter of its own, also where the statement uses a value twice.
SpelledStatement spell(std::string_view sql, std::span<const Value> row, const Spelling& spelling,
                       Marks marks);

std::string hex_of(std::string_view bytes);

}  // namespace pawl::store::sql
