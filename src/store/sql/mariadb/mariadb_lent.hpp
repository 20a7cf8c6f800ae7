/// A connection of the user's own to the store's server.
#pragma once

#include "store/sql/lent_connection.hpp"
#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/sql/spelling.hpp"

namespace pawl::store::sql::mariadb {

class MariadbLent final : public LentConnection {
public:
    /// Throws Error (misuse) unless the store's tables are there and a transaction is open.
    /// `store`: the prefix names the database, too.
    MariadbLent(st_mysql* handle, const ConnectionOptions& store);

    Connection& enter() override;
    void leave() noexcept override {}

private:
    void check_tables(const ConnectionOptions& store);

    st_mysql* handle_;
    MariadbConnection connection_;
};

SpelledValue spelled(const Value& value);

}  // namespace pawl::store::sql::mariadb
