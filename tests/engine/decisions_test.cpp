#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

struct Trip {
    struct Book {
        std::string city;
    };
    struct Hold {};
    struct Wait {};
    using Input = std::variant<Book, Hold, Wait>;
    struct Flight {
        std::string city;
    };
    struct Hotel {
        std::string city;
    };
    struct Held {
        Time at{};
        Uuid token;
        Uuid other;
    };
    using Event = std::variant<Flight, Hotel, Held>;
    struct Pay {
        int cents = 0;
    };
    struct Mail {
        std::string city;
    };
    using Effect = std::variant<Pay, Mail>;

    std::vector<std::string> booked;
    Time held_at{};
    void evolve(const Flight& e) { booked.push_back("flight " + e.city); }
    void evolve(const Hotel& e) { booked.push_back("hotel " + e.city); }
    void evolve(const Held& e) { held_at = e.at; }

    Decision<Trip> decide(const Book& in) const {
        Decision<Trip> decision{Flight{in.city}};
        decision.event(Hotel{in.city}).effect(Pay{1});
        decision.effect(Mail{in.city}).effect(Pay{2}).after(1h, Hold{}, "k").cancel("other");
        return decision;
    }
    Decision<Trip> decide(const Hold&, const Moment& moment) const {
        return Held{moment.now(), moment.uuid(), moment.uuid()};
    }
    Decision<Trip> decide(const Wait&) const {
        auto decision = Decision<Trip>(reject("no"));
        decision.effect(Pay{3});
        return decision;
    }
};

class Decisions : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    std::vector<std::string> done;
    Workflow<Trip> trips = engine->add<Trip>(
        "trip",
        Handlers{[this](const Trip::Pay& e) { done.push_back("pay " + std::to_string(e.cents)); },
                 [this](const Trip::Mail& e) { done.push_back("mail " + e.city); }});
};
INSTANTIATE_TEST_SUITE_P(Stores, Decisions, every_store(), name_of);

TEST_P(Decisions, HaveSeveralEventsEffectsAndTimers) {
    const auto outcome = trips.send("t", Trip::Book{"rome"});
    EXPECT_EQ(outcome.events(), 2);
    EXPECT_EQ(outcome.version(), 3);
    EXPECT_THAT(names_of(trips.journal("t")),
                ElementsAre("Flight", "Hotel", "pawl.timer_cancelled"));
    EXPECT_THAT(trips.state("t")->booked, ElementsAre("flight rome", "hotel rome"));
    const auto pending = trips.pending("t");
    ASSERT_EQ(pending.size(), 4u);
    EXPECT_EQ(pending[0].name, "Pay");
    EXPECT_EQ(pending[0].payload, R"({"type":"Pay","cents":1})");
    EXPECT_EQ(pending[1].name, "Mail");
    EXPECT_EQ(pending[2].payload, R"({"type":"Pay","cents":2})");
    EXPECT_EQ(pending[3].kind, WorkKind::timer);
    EXPECT_EQ(pending[3].name, "Hold");
    EXPECT_EQ(pending[3].key, "k");
    EXPECT_EQ(pending[3].due_at, clock.now() + 1h);
}

TEST_P(Decisions, ReleaseEachEffectOnce) {
    trips.send("t", Trip::Book{"rome"});
    engine->run_until_idle();
    EXPECT_THAT(done, ::testing::UnorderedElementsAre("pay 1", "mail rome", "pay 2"));
    engine->run_until_idle();
    EXPECT_EQ(done.size(), 3u);
}

TEST_P(Decisions, MayAskForTheStoresTimeAndFreshIds) {
    clock.advance(5s);
    trips.send("t", Trip::Hold{});
    trips.send("t", Trip::Hold{});
    EXPECT_EQ(trips.state("t")->held_at, clock.now());
    const auto journal = trips.journal("t");
    const auto first = std::get<Trip::Held>(json::decode<Trip::Event>(journal[0].payload));
    const auto second = std::get<Trip::Held>(json::decode<Trip::Event>(journal[1].payload));
    EXPECT_NE(first.token, first.other);
    EXPECT_NE(first.token, second.token);
    EXPECT_EQ(journal[0].at, clock.now());
}

TEST_P(Decisions, ThatBuildOnARejectionFail) {
    const auto error = error_of([&] { trips.send("t", Trip::Wait{}); });
    EXPECT_EQ(error.code(), Code::workflow);
    EXPECT_THAT(error.what(), HasSubstr("a rejection writes nothing"));
    EXPECT_FALSE(trips.state("t"));
}

TEST(DecisionBuilders, RefuseARejection) {
    auto rejected = Decision<Alarm>{reject("no")};
    EXPECT_TRUE(rejected.rejected());
    EXPECT_EQ(rejected.rejection(), "no");
    EXPECT_EQ(error_of([&] { rejected.event(Alarm::Cleared{}); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { rejected.after(1s, Alarm::Ring{}); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { rejected.at(Time{}, Alarm::Ring{}); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { rejected.cancel("k"); }).code(), Code::misuse);
    EXPECT_EQ(error_of([&] { Decision<Trip>{reject("no")}.effect(Trip::Pay{1}); }).code(),
              Code::misuse);
}

TEST(DecisionBuilders, WorkOnNamedDecisionsAndTemporaries) {
    Decision<Alarm> named{Alarm::WasSet{"a"}};
    auto& same = named.event(Alarm::Cleared{}).after(1500us, Alarm::Ring{"x"}, "k").cancel("j");
    EXPECT_EQ(&same, &named);
    const auto temporary = Decision<Alarm>{Alarm::WasSet{"a"}}
                               .event(Alarm::Cleared{})
                               .at(Time{1s}, Alarm::Ring{"y"})
                               .after(1ns, Alarm::Ring{"z"})
                               .cancel("j");
    EXPECT_EQ(named.events().size(), 2u);
    EXPECT_EQ(named.timers()[0].after, Duration{1500});
    EXPECT_EQ(named.timers()[0].key, "k");
    EXPECT_THAT(named.cancels(), ElementsAre("j"));
    EXPECT_EQ(temporary.events().size(), 2u);
    EXPECT_EQ(temporary.timers()[0].at, Time{1s});
    EXPECT_EQ(temporary.timers()[1].after, Duration{1});  // rounded up: never early
    EXPECT_FALSE(temporary.rejected());
}

}  // namespace
}  // namespace pawl::engine_test
