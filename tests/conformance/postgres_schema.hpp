/// A schema of its own on the tests' PostgreSQL server, gone with this object.
#pragma once

#include <cstdlib>
#include <string>

#include "base/random.hpp"
#include "store/sql/postgres/postgres_connection.hpp"
#include "store/sql/postgres/postgres_store.hpp"

namespace pawl::store::conformance {

class PostgresSchema {
public:
    PostgresSchema() : name_("test_" + std::to_string(base::system_random()->next())) {}
    ~PostgresSchema() {
        try {
            run("DROP SCHEMA IF EXISTS " + name_ + " CASCADE");
        } catch (const Error&) {
            // The server goes with the tests, and the schema with it.
        }
    }
    PostgresSchema(const PostgresSchema&) = delete;
    PostgresSchema& operator=(const PostgresSchema&) = delete;

    static std::string url() {
        const char* given = std::getenv("PAWL_TEST_POSTGRES");
        return given ? given : "";
    }
    const std::string& name() const { return name_; }
    PostgresOptions options() const {
        auto options = parse_postgres_url(url());
        options.schema = name_;
        return options;
    }
    /// As a user's own program would; tables are called as in pawl's own statements.
    void run(const std::string& script) const {
        sql::postgres::PostgresConnection connection{
            {.link = {.conninfo = parse_postgres_url(url()).conninfo}, .schema = name_}};
        connection.run_script(script);
    }

private:
    std::string name_;
};

}  // namespace pawl::store::conformance
