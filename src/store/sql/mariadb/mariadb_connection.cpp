#include "store/sql/mariadb/mariadb_connection.hpp"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>

#include <algorithm>
#include <mutex>
#include <pawl/error.hpp>
#include <utility>

#include "store/sql/mariadb/mariadb_statements.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::mariadb {
namespace {

// JSON_TABLE, RETURNING and SKIP LOCKED are all there from here on.
constexpr unsigned long oldest_server = 100600;
// A packet has a head, and the server's limit is one for all of it.
constexpr std::size_t packet_margin = 64 * 1024;

void start_library() {
    static std::once_flag once;
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
}

// A result that is dropped whatever happens while it is read.
class Reading {
public:
    explicit Reading(Prepared& prepared) : prepared_(prepared) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { prepared_.finish(); }

private:
    Prepared& prepared_;
};

}  // namespace

std::string Address::text() const {
    return socket.empty() ? fmt::format("{}:{}/{}", host, port, database)
                          : fmt::format("{}/{}", socket, database);
}

void CloseUnlessLent::operator()(st_mysql* link) const {
    if (!is_lent) mysql_close(link);
}

MariadbConnection::MariadbConnection(ConnectionOptions options)
    : options_(std::move(options)), server_(options_.address.text()) {
    start_library();
    connect();
    configure();
}

MariadbConnection::MariadbConnection(st_mysql* lent, ConnectionOptions options)
    : options_(std::move(options)),
      server_(mysql_get_host_info(lent)),
      link_(lent, CloseUnlessLent{.is_lent = true}) {
    ask_for_largest_packet();
}

MariadbConnection::~MariadbConnection() { cache_.clear(); }

