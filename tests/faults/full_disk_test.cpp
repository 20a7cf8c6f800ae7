// A server whose disk is full says so, keeps what it has answered, and goes on when there is room.
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

TEST(FullDisk, OfPostgresIsAClearErrorUntilThereIsRoom) {
    if (!postgres_under_test().missing.empty()) GTEST_SKIP() << postgres_under_test().missing;
    const store::conformance::TemporaryDirectory directory;
    const crash::SmallDisk disk{directory.path().string(), "200m"};
    if (!disk.mounted()) GTEST_SKIP() << "no tmpfs can be mounted: " << disk.why_not();
    std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
    std::unique_ptr<Server> server;
    {
        const HomeOn home{directory.path().string()};
        server = postgres_under_test().create({});
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
        EXPECT_NE(last.message.find("disk is full"), std::string::npos) << last.message;
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
