#include "store/sql/mariadb/mariadb_database.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "store/sql/mariadb/mariadb_lent.hpp"
#include "store/sql/mariadb/mariadb_migrating.hpp"
#include "store/sql/mariadb/mariadb_statements.hpp"
#include "store/sql/mariadb/mariadb_url.hpp"
#include "store/sql/mariadb/mariadb_watch.hpp"
#include "store/sql/rewrite.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql::mariadb {

MariadbDatabase::MariadbDatabase(const MariadbOptions& options)
    : options_(with_parameters_of_url(options)),
      address_(address_of(options_.url)),
      clock_(options_.clock),
      readers_(pool_options(options_.connections), [this] { return open(Role::reader); }),
      writers_(pool_options(options_.connections), [this] { return open(Role::writer); }),
      renewers_(pool_options(1), [this] { return open(Role::renewer); }),
      users_(pool_options(options_.connections), [this] { return open(Role::users); }) {
    check_prefix(options_.prefix);
    const auto writer = lease(Role::writer, Access::write);
    migrate(static_cast<MariadbConnection&>(*writer), options_.prefix);
}

const Statements& MariadbDatabase::statements() const { return mariadb::statements; }

ConnectionOptions MariadbDatabase::connection_options(Role role) const {
    ConnectionOptions how{.address = address_,
                          .prefix = options_.prefix,
                          .role = role,
                          .deadline = options_.deadline};
    if (role != Role::reader) how.at_point = options_.at_point;
    return how;
}

PoolOptions MariadbDatabase::pool_options(std::size_t size) const {
    return {.size = size,
            .deadline = options_.deadline,
            .what = fmt::format("connections to MariaDB at {}", address_.text())};
}

std::unique_ptr<MariadbConnection> MariadbDatabase::open(Role role) const {
    return std::make_unique<MariadbConnection>(connection_options(role));
}

MariadbDatabase::Pool& MariadbDatabase::pool(Role role) {
    switch (role) {
        case Role::reader:
            return readers_;
        case Role::writer:
            return writers_;
        case Role::renewer:
            return renewers_;
        case Role::users:
            break;
    }
    return users_;
}

// Whoever takes a connection asks for the time if the last answer is old: nobody needs a second
// connection for it while holding one.
Database::Lease MariadbDatabase::lease(Role role, Access access) {
    auto& connection = pool(role).take();
    try {
        clock_.measure([&] {
            Time told{};
            connection.query(mariadb::time, {}, [&](const Row& row) { told = row.time(0); });
            connection.rollback();
            return told;
        });
    } catch (...) {
        pool(role).give_back(connection);
        throw;
    }
    return {*this, connection, access};
}

// A lease is renewed on a connection of its own, so that it never waits for a group; and no group
// waits for SQL of the user's own.
Database::Lease MariadbDatabase::write(Purpose purpose) {
    const auto role = purpose == Purpose::renewal ? Role::renewer
                      : purpose == Purpose::users ? Role::users
                                                  : Role::writer;
    return lease(role, Access::write);
}

Database::Lease MariadbDatabase::read() { return lease(Role::reader, Access::read); }

void MariadbDatabase::give_back(Connection& connection, Access) noexcept {
    auto& own = static_cast<MariadbConnection&>(connection);
    own.rollback();  // of what was read outside of a transaction
    pool(own.role()).give_back(own);
}

std::unique_ptr<Numbers> MariadbDatabase::numbers() {
    return std::make_unique<CounterRow>(counters);
}

std::unique_ptr<Watch> MariadbDatabase::watch() {
    return make_watch([this] { return open(Role::reader); });
}

// What only publishes takes no number, nor does a transaction of somebody else's: until it ends,
// all groups would wait for it.
void MariadbDatabase::take_number() {
    in_write(*this, Purpose::claim,
             [](Connection& connection) { return connection.run(mariadb::take_number); });
}

std::string MariadbDatabase::qualified_prefix() const {
    std::string name = "`";
    for (const char c : address_.database) name += c == '`' ? "``" : std::string{c};
    return name + "`." + options_.prefix;
}

std::unique_ptr<LentConnection> MariadbDatabase::borrow(const ForeignHandle& handle) {
    return std::make_unique<MariadbLent>(
        handle_of<st_mysql*>(handle, "MariaDB"),
        ConnectionOptions{
            .address = address_, .prefix = qualified_prefix(), .texts_as_bytes = true});
}

Spelling MariadbDatabase::spelling() const {
    return {.prefix = qualified_prefix(), .native = Marks::question, .value = spelled};
}

}  // namespace pawl::store::sql::mariadb
