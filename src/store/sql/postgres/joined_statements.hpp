/// Several statements as one: the server binds, starts and ends one instead of each of them, which
/// for a small group costs it as much as the rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl::store::sql::postgres {

/// Whether it may be joined with its neighbours: none of those of which this is true looks at rows
/// that another of them writes. Joined statements see what was there before all of them.
bool can_join(std::string_view statement);

/// Two sorts can be joined: a guard, WITH ... SELECT 1 / (condition)::integer, and what only
/// writes. Guards are looked at in their order; the rest is written then, in an order that only the
/// server knows (it takes the last one first, and promises nothing). The parameters are those of
/// the statements, one after the other; names in WITH are told apart by whoever writes them.
std::string join_statements(std::span<const std::string_view> texts);

}  // namespace pawl::store::sql::postgres
