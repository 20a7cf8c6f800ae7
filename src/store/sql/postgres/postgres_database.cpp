#include "store/sql/postgres/postgres_database.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "store/sql/postgres/following.hpp"
#include "store/sql/postgres/opening.hpp"
#include "store/sql/postgres/postgres_statements.hpp"
#include "store/sql/postgres/postgres_watch.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql::postgres {

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
      pool_({.connection = connection_options(options),
             .most = options.connections,
             .patience = options.patience}),
      bell_(connection_options(options)) {
    check_options(options_);
    const Lease connection{*this, pool_.take(), Access::write};
    auto& opened = static_cast<PostgresConnection&>(*connection);
    prepare_schema(opened, options_.schema);
    if (!options_.clock) clock_.measure(opened);
}

const Statements& PostgresDatabase::statements() const { return postgres::statements; }

Database::Lease PostgresDatabase::write(Purpose purpose) {
    using Rank = ConnectionPool::Rank;
    const auto rank = purpose == Purpose::renewal ? Rank::urgent : Rank::ordinary;
    return {*this, pool_.take(rank), Access::write};
}

Database::Lease PostgresDatabase::read() { return {*this, pool_.take(), Access::read}; }

void PostgresDatabase::give_back(Connection& connection, Access) noexcept {
    pool_.give_back(static_cast<PostgresConnection&>(connection));
}

std::string PostgresDatabase::follow(const std::string& cursor, std::size_t limit,
                                     const std::function<void(const Row&)>& take) {
    for (Tries tries;;) {
        try {
            const auto connection = read();
            return follow_events(static_cast<PostgresConnection&>(*connection), cursor, limit,
                                 take);
        } catch (const LostConnection&) {
            tries.after_loss();
        }
    }
}

std::unique_ptr<Watch> PostgresDatabase::watch() {
    return make_watch(connection_options(options_), bell_);
}

}  // namespace pawl::store::sql::postgres
