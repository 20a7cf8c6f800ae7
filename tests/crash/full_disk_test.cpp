// A disk that is full: sends fail clearly and in time, nothing that was answered is lost, and when
// there is room again the same engine goes on by itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <pawl/json.hpp>

#include "crash/scene.hpp"
#include "crash/small_disk.hpp"
#include "crash/workflows.hpp"

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

void fill_the_disk_and_make_room() {
    const store::conformance::TemporaryDirectory directory;
    const store::conformance::TemporaryDirectory elsewhere;
    const SmallDisk disk{directory.path().string(), "32m"};
    if (!disk.mounted()) GTEST_SKIP() << "no tmpfs can be mounted: " << disk.why_not();
    const Ledger ledger{elsewhere.path()};
    ShopOptions options{.url = "sqlite:" + (directory.path() / "shop.db").string(),
                        .failures = false};
    Shop shop{options, ledger};
    auto& engine = shop.engine();
    engine.start();

    int answered = 0;
    const auto add = [&](int i) {
        const auto tag = fmt::format("t-{}", i);
        engine.send("account", "a", json::encode(Account::Input{Account::Add{1, tag, 10}}),
                    {.input_id = tag, .timeout = 5s});
        ++answered;
    };
    int next = 0;
    while (next < 50) add(next++);

    disk.fill();
    int failures = 0;
    // The log may have some room of its own at first. Then long enough for the lease to pass.
    for (auto end = Steady::now() + 2 * lease; failures < 5 || Steady::now() < end;) {
        const auto begun = Steady::now();
        try {
            add(next);
            ASSERT_LT(++next, 5000) << "the disk does not fill";
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), Code::unavailable) << e.what();
            EXPECT_TRUE(e.retryable());
            EXPECT_LT(Steady::now() - begun, 6s);
            ++failures;
        }
    }
    EXPECT_EQ(json::decode<Account>(*engine.state("account", "a")).total, answered);

    disk.make_room();
    const auto works_again = [&] {
        try {
            add(next);
            return true;
        } catch (const Error&) {
            return false;
        }
    };
    EXPECT_TRUE(await(works_again, 10s));
    ++next;
    EXPECT_TRUE(await([&] { return engine.backlog().empty(); }, 30s));
    const auto account = json::decode<Account>(*engine.state("account", "a"));
    EXPECT_EQ(account.total, next);
    EXPECT_EQ(account.noted, next);
    EXPECT_EQ(account.ticked, next);
    EXPECT_TRUE(engine.stop(10s));
}

TEST(Crash, OfTheDisksRoomIsAClearErrorUntilThereIsRoomAgain) {
    for_a_while(fault_time(), [](unsigned) {
        if (!testing::Test::IsSkipped()) fill_the_disk_and_make_room();
    });
}

}  // namespace
}  // namespace pawl::crash
