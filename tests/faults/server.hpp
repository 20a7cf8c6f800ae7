/// Database servers of a test's own, that are stopped, killed and started again.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/temporary_directory.hpp"
#include "crash/place.hpp"
#include "crash/process.hpp"

namespace pawl::faults {

/// Ended with this object, and by the kernel if the test ends without it: start it on a thread
/// that lives as long.
class Server {
public:
    virtual ~Server() = default;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Until it answers.
    void start();
    /// Runs it, and does not wait until it answers.
    void launch();
    /// In good order: those who are connected are told.
    void stop();
    /// At once, as in an emergency, with a recovery at the next start.
    virtual void stop_immediately() { kill(); }
    /// SIGKILL.
    void kill();
    bool is_ready() const;
    /// Stops it, copies its data, and starts it.
    void save();
    /// Ends it at once and starts it with the data that were saved, as a failover that loses
    /// commits.
    void go_back();

    int port() const { return port_; }
    const std::filesystem::path& home() const { return home_.path(); }
    /// Of pawl's store, at the server's own port or at that of a proxy; no parameters.
    virtual std::string url(int port) const = 0;
    std::string url() const { return url(port_); }
    /// Of the same store, for somebody else: `password` as it stands in a URL.
    virtual std::string url_of(const std::string& user, const std::string& password) const = 0;
    /// Makes a user who has to give this password, or changes it. He may make pawl's tables.
    virtual void set_password(const std::string& user, const std::string& password) = 0;
    /// The first field of the first row, if there is one. Throws std::runtime_error.
    virtual std::string ask(const std::string& sql) const = 0;
    /// A connection that does nothing but stay, or null if there is none to have.
    virtual std::shared_ptr<void> visit() const = 0;
    /// Ends all connections but this question's.
    virtual void end_connections() const = 0;
    /// What pawl's tables are called here, in a question to `pawl_` tables.
    virtual std::string spelled(std::string sql) const { return sql; }

protected:
    Server();
    virtual std::vector<std::string> command() const = 0;
    virtual int stop_signal() const = 0;

    /// As the user that servers run as, until it has ended; throws if it fails.
    void run(const std::vector<std::string>& command, const std::string& input_file = "/dev/null");
    std::vector<std::string> as_server(const std::vector<std::string>& command,
                                       const std::string& input_file = "/dev/null") const;
    std::string data() const { return home_.path().string() + "/data"; }
    std::string log() const { return home_.path().string() + "/log"; }

private:
    store::conformance::TemporaryDirectory home_;
    int port_ = 0;

protected:
    std::optional<crash::Process> process_;  // ends before its home goes
};

using Settings = std::vector<std::string>;

/// Settings are as on its command line: "max_connections=20".
class PostgresServer final : public Server {
public:
    explicit PostgresServer(Settings settings = {});
    /// A copy that follows `primary`, by this name, until it is promoted.
    PostgresServer(const PostgresServer& primary, const std::string& name);
    ~PostgresServer() override { stop_immediately(); }

    void stop_immediately() override;
    void promote();
    /// Of pawl's schema. It is restored while others are connected.
    void dump();
    void restore();
    using Server::url;
    std::string url(int port) const override;
    std::string url_of(const std::string& user, const std::string& password) const override;
    void set_password(const std::string& user, const std::string& password) override;
    std::string ask(const std::string& sql) const override;
    std::shared_ptr<void> visit() const override;
    void end_connections() const override;
    std::string spelled(std::string sql) const override;

private:
    std::vector<std::string> command() const override;
    int stop_signal() const override;
    std::string dump_file() const { return home().string() + "/dump.sql"; }

    Settings settings_;
};

class MariadbServer final : public Server {
public:
    explicit MariadbServer(Settings settings = {});

    using Server::url;
    std::string url(int port) const override;
    std::string url_of(const std::string& user, const std::string& password) const override;
    void set_password(const std::string& user, const std::string& password) override;
    std::string ask(const std::string& sql) const override;
    std::shared_ptr<void> visit() const override;
    void end_connections() const override;

private:
    std::vector<std::string> command() const override;
    int stop_signal() const override;

    Settings settings_;
};

/// pgbouncer in front of a PostgreSQL server: each transaction gets any of its few connections.
class Pooler final : public Server {
public:
    explicit Pooler(const PostgresServer& server);
    static bool is_installed();

    using Server::url;
    std::string url(int port) const override { return server_.url(port); }
    std::string url_of(const std::string& user, const std::string&) const override {
        throw std::logic_error{"the pooler knows no password of " + user};
    }
    void set_password(const std::string& user, const std::string&) override { url_of(user, ""); }
    std::string ask(const std::string& sql) const override;
    std::shared_ptr<void> visit() const override { return server_.visit(); }
    void end_connections() const override { server_.end_connections(); }
    std::string spelled(std::string sql) const override { return server_.spelled(std::move(sql)); }

private:
    std::vector<std::string> command() const override;
    int stop_signal() const override;

    const PostgresServer& server_;
};

struct ServerUnderTest {
    std::string name;
    std::function<std::unique_ptr<Server>(const Settings&)> create;
    std::string missing;  ///< why it can't be tested on this machine; empty if it can
};

std::vector<ServerUnderTest> servers_under_test();
ServerUnderTest postgres_under_test();
ServerUnderTest mariadb_under_test();

inline std::ostream& operator<<(std::ostream& out, const ServerUnderTest& server) {
    return out << server.name;
}

/// A scene's database on such a server, which outlives it.
crash::PlaceUnderTest place_on(const Server& server, const std::string& url);

/// A port of 127.0.0.1 where nobody listens at the moment.
int free_port();

}  // namespace pawl::faults
