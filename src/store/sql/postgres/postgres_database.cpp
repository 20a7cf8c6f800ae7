#include "store/sql/postgres/postgres_database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "store/sql/postgres/following.hpp"
#include "store/sql/postgres/opening.hpp"
#include "store/sql/postgres/postgres_lent.hpp"
#include "store/sql/postgres/postgres_statements.hpp"
#include "store/sql/postgres/postgres_watch.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr std::size_t most_writers = 2;

ConnectionOptions users_options(const PostgresOptions& options) {
    auto how = connection_options(options);
    how.users = true;
    return how;
}

}  // namespace

ConnectionOptions connection_options(const PostgresOptions& options) {
    return {.link = {.conninfo = options.conninfo,
                     .connect_timeout = options.connect_timeout,
                     .statement_timeout = options.statement_timeout},
            .schema = options.schema,
            .pooler = options.pooler,
            .at_point = options.at_point};
}

PostgresDatabase::PostgresDatabase(const PostgresOptions& options)
    : options_(options),
      pool_({.size = options.connections,
             .deadline = options.patience,
             .what = "connections to PostgreSQL"},
            [how = connection_options(options)] {
                return std::make_unique<PostgresConnection>(how);
            }),
      users_({.size = options.connections,
              .deadline = options.patience,
              .what = "connections to PostgreSQL for transactions"},
             [how = users_options(options)] { return std::make_unique<PostgresConnection>(how); }),
      clock_(options.clock),
      notifier_(connection_options(options)) {
    check_options(options_);
    const Lease connection{*this, take(pool_), Access::write};
    auto& own = static_cast<PostgresConnection&>(*connection);
    prepare_schema(own, options_.schema);
    place_ = own.place();
    identity_ = identity_of(own);
}

const Statements& PostgresDatabase::statements() const { return postgres::statements; }

// With the server's time, if nobody has asked for it lately.
PostgresConnection& PostgresDatabase::take(Pool& pool, std::size_t extra) {
    for (Tries tries;;) {
        auto& connection = pool.take(extra);
        try {
            clock_.measure([&] {
                Time server{};
                connection.query(postgres::clock, {},
                                 [&](const Row& row) { server = row.time(0); });
                return server;
            });
            return connection;
        } catch (const LostConnection& lost) {
            pool.give_back(connection);
            if (!tries.again(lost)) throw;
        } catch (...) {
            pool.give_back(connection);
            throw;
        }
    }
}

// One group is decided while another is written: more of them would be smaller ones, which cost the
// server more for each row. Claims and loads need connections too.
std::size_t PostgresDatabase::writers() const {
    return std::clamp<std::size_t>(options_.connections / 2, 1, most_writers);
}

// A renewal has a connection of its own: it never waits for those who write.
Database::Lease PostgresDatabase::write(Purpose purpose) {
    auto& pool = purpose == Purpose::users ? users_ : pool_;
    return {*this, take(pool, purpose == Purpose::renewal ? 1 : 0), Access::write};
}

Database::Lease PostgresDatabase::read() { return {*this, take(pool_), Access::read}; }

void PostgresDatabase::give_back(Connection& connection, Access) noexcept {
    auto& own = static_cast<PostgresConnection&>(connection);
    own.clear_the_way();
    pool_of(own).give_back(own);
}

std::string PostgresDatabase::follow(const std::string& cursor, std::size_t limit,
                                     const std::function<void(const Row&)>& take) {
    for (Tries tries;;) {
        try {
            const auto connection = read();
            return follow_events(static_cast<PostgresConnection&>(*connection), cursor, limit,
                                 take);
        } catch (const LostConnection& lost) {
            if (!tries.again(lost)) throw;
        }
    }
}

std::unique_ptr<Watch> PostgresDatabase::watch() {
    return make_watch(connection_options(options_), notifier_);
}

std::unique_ptr<LentConnection> PostgresDatabase::borrow(const ForeignHandle& handle) {
    return std::make_unique<PostgresLent>(
        handle_of<pg_conn*>(handle, "PostgreSQL"),
        PostgresLent::Store{.schema = options_.schema, .place = place_, .identity = identity_});
}

Spelling PostgresDatabase::spelling() const {
    return {.prefix = '"' + options_.schema + "\".", .native = Marks::dollar, .value = spelled};
}

}  // namespace pawl::store::sql::postgres
