#include "raw_mariadb.hpp"

#include <mysql.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "raw_rows.hpp"
#include "workflows.hpp"

namespace pawl::bench {
namespace {

constexpr const char* insert_instance =
    "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at) "
    "VALUES (?, 1, ?, 1, ?, ?)";
constexpr const char* insert_event =
    "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, payload) "
    "VALUES (?, ?, 1, ?, 2, 0, 1, ?, ?)";
constexpr const char* insert_item =
    "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
    "encoding, causation, payload) VALUES (?, 1, ?, 1, 0, 1, ?, ?, ?, 1, ?, ?)";

// mariadb://user:password@host:port/database, as ./dev writes it.
struct Server {
    std::string text;
    std::string user, password, host;
    unsigned port = 0;
};

Server server() {
    const char* url = std::getenv("PAWL_BENCH_MARIADB");
    if (!url) throw std::runtime_error{"PAWL_BENCH_MARIADB names no server: run ./dev bench"};
    Server out{.text = url};
    std::array<char, 64> user{}, password{}, host{};
    if (std::sscanf(url, "mariadb://%63[^:]:%63[^@]@%63[^:]:%u", user.data(), password.data(),
                    host.data(), &out.port) != 4)
        throw std::runtime_error{"PAWL_BENCH_MARIADB is not mariadb://user:password@host:port/..."};
    out.user = user.data();
    out.password = password.data();
    out.host = host.data();
    return out;
}

// An array of each parameter, as the client library wants it.
struct Column {
    std::vector<std::int64_t> numbers;
    std::vector<const char*> texts;
    std::vector<unsigned long> lengths;
    std::vector<char> indicators;
};

void bind(MYSQL_BIND& bind, Column& column, const std::vector<RawMariadb::Row>& rows,
          std::size_t at) {
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    for (const auto& row : rows) {
        const auto* number = std::get_if<std::int64_t>(&row[at]);
        const auto* text = std::get_if<std::string>(&row[at]);
        column.numbers.push_back(number ? *number : 0);
        column.texts.push_back(text ? text->data() : "");
        column.lengths.push_back(text ? text->size() : 0);
        column.indicators.push_back(number || text ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL);
        if (text) bind.buffer_type = MYSQL_TYPE_BLOB;
    }
    bind.length = column.lengths.data();
    bind.u.indicator = column.indicators.data();
    if (bind.buffer_type == MYSQL_TYPE_LONGLONG)
        bind.buffer = column.numbers.data();
    else
        bind.buffer = column.texts.data();
}

}  // namespace

MariadbScratch::MariadbScratch() : name_("bench_" + std::to_string(now())) {
    RawMariadb{""}.query("CREATE DATABASE " + name_);
    const Engine engine{url()};  // makes the schema
}

MariadbScratch::~MariadbScratch() { RawMariadb{""}.query("DROP DATABASE " + name_); }

std::string MariadbScratch::url() const {
    const auto text = server().text;
    return text.substr(0, text.rfind('/') + 1) + name_;
}

RawMariadb::RawMariadb(const std::string& database) : link_(mysql_init(nullptr)) {
    const auto where = server();
    if (!mysql_real_connect(link_, where.host.c_str(), where.user.c_str(), where.password.c_str(),
                            database.empty() ? nullptr : database.c_str(), where.port, nullptr, 0))
        throw std::runtime_error{mysql_error(link_)};
    query("SET NAMES utf8mb4");
    query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

RawMariadb::~RawMariadb() {
    for (const auto& [sql, statement] : statements_) mysql_stmt_close(statement);
    mysql_close(link_);
}

void RawMariadb::query(const std::string& sql) {
    if (mysql_real_query(link_, sql.data(), sql.size()) != 0)
        throw std::runtime_error{mysql_error(link_) + (": " + sql)};
    if (auto* result = mysql_store_result(link_)) mysql_free_result(result);
}

st_mysql_stmt* RawMariadb::prepare(const char* sql) {
    auto& statement = statements_[sql];
    if (statement) return statement;
    statement = mysql_stmt_init(link_);
    if (mysql_stmt_prepare(statement, sql, std::strlen(sql)) != 0)
        throw std::runtime_error{mysql_stmt_error(statement) + (": " + std::string{sql})};
    return statement;
}

void RawMariadb::run(const char* sql, const std::vector<Row>& rows) {
    auto* statement = prepare(sql);
    std::vector<Column> columns(rows.front().size());
    std::vector<MYSQL_BIND> binds(columns.size(), MYSQL_BIND{});
    for (std::size_t at = 0; at < columns.size(); ++at) bind(binds[at], columns[at], rows, at);
    const auto count = static_cast<unsigned>(rows.size());
    mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &count);
    if (!binds.empty()) mysql_stmt_bind_param(statement, binds.data());
    if (mysql_stmt_execute(statement) != 0) throw std::runtime_error{mysql_stmt_error(statement)};
    mysql_stmt_free_result(statement);
}

void prepare_parcels(RawMariadb& db) {
    db.query("INSERT INTO pawl_name (ref, name) VALUES (1, 'parcel'), (2, 'Posted')");
    db.query("INSERT INTO pawl_line (ref, kind, type, name) VALUES (1, 1, 1, 'Carry')");
}

void insert_batch(RawMariadb& db, RawNumbers& numbers, int batch) {
    using Row = RawMariadb::Row;
    const auto first = numbers.next.fetch_add(batch);
    const auto at = now();
    std::vector<Row> instances, events, items;
    for (std::int64_t n = first; n < first + batch; ++n) {
        const auto event = uuid();
        instances.push_back({n, numbered("parcel-", n), at, at});
        events.push_back({n, n, at, event, posted});
        items.push_back({n, n, n % 1024, at, at, event, carry});
    }
    db.query("START TRANSACTION");
    db.run(insert_instance, instances);
    db.run(insert_event, events);
    db.run(insert_item, items);
    const auto last = std::to_string(first + batch - 1);
    // As any program that hands out numbers must.
    db.query("UPDATE pawl_counter SET instance = GREATEST(instance, " + last +
             "), position = GREATEST(position, " + last + "), item = GREATEST(item, " + last + ")");
    db.query("COMMIT");
}

// One row is bound as it is, not as an array.
void insert_by_round_trips(RawMariadb& db, RawNumbers& numbers) {
    const auto n = numbers.next.fetch_add(1);
    const auto at = now();
    const auto event = uuid();
    db.query("START TRANSACTION");
    db.run(insert_instance, {{n, numbered("parcel-", n), at, at}});
    db.query("SELECT version FROM pawl_instance WHERE ref = " + std::to_string(n) + " FOR UPDATE");
    db.query("SELECT sequence, payload FROM pawl_event WHERE instance = " + std::to_string(n));
    db.run(insert_event, {{n, n, at, event, posted}});
    db.run(insert_item, {{n, n, n % 1024, at, at, event, carry}});
    db.run("UPDATE pawl_instance SET version = 1, updated_at = ? WHERE ref = ?", {{at, n}});
    db.query("COMMIT");
}

}  // namespace pawl::bench
