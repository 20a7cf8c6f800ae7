/// Messages that are written in transactions which are not pawl's.
#pragma once

#include <optional>
#include <pawl/foreign.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "store/values.hpp"

namespace pawl::store {

/// A connection that somebody else has opened, in the words of its client library.
using ForeignHandle = std::variant<sqlite3*, pg_conn*, st_mysql*>;

/// Used by one thread at a time.
class ForeignTransaction {
public:
    virtual ~ForeignTransaction() = default;
    /// All or none of them, in their order; others see them when the transaction commits. Error
    /// (misuse) if none is open any more.
    virtual void publish(std::span<const Message> messages) = 0;
};

struct SpelledStatement {
    std::string sql;
    std::vector<std::optional<std::string>> parameters;  ///< one for each mark, in this order
};

}  // namespace pawl::store
