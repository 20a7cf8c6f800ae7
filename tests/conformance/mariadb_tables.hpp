/// Tables of a test's own in the server that PAWL_TEST_MARIADB names, gone with it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "store/sql/mariadb/mariadb_connection.hpp"
#include "store/sql/mariadb/mariadb_store.hpp"
#include "store/sql/mariadb/mariadb_url.hpp"

namespace pawl::store::conformance {

/// A database with a name that nobody else has. MariaDB's databases are only names for tables, so
/// one is made and dropped quickly.
class MariadbTables {
public:
    MariadbTables() : server_(std::getenv("PAWL_TEST_MARIADB")), name_(fresh_name()) {
        run("CREATE DATABASE " + name_ + ";");
    }
    ~MariadbTables() { run("DROP DATABASE " + name_ + ";"); }
    MariadbTables(const MariadbTables&) = delete;
    MariadbTables& operator=(const MariadbTables&) = delete;

    std::string url() const { return server_.substr(0, server_.rfind('/') + 1) + name_; }
    const std::string& name() const { return name_; }
    MariadbOptions options() const { return {.url = url()}; }

    /// Statements by the server's administrator, each ended by a semicolon.
    void run(const std::string& script) const {
        sql::mariadb::MariadbConnection connection{
            {.address = sql::mariadb::address_of(server_), .prefix = "pawl_"}};
        connection.run_script(script);
        connection.commit();
    }
    /// A connection of somebody else's, in a transaction that does what it likes.
    std::unique_ptr<sql::mariadb::MariadbConnection> connect() const {
        return std::make_unique<sql::mariadb::MariadbConnection>(
            sql::mariadb::ConnectionOptions{.address = sql::mariadb::address_of(url())});
    }

private:
    static std::string fresh_name() {
        static std::random_device random;
        return "pawl_" + std::to_string(::getpid()) + "_" + std::to_string(random());
    }

    const std::string server_;
    const std::string name_;
};

}  // namespace pawl::store::conformance
