// A handler that ends its process: its item is buried, and nobody else's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <pawl/json.hpp>

#include "crash/scene.hpp"
#include "crash/workflows.hpp"

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;

void perform_a_deadly_errand(const PlaceUnderTest& place, unsigned seed) {
    Scene scene{place, seed};
    Shop shop{{.url = scene.url(), .handlers = false}, scene.ledger()};
    constexpr int errands = 40;
    const int deadly = scene.pick(errands);
    for (int i = 0; i < errands; ++i)
        shop.engine().send("errand", fmt::format("e-{}", i),
                           json::encode(Errand::Input{Errand::Go{i == deadly}}));

    int deaths = 0;
    auto worker = scene.hire({.role = "walk"});
    const auto done = [&] {
        if (!worker.is_running()) {
            EXPECT_TRUE(worker.was_killed());
            ++deaths;
            worker = scene.hire({.role = "walk"});
        }
        return shop.engine().count_dead_letters() == 1 && shop.engine().backlog().empty();
    };
    ASSERT_TRUE(await(done, 60s)) << deaths << " deaths, " << shop.engine().pending().size()
                                  << " left";

    const auto letter = shop.engine().dead_letters().front();
    EXPECT_EQ(letter.work.id, fmt::format("e-{}", deadly));
    EXPECT_EQ(letter.reason, "its handler ended its process 3 times");
    std::map<std::string, int> walks;
    for (const auto& performed : scene.ledger().performed()) ++walks[performed.id];
    EXPECT_EQ(walks.size(), static_cast<std::size_t>(errands));
    // Twice among the others, then alone until it is enough; nobody else dies alone.
    EXPECT_EQ(walks[fmt::format("e-{}", deadly)], deaths);
    EXPECT_LE(deaths, 2 + Options{}.losses);
    const auto finished = shop.engine().instances({.type = "errand", .finished = true});
    EXPECT_EQ(finished.instances.size(), static_cast<std::size_t>(errands - 1));
}

TEST_P(CrashOn, ItsOwnHandlerBuriesTheItemAndNoNeighbour) {
    for_a_while(fault_time(), [&](unsigned seed) { perform_a_deadly_errand(GetParam(), seed); });
}

}  // namespace
}  // namespace pawl::crash
