#include "faults/server.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

constexpr auto starting_deadline = 60s;

std::string environment(const char* name) {
    const char* given = std::getenv(name);
    return given ? given : "";
}

std::string contents(const std::string& path) {
    std::ifstream in{path};
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

class ServerPlace final : public crash::Place {
public:
    ServerPlace(const Server& server, std::string url) : server_(server), url_(std::move(url)) {}

    std::string url() const override { return url_; }
    std::string ask(const std::string& sql) const override {
        return server_.ask(server_.spelled(sql));
    }

private:
    const Server& server_;
    std::string url_;
};

}  // namespace

// Below those that outgoing connections take.
int free_port() {
    static std::random_device random;
    for (int tries = 0; tries < 1000; ++tries) {
        const int port = 10000 + static_cast<int>(random() % 22000);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool free =
            ::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::close(file);
        if (free) return port;
    }
    throw std::runtime_error{"no port is free"};
}

Server::Server() : port_(free_port()) {
    // Servers refuse to run as root.
    if (::geteuid() != 0) return;
    const auto* user = ::getpwnam(environment("PAWL_TEST_SERVER_USER").c_str());
    if (!user || ::chown(home().c_str(), user->pw_uid, user->pw_gid) != 0)
        throw std::runtime_error{"PAWL_TEST_SERVER_USER names nobody who could own " +
                                 home().string()};
}

std::vector<std::string> Server::as_server(const std::vector<std::string>& command,
                                           const std::string& input_file) const {
    std::vector<std::string> whole{
        "/bin/sh", "-c",       R"(in=$1; shift; exec "$@" <"$in" >>"$0" 2>&1)",
        log(),     input_file, "setpriv"};
    if (::geteuid() == 0) {
        const auto* user = ::getpwnam(environment("PAWL_TEST_SERVER_USER").c_str());
        whole.push_back("--reuid=" + std::to_string(user->pw_uid));
        whole.push_back("--regid=" + std::to_string(user->pw_gid));
        whole.push_back("--clear-groups");
    }
    whole.insert(whole.end(), {"--pdeathsig", "KILL", "--"});
    whole.insert(whole.end(), command.begin(), command.end());
    return whole;
}

void Server::run(const std::vector<std::string>& command, const std::string& input_file) {
    crash::Process process{as_server(command, input_file)};
    if (!process.wait(starting_deadline) || !process.succeeded())
        throw std::runtime_error{command.front() + " failed:\n" + contents(log())};
}

void Server::launch() { process_.emplace(as_server(command())); }

// One that was killed can leave something behind that keeps the next from starting for a moment.
void Server::start() {
    const auto ready = [&] {
        if (!process_ || !process_->is_running()) launch();
        return is_ready();
    };
    if (!crash::await(ready, starting_deadline))
        throw std::runtime_error{"the server does not start:\n" + contents(log())};
}

void Server::stop() {
    process_->signal(stop_signal());
    if (!process_->wait(starting_deadline))
        throw std::runtime_error{"the server does not stop:\n" + contents(log())};
}

void Server::kill() {
    if (process_) process_->kill();
}

void Server::save() {
    stop();
    run({"/bin/cp", "-a", data(), data() + ".saved"});
    start();
}

void Server::go_back() {
    stop_immediately();
    run({"/bin/rm", "-rf", data()});
    run({"/bin/cp", "-a", data() + ".saved", data()});
    start();
}

bool Server::is_ready() const {
    try {
        return ask("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
        return false;
    }
}

ServerUnderTest postgres_under_test() {
    return {.name = "postgres",
            .create = [](const auto& s) { return std::make_unique<PostgresServer>(s); },
            .missing = std::filesystem::exists(environment("PAWL_TEST_PG_BIN") + "/postgres")
                           ? ""
                           : "PAWL_TEST_PG_BIN names no PostgreSQL: ./dev sets it"};
}

ServerUnderTest mariadb_under_test() {
    return {.name = "mariadb",
            .create = [](const auto& s) { return std::make_unique<MariadbServer>(s); },
            .missing = std::filesystem::exists(environment("PAWL_TEST_MARIADBD"))
                           ? ""
                           : "PAWL_TEST_MARIADBD names no MariaDB: ./dev sets it"};
}

std::vector<ServerUnderTest> servers_under_test() {
    return {postgres_under_test(), mariadb_under_test()};
}

crash::PlaceUnderTest place_on(const Server& server, const std::string& url) {
    return {.name = "server",
            .create = [&server, url](const auto&) -> std::unique_ptr<crash::Place> {
                return std::make_unique<ServerPlace>(server, url);
            },
            .missing = ""};
}

}  // namespace pawl::faults
