/// The seam between the typed Transaction and a database: the user's own SQL with plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::inline v0::detail {

/// A number that is exact and perhaps larger than a std::int64_t: its digits.
struct SqlDecimal {
    std::string digits{};
    friend bool operator==(const SqlDecimal&, const SqlDecimal&) = default;
};

/// A parameter or a column. Databases have more types; what is none of these is a text.
using SqlValue = std::variant<std::monostate, bool, std::int64_t, double, SqlDecimal, std::string,
                              std::vector<std::byte>, Time>;

struct SqlResult {
    std::int64_t changed = 0;            ///< rows that it inserted, updated or deleted
    std::vector<std::string> columns{};  ///< their names; none if it returns no rows
    std::vector<SqlValue> values{};      ///< row after row
};

/// What must not happen twice.
struct OnceKey {
    std::string scope{};
    std::string id{};
    Uuid token{};  ///< of whoever asks
};

/// A transaction that is open.
class SqlSession {
public:
    /// Runs one statement. Throws pawl::Error; then nothing of the transaction can be committed any
    /// more.
    virtual SqlResult run(std::string_view sql, const std::vector<SqlValue>& values) = 0;
    /// Whether nobody who committed has asked this before, by another token. It is remembered for
    /// so long if this commits. Throws as `run` does.
    virtual bool is_first(const OnceKey& once, Duration window) = 0;

protected:
    ~SqlSession() = default;
};

}  // namespace pawl::inline v0::detail
