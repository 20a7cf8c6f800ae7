/// Opens the store in a MariaDB database, which may hold the user's own tables too.
#pragma once

#include <functional>
#include <memory>
#include <pawl/clock.hpp>
#include <pawl/time.hpp>
#include <string>
#include <string_view>

#include "store/store.hpp"

namespace pawl::store {

struct MariadbOptions {
    /// mariadb://user:password@host:port/database, and parameters: socket, prefix, ssl, ssl_ca,
    /// connections, statement_timeout (in seconds: the deadline).
    std::string url{};
    const Clock* clock = nullptr;  ///< the database's, unless given; outlives the store
    std::string prefix = "pawl_";  ///< of the tables; the URL's goes first
    Duration deadline = std::chrono::seconds{30};  ///< of a statement, and of reaching the server
    /// That write, as many that read, and as many for transactions of the user's own.
    std::size_t connections = 4;
    std::function<void(std::string_view)> at_point{};  ///< for crash tests: `base::points`
};

/// Makes or updates the tables if the user may. Throws pawl::Error: `invalid` for a URL that is
/// malformed or is refused by the server, `unavailable` if the server can't be reached, `corrupt`
/// if the tables are somebody else's or of a newer pawl.
std::unique_ptr<Store> open_mariadb(const MariadbOptions& options);

/// Brings the tables up to date, under a lock: any number of processes may do so at once.
void migrate_mariadb(const MariadbOptions& options);
/// What `migrate_mariadb` would run in an empty database.
std::string mariadb_migration_sql(const MariadbOptions& options);

}  // namespace pawl::store