void MariadbConnection::connect() {
    link_.reset(mysql_init(nullptr));
    if (!link_) throw Error{Code::unavailable, "no memory is left for a connection to MariaDB"};
    const Address& address = options_.address;
    // The server gives a statement up by itself; the client waits a little longer for its word.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.deadline).count();
    const auto connecting = static_cast<unsigned>(seconds);
    const auto answering = static_cast<unsigned>(seconds + 1);
    mysql_options(link_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connecting);
    mysql_options(link_.get(), MYSQL_OPT_READ_TIMEOUT, &answering);
    mysql_options(link_.get(), MYSQL_OPT_WRITE_TIMEOUT, &answering);
    mysql_options(link_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const my_bool on = 1;
    if (address.ssl != Address::Ssl::off) mysql_options(link_.get(), MYSQL_OPT_SSL_ENFORCE, &on);
    if (address.ssl == Address::Ssl::verify)
        mysql_options(link_.get(), MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    if (!address.ssl_ca.empty())
        mysql_options(link_.get(), MYSQL_OPT_SSL_CA, address.ssl_ca.c_str());
    const auto given = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
    if (!mysql_real_connect(link_.get(), given(address.host), given(address.user),
                            given(address.password), given(address.database), address.port,
                            given(address.socket), CLIENT_FOUND_ROWS))
        mariadb::fail(failure_of(link_.get()),
                      {.server = server_, .what = "connect", .while_connecting = true});
    if (!mariadb_connection(link_.get()) || mysql_get_server_version(link_.get()) < oldest_server)
        throw Error{Code::invalid,
                    fmt::format("the server at {} is {}: pawl needs MariaDB 10.6 or later", server_,
                                mysql_get_server_info(link_.get()))};
}

void MariadbConnection::configure() {
    send(set_mode.text);
    send(options_.role == Role::reader ? read_one_moment.text : read_what_is_committed.text);
    ask_for_largest_packet();
    limit_statements_to(options_.deadline);
    rollback();
}

void MariadbConnection::ask_for_largest_packet() {
    query(mariadb::largest_packet, {}, [&](const Row& row) {
        largest_packet_ = static_cast<std::size_t>(row.number(0)) - packet_margin;
    });
}

void MariadbConnection::limit_statements_to(Duration limit) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
    run(limit_statements, {seconds, 2 * seconds});
}

void MariadbConnection::fail(const Failure& failure, std::string_view what) {
    is_lost_ = is_lost_ || is_loss(failure.code);
    mariadb::fail(failure, {.server = server_, .what = what});
}

void MariadbConnection::send(std::string_view text) {
    hear_answers();
    if (mysql_real_query(link_.get(), text.data(), text.size()) != 0)
        fail(failure_of(link_.get()), text);
}

Prepared& MariadbConnection::prepared(Statement statement) {
    is_in_transaction_ = true;
    const auto found = cache_.find(statement.text);
    if (found != cache_.end()) return found->second;
    hear_answers();
    Prepared made{link_.get(),
                  statement.text,
                  {.prefix = options_.prefix, .texts_as_bytes = options_.texts_as_bytes}};
    if (!made.is_ready()) fail(failure_of(made.handle()), statement.text);
    return cache_.emplace(statement.text, std::move(made)).first->second;
}

// How many of these rows fit into one packet: at least one, or it is refused.
std::size_t MariadbConnection::fitting(std::span<const Value> values, std::size_t columns) const {
    std::size_t count = 0;
    for (std::size_t size = 0; count * columns < values.size(); ++count) {
        const auto row = size_of(values.subspan(count * columns, columns));
        if (row > largest_packet_)
            throw Error{Code::invalid,
                        fmt::format("a row of {} bytes is more than MariaDB at {} takes: raise its "
                                    "max_allowed_packet, or send less",
                                    row, server_)};
        if ((size += row) > largest_packet_ || columns == 0) return std::max<std::size_t>(count, 1);
    }
    return count;
}

std::int64_t MariadbConnection::run_rows(Statement statement, std::span<const Value> values,
                                         std::size_t rows) {
    hear_answers();
    Prepared& prepared = this->prepared(statement);
    const std::size_t columns = values.size() / rows;
    std::int64_t changed = 0;
    for (std::size_t first = 0; first < rows;) {
        const auto rest = values.subspan(first * columns);
        const std::size_t count = columns == 0 ? 1 : fitting(rest, columns);
        if (!prepared.run(rest.first(count * columns), count))
            fail(failure_of(prepared.handle()), statement.text);
        changed += prepared.changed();
        first += count;
    }
    return changed;
}

// The server works on the first statement while the next is put together. One that looks for keys
// must find all of them: what a group presumes of them holds, or it collides.
void MariadbConnection::post_rows(Statement statement, std::span<const Value> values,
                                  std::size_t rows) {
    const std::size_t columns = values.size() / rows;
    const bool is_posted = std::ranges::find(posted_, statement.text) != posted_.end();
    Prepared& prepared = this->prepared(statement);
    if (prepared.takes_json()) {
        std::size_t found = 0;
        const auto count = [&](std::size_t, const Row&) { ++found; };
        query_rows(statement, values, rows, Sink{count});
        if (found == rows) return;
        throw Collision{Code::conflict, fmt::format("MariaDB at {}: another process changed what a "
                                                    "group was decided on; try again",
                                                    server_)};
    }
    if (is_posted || columns == 0 || !prepared.takes_arrays() || fitting(values, columns) < rows) {
        run_rows(statement, values, rows);
        return;
    }
    posted_.push_back(statement.text);
    if (!prepared.post(values, rows)) fail(failure_of(prepared.handle()), statement.text);
}

// All of them, also behind one that failed: the next statement must not get their answers.
void MariadbConnection::hear_answers() {
    const char* failed = nullptr;
    Failure failure;
    for (const char* const text : std::exchange(posted_, {})) {
        Prepared& prepared = cache_.at(text);
        if (is_lost_ || prepared.answer() || failed) continue;
        failed = text;
        failure = failure_of(prepared.handle());
        is_lost_ = is_loss(failure.code);
    }
    if (failed) fail(failure, failed);
}

void MariadbConnection::query_rows(Statement statement, std::span<const Value> values,
                                   std::size_t rows, Sink sink) {
    hear_answers();
    Prepared& prepared = this->prepared(statement);
    const auto read = [&](bool ran, auto key) {
        if (!ran) fail(failure_of(prepared.handle()), statement.text);
        const Reading reading{prepared};
        while (prepared.next()) sink(key(), prepared.row());
        if (prepared.has_failed()) fail(failure_of(prepared.handle()), statement.text);
    };
    if (prepared.takes_json()) {
        for (const auto& part : Keys{values, rows}.parts(largest_packet_))
            read(prepared.run_json(part), [&] { return prepared.key(); });
        return;
    }
    const std::size_t columns = values.size() / rows;
    for (std::size_t i = 0; i < rows; ++i)
        read(prepared.run(values.subspan(i * columns, columns), 1), [i] { return i; });
}

void MariadbConnection::commit() {
    hear_answers();  // before the COMMIT is sent, a failure is an ordinary one
    const std::string_view text = mariadb::commit.text;
    if (is_in_transaction_ && mysql_real_query(link_.get(), text.data(), text.size()) != 0)
        fail_commit(failure_of(link_.get()));
    is_in_transaction_ = false;
    savepoints_ = 0;
}

// A server that waits for its replicas can give that wait up, at a time limit or a KILL, and commit
// all the same. So an error says that the transaction is undone only if the server finds its cause
// before it commits.
void MariadbConnection::fail_commit(const Failure& failure) {
    if (!undoes_commit(failure.code)) is_lost_ = true;
    mariadb::fail(failure, {.server = server_, .what = mariadb::commit.text, .committing = true});
}

void MariadbConnection::rollback() noexcept {
    savepoints_ = 0;
    try {
        hear_answers();
    } catch (const Error&) {
        // It is being undone.
    }
    if (is_lost_ || !std::exchange(is_in_transaction_, false)) return;
    const std::string_view text = mariadb::rollback.text;
    // The server undoes what a connection leaves behind.
    if (mysql_real_query(link_.get(), text.data(), text.size()) != 0) is_lost_ = true;
}

bool MariadbConnection::is_in_transaction() const {
    const auto state = link_->server_status;
    return (state & SERVER_STATUS_IN_TRANS) || !(state & SERVER_STATUS_AUTOCOMMIT);
}

// A second savepoint of the same name would replace the first.
void MariadbConnection::set_savepoint() {
    send(fmt::format("SAVEPOINT pawl{}", ++savepoints_));
    // Of a deadlock the server does not say that it has ended the whole transaction. Without one
    // everything would be committed at once.
    if (link_.get_deleter().is_lent && !is_in_transaction())
        throw Error{Code::misuse, "no transaction is open any more: the server has ended it"};
}
void MariadbConnection::release_savepoint() {
    // Only then: what was posted before may fail here, and it is still to be gone back to.
    send(fmt::format("RELEASE SAVEPOINT pawl{}", savepoints_));
    --savepoints_;
}
void MariadbConnection::rollback_to_savepoint() {
    send(fmt::format("ROLLBACK TO SAVEPOINT pawl{}", savepoints_));
}

void MariadbConnection::run_script(std::string_view script) {
    const auto sql = rewrite(script, {.prefix = options_.prefix});
    is_in_transaction_ = true;
    mysql_set_server_option(link_.get(), MYSQL_OPTION_MULTI_STATEMENTS_ON);
    int more = mysql_real_query(link_.get(), sql.data(), sql.size());
    while (more == 0) {
        if (auto* result = mysql_store_result(link_.get())) mysql_free_result(result);
        more = mysql_next_result(link_.get());
    }
    const Failure failure = failure_of(link_.get());
    mysql_set_server_option(link_.get(), MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    if (failure.code != 0) fail(failure, "a migration");
}

}  // namespace pawl::store::sql::mariadb
