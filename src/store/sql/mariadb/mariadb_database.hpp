/// A MariaDB database as a store needs it: connections, its clock, and word of other processes.
#pragma once

#include "store/sql/bell.hpp"
#include "store/sql/connection_pool.hpp"
#include "store/sql/database.hpp"
#include "store/sql/database_clock.hpp"
#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/sql/mariadb/mariadb_store.hpp"

namespace pawl::store::sql::mariadb {

class MariadbDatabase final : public Database {
public:
    explicit MariadbDatabase(const MariadbOptions& options);

    Time now() override { return clock_.now(); }
    Value time_of_statement() override { return options_.clock ? Value{now()} : Value{}; }
    const Statements& statements() const override;
    Lease write(Purpose purpose) override;
    Lease read() override;
    std::unique_ptr<Numbers> numbers() override;
    /// Others look at the numbers that groups take, so there is nothing to say.
    void announce() noexcept override {}
    void announce_unnumbered() noexcept override { bell_.ring(); }
    std::unique_ptr<Watch> watch() override;
    std::unique_ptr<LentConnection> borrow(const ForeignHandle& handle) override;
    Spelling spelling() const override;

private:
    using Pool = ConnectionPool<MariadbConnection>;

    void give_back(Connection& connection, Access access) noexcept override;
    ConnectionOptions connection_options(Role role) const;
    PoolOptions pool_options(std::size_t size) const;
    std::unique_ptr<MariadbConnection> open(Role role) const;
    Pool& pool(Role role);
    Lease lease(Role role, Access access);
    void take_number();
    /// Whatever database a session is in.
    std::string qualified_prefix() const;

    const MariadbOptions options_;
    const Address address_;
    DatabaseClock clock_;
    Pool readers_;
    Pool writers_;
    Pool renewers_;
    Pool users_;
    Bell bell_{[this] { take_number(); }};  // ends first
};

}  // namespace pawl::store::sql::mariadb
