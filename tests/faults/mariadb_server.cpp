#include <fmt/format.h>
#include <mysql.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "faults/server.hpp"

namespace pawl::faults {
namespace {

std::string server() { return std::getenv("PAWL_TEST_MARIADBD"); }

using Link = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

Link connect(int port) {
    Link link{mysql_init(nullptr), mysql_close};
    const unsigned seconds = 5;
    mysql_options(link.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    if (!mysql_real_connect(link.get(), "127.0.0.1", "pawl", "pawl", "pawl",
                            static_cast<unsigned>(port), nullptr, 0))
        throw std::runtime_error{mysql_error(link.get())};
    return link;
}

std::vector<std::string> column(MYSQL* link, const std::string& sql) {
    if (mysql_real_query(link, sql.data(), sql.size()) != 0)
        throw std::runtime_error{mysql_error(link)};
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result{mysql_store_result(link),
                                                                          mysql_free_result};
    std::vector<std::string> found;
    if (!result) return found;
    while (const auto row = mysql_fetch_row(result.get())) found.emplace_back(row[0] ? row[0] : "");
    return found;
}

}  // namespace

MariadbServer::MariadbServer(Settings settings) : settings_(std::move(settings)) {
    const auto data = home().string() + "/data", temporary = home().string() + "/tmp";
    // What mariadb-install-db does, which needs the client's packages too: the system's tables.
    std::ofstream tables{home() / "tables.sql"};
    tables << "CREATE DATABASE mysql;\nUSE mysql;\n";
    for (const auto* name : {"system", "performance"})
        tables << std::ifstream{fmt::format("/usr/share/mysql/mysql_{}_tables.sql", name)}.rdbuf();
    tables.close();
    std::ofstream{home() / "start.sql"} << "CREATE DATABASE IF NOT EXISTS pawl;\n"
                                           "CREATE USER IF NOT EXISTS pawl@'%' "
                                           "IDENTIFIED BY 'pawl';\n"
                                           "GRANT ALL ON *.* TO pawl@'%' WITH GRANT OPTION;\n";
    run({"/bin/mkdir", data, temporary});
    // A server that starts removes temporary tables from its directory for them: it must not be
    // the one of another server.
    run({server(), "--no-defaults", "--bootstrap", "--datadir=" + data, "--tmpdir=" + temporary,
         "--innodb-log-file-size=10M"},
        home() / "tables.sql");
}

std::vector<std::string> MariadbServer::command() const {
    const auto path = home().string();
    std::vector<std::string> command{
        server(), "--no-defaults", "--datadir=" + path + "/data", "--tmpdir=" + path + "/tmp",
        "--socket=" + path + "/socket", "--pid-file=" + path + "/pid", "--bind-address=127.0.0.1",
        fmt::format("--port={}", port()), "--skip-name-resolve",
        "--init-file=" + path + "/start.sql",
        // Written when it commits, flushed some time: tests kill
        // servers, never the operating system.
        "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M"};
    for (const auto& setting : settings_) command.push_back("--" + setting);
    return command;
}

int MariadbServer::stop_signal() const { return SIGTERM; }

std::string MariadbServer::url(int port) const {
    return fmt::format("mariadb://pawl:pawl@127.0.0.1:{}/pawl", port);
}

std::string MariadbServer::url_of(const std::string& user, const std::string& password) const {
    return fmt::format("mariadb://{}:{}@127.0.0.1:{}/pawl", user, password, port());
}

void MariadbServer::set_password(const std::string& user, const std::string& password) {
    ask(fmt::format("CREATE USER IF NOT EXISTS {}@'%'", user));
    ask(fmt::format("ALTER USER {}@'%' IDENTIFIED BY '{}'", user, password));
    ask(fmt::format("GRANT ALL ON pawl.* TO {}@'%'", user));
}

std::string MariadbServer::ask(const std::string& sql) const {
    const auto found = column(connect(port()).get(), sql);
    return found.empty() ? "" : found.front();
}

std::shared_ptr<void> MariadbServer::visit() const {
    try {
        return std::shared_ptr<MYSQL>{connect(port()).release(), mysql_close};
    } catch (const std::runtime_error&) {
        return nullptr;
    }
}

void MariadbServer::end_connections() const {
    const auto link = connect(port());
    for (const auto& id : column(link.get(),
                                 "SELECT id FROM information_schema.processlist WHERE db = 'pawl' "
                                 "AND id <> CONNECTION_ID()"))
        try {
            column(link.get(), "KILL " + id);
        } catch (const std::runtime_error&) {
            // It has ended by itself.
        }
}

}  // namespace pawl::faults
