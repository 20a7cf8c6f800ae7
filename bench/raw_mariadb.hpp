/// The rivals on MariaDB: the same rows in the same schema, written by hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct st_mysql;
struct st_mysql_stmt;

namespace pawl::bench {

/// A database of its own in the server that PAWL_BENCH_MARIADB names, with pawl's tables.
class MariadbScratch {
public:
    MariadbScratch();
    ~MariadbScratch();
    MariadbScratch(const MariadbScratch&) = delete;
    MariadbScratch& operator=(const MariadbScratch&) = delete;
    std::string url() const;
    const std::string& name() const { return name_; }

private:
    std::string name_;
};

/// One connection under READ COMMITTED.
class RawMariadb {
public:
    explicit RawMariadb(const std::string& database);
    ~RawMariadb();
    RawMariadb(const RawMariadb&) = delete;
    RawMariadb& operator=(const RawMariadb&) = delete;

    using Value = std::variant<std::nullptr_t, std::int64_t, std::string>;
    using Row = std::vector<Value>;
    void query(const std::string& sql);
    /// A statement, prepared once; for many rows as one array of parameters.
    void run(const char* sql, const std::vector<Row>& rows);

private:
    st_mysql_stmt* prepare(const char* sql);

    st_mysql* link_ = nullptr;
    std::map<const char*, st_mysql_stmt*> statements_;
};

/// Numbers for all connections of one rival.
struct RawNumbers {
    std::atomic<std::int64_t> next{1};
};

/// Names and lines; once for each database.
void prepare_parcels(RawMariadb& db);
/// An instance, an event and an effect for each of `batch` parcels, in one transaction.
void insert_batch(RawMariadb& db, RawNumbers& numbers, int batch);
/// One parcel, a statement at a time: begin, insert the instance, lock it, read its events, insert
/// an event, insert an effect, update the instance, commit.
void insert_by_round_trips(RawMariadb& db, RawNumbers& numbers);

}  // namespace pawl::bench
