/// PostgreSQL without pawl: libpq, prepared statements and arrays in binary, for the rival.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct pg_conn;
struct pg_result;

namespace pawl::bench {

/// A parameter in the server's binary format.
std::string binary(std::int64_t number);
std::string binary_array(const std::vector<std::int64_t>& numbers);
/// Of bytea, or of text.
enum class Bytes : unsigned { bytea = 17, text = 25 };
std::string binary_array(Bytes type, const std::vector<std::string>& values);

/// One connection.
class RawPostgres {
public:
    explicit RawPostgres(const std::string& url);
    ~RawPostgres();
    RawPostgres(const RawPostgres&) = delete;
    RawPostgres& operator=(const RawPostgres&) = delete;

    using Parameters = std::vector<std::string>;
    using Rows = std::vector<std::vector<std::int64_t>>;

    void prepare(const char* name, const char* sql);
    /// Any SQL, as text.
    void command(const std::string& sql);
    /// One round trip; the columns that are bigint, 0 for the others.
    Rows run(const char* name, const Parameters& parameters = {});
    /// Goes with those that follow it, in one transaction and one round trip.
    void post(const char* name, const Parameters& parameters);
    /// Sends what was posted, and commits.
    void commit_posted();

private:
    pg_conn* connection_ = nullptr;
    int posted_ = 0;
};

}  // namespace pawl::bench
