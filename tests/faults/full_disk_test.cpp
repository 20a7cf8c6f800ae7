// A server whose disk is full says so, keeps what it has answered, and goes on when there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "crash/small_disk.hpp"
#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

// Where the server gets its home: temporary directories are on the small disk meanwhile.
class HomeOn {
public:
    explicit HomeOn(const std::string& path) { ::setenv("TMPDIR", path.c_str(), 1); }
    ~HomeOn() { ::unsetenv("TMPDIR"); }
    HomeOn(const HomeOn&) = delete;
    HomeOn& operator=(const HomeOn&) = delete;
};

class FullDisk : public FaultsOn {};
INSTANTIATE_TEST_SUITE_P(Servers, FullDisk, testing::ValuesIn(servers_under_test()),
                         [](const auto& server) { return server.param.name; });

TEST_P(FullDisk, IsAClearErrorUntilThereIsRoom) {
    const store::conformance::TemporaryDirectory directory;
    const crash::SmallDisk disk{directory.path().string(), "200m"};
    if (!disk.mounted()) GTEST_SKIP() << "no tmpfs can be mounted: " << disk.why_not();
    std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
    std::unique_ptr<Server> server;
    {
        const HomeOn home{directory.path().string()};
        server = GetParam().create({});
    }
    server->start();
    crash::Scene scene{place_on(*server, server->url()), crash::seed_of_this_test()};
    Load load{scene};
    ASSERT_TRUE(load.goes_on());
    Caller caller{server->url()};
    ASSERT_TRUE(caller.gets_through(10s));
    for (int time = 0; time < 2; ++time) {
        const auto before = caller.failures().size();
        disk.fill();
        // Pages that are there take some more; then each table must grow.
        ASSERT_TRUE(crash::await([&] { return caller.failures().size() >= before + 3; }, 60s));
        const auto last = caller.failures().back();
        EXPECT_EQ(last.code, Code::unavailable) << last.message;
        EXPECT_THAT(last.message, testing::ContainsRegex("the server's disk.* is full"));
        disk.make_room();
        EXPECT_TRUE(caller.gets_through(30s));
        ASSERT_TRUE(load.goes_on());
    }
    EXPECT_LT(caller.longest(), 15s);
    caller.check();
    load.settle_and_check();
    server.reset();  // before its disk
}

}  // namespace
}  // namespace pawl::faults
