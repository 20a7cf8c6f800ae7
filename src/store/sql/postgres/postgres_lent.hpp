/// A connection of the user's own to the store's database.
#pragma once

#include "store/sql/lent_connection.hpp"
#include "store/sql/postgres/postgres_connection.hpp"
#include "store/sql/spelling.hpp"

namespace pawl::store::sql::postgres {

/// What tells a database from every other one, wherever a connection goes through.
std::string identity_of(Connection& connection);

class PostgresLent final : public LentConnection {
public:
    struct Store {
        std::string schema;
        std::string place;  ///< for messages
        std::string identity;
    };
    /// Throws Error (misuse) unless it leads to the store's database and a transaction is open.
    PostgresLent(PGconn* handle, const Store& store);

    Connection& enter() override;
    void leave() noexcept override;

private:
    void check_open() const;
    void check_identity(const Store& store);
    void set_encoding(const std::string& name);

    PGconn* handle_;
    PostgresConnection connection_;
    bool was_nonblocking_ = false;
    std::string encoding_;  ///< of the user's, while it is another one
};

SpelledValue spelled(const Value& value);

}  // namespace pawl::store::sql::postgres
