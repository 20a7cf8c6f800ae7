/// MariaDB without pawl: prepared statements with arrays of parameters, for the rival.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

struct st_mysql;
struct st_mysql_stmt;

namespace pawl::bench {

/// Where PAWL_BENCH_MARIADB says: mariadb://user:password@host:port/database, as ./dev writes it.
struct MariadbServer {
    static MariadbServer of_environment();

    std::string text{};
    std::string user{}, password{}, host{};
    unsigned port = 0;
};

/// One connection under READ COMMITTED, always in a transaction.
class RawMariadb {
public:
    /// In no database, if there is no name.
    explicit RawMariadb(const std::string& database = "");
    ~RawMariadb();
    RawMariadb(const RawMariadb&) = delete;
    RawMariadb& operator=(const RawMariadb&) = delete;

    using Value = std::variant<std::nullptr_t, std::int64_t, std::string>;
    using Row = std::vector<Value>;
    using Numbers = std::vector<std::vector<std::int64_t>>;
    /// A statement as text; returns how many rows it changed.
    long query(const std::string& sql);
    /// A query as text; the columns that are numbers.
    Numbers rows(const std::string& sql);
    /// A statement, prepared once; for many rows as one array of parameters.
    void run(const char* sql, const std::vector<Row>& rows);

private:
    st_mysql_stmt* prepare(const char* sql);

    st_mysql* link_ = nullptr;
    std::map<const char*, st_mysql_stmt*> statements_;
};

}  // namespace pawl::bench
