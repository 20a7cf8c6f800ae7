#include <map>
#include <thread>

#include "conformance/store_test.hpp"

namespace pawl::store::conformance {
namespace {

class Follow : public StoreTest {
protected:
    static std::vector<std::string> texts(const Followed& followed) {
        std::vector<std::string> found;
        for (const auto& entry : followed.events)
            found.push_back(entry.instance.id + "." + std::to_string(entry.sequence) + "." +
                            entry.event.name);
        return found;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, Follow, testing::ValuesIn(stores_under_test()), name_of_store);

TEST_P(Follow, GivesEveryEventOnce) {
    commit(on(order("1"), 0).event("A").event("B"));
    commit_all({on(order("2"), 0).event("C"), on(order("1"), 2).event("D")});
    const Followed first = store->follow("", 3);
    EXPECT_THAT(texts(first), ElementsAre("1.1.A", "1.2.B", "2.1.C"));
    const Followed second = store->follow(first.cursor, 3);
    EXPECT_THAT(texts(second), ElementsAre("1.3.D"));
    const Followed third = store->follow(second.cursor, 3);
    EXPECT_THAT(third.events, IsEmpty());
    commit(on(order("2"), 1).event("E"));
    EXPECT_THAT(texts(store->follow(third.cursor, 3)), ElementsAre("2.2.E"));
    EXPECT_THAT(texts(store->follow(first.cursor, 1)), ElementsAre("1.3.D")) << "from any cursor";
}

TEST_P(Follow, BeginsWithNothing) {
    const Followed nothing = store->follow("", 10);
    EXPECT_THAT(nothing.events, IsEmpty());
    create(order("1"));
    EXPECT_THAT(texts(store->follow(nothing.cursor, 10)), ElementsAre("1.1.Created"));
}

TEST_P(Follow, GivesWholeEntries) {
    const Event sent = event("A");
    const Envelope envelope{.correlation = "corr", .tenant = "acme"};
    commit(on(order("1"), 0).event(sent).envelope(envelope));
    const auto entry = store->follow("", 10).events.at(0);
    EXPECT_EQ(entry.instance, order("1"));
    EXPECT_EQ(entry.sequence, 1);
    EXPECT_EQ(entry.event, sent);
    EXPECT_EQ(entry.envelope, envelope);
    EXPECT_EQ(entry.at, clock.now());
    EXPECT_EQ(entry.position, store->journal(order("1"), 0, 1).at(0).position);
}

TEST_P(Follow, SkipsNoEventOfAWriterBesideIt) {
    constexpr int writers = 3;
    constexpr int events = 60;
    std::map<std::string, Version> last;
    std::size_t seen = 0;
    std::string cursor;
    const auto read_on = [&] {
        const Followed followed = store->follow(cursor, 7);
        for (const auto& entry : followed.events) {
            EXPECT_EQ(entry.sequence, last[entry.instance.id] + 1) << entry.instance.id;
            last[entry.instance.id] = entry.sequence;
        }
        cursor = followed.cursor;
        seen += followed.events.size();
        return !followed.events.empty();
    };
    {
        std::vector<std::jthread> running;
        for (int w = 0; w < writers; ++w)
            running.emplace_back([&, w] {
                for (int i = 0; i < events; ++i)
                    commit(on(order(std::to_string(w)), i).event("Happened"));
            });
        for (int i = 0; i < events; ++i) read_on();
    }
    while (read_on()) continue;
    EXPECT_EQ(seen, std::size_t{writers * events});
}

class SharedFollow : public SharedStoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedFollow, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(SharedFollow, SkipsNoEventOfAnotherProcess) {
    constexpr int events = 60;
    std::map<std::string, Version> last;
    std::size_t seen = 0;
    std::string cursor;
    const auto read_on = [&] {
        const Followed followed = store->follow(cursor, 7);
        for (const auto& entry : followed.events) {
            EXPECT_EQ(entry.sequence, last[entry.instance.id] + 1) << entry.instance.id;
            last[entry.instance.id] = entry.sequence;
        }
        cursor = followed.cursor;
        seen += followed.events.size();
        return !followed.events.empty();
    };
    const auto write = [&](Store& to, const std::string& id) {
        for (int i = 0; i < events; ++i) {
            const Commit one = on(order(id), i).event("Happened");
            std::vector<Answer> answers(1);
            to.commit({&one, 1}, answers);
            EXPECT_EQ(answers[0].fate, Fate::committed);
        }
    };
    {
        std::jthread here{[&] { write(*store, "here"); }};
        std::jthread there{[&] { write(*other, "there"); }};
        for (int i = 0; i < events; ++i) read_on();
    }
    while (read_on()) continue;
    EXPECT_EQ(seen, std::size_t{2 * events});
}

}  // namespace
}  // namespace pawl::store::conformance
