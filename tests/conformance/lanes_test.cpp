// Which group a Commit joins, on stores that write one at a time and on those that write several.
#include <thread>

#include "conformance/store_test.hpp"
#include "engine/committer_lanes.hpp"

namespace pawl::store::conformance {
namespace {

using engine::Committer;
using engine::CommitterLanes;
using engine::Job;

class CountedJob final : public Job {
public:
    CountedJob(Commit one, std::atomic<int>& committed) : committed_(committed) {
        commit = std::move(one);
    }
    void settled(Owned, Answer answer, std::vector<Owned>&) override {
        if (answer.fate == Fate::committed) ++committed_;
    }
    void resume(Owned) override {}

private:
    std::atomic<int>& committed_;
};

class Lanes : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        if (!IsSkipped()) lanes.emplace(*store, callbacks, Committer::Options{.queue = 1000});
    }
    void TearDown() override {
        if (!lanes) return;
        lanes->stop();
        EXPECT_EQ(committed, submitted) << "what is queued is committed in the end";
    }

    /// Nobody commits it before the end: it stays in its lane.
    Committer* submit() {
        auto& lane = lanes->any();
        Job::Owned job = std::make_unique<CountedJob>(
            on(order(std::to_string(submitted)), 0).event("Created").build(), committed);
        EXPECT_TRUE(lane.submit(job, 0s));
        ++submitted;
        return &lane;
    }
    /// How many one lane takes before another one is asked; `most`, if there is no other.
    int submit_until_another_lane(int most) {
        Committer* const first = submit();
        int together = 1;
        while (together < most && submit() == first) ++together;
        return together;
    }
    bool several() const { return store->writers() > 1; }

    base::Pool callbacks{"callbacks", {}};
    std::optional<CommitterLanes> lanes;
    std::atomic<int> committed{0};
    int submitted = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, Lanes, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Lanes, KeepFewTogether) { EXPECT_EQ(submit_until_another_lane(200), several() ? 25 : 200); }

TEST_P(Lanes, FillTheEmptiest) {
    if (!several()) GTEST_SKIP() << "one lane";
    std::map<Committer*, int> of_lane;
    for (int i = 0; i < 200; ++i) ++of_lane[submit()];
    EXPECT_EQ(of_lane.size(), store->writers());
    for (const auto& [lane, count] : of_lane)
        EXPECT_EQ(count, 200 / static_cast<int>(store->writers()));
}

TEST_P(Lanes, KeepMoreTogetherWhereSeveralProcessesShareTheStore) {
    if (!several()) GTEST_SKIP() << "one lane";
    open_session(1h);
    open_session(1h);
    lanes->start();
    // It looks around now and then, if there was something to do.
    const auto end = std::chrono::steady_clock::now() + 20s;
    int together = submit_until_another_lane(200);
    while (together != 50 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
        lanes->stop();
        lanes->start();
        together = submit_until_another_lane(200);
    }
    EXPECT_EQ(together, 50);
}

}  // namespace
}  // namespace pawl::store::conformance
