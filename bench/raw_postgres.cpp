#include "raw_postgres.hpp"

#include <libpq-fe.h>

#include <stdexcept>

namespace pawl::bench {
namespace {

constexpr unsigned bigint = 20;
constexpr int as_binary = 1;

void add(std::string& out, std::uint64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<char>(number >> shift & 0xff));
}

// Dimensions, whether there are NULLs, the type, the size and the lowest subscript.
std::string head(unsigned type, std::size_t count) {
    std::string out;
    for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{type},
                                     std::uint64_t{count}, std::uint64_t{1}})
        add(out, word, 4);
    return out;
}

std::int64_t number(const char* bytes) {
    std::uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(out);
}

[[noreturn]] void fail(PGconn* connection) { throw std::runtime_error(PQerrorMessage(connection)); }

void check(PGconn* connection, PGresult* result) {
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC)
        fail(connection);
}

// The form in which libpq wants parameters.
struct Bound {
    explicit Bound(const RawPostgres::Parameters& parameters)
        : formats(parameters.size(), as_binary), count(static_cast<int>(parameters.size())) {
        for (const auto& parameter : parameters) {
            values.push_back(parameter.data());
            lengths.push_back(static_cast<int>(parameter.size()));
        }
    }

    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    int count;
};

}  // namespace

std::string binary(std::int64_t number) {
    std::string out;
    add(out, static_cast<std::uint64_t>(number), 8);
    return out;
}

std::string binary_array(const std::vector<std::int64_t>& numbers) {
    std::string out = head(bigint, numbers.size());
    for (const auto number : numbers) {
        add(out, 8, 4);
        add(out, static_cast<std::uint64_t>(number), 8);
    }
    return out;
}

std::string binary_array(Bytes type, const std::vector<std::string>& values) {
    std::string out = head(static_cast<unsigned>(type), values.size());
    for (const auto& value : values) {
        add(out, value.size(), 4);
        out += value;
    }
    return out;
}

RawPostgres::RawPostgres(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) fail(connection_);
    PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
}

RawPostgres::~RawPostgres() { PQfinish(connection_); }

void RawPostgres::command(const std::string& sql) {
    check(connection_, PQexec(connection_, sql.c_str()));
}

void RawPostgres::prepare(const char* name, const char* sql) {
    check(connection_, PQprepare(connection_, name, sql, 0, nullptr));
}

RawPostgres::Rows RawPostgres::run(const char* name, const Parameters& parameters) {
    const Bound bound{parameters};
    PGresult* const result = PQexecPrepared(connection_, name, bound.count, bound.values.data(),
                                            bound.lengths.data(), bound.formats.data(), as_binary);
    Rows rows(static_cast<std::size_t>(PQntuples(result)));
    for (int i = 0; i < PQntuples(result); ++i)
        for (int c = 0; c < PQnfields(result); ++c)
            rows[static_cast<std::size_t>(i)].push_back(
                PQftype(result, c) == bigint ? number(PQgetvalue(result, i, c)) : 0);
    check(connection_, result);
    return rows;
}

void RawPostgres::post(const char* name, const Parameters& parameters) {
    if (posted_++ == 0) PQenterPipelineMode(connection_);
    const Bound bound{parameters};
    if (PQsendQueryPrepared(connection_, name, bound.count, bound.values.data(),
                            bound.lengths.data(), bound.formats.data(), as_binary) != 1)
        fail(connection_);
}

void RawPostgres::commit_posted() {
    PQpipelineSync(connection_);
    for (int results = 0; results <= posted_;) {
        PGresult* const result = PQgetResult(connection_);
        if (!result) continue;
        check(connection_, result);
        ++results;
    }
    PQexitPipelineMode(connection_);
    posted_ = 0;
}

}  // namespace pawl::bench
