/// A statement of the user's own: checked, and in the words of one database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/sql/rewrite.hpp"

namespace pawl::store::sql {

struct UserStatement {
    std::string text;
    std::vector<std::size_t> places;  ///< the number of the argument at each mark
    std::vector<std::string> words;   ///< the first two, in capitals
};

/// Throws pawl::Error (invalid) unless each argument is used and each parameter has one, and
/// (misuse) for what begins, ends or divides a transaction.
UserStatement read_user_statement(std::string_view sql, std::size_t arguments,
                                  const Dialect& dialect);

/// For messages.
std::string beginning_of(std::string_view sql);

}  // namespace pawl::store::sql
