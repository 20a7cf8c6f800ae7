/// The rival on PostgreSQL: the same rows in the same schema, written by hand with libpq.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct pg_conn;

namespace pawl::bench {

/// A schema of its own on the server in PAWL_BENCH_POSTGRES, with pawl's tables; dropped at the
/// end.
class PostgresScratch {
public:
    PostgresScratch();
    ~PostgresScratch();
    PostgresScratch(const PostgresScratch&) = delete;
    PostgresScratch& operator=(const PostgresScratch&) = delete;

    /// For an engine.
    std::string url() const;
    const std::string& schema() const { return schema_; }
    /// Where the server is.
    static std::string server();

private:
    std::string schema_;
};

/// One connection that writes what the engine writes for a parcel: an instance, an event and an
/// effect. Numbers come from the caller.
class RawPostgres {
public:
    explicit RawPostgres(const PostgresScratch& scratch);
    ~RawPostgres();
    RawPostgres(const RawPostgres&) = delete;
    RawPostgres& operator=(const RawPostgres&) = delete;

    /// Interns the names; once per schema.
    void prepare_names();
    /// `count` parcels in one transaction: three statements with arrays, sent in one go.
    void insert_batch(std::int64_t first, int count);
    /// One parcel as an engine without batches does it: begin, insert the instance, lock it, read
    /// its events, insert the event and the effect, update the instance, commit.
    void insert_by_round_trips(std::int64_t number);

private:
    void command(const char* sql);
    void run(const char* name, const std::vector<std::string>& parameters);
    void prepare(const char* name, const char* sql);

    pg_conn* connection_ = nullptr;
};

}  // namespace pawl::bench
