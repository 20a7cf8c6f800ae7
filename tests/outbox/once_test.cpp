// What may come more than once and takes effect once: messages with a deduplication key, and what a
// consumer does about messages of others.
#include <atomic>
#include <pawl/pawl.hpp>
#include <thread>

#include "crash/place.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Paid {
    int cents = 0;
};

class OnceMessages : public EngineTest {
protected:
    void publish(int cents, const std::string& once, Duration window = once_window) {
        engine->publish("paid", Paid{cents}, {.key = "k", .once = once, .once_for = window});
    }

    std::unique_ptr<Engine> engine = open();
    std::vector<int> seen;
};
INSTANTIATE_TEST_SUITE_P(Stores, OnceMessages, every_store(), name_of);

TEST_P(OnceMessages, AreDroppedWhileTheirTimeLasts) {
    engine->subscribe("paid", [&](const Paid& paid) { seen.push_back(paid.cents); });
    engine->subscribe("other", [&](const Paid& paid) { seen.push_back(paid.cents); });
    publish(1, "a", 1h);
    publish(2, "a", 1h);
    publish(3, "b", 1h);
    publish(4, "");
    publish(5, "");
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 3, 4, 5));
    publish(6, "a", 1h);
    engine->publish("other", Paid{7}, {.once = "a"});
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 3, 4, 5, 7)) << "delivered or not, of this channel";
    clock.advance(1h);
    publish(8, "a", 1h);
    publish(9, "a", 1h);
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 3, 4, 5, 7, 8));
}

TEST_P(OnceMessages, AreDroppedInOneBatchToo) {
    engine->subscribe("paid", [&](const Paid& paid) { seen.push_back(paid.cents); });
    const auto ids =
        engine->publish_all("paid", std::vector<Paid>{{1}, {2}, {3}, {4}}, [](const Paid& paid) {
            return PublishOptions{.key = "k", .once = paid.cents % 2 ? "odd" : "even"};
        });
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 2));
    for (const auto& id : ids) EXPECT_EQ(engine->delivered(id), MessageStatus::delivered);
}

TEST_P(OnceMessages, KeepTheirPlaceAmongTheOthers) {
    engine->subscribe("paid", [&](const Paid& paid) { seen.push_back(paid.cents); });
    engine->publish_all("paid", std::vector<Paid>{{1}, {2}, {3}, {4}, {5}}, [](const Paid& paid) {
        return PublishOptions{.key = "k", .once = paid.cents % 2 ? std::to_string(paid.cents) : ""};
    });
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
}

TEST_P(OnceMessages, HaveAKeyThatFitsAndATime) {
    const auto refused = [&](PublishOptions options) {
        return error_of([&] { engine->publish("paid", Paid{1}, std::move(options)); });
    };
    EXPECT_THAT(refused({.once = std::string(300, 'x')}).what(), HasSubstr("deduplication key"));
    EXPECT_THAT(refused({.once = "a", .once_for = Duration{0}}).what(), HasSubstr("once_for"));
    EXPECT_EQ(engine->partitions("paid").size(), 0u) << "nothing was written";
}

class Consumers : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        engine = open();
        booked = place().table("booked");
        place().run("CREATE TABLE " + booked + " (id VARCHAR(40) NOT NULL)");
    }
    void book(Transaction& tx, const std::string& id) {
        tx.exec("INSERT INTO " + booked + " (id) VALUES ($1)", id);
    }
    std::string count() const { return place().ask("SELECT count(*) FROM " + booked); }

    std::unique_ptr<Engine> engine;
    std::string booked;
};
INSTANTIATE_TEST_SUITE_P(Stores, Consumers, shared_stores(), name_of);

TEST_P(Consumers, DoOnceWhatComesTwice) {
    const auto consume = [&](std::string_view consumer, const std::string& id) {
        return engine->once(consumer, id, [&](Transaction& tx) { book(tx, id); });
    };
    EXPECT_TRUE(consume("billing", "m-1"));
    EXPECT_FALSE(consume("billing", "m-1"));
    EXPECT_TRUE(consume("billing", "m-2"));
    EXPECT_TRUE(consume("mailing", "m-1")) << "another consumer has its own";
    EXPECT_EQ(count(), "3");
    auto again = options();
    again.test.seed = 8;  // with the same one it would have the same ids
    engine = open(again);
    EXPECT_FALSE(engine->once("billing", "m-1", [](Transaction&) {})) << "after a restart, too";
}

TEST_P(Consumers, TryAgainWhatDidNotCommit) {
    {
        auto tx = engine->begin();
        EXPECT_TRUE(tx.once("billing", "m-1"));
        EXPECT_FALSE(tx.once("billing", "m-1")) << "in one transaction, too";
        book(tx, "m-1");
    }
    EXPECT_EQ(count(), "0");
    EXPECT_THROW(engine->once("billing", "m-1",
                              [&](Transaction& tx) {
                                  book(tx, "m-1");
                                  throw std::runtime_error("no");
                              }),
                 std::runtime_error);
    EXPECT_TRUE(engine->once("billing", "m-1", [&](Transaction& tx) { book(tx, "m-1"); }));
    EXPECT_EQ(count(), "1");
}

TEST_P(Consumers, AgreeWhoIsTheFirst) {
    constexpr int messages = 20;
    std::atomic<int> effects = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < messages; ++i) {
                    const auto id = "m-" + std::to_string(i);
                    for (bool over = false; !over;) try {
                            effects +=
                                engine->once("billing", id, [&](Transaction& tx) { book(tx, id); });
                            over = true;
                        } catch (const Error& e) {
                            EXPECT_TRUE(e.retryable()) << e.what();
                        }
                }
            });
    }
    EXPECT_EQ(effects, messages);
    EXPECT_EQ(count(), std::to_string(messages));
}

TEST_P(Consumers, ForgetWhenTheTimeIsOver) {
    const auto is_first = [&] {
        auto tx = engine->begin();
        const bool first = tx.once("billing", "m-1", 1h);
        tx.commit();
        return first;
    };
    EXPECT_TRUE(is_first());
    EXPECT_FALSE(is_first());
    clock.advance(1h);
    EXPECT_TRUE(is_first());
    EXPECT_FALSE(is_first());
    const auto kept = [&] { return place().ask("SELECT count(*) FROM pawl_once"); };
    EXPECT_EQ(kept(), "1");
    clock.advance(2h);
    open_store()->vacuum({});
    EXPECT_EQ(kept(), "0");
}

TEST_P(Consumers, HaveANameAndAnId) {
    auto tx = engine->begin();
    EXPECT_THAT(error_of([&] { tx.once("", "m"); }).what(), HasSubstr("name of a consumer"));
    EXPECT_THAT(error_of([&] { tx.once("billing", ""); }).what(), HasSubstr("done once"));
    EXPECT_THAT(error_of([&] { tx.once("billing", "m", 0s); }).what(), HasSubstr("window"));
    EXPECT_TRUE(tx.once("billing", "m", Duration::max())) << "nothing is spoilt by it";
}

}  // namespace
}  // namespace pawl::engine_test
