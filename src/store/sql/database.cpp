#include "store/sql/database.hpp"

#include <fmt/format.h>

#include <charconv>
#include <pawl/error.hpp>

#include "store/sql/cursor.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {

std::int64_t parse_cursor(const std::string& cursor) {
    std::int64_t seen = 0;
    if (cursor.empty()) return seen;
    const auto end = cursor.data() + cursor.size();
    const auto [at, error] = std::from_chars(cursor.data(), end, seen);
    if (error != std::errc{} || at != end || seen < 0)
        throw Error{Code::invalid, fmt::format("\"{}\" is not a cursor of this store", cursor)};
    return seen;
}

std::string Database::follow(const std::string& cursor, std::size_t limit,
                             const std::function<void(const Row&)>& take) {
    std::int64_t seen = parse_cursor(cursor);
    const auto connection = read();
    Transaction transaction{*connection, Access::read};
    connection->query(statements().events.follow, {seen, limit_of(limit)}, [&](const Row& row) {
        seen = row.number(0);
        take(row);
    });
    transaction.commit();
    return std::to_string(seen);
}

}  // namespace pawl::store::sql
