#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Mail : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Mail, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Mail, WaitsInTheInboxInOrder) {
    const Envelope envelope{.correlation = "corr", .tenant = "acme", .causation = fresh_id()};
    commit(on(order("1"), 0)
               .event("A")
               .inbox({.to = order("2"),
                       .input_id = "in-1",
                       .name = "Pay",
                       .payload = {"one"},
                       .envelope = envelope})
               .inbox({.to = order("3"), .name = "Other"}));
    clock.advance(1s);
    commit(settling().inbox({.to = order("2"), .input_id = "in-2", .name = "Ship"}));

    const auto rows = store->inbox(order("2"), 10);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].to, order("2"));
    EXPECT_EQ(rows[0].input_id, "in-1");
    EXPECT_EQ(rows[0].name, "Pay");
    EXPECT_EQ(rows[0].payload, (Payload{"one"}));
    EXPECT_EQ(rows[0].envelope, envelope);
    EXPECT_EQ(rows[0].at, clock.now() - 1s);
    EXPECT_EQ(rows[1].input_id, "in-2");
    EXPECT_EQ(rows[1].at, clock.now());
    EXPECT_LT(rows[0].position, rows[1].position);
    EXPECT_EQ(store->inbox(order("2"), 1).size(), 1u);
    EXPECT_EQ(store->inbox(order("2"), 1)[0].input_id, "in-1");
    EXPECT_EQ(store->inbox(order("3"), 10).size(), 1u);
    EXPECT_THAT(store->inbox(order("1"), 10), IsEmpty());
    EXPECT_FALSE(load(order("2")).row) << "mail makes no instance";
}

TEST_P(Mail, IsPublishedInOrder) {
    const Message sent{.channel = "ledger",
                       .key = "k",
                       .type = "Transferred",
                       .recipient = "bank",
                       .schema = "v1",
                       .payload = {"{}"},
                       .envelope = {.correlation = "corr", .trace = "t"},
                       .deliver_after = clock.now() + 1h};
    commit(on(order("1"), 0).event("A").message(sent).message({.channel = "other"}));
    clock.advance(1s);
    commit(settling().message({.channel = "ledger", .key = "second"}));

    const auto messages = store->messages("ledger", 0, 10);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].channel, "ledger");
    EXPECT_EQ(messages[0].key, "k");
    EXPECT_EQ(messages[0].type, "Transferred");
    EXPECT_EQ(messages[0].recipient, "bank");
    EXPECT_EQ(messages[0].schema, "v1");
    EXPECT_EQ(messages[0].payload, sent.payload);
    EXPECT_EQ(messages[0].envelope, sent.envelope);
    EXPECT_EQ(messages[0].deliver_after, sent.deliver_after);
    EXPECT_EQ(messages[0].at, clock.now() - 1s);
    EXPECT_EQ(messages[1].key, "second");
    EXPECT_EQ(messages[1].deliver_after, std::nullopt);
    EXPECT_LT(messages[0].position, messages[1].position);
    const auto rest = store->messages("ledger", messages[0].position, 10);
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].key, "second");
    EXPECT_EQ(store->messages("ledger", 0, 1).size(), 1u);
    EXPECT_THAT(store->messages("none", 0, 10), IsEmpty());
}

TEST_P(Mail, OfAFailedCommitIsNotSent) {
    create(order("1"));
    EXPECT_EQ(commit(on(order("1"), 0)
                         .event("A")
                         .inbox({.to = order("2"), .name = "Pay"})
                         .message({.channel = "ledger"}))
                  .fate,
              Fate::stale);
    EXPECT_THAT(store->inbox(order("2"), 10), IsEmpty());
    EXPECT_THAT(store->messages("ledger", 0, 10), IsEmpty());
}

}  // namespace
}  // namespace pawl::store::conformance
