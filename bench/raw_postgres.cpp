#include "raw_postgres.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <pawl/migrate.hpp>
#include <stdexcept>
#include <string_view>

#include "harness.hpp"
#include "raw_rows.hpp"
#include "workflows.hpp"

namespace pawl::bench {
namespace {

constexpr unsigned bigint = 20;
constexpr unsigned bytea = 17;

void add(std::string& out, std::uint64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<char>(number >> shift & 0xff));
}

std::string binary(std::int64_t number) {
    std::string out;
    add(out, static_cast<std::uint64_t>(number), 8);
    return out;
}

/// An array in the server's binary format.
template <class Element>
std::string array(unsigned type, int count, Element element) {
    std::string out;
    for (const std::uint64_t head : {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{type},
                                     static_cast<std::uint64_t>(count), std::uint64_t{1}})
        add(out, head, 4);
    for (int i = 0; i < count; ++i) {
        const std::string value = element(i);
        add(out, value.size(), 4);
        out += value;
    }
    return out;
}

[[noreturn]] void fail(PGconn* connection) { throw std::runtime_error(PQerrorMessage(connection)); }

PGconn* connect(const std::string& url) {
    PGconn* const connection = PQconnectdb(url.c_str());
    if (PQstatus(connection) != CONNECTION_OK) fail(connection);
    return connection;
}

}  // namespace

std::string PostgresScratch::server() {
    const char* given = std::getenv("PAWL_BENCH_POSTGRES");
    if (!given)
        throw std::runtime_error("PAWL_BENCH_POSTGRES names no server; ./dev bench starts one");
    return given;
}

PostgresScratch::PostgresScratch() {
    static std::atomic<int> count{0};
    schema_ = fmt::format("bench_{}_{}", ::getpid(), ++count);
    pawl::migrate(url());
}

std::string PostgresScratch::url() const {
    const auto base = server();
    return base + (base.find('?') == base.npos ? '?' : '&') + "schema=" + schema_;
}

PostgresScratch::~PostgresScratch() {
    PGconn* const connection = PQconnectdb(server().c_str());
    PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
    PQclear(PQexec(connection, fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", schema_).c_str()));
    PQfinish(connection);
}

RawPostgres::RawPostgres(const PostgresScratch& scratch)
    : connection_(connect(PostgresScratch::server())) {
    PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
    command(fmt::format("SET search_path = {}", scratch.schema()).c_str());
    prepare(
        "instances",
        "INSERT INTO instance (ref, type, id, version, created_at, updated_at) "
        "SELECT ref, 1, id, 1, $3::bigint, $3 FROM unnest($1::bigint[], $2::bytea[]) k (ref, id)");
    prepare("events",
            "INSERT INTO event (instance, sequence, at, name, kind, encoding, id, payload) "
            "SELECT ref, 1, $3::bigint, 2, 0, 1, id, payload "
            "FROM unnest($1::bigint[], $2::bytea[], $4::bytea[]) k (ref, id, payload)");
    prepare(
        "items",
        "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
        "encoding, causation, payload) SELECT ref, 1, ref, 1, 0, 1, ref % 1024, $3::bigint, $3, 1, "
        "cause, payload FROM unnest($1::bigint[], $2::bytea[], $4::bytea[]) k (ref, cause, "
        "payload)");
    prepare("begin", "BEGIN");
    prepare("commit", "COMMIT");
    prepare("instance",
            "INSERT INTO instance (ref, type, id, version, created_at, updated_at) "
            "VALUES ($1::bigint, 1, $2::bytea, 0, $3::bigint, $3)");
    prepare("lock",
            "SELECT ref, version FROM instance WHERE type = 1 AND id = $1::bytea FOR UPDATE");
    prepare("read",
            "SELECT sequence, payload FROM event WHERE instance = $1::bigint ORDER BY sequence");
    prepare("event",
            "INSERT INTO event (instance, sequence, at, name, kind, encoding, id, payload) "
            "VALUES ($1::bigint, 1, $2::bigint, 2, 0, 1, $3::bytea, $4::bytea)");
    prepare("item",
            "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
            "encoding, causation, payload) VALUES ($1::bigint, 1, $1, 1, 0, 1, $1 % 1024, "
            "$2::bigint, $2, 1, $3::bytea, $4::bytea)");
    prepare("update",
            "UPDATE instance SET version = 1, updated_at = $2::bigint WHERE ref = $1::bigint");
}

RawPostgres::~RawPostgres() { PQfinish(connection_); }

void RawPostgres::command(const char* sql) {
    PGresult* const result = PQexec(connection_, sql);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(connection_);
}

void RawPostgres::prepare(const char* name, const char* sql) {
    PGresult* const result = PQprepare(connection_, name, sql, 0, nullptr);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK) fail(connection_);
}

void RawPostgres::prepare_names() {
    command("INSERT INTO name (name) VALUES ('parcel'), ('Posted')");
    command("INSERT INTO line (kind, type, name) VALUES (1, 1, 'Carry')");
}

void RawPostgres::run(const char* name, const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const auto& parameter : parameters) {
        values.push_back(parameter.data());
        lengths.push_back(static_cast<int>(parameter.size()));
    }
    const std::vector<int> formats(parameters.size(), 1);
    const int count = static_cast<int>(parameters.size());
    if (PQpipelineStatus(connection_) == PQ_PIPELINE_ON) {
        if (PQsendQueryPrepared(connection_, name, count, values.data(), lengths.data(),
                                formats.data(), 1) != 1)
            fail(connection_);
        return;
    }
    PGresult* const result =
        PQexecPrepared(connection_, name, count, values.data(), lengths.data(), formats.data(), 1);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(connection_);
}

void RawPostgres::insert_batch(std::int64_t first, int count) {
    const auto at = binary(now());
    const auto refs = array(bigint, count, [&](int i) { return binary(first + i); });
    const auto ids = array(bytea, count, [&](int i) { return numbered("parcel-", first + i); });
    const auto events = array(bytea, count, [](int) { return uuid(); });
    const auto payloads = array(bytea, count, [](int) { return std::string{posted}; });
    const auto works = array(bytea, count, [](int) { return std::string{carry}; });
    PQenterPipelineMode(connection_);
    run("instances", {refs, ids, at});
    run("events", {refs, events, at, payloads});
    run("items", {refs, events, at, works});
    PQpipelineSync(connection_);  // and commits
    for (int results = 0; results < 4;) {
        PGresult* const result = PQgetResult(connection_);
        if (!result) continue;
        const auto status = PQresultStatus(result);
        PQclear(result);
        ++results;
        if (status != PGRES_COMMAND_OK && status != PGRES_PIPELINE_SYNC) fail(connection_);
    }
    PQexitPipelineMode(connection_);
}

void RawPostgres::insert_by_round_trips(std::int64_t number) {
    const auto at = binary(now());
    const auto ref = binary(number);
    const auto id = numbered("parcel-", number);
    const auto event = uuid();
    run("begin", {});
    run("instance", {ref, id, at});
    run("lock", {id});
    run("read", {ref});
    run("event", {ref, at, event, std::string{posted}});
    run("item", {ref, at, event, std::string{carry}});
    run("update", {ref, at});
    run("commit", {});
}

}  // namespace pawl::bench
