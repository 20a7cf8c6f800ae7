/// A PostgreSQL schema as a Database.
#pragma once

#include <memory>

#include "store/sql/database.hpp"
#include "store/sql/postgres/bell.hpp"
#include "store/sql/postgres/blocks.hpp"
#include "store/sql/postgres/connection_pool.hpp"
#include "store/sql/postgres/postgres_store.hpp"
#include "store/sql/postgres/server_clock.hpp"

namespace pawl::store::sql::postgres {

class PostgresDatabase final : public Database {
public:
    explicit PostgresDatabase(const PostgresOptions& options);

    Time now() override { return options_.clock ? options_.clock->now() : clock_.now(); }
    const Statements& statements() const override;
    Lease write(Purpose purpose) override;
    Lease read() override;
    std::unique_ptr<Numbers> numbers() override { return std::make_unique<BlockNumbers>(blocks_); }
    std::string follow(const std::string& cursor, std::size_t limit,
                       const std::function<void(const Row&)>& take) override;
    void announce() noexcept override { bell_.ring(); }
    std::unique_ptr<Watch> watch() override;

private:
    void give_back(Connection& connection, Access access) noexcept override;

    const PostgresOptions options_;
    ConnectionPool pool_;
    ServerClock clock_{pool_};
    Blocks blocks_;
    Bell bell_;
};

/// How to connect for these options.
ConnectionOptions connection_options(const PostgresOptions& options);

}  // namespace pawl::store::sql::postgres
