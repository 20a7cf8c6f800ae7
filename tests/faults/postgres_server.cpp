#include <fmt/format.h>
#include <libpq-fe.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "faults/server.hpp"

namespace pawl::faults {
namespace {

constexpr const char* pooler_program = "/usr/sbin/pgbouncer";

std::string program(const std::string& name) {
    return std::string{std::getenv("PAWL_TEST_PG_BIN")} + "/" + name;
}

std::string answer(const std::string& url, const std::string& sql) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection{
        PQconnectdb((url + "?connect_timeout=5").c_str()), PQfinish};
    PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result{
        PQexec(connection.get(), sql.c_str()), PQclear};
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK) return {};
    if (status != PGRES_TUPLES_OK) throw std::runtime_error{PQerrorMessage(connection.get())};
    return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

}  // namespace

PostgresServer::PostgresServer(Settings settings) : settings_(std::move(settings)) {
    run({program("initdb"), "--pgdata=" + data(), "--username=postgres", "--auth=trust",
         "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"});
    // The first line that fits decides. A role that is not there yet is nobody's.
    const auto file = data() + "/pg_hba.conf";
    std::stringstream rules;
    rules << std::ifstream{file}.rdbuf();
    std::ofstream{file} << "host all +has_password 127.0.0.1/32 scram-sha-256\n" << rules.str();
}

PostgresServer::PostgresServer(const PostgresServer& primary, const std::string& name)
    : settings_(primary.settings_) {
    run({program("pg_basebackup"), "--pgdata=" + data(), "--no-sync", "--checkpoint=fast",
         "--write-recovery-conf",
         fmt::format("--dbname=host=127.0.0.1 port={} user=postgres application_name={}",
                     primary.port(), name)});
}

std::vector<std::string> PostgresServer::command() const {
    std::vector<std::string> command{program("postgres"),    "-D", data(),         "-p",
                                     std::to_string(port()), "-k", home().string()};
    // Tests kill servers, never the operating system: nothing is lost by this.
    Settings settings{"listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=32MB"};
    settings.insert(settings.end(), settings_.begin(), settings_.end());
    for (const auto& setting : settings) command.insert(command.end(), {"-c", setting});
    return command;
}

int PostgresServer::stop_signal() const { return SIGINT; }

void PostgresServer::stop_immediately() {
    if (!process_) return;
    process_->signal(SIGQUIT);
    process_->wait(std::chrono::minutes{1});
}

void PostgresServer::promote() { run({program("pg_ctl"), "promote", "--pgdata=" + data()}); }

void PostgresServer::dump() {
    run({program("pg_dump"), "--schema=pawl", "--clean", "--file=" + dump_file(), url()});
}

void PostgresServer::restore() {
    run({program("psql"), "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
         "--file=" + dump_file(), url()});
}

std::string PostgresServer::url(int port) const {
    return fmt::format("postgres://postgres@127.0.0.1:{}/postgres", port);
}

std::string PostgresServer::url_of(const std::string& user, const std::string& password) const {
    return fmt::format("postgres://{}:{}@127.0.0.1:{}/postgres", user, password, port());
}

void PostgresServer::set_password(const std::string& user, const std::string& password) {
    if (ask("SELECT 1 FROM pg_roles WHERE rolname = 'has_password'").empty())
        ask("CREATE ROLE has_password");
    if (ask(fmt::format("SELECT 1 FROM pg_roles WHERE rolname = '{}'", user)).empty()) {
        ask(fmt::format("CREATE ROLE {} LOGIN IN ROLE has_password", user));
        ask(fmt::format("GRANT CREATE ON DATABASE postgres TO {}", user));
    }
    ask(fmt::format("ALTER ROLE {} PASSWORD '{}'", user, password));
}

std::string PostgresServer::ask(const std::string& sql) const { return answer(url(), sql); }

std::shared_ptr<void> PostgresServer::visit() const {
    const std::shared_ptr<PGconn> connection{PQconnectdb(url().c_str()), PQfinish};
    return PQstatus(connection.get()) == CONNECTION_OK ? connection : nullptr;
}

void PostgresServer::end_connections() const {
    ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
}

std::string PostgresServer::spelled(std::string sql) const {
    for (auto at = sql.find("pawl_"); at != sql.npos; at = sql.find("pawl_", at)) sql[at + 4] = '.';
    return sql;
}

Pooler::Pooler(const PostgresServer& server) : server_(server) {
    std::ofstream{home() / "pgbouncer.ini"} << fmt::format(
        "[databases]\n"
        "postgres = host=127.0.0.1 port={} user=postgres dbname=postgres\n"
        "[pgbouncer]\n"
        "listen_addr = 127.0.0.1\n"
        "listen_port = {}\n"
        "unix_socket_dir =\n"
        "auth_type = any\n"
        "pool_mode = transaction\n"
        "default_pool_size = 4\n"
        "max_client_conn = 200\n",
        server.port(), port());
}

bool Pooler::is_installed() { return std::filesystem::exists(pooler_program); }

std::string Pooler::ask(const std::string& sql) const { return answer(url(), sql); }

std::vector<std::string> Pooler::command() const {
    return {pooler_program, (home() / "pgbouncer.ini").string()};
}

int Pooler::stop_signal() const { return SIGINT; }

}  // namespace pawl::faults
