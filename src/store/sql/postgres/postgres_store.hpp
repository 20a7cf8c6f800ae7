/// Opens the store in a PostgreSQL database, in a schema of its own, for many processes.
#pragma once

#include <functional>
#include <memory>
#include <pawl/clock.hpp>
#include <pawl/time.hpp>
#include <string>
#include <string_view>

#include "store/store.hpp"

namespace pawl::store {

struct PostgresOptions {
    std::string conninfo{};        ///< what libpq understands: a URL or "host=... dbname=..."
    std::string schema = "pawl";   ///< where the tables are; made if it is not there
    const Clock* clock = nullptr;  ///< instead of the database's; outlives the store
    /// At most, besides one each for renewals, listening and bells, and as many for transactions of
    /// the user's own.
    std::size_t connections = 8;
    bool pooler = false;  ///< there is a transaction pooler: nothing outlives a transaction
    Duration statement_timeout = std::chrono::seconds{30};  ///< of any one call to the server
    Duration connect_timeout = std::chrono::seconds{5};     ///< of one attempt, for each host
    Duration patience = std::chrono::seconds{10};      ///< for a free connection, or for the server
    std::function<void(std::string_view)> at_point{};  ///< for crash tests: `base::points`
};

/// Throws pawl::Error (invalid) that says what is wrong with the URL. Parameters that are not
/// pawl's are libpq's. The schema is empty unless it is given.
PostgresOptions parse_postgres_url(std::string_view url);

/// Throws pawl::Error: `unavailable` if the server can't be reached or refuses, `corrupt` if the
/// schema is somebody else's or of a newer pawl, `invalid` for a bad setting.
std::unique_ptr<Store> open_postgres(const PostgresOptions& options);

/// Brings the schema up to date, under a lock: any number of processes may do so at once.
void migrate_postgres(const PostgresOptions& options);
/// What `migrate_postgres` would run in an empty database.
std::string postgres_migration_sql(const PostgresOptions& options);

}  // namespace pawl::store
