#include <algorithm>
#include <thread>

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

class SharedMail : public SharedStoreTest {
protected:
    static void commit_in(Store& to, const Commit& one) {
        std::vector<Answer> answers(1);
        to.commit({&one, 1}, answers);
        EXPECT_EQ(answers[0].fate, Fate::committed);
    }
    std::vector<std::string> mail_of(const InstanceName& run) {
        std::vector<std::string> names;
        for (const auto& row : store->inbox(run, 100)) names.push_back(row.name);
        return names;
    }
    // Both have numbers in stock, where stores take them in advance; `other` has the later ones.
    void take_numbers() {
        for (Store* one : {store.get(), other.get()}) {
            const auto name = order(one == store.get() ? "a" : "b");
            commit_in(*one, on(name, 0).event("Started").run());
            commit_in(*one, settling().letter(name));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedMail, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(SharedMail, IsReadInTheOrderOfItsCommitsWhicheverProcessSendsIt) {
    take_numbers();
    commit(on(order("r"), 0).event("Started").run());
    commit_in(*other, settling().letter(order("r"), "1"));
    commit_in(*store, settling().letter(order("r"), "2"));
    // With an append whose timers have to be read, a Commit can't be presumed.
    commit_in(*other, on(order("b"), 1).event("A").cancel("none").letter(order("r"), "3"));
    commit_in(*store, on(order("a"), 1).event("A").cancel("none").letter(order("r"), "4"));
    commit_in(*other, settling().letter(order("r"), "5").letter(order("r"), "6"));
    EXPECT_THAT(mail_of(order("r")), ElementsAre("1", "2", "3", "4", "5", "6"));
}

// What one process reads is never followed by mail with an earlier position.
TEST_P(SharedMail, OfProcessesThatSendAtOneTimeIsOnlyAppended) {
    take_numbers();
    commit(on(order("r"), 0).event("Started").run());
    constexpr int letters = 40;
    const auto send = [&](Store& from, const std::string& name) {
        for (int i = 0; i < letters; ++i)
            commit_in(from, settling().letter(order("r"), name + std::to_string(i)));
    };
    std::vector<std::string> seen;
    {
        std::jthread a{[&] { send(*store, "a"); }};
        std::jthread b{[&] { send(*other, "b"); }};
        const auto reader = database.open();
        while (seen.size() < 2 * letters && !HasFailure()) {
            std::vector<std::string> now;
            for (const auto& row : reader->inbox(order("r"), 100)) now.push_back(row.name);
            ASSERT_GE(now.size(), seen.size());
            ASSERT_TRUE(std::equal(seen.begin(), seen.end(), now.begin()));
            seen = now;
        }
    }
    EXPECT_EQ(seen.size(), 2u * letters);
}

}  // namespace
}  // namespace pawl::store::conformance
