/// A PostgreSQL schema as a Database.
#pragma once

#include <memory>

#include "store/sql/connection_pool.hpp"
#include "store/sql/database.hpp"
#include "store/sql/database_clock.hpp"
#include "store/sql/postgres/blocks.hpp"
#include "store/sql/postgres/notifier.hpp"
#include "store/sql/postgres/postgres_store.hpp"

namespace pawl::store::sql::postgres {

class PostgresDatabase final : public Database {
public:
    explicit PostgresDatabase(const PostgresOptions& options);

    Time now() override { return clock_.now(); }
    Value time_of_statement() override { return options_.clock ? Value{now()} : Value{}; }
    const Statements& statements() const override;
    Lease write(Purpose purpose) override;
    Lease read() override;
    std::size_t writers() const override;
    std::unique_ptr<Numbers> numbers() override { return std::make_unique<BlockNumbers>(blocks_); }
    std::string follow(const std::string& cursor, std::size_t limit,
                       const std::function<void(const Row&)>& take) override;
    void announce() noexcept override { notifier_.ring(); }
    std::unique_ptr<Watch> watch() override;
    std::unique_ptr<LentConnection> borrow(const ForeignHandle& handle) override;
    Spelling spelling() const override;

private:
    void give_back(Connection& connection, Access access) noexcept override;

    using Pool = ConnectionPool<PostgresConnection>;
    Pool& pool_of(const PostgresConnection& connection) {
        return connection.is_for_users() ? users_ : pool_;
    }
    PostgresConnection& take(Pool& pool, std::size_t extra = 0);

    const PostgresOptions options_;
    Pool pool_;
    Pool users_;  ///< whoever waits in SQL of his own keeps no group waiting
    DatabaseClock clock_;
    Blocks blocks_;
    Notifier notifier_;
    std::string place_;     ///< for messages
    std::string identity_;  ///< see identity_of
};

/// How to connect for these options.
ConnectionOptions connection_options(const PostgresOptions& options);

}  // namespace pawl::store::sql::postgres
