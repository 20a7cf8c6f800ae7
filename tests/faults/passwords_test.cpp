// A server that demands a password: whatever goes wrong, no error and no line of log has it.
#include <gtest/gtest.h>

#include <mutex>
#include <pawl/migrate.hpp>

#include "crash/workflows.hpp"
#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

constexpr const char* parts_of_passwords[] = {"hunter2", "tiger7", "zebra3"};
constexpr const char* good = "hunter2/tiger7@zebra3";
constexpr const char* good_in_url = "hunter2%2Ftiger7%40zebra3";

/// All that an engine says, on whatever thread.
class Said {
public:
    void add(std::string_view text) {
        const std::lock_guard lock{mutex_};
        lines_.emplace_back(text);
    }
    std::size_t count() const {
        const std::lock_guard lock{mutex_};
        return lines_.size();
    }
    void expect_no_password() const {
        const std::lock_guard lock{mutex_};
        for (const auto& line : lines_)
            for (const auto* part : parts_of_passwords)
                EXPECT_EQ(line.find(part), line.npos) << line;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

class Passwords : public FaultsOn {
protected:
    void SetUp() override {
        FaultsOn::SetUp();
        if (IsSkipped()) return;
        server = GetParam().create({});
        server->start();
        server->set_password("ada", good);
    }
    static std::string with_short_deadlines(const std::string& url) {
        return url + (url.find('?') == url.npos ? "?" : "&") + "statement_timeout=2" +
               (url.starts_with("postgres") ? "&patience=1" : "");
    }

    std::unique_ptr<Server> server;
    Said said;
};

INSTANTIATE_TEST_SUITE_P(Servers, Passwords, testing::ValuesIn(servers_under_test()),
                         [](const auto& server) { return server.param.name; });

TEST_P(Passwords, AreNotInTheErrorOfAServerThatRefuses) {
    const auto url = server->url_of("ada", good_in_url);
    EXPECT_NO_THROW(migrate(url)) << "the password is right";
    for (const auto& wrong : {
             server->url_of("ada", "hunter2%2Ftiger7"),
             server->url_of("eve", good_in_url),
             server->url_of("ada", good_in_url) + "_not_there",
             server->url_of("", good_in_url),
         }) {
        try {
            const Engine engine{with_short_deadlines(wrong)};
            ADD_FAILURE() << "it lets in: " << wrong;
        } catch (const Error& e) {
            said.add(e.what());
        }
        try {
            migrate(with_short_deadlines(wrong));
        } catch (const Error& e) {
            said.add(e.what());
        }
    }
    EXPECT_EQ(said.count(), 8u);
    said.expect_no_password();
}

TEST_P(Passwords, AreNotInWhatAnEngineSaysWhileItReconnects) {
    Options options;
    options.lease = 1s;
    options.log = [&](const LogRecord& record) { said.add(record.text + record.error); };
    {
        Engine engine{with_short_deadlines(server->url_of("ada", good_in_url)), options};
        auto accounts = engine.add<crash::Account>("account");
        engine.start();
        const auto fails = [&] {
            try {
                accounts.send("a", crash::Account::Note{"note", ""}, {.timeout = 1s});
                return false;
            } catch (const Error& e) {
                said.add(e.what());
                return true;
            }
        };
        EXPECT_FALSE(fails());
        server->stop_immediately();
        EXPECT_TRUE(crash::await(fails, 30s)) << "while the server is away";
        server->start();
        server->set_password("ada", "zebra3");
        server->end_connections();
        EXPECT_TRUE(crash::await(fails, 30s)) << "while the password is another";
        const auto before = said.count();
        EXPECT_TRUE(crash::await([&] { return said.count() > before + 2; }, 30s));
        engine.stop(1s);
    }
    said.expect_no_password();
}

}  // namespace
}  // namespace pawl::faults
