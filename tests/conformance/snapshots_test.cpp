#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Snapshots : public StoreTest {
protected:
    Loaded load_with(LoadRequest request) {
        request.instance = order("1");
        return store->load(std::vector{request})[0];
    }
    static std::vector<std::string> names(const Loaded& loaded) {
        std::vector<std::string> found;
        for (const auto& event : loaded.events) found.push_back(event.name);
        return found;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Snapshots, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Snapshots, StandForTheEventsBeforeThem) {
    commit(on(order("1"), 0).event("A").event("B").snapshot({2, 7, {"state"}}));
    commit(on(order("1"), 2).event("C"));
    const Loaded loaded = load_with({.snapshot_version = 7});
    ASSERT_TRUE(loaded.snapshot);
    EXPECT_EQ(loaded.snapshot->sequence, 2);
    EXPECT_EQ(loaded.snapshot->version, 7);
    EXPECT_EQ(loaded.snapshot->payload, (Payload{"state"}));
    EXPECT_THAT(names(loaded), ElementsAre("C"));
    EXPECT_EQ(loaded.row->version, 3);
}

TEST_P(Snapshots, OfOtherCodeAreNotLoaded) {
    commit(on(order("1"), 0).event("A").event("B").snapshot({2, 7, {"state"}}));
    for (const std::int32_t version : {0, 6, 8}) {
        const Loaded loaded = load_with({.snapshot_version = version});
        EXPECT_FALSE(loaded.snapshot);
        EXPECT_THAT(names(loaded), ElementsAre("A", "B"));
    }
}

TEST_P(Snapshots, CanBeLeftOut) {
    commit(on(order("1"), 0).event("A").snapshot({1, 7, {"state"}}));
    const Loaded loaded = load_with({.snapshot_version = 7, .use_snapshot = false});
    EXPECT_FALSE(loaded.snapshot);
    EXPECT_THAT(names(loaded), ElementsAre("A"));
}

TEST_P(Snapshots, ReplaceTheOneBefore) {
    commit(on(order("1"), 0).event("A").snapshot({1, 7, {"one"}}));
    commit(on(order("1"), 1).event("B").snapshot({2, 8, {"two"}}));
    commit(on(order("1"), 2).event("C"));
    EXPECT_EQ(load_with({.snapshot_version = 8}).snapshot->payload.bytes, "two");
    EXPECT_FALSE(load_with({.snapshot_version = 7}).snapshot);
}

TEST_P(Snapshots, BeyondWhatIsAskedForAreNotUsed) {
    commit(on(order("1"), 0).event("A").event("B").event("C").snapshot({2, 7, {"state"}}));
    EXPECT_THAT(names(load_with({.snapshot_version = 7})), ElementsAre("C"));
    const Loaded before = load_with({.snapshot_version = 7, .up_to = 1});
    EXPECT_FALSE(before.snapshot);
    EXPECT_THAT(names(before), ElementsAre("A"));
    const Loaded at = load_with({.snapshot_version = 7, .up_to = 2});
    ASSERT_TRUE(at.snapshot);
    EXPECT_THAT(at.events, IsEmpty());
}

TEST_P(Snapshots, AreWrittenWithTheirCommitOrNotAtAll) {
    commit(on(order("1"), 0).event("A"));
    EXPECT_EQ(commit(on(order("1"), 0).event("B").snapshot({1, 7, {"no"}})).fate, Fate::stale);
    EXPECT_FALSE(load_with({.snapshot_version = 7}).snapshot);
    EXPECT_THAT(store->journal(order("1"), 0, 10), testing::SizeIs(1));
}

TEST_P(Snapshots, LeaveTheJournalWhole) {
    commit(on(order("1"), 0).event("A").event("B").snapshot({2, 7, {"state"}}));
    EXPECT_THAT(store->journal(order("1"), 0, 10), testing::SizeIs(2));
    EXPECT_THAT(store->follow("", 10).events, testing::SizeIs(2));
}

}  // namespace
}  // namespace pawl::store::conformance
