#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Envelopes : public StoreTest {
protected:
    const Envelope full_{.correlation = "corr",
                         .conversation = "conv",
                         .tenant = "acme",
                         .trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                         .causation = fresh_id()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Envelopes, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Envelopes, ReachEveryEventOfTheirCommit) {
    commit(on(order("1"), 0).event("A").event("B").envelope(full_));
    for (const auto& entry : store->journal(order("1"), 0, 10)) EXPECT_EQ(entry.envelope, full_);
    for (const auto& entry : store->follow("", 10).events) EXPECT_EQ(entry.envelope, full_);
}

TEST_P(Envelopes, ReachTheItemsWithTheFirstEventAsTheirCause) {
    const Event first = event("A");
    commit(
        on(order("1"), 0).event(first).event("B").effect("Do").timer("Ring", 0s).envelope(full_));
    Envelope expected = full_;
    expected.causation = first.id;
    for (const auto& item : store->items({})) EXPECT_EQ(item.envelope, expected);
    const auto claimed = claim(open_session(), {effects("Do"), timers("Ring")}).items;
    ASSERT_EQ(claimed.size(), 2u);
    for (const auto& item : claimed) EXPECT_EQ(item.envelope, expected);
}

TEST_P(Envelopes, WithoutACorrelationBeginOne) {
    const Event first = event("A");
    const Event second = event("B");
    commit(on(order("1"), 0).event(first).event(second).effect("Do"));
    const auto journal = store->journal(order("1"), 0, 10);
    ASSERT_EQ(journal.size(), 2u);
    EXPECT_EQ(journal[0].envelope, (Envelope{.correlation = first.id.text()}));
    EXPECT_EQ(journal[1].envelope, (Envelope{.correlation = second.id.text()}));
    EXPECT_EQ(store->items({})[0].envelope,
              (Envelope{.correlation = first.id.text(), .causation = first.id}));
}

TEST_P(Envelopes, AreOfTheCommitAndNotOfTheInstance) {
    commit(on(order("1"), 0).event("A").envelope(full_));
    const Envelope other{.correlation = "other", .causation = fresh_id()};
    commit(on(order("1"), 1).event("B").envelope(other));
    const auto journal = store->journal(order("1"), 0, 10);
    EXPECT_EQ(journal.at(0).envelope, full_);
    EXPECT_EQ(journal.at(1).envelope, other);
}

TEST_P(Envelopes, StayWithADeadLetter) {
    commit(on(order("1"), 0).event("A").effect("Do").envelope(full_));
    const Item item = claim_one(open_session(), effects("Do"));
    commit(settling().bury(item, "x"));
    EXPECT_EQ(dead_letter(item.id)->item.envelope, item.envelope);
    store->retry_dead_letters({});
    EXPECT_EQ(claim_one(open_session(), effects("Do")).envelope, item.envelope);
}

}  // namespace
}  // namespace pawl::store::conformance
