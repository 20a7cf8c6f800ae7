#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class DeadLetters : public EngineTest {
protected:
    void SetUp() override {
        EngineTest::SetUp();
        couriers.send("c-1", Courier::Send{"ada", 2});
        advance(*engine, 1min);
        couriers.send("c-2", Courier::Send{"bob"});
        advance(*engine, 1min);
        vans.send("v-1", Courier::Send{"cy"});
        alarms.send("a-1", Alarm::Set{"k", 30s, "broken"});
        advance(*engine, 1min);
        ASSERT_EQ(engine->count_dead_letters(), 5);
    }
    std::vector<std::string> ids(const DeadLetterQuery& query) {
        std::vector<std::string> out;
        for (const auto& letter : engine->dead_letters(query)) out.push_back(letter.work.id);
        EXPECT_EQ(engine->count_dead_letters(query), static_cast<std::int64_t>(out.size()));
        return out;
    }

    bool healed = false;
    std::vector<std::string> carried;
    const Time start = clock.now();
    std::unique_ptr<Engine> engine = open();
    const std::function<void(const Carry&, const Delivery&)> handler = [this](const Carry& e,
                                                                              const Delivery& d) {
        if (!healed) throw Permanent{"no road to " + e.to};
        carried.push_back(e.to + std::to_string(e.parcel) + " at " + std::to_string(d.attempt) +
                          " " + d.key);
    };
    Workflow<Courier> couriers = engine->add<Courier>("courier", Handlers{handler});
    Workflow<Courier> vans = engine->add<Courier>("van", Handlers{handler});
    Workflow<Alarm> alarms = engine->add<Alarm>("alarm", {.timers = {.attempts = 1}});
};
INSTANTIATE_TEST_SUITE_P(Stores, DeadLetters, every_store(), name_of);

TEST_P(DeadLetters, KeepPayloadReasonAndHistory) {
    const auto letter = engine->dead_letters({.type = "courier", .id = "c-2"}).at(0);
    EXPECT_EQ(letter.reason, "no road to bob");
    EXPECT_EQ(letter.work.kind, WorkKind::effect);
    EXPECT_EQ(letter.work.type, "courier");
    EXPECT_EQ(letter.work.id, "c-2");
    EXPECT_EQ(letter.work.name, "Carry");
    EXPECT_EQ(letter.work.payload, R"({"type":"Carry","to":"bob","parcel":1})");
    EXPECT_EQ(letter.work.attempts, 1);
    EXPECT_EQ(letter.work.created_at, start + 1min);
    EXPECT_EQ(letter.died_at, start + 2min);
    ASSERT_EQ(letter.history.size(), 1u);
    EXPECT_EQ(letter.history[0].attempt, 1);
    EXPECT_EQ(letter.history[0].at, start + 2min);
    EXPECT_EQ(letter.history[0].error, "no road to bob");
}

TEST_P(DeadLetters, AreFoundByEveryFilter) {
    EXPECT_THAT(ids({}), ElementsAre("c-1", "c-1", "c-2", "v-1", "a-1"));
    EXPECT_THAT(ids({.kind = WorkKind::timer}), ElementsAre("a-1"));
    EXPECT_THAT(ids({.kind = WorkKind::effect, .type = "van"}), ElementsAre("v-1"));
    EXPECT_THAT(ids({.type = "courier", .id = "c-2"}), ElementsAre("c-2"));
    EXPECT_THAT(ids({.name = "Ring"}), ElementsAre("a-1"));
    EXPECT_THAT(ids({.reason = "to ada"}), ElementsAre("c-1", "c-1"));
    EXPECT_THAT(ids({.reason = "%"}), IsEmpty());
    EXPECT_THAT(ids({.died_from = start + 2min}), ElementsAre("c-2", "v-1", "a-1"));
    EXPECT_THAT(ids({.died_before = start + 2min}), ElementsAre("c-1", "c-1"));
    EXPECT_THAT(ids({.died_from = start + 2min, .died_before = start + 3min}), ElementsAre("c-2"));
    EXPECT_EQ(error_of([&] { engine->dead_letters({.id = "c-2"}); }).code(), Code::invalid);
}

TEST_P(DeadLetters, ArePagedByItem) {
    const auto first = engine->dead_letters({.limit = 2});
    ASSERT_EQ(first.size(), 2u);
    const auto second = engine->dead_letters({.after = first[1].work.item, .limit = 2});
    ASSERT_EQ(second.size(), 2u);
    EXPECT_EQ(second[0].work.id, "c-2");
    EXPECT_EQ(engine->dead_letters({.after = second[1].work.item}).size(), 1u);
}

