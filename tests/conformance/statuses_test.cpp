#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Statuses : public StoreTest {
protected:
    Item claimed_run(const std::string& id, const std::string& version) {
        commit(on(order(id), 0).event("Started").run(version));
        const auto session = store->open_session({.lease = 1min, .owner = "host:" + version});
        return claim_one(session, runs(version));
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Statuses, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Statuses, ChangeAlsoWithoutAnEvent) {
    const Item run = claimed_run("1", "1");
    const Time before = load(order("1")).row->updated_at;
    clock.advance(1s);
    const Answer answer = commit(on(order("1"), 1).status(3).suspend(run, {.at = never}));
    EXPECT_EQ(answer.fate, Fate::committed);
    const auto row = load(order("1")).row;
    EXPECT_EQ(row->status, 3);
    EXPECT_EQ(row->version, 1);
    EXPECT_EQ(row->updated_at, before + 1s);
    EXPECT_EQ(commit(on(order("1"), 2).status(4)).fate, Fate::stale);
    EXPECT_EQ(commit(on(order("none"), 0).status(4)).fate, Fate::committed);
    EXPECT_FALSE(load(order("none")).row) << "a status makes no instance";
    EXPECT_EQ(commit(on(order("1"), 1).status(0)).fate, Fate::committed);
    EXPECT_EQ(load(order("1")).row->status, 3);
    commit_all(
        {on(order("1"), 1).status(5), on(order("1"), 1).event("A"), on(order("1"), 2).status(6)});
    EXPECT_EQ(load(order("1")).row->status, 6);
    EXPECT_EQ(version_of(order("1")), 2);
}

TEST_P(Statuses, AreListedWithWhatTheRunItemIsDoing) {
    const auto run_of = [&](const std::string& id) {
        return store->instances({.type = "order", .id_prefix = id}).rows.at(0).run;
    };
    const Time now = clock.now();
    commit(on(order("waiting"), 0).event("Started").run("1"));
    commit(on(order("without"), 0).event("A"));
    const Item claimed = claimed_run("claimed", "2");
    const Item failed = claimed_run("failed", "3");
    commit(settling().retry(failed, 5min, "no"));
    EXPECT_FALSE(run_of("without"));
    EXPECT_EQ(run_of("waiting")->due_at, now);
    EXPECT_EQ(run_of("waiting")->attempts, 0);
    EXPECT_FALSE(run_of("waiting")->is_claimed);
    EXPECT_EQ(run_of("waiting")->owner, "");
    EXPECT_TRUE(run_of("claimed")->is_claimed);
    EXPECT_FALSE(run_of("claimed")->due_at);
    EXPECT_EQ(run_of("claimed")->attempts, 1);
    EXPECT_EQ(run_of("claimed")->owner, "host:2");
    EXPECT_EQ(run_of("failed")->last_error, "no");
    EXPECT_EQ(run_of("failed")->due_at, now + 5min);
    EXPECT_FALSE(run_of("failed")->is_claimed);

    for (const char* id : {"waiting", "without", "claimed", "failed"})
        commit(on(order(id), 1).event("B").status(2));
    EXPECT_THAT(instance_ids({.statuses = {2}}),
                ElementsAre("waiting", "without", "claimed", "failed"));
    InstanceFilter filter{.statuses = {1}};
    filter.statuses_if_claimed = {{2}};
    filter.statuses_if_failed = {{3}};
    EXPECT_THAT(instance_ids(filter), ElementsAre("claimed"));
    filter.statuses = {2};
    EXPECT_THAT(instance_ids(filter), ElementsAre("waiting", "without", "claimed"));
    filter.statuses_if_claimed.emplace();
    filter.statuses_if_failed = {{1, 2}};
    EXPECT_THAT(instance_ids(filter), ElementsAre("waiting", "without", "failed"));
    filter.type = "order";
    filter.id_prefix = "w";
    EXPECT_THAT(instance_ids(filter), ElementsAre("waiting", "without"));
    commit(settling().suspend(claimed, {.at = now + 1h}));
    EXPECT_EQ(run_of("claimed")->attempts, 0);
    EXPECT_EQ(run_of("claimed")->due_at, now + 1h);
}

}  // namespace
}  // namespace pawl::store::conformance
