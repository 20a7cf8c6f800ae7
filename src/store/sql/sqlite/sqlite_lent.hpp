/// A connection of the user's own to the store's file.
#pragma once

#include "store/sql/lent_connection.hpp"
#include "store/sql/spelling.hpp"
#include "store/sql/sqlite/sqlite_connection.hpp"

namespace pawl::store::sql::sqlite {

class SqliteLent final : public LentConnection {
public:
    /// Throws Error (misuse) unless the store's file is open there, by whatever name, and a
    /// transaction too.
    SqliteLent(sqlite3* handle, const ConnectionOptions& store);

    Connection& enter() override;
    void leave() noexcept override;

private:
    sqlite3* handle_;
    SqliteConnection connection_;
    std::int64_t last_row_ = 0;  ///< that the user has inserted
};

SpelledValue spelled(const Value& value);

}  // namespace pawl::store::sql::sqlite