TEST_P(DeadLetters, AreRetriedOneByOneWithFreshAttempts) {
    const auto letter = engine->dead_letters({.type = "courier", .id = "c-2"}).at(0);
    healed = true;
    EXPECT_EQ(engine->retry_dead_letters({.items = {letter.work.item}}), 1);
    EXPECT_EQ(engine->retry_dead_letters({.items = {letter.work.item}}), 0);
    EXPECT_EQ(couriers.pending("c-2").at(0).attempts, 0);
    engine->run_until_idle();
    EXPECT_THAT(carried, ElementsAre("bob1 at 1 " + letter.work.key));
    EXPECT_EQ(engine->count_dead_letters(), 4);
}

TEST_P(DeadLetters, AreRetriedByTheHundredAndKeepTheirHistory) {
    EXPECT_EQ(engine->retry_dead_letters({.type = "courier", .limit = 2}), 2);
    EXPECT_EQ(engine->count_dead_letters(), 3);
    engine->run_until_idle();
    EXPECT_EQ(engine->count_dead_letters(), 5);
    EXPECT_EQ(engine->dead_letters({.type = "courier", .id = "c-1"}).at(0).history.size(), 2u);
    healed = true;
    EXPECT_EQ(engine->retry_dead_letters({.kind = WorkKind::effect}), 4);
    engine->run_until_idle();
    EXPECT_EQ(carried.size(), 4u);
    EXPECT_THAT(ids({}), ElementsAre("a-1"));
}

TEST_P(DeadLetters, AreDiscarded) {
    EXPECT_EQ(engine->discard_dead_letters({.reason = "to ada", .limit = 1}), 1);
    EXPECT_EQ(engine->discard_dead_letters({.type = "van"}), 1);
    EXPECT_THAT(ids({}), ElementsAre("c-1", "c-2", "a-1"));
    EXPECT_EQ(engine->retry_dead_letters({.type = "van"}), 0);
    EXPECT_EQ(engine->discard_dead_letters({}), 3);
    EXPECT_EQ(engine->count_dead_letters(), 0);
}

class SharedDeadLetters : public SharedEngineTest {
protected:
    void put(store::ItemKind kind, std::string name, std::string payload) {
        store::Commit commit;
        auto& append = commit.append.emplace();
        append.instance = {"alarm", "a"};
        append.events.push_back(
            {.id = {{1}}, .name = "Cleared", .payload = {R"({"type":"Cleared"})"}});
        append.puts.push_back({.kind = kind, .name = std::move(name), .payload = {payload}});
        std::vector<store::Answer> answers(1);
        open_store()->commit(std::vector<store::Commit>{std::move(commit)}, answers);
        ASSERT_EQ(answers[0].fate, store::Fate::committed);
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedDeadLetters, shared_stores(), name_of);

TEST_P(SharedDeadLetters, AreMadeOfTimersThatCannotBeDecoded) {
    put(store::ItemKind::timer, "Ring", R"({"type":"Ring","note":7})");
    auto engine = open();
    auto alarms = engine->add<Alarm>("alarm");
    engine->run_until_idle();
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_THAT(letters[0].reason, HasSubstr("the timer's input can't be decoded"));
    EXPECT_THAT(letters[0].reason, HasSubstr("$.note"));
    EXPECT_EQ(letters[0].work.payload, R"({"type":"Ring","note":7})");
    EXPECT_TRUE(alarms.send("a", Alarm::Ring{"fine"}).accepted());
}

TEST_P(SharedDeadLetters, AreKeptOverARestart) {
    put(store::ItemKind::timer, "Ring", "{");
    for (int i = 0; i < 2; ++i) {
        auto engine = open();
        engine->add<Alarm>("alarm");
        engine->run_until_idle();
        EXPECT_EQ(engine->count_dead_letters(), 1);
    }
}

TEST_P(SharedDeadLetters, WhoseInputNobodyKnowsWaitInTheBacklog) {
    put(store::ItemKind::timer, "Unheard", R"({"type":"Unheard"})");
    auto engine = open();
    engine->add<Alarm>("alarm");
    engine->run_until_idle();
    EXPECT_EQ(engine->count_dead_letters(), 0);
    const auto backlog = engine->backlog();
    ASSERT_EQ(backlog.size(), 1u);
    EXPECT_EQ(backlog[0].name, "Unheard");
    EXPECT_EQ(backlog[0].ready, 1);
}

}  // namespace
}  // namespace pawl::engine_test
