#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

/// Places, carries, hears of it, carries again, and is reminded by a timer.
struct Chainlet {
    struct Begin {
        int events = 1;
    };
    struct Next {
        int step = 0;
    };
    struct Remind {};
    using Input = std::variant<Begin, Next, Remind>;
    struct Began {};
    struct Went {
        int step = 0;
    };
    struct Reminded {};
    using Event = std::variant<Began, Went, Reminded>;
    struct Step {
        int step = 0;
    };
    using Effect = std::variant<Step>;
    int steps = 0;
    void evolve(const Began&) {}
    void evolve(const Went&) { ++steps; }
    void evolve(const Reminded&) {}
    Decision<Chainlet> decide(const Begin& in) const {
        Decision<Chainlet> decision{Began{}};
        for (int i = 1; i < in.events; ++i) decision.event(Began{});
        return decision.effect(Step{1});
    }
    Decision<Chainlet> decide(const Next& in) const {
        Decision<Chainlet> decision{Went{in.step}};
        if (in.step == 1) decision.effect(Step{2});
        if (in.step == 2) decision.after(1h, Remind{});
        return decision;
    }
    Decision<Chainlet> decide(const Remind&) const { return Reminded{}; }
};

class Envelopes : public EngineTest {
protected:
    std::vector<Delivery> seen;
    std::vector<PendingWork> listed;  ///< as pending while its handler ran
    std::unique_ptr<Engine> engine = open();
    Workflow<Chainlet> chains = engine->add<Chainlet>(
        "chain", Handlers{[this](const Chainlet::Step& e, const Delivery& d) -> Chainlet::Input {
            seen.push_back(d);
            for (auto& work : engine->pending()) listed.push_back(work);
            return Chainlet::Next{e.step};
        }});
};
INSTANTIATE_TEST_SUITE_P(Stores, Envelopes, every_store(), name_of);

const SendOptions given{.correlation = "order 7",
                        .conversation = "talk 3",
                        .tenant = "red",
                        .trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};

TEST_P(Envelopes, FlowFromInputToEventsEffectsResultsAndTimers) {
    chains.send("c", Chainlet::Begin{2}, given);
    engine->run_until_idle();
    advance(*engine, 1h);
    const auto journal = chains.journal("c");
    ASSERT_THAT(names_of(journal), ElementsAre("Began", "Began", "Went", "Went", "Reminded"));
    for (const auto& entry : journal) {
        EXPECT_EQ(entry.correlation, given.correlation);
        EXPECT_EQ(entry.conversation, given.conversation);
        EXPECT_EQ(entry.tenant, given.tenant);
        EXPECT_EQ(entry.trace, given.trace);
    }
    ASSERT_EQ(seen.size(), 2u);
    for (const auto& d : seen) {
        EXPECT_EQ(d.correlation, given.correlation);
        EXPECT_EQ(d.conversation, given.conversation);
        EXPECT_EQ(d.tenant, given.tenant);
        EXPECT_EQ(d.trace, given.trace);
    }
    EXPECT_EQ(engine->instances({.tenant = "red"}).instances.size(), 1u);
}

TEST_P(Envelopes, NameTheEventThatCausedEachEvent) {
    chains.send("c", Chainlet::Begin{});
    advance(*engine, 1h);
    advance(*engine, 1h);
    const auto journal = chains.journal("c");
    ASSERT_THAT(names_of(journal), ElementsAre("Began", "Went", "Went", "Reminded"));
    EXPECT_FALSE(journal[0].causation);
    for (std::size_t i = 1; i < journal.size(); ++i)
        EXPECT_EQ(journal[i].causation, journal[i - 1].id) << i;
}

TEST_P(Envelopes, NameTheFirstEventOfADecisionAsTheCause) {
    chains.send("c", Chainlet::Begin{3});
    engine->run_until_idle();
    const auto journal = chains.journal("c");
    ASSERT_EQ(journal.size(), 5u);
    EXPECT_EQ(journal[3].causation, journal[0].id);
}

TEST_P(Envelopes, HaveTheFirstEventAsCorrelationWhenNoneIsGiven) {
    chains.send("one", Chainlet::Begin{1});
    chains.send("two", Chainlet::Begin{2});
    engine->run_until_idle();
    advance(*engine, 1h);
    for (const auto* id : {"one", "two"}) {
        const auto journal = chains.journal(id);
        for (const auto& entry : journal) {
            EXPECT_EQ(entry.correlation, journal[0].id.text());
            EXPECT_EQ(entry.conversation, "");
            EXPECT_EQ(entry.tenant, "");
            EXPECT_EQ(entry.trace, "");
        }
    }
    ASSERT_EQ(seen.size(), 4u);
    for (const auto& d : seen) EXPECT_EQ(d.correlation, chains.journal(d.id).at(0).id.text());
}

TEST_P(Envelopes, OfALaterInputAreItsOwn) {
    chains.send("c", Chainlet::Remind{}, given);
    chains.send("c", Chainlet::Remind{}, {.correlation = "another"});
    chains.send("c", Chainlet::Remind{});
    const auto journal = chains.journal("c");
    EXPECT_EQ(journal[0].correlation, "order 7");
    EXPECT_EQ(journal[1].correlation, "another");
    EXPECT_EQ(journal[1].trace, "");
    EXPECT_EQ(journal[2].correlation, journal[2].id.text());
    EXPECT_FALSE(journal[2].causation);
}

TEST_P(Envelopes, AndKeysAreTheSameForEffectsThatAreBornClaimed) {
    // The second effect is released inside run_until_idle, which claims it as it is born.
    chains.send("c", Chainlet::Begin{2}, given);
    engine->run_until_idle();
    ASSERT_EQ(seen.size(), 2u);
    ASSERT_EQ(listed.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(listed[i].key, seen[i].key);
        EXPECT_EQ(listed[i].attempts, seen[i].attempt);
        EXPECT_EQ(listed[i].created_at, seen[i].created_at);
        EXPECT_FALSE(listed[i].due_at);
    }
    EXPECT_NE(seen[0].key, seen[1].key);
}

}  // namespace
}  // namespace pawl::engine_test
