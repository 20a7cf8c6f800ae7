// The order of messages that different transactions publish. Transactions that overlap are there
// where a database has several writers at a time.
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"
#include "outbox/client.hpp"

namespace pawl::engine_test {
namespace {

struct Note {
    std::string text;
};

const PublishOptions one_key{.key = "k"};

class Order : public EngineTest {
protected:
    void SetUp() override {
        EngineTest::SetUp();
        if (IsSkipped()) return;
        engine = open();
        subscribe(*engine);
        engine->run_until_idle();
    }
    void subscribe(Engine& to) {
        to.subscribe("notes",
                     [this](const Note& note, const Received& received) {
                         if (note.text == failing) throw std::runtime_error("not now");
                         seen.push_back(note.text);
                         numbers.push_back(received.sequence);
                     },
                     {.partitions = 1, .policy = {.attempts = 100, .base = 1s, .cap = 1s}});
    }
    bool has_clients() const { return GetParam() != "memory"; }
    bool has_several_writers() const { return has_clients() && GetParam() != "sqlite"; }
    void publish(const std::string& text) { engine->publish("notes", Note{text}, one_key); }
    /// A transaction of a client of the user's own.
    void publish_joined(const std::string& text) {
        if (!has_clients()) return publish(text);
        const auto client = connect(url());
        client->run("BEGIN");
        client->join(*engine).publish("notes", Note{text}, one_key);
        client->run("COMMIT");
    }

    std::string failing;
    std::unique_ptr<Engine> engine;
    std::vector<std::string> seen;
    std::vector<std::int64_t> numbers;
};
INSTANTIATE_TEST_SUITE_P(Stores, Order, every_store(), name_of);

TEST_P(Order, IsThatOfTransactionsOfWhichOneBeganBehindTheOther) {
    std::vector<std::string> published;
    for (int i = 0; i < 30; ++i) {
        const auto text = std::to_string(i);
        published.push_back(text);
        i % 3 == 0 ? publish(text) : publish_joined(text);
        if (i % 7 == 6) engine->run_until_idle();
    }
    engine->run_until_idle();
    EXPECT_EQ(seen, published);
}

// Also where its transaction began long before, and all that was published meanwhile is delivered.
TEST_P(Order, PutsWhatWasCommittedBeforeWhatIsPublishedLater) {
    if (!has_several_writers()) GTEST_SKIP() << "one transaction writes at a time";
    for (const bool delivered_between : {false, true}) {
        seen.clear();
        const auto early = connect(url());
        early->run("BEGIN");
        early->join(*engine).publish("notes", Note{"early"}, one_key);
        for (const char* text : {"a", "b", "c"}) publish_joined(text);
        if (delivered_between) {
            engine->run_until_idle();
            EXPECT_THAT(seen, ElementsAre("a", "b", "c"));
        }
        const auto late = connect(url());
        late->run("BEGIN");
        // Whatever it has seen before.
        (void)late->join(*engine);
        early->run("COMMIT");
        late->join(*engine).publish("notes", Note{"late"}, one_key);
        publish("last");
        late->run("COMMIT");
        engine->run_until_idle();
        const auto place = [&](const char* text) { return std::ranges::find(seen, text); };
        ASSERT_EQ(seen.size(), 6u);
        EXPECT_LT(place("early"), place("late"));
        EXPECT_LT(place("early"), place("last"));
        EXPECT_LT(place("c"), place("last"));
    }
}

TEST_P(Order, OfOverlappingTransactionsIsFixedOnceTheyAreNumbered) {
    if (!has_several_writers()) GTEST_SKIP() << "one transaction writes at a time";
    const auto early = connect(url());
    early->run("BEGIN");
    early->join(*engine).publish("notes", Note{"early"}, one_key);
    publish_joined("first");
    failing = "first";
    engine->run_until_idle();  // it has number 1 now
    early->run("COMMIT");
    for (int i = 0; i < 3; ++i) advance(*engine, 2s);
    EXPECT_THAT(seen, IsEmpty());
    failing.clear();
    // Another process that knows nothing of it.
    engine->stop();
    auto next = open();
    subscribe(*next);
    advance(*next, 1min);
    EXPECT_THAT(seen, ElementsAre("first", "early"));
    EXPECT_THAT(numbers, ElementsAre(1, 2));
}

}  // namespace
}  // namespace pawl::engine_test
