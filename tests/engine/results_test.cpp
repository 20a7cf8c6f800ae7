// What an effect's handler returns, and what becomes of effects that fail for good.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/points.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class Results : public EngineTest {
protected:
    /// Every effect comes back as Arrived with this receipt.
    void answering(std::string receipt) {
        couriers.emplace(engine->add<Courier>(
            "courier", Handlers{with({.attempts = 3, .base = 1s, .jitter = 0},
                                     [this, receipt](const Carry&, const Delivery&) {
                                         ++calls;
                                         return Courier::Arrived{receipt};
                                     })}));
    }
    std::unique_ptr<Engine> engine = open();
    std::optional<Workflow<Courier>> couriers;
    int calls = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, Results, every_store(), name_of);

TEST_P(Results, AreAppliedOnce) {
    answering("ok");
    couriers->send("c", Courier::Send{"ada", 3});
    engine->run_until_idle();
    engine->run_until_idle();
    EXPECT_EQ(calls, 3);
    EXPECT_THAT(couriers->state("c")->received, ElementsAre("ok", "ok", "ok"));
    EXPECT_THAT(engine->endings(), IsEmpty());
}

TEST_P(Results, ThatAreRejectedEndTheEffectAndAreListed) {
    answering("refused");
    couriers->send("c", Courier::Send{"ada"});
    const auto key = couriers->pending("c")[0].key;
    engine->run_until_idle();
    EXPECT_THAT(couriers->state("c")->received, IsEmpty());
    EXPECT_THAT(couriers->pending("c"), IsEmpty());
    EXPECT_EQ(engine->count_dead_letters(), 0);
    const auto endings = engine->endings();
    ASSERT_EQ(endings.size(), 1u);
    EXPECT_EQ(endings[0].kind, WorkKind::effect);
    EXPECT_EQ(endings[0].type, "courier");
    EXPECT_EQ(endings[0].id, "c");
    EXPECT_EQ(endings[0].name, "Carry");
    EXPECT_TRUE(endings[0].rejected);
    EXPECT_EQ(endings[0].reason, "the receipt is refused");
    EXPECT_EQ(calls, 1);
}

TEST_P(Results, ThatComeAfterTheFinishEndTheEffectAndAreListed) {
    answering("last");
    couriers->send("c", Courier::Send{"ada", 3});
    engine->run_until_idle();
    EXPECT_THAT(couriers->state("c")->received, ElementsAre("last"));
    EXPECT_THAT(couriers->pending("c"), IsEmpty());
    const auto endings = engine->endings({.type = "courier", .id = "c"});
    ASSERT_EQ(endings.size(), 2u);
    for (const auto& ending : endings) EXPECT_FALSE(ending.rejected);
    EXPECT_THAT(engine->endings({.type = "courier", .id = "d"}), IsEmpty());
    EXPECT_EQ(engine->endings({.limit = 1}).size(), 1u);
    EXPECT_EQ(engine->endings({.after = endings[0].item}).size(), 1u);
    EXPECT_THAT(engine->endings({.kind = WorkKind::timer}), IsEmpty());
}

TEST_P(Results, AreForgottenAfterTheirRetention) {
    answering("refused");
    couriers->send("c", Courier::Send{"ada"});
    engine->run_until_idle();
    advance(*engine, 24h * 6);
    EXPECT_EQ(engine->endings().size(), 1u);
    advance(*engine, 24h * 2);
    EXPECT_THAT(engine->endings(), IsEmpty());
}

TEST_P(Results, WhoseDecideThrowsAreTriedAgainAndThenBuried) {
    answering("broken");
    couriers->send("c", Courier::Send{"ada"});
    engine->run_until_idle();
    EXPECT_EQ(calls, 1);
    EXPECT_THAT(couriers->pending("c").at(0).last_error, HasSubstr("the receipt is broken"));
    for (int i = 0; i < 5; ++i) advance(*engine, 1s);
    EXPECT_EQ(calls, 3);
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_THAT(letters[0].reason, HasSubstr("attempt 3 of 3 failed"));
    EXPECT_THAT(letters[0].reason, HasSubstr("Arrived of workflow \"courier\", instance \"c\""));
    EXPECT_EQ(letters[0].history.size(), 3u);
    EXPECT_THAT(couriers->state("c")->received, IsEmpty());
}

/// Is told when an effect was buried.
struct Rescue {
    struct Call {
        std::string how;
    };
    struct Boat {
        std::string how;
    };
    struct Horn {
        std::string how;
    };
    using Input = std::variant<Call, Failed<Boat>, Failed<Horn>>;
    struct Called {};
    struct Sank {
        std::string how;
        std::string reason;
        int attempts = 0;
    };
    struct Silent {};
    using Event = std::variant<Called, Sank, Silent>;
    using Effect = std::variant<Boat, Horn>;

    std::vector<std::string> log;
    void evolve(const Called&) { log.emplace_back("called"); }
    void evolve(const Sank& e) { log.push_back("sank " + e.how + ": " + e.reason); }
    void evolve(const Silent&) { log.emplace_back("silent"); }

    Decision<Rescue> decide(const Call& in) const {
        Decision<Rescue> decision{Called{}};
        if (in.how == "horn") return decision.effect(Horn{in.how});
        return decision.effect(Boat{in.how});
    }
    Decision<Rescue> decide(const Failed<Boat>& in) const {
        if (in.effect.how == "refused") return reject("nobody cares");
        if (in.effect.how == "broken") throw std::runtime_error{"can't be told"};
        return Decision<Rescue>{Sank{in.effect.how, in.reason, in.attempts}}.effect(Horn{"sank"});
    }
    Decision<Rescue> decide(const Failed<Horn>&) const { return Silent{}; }
};

class FailedEffects : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Rescue> rescues = engine->add<Rescue>(
        "rescue", Handlers{with({.attempts = 2, .base = 1s, .jitter = 0},
                                [](const Rescue::Boat&) { throw std::runtime_error{"a leak"}; }),
                           [](const Rescue::Horn&) { throw Permanent{"no air"}; }});
};
INSTANTIATE_TEST_SUITE_P(Stores, FailedEffects, every_store(), name_of);

TEST_P(FailedEffects, AreToldToTheirWorkflowAndBuried) {
    rescues.send("r", Rescue::Call{"fast"});
    engine->run_until_idle();
    EXPECT_THAT(rescues.state("r")->log, ElementsAre("called"));
    advance(*engine, 1s);
    EXPECT_THAT(rescues.state("r")->log,
                ElementsAre("called", "sank fast: attempt 2 of 2 failed: a leak", "silent"));
    const auto journal = rescues.journal("r");
    EXPECT_THAT(names_of(journal), ElementsAre("Called", "Sank", "Silent"));
    EXPECT_THAT(journal[1].payload, HasSubstr(R"("attempts":2)"));
    EXPECT_EQ(journal[1].causation, journal[0].id);
    EXPECT_EQ(journal[2].causation, journal[1].id);
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 2u);
    EXPECT_EQ(letters[0].work.name, "Boat");
    EXPECT_EQ(letters[1].work.name, "Horn");
    EXPECT_EQ(letters[1].reason, "no air");
    EXPECT_THAT(rescues.pending("r"), IsEmpty());
}

TEST_P(FailedEffects, AreToldInTheSameCommitAsTheBurial) {
    rescues.send("r", Rescue::Call{"horn"});
    engine->run_until_idle();
    EXPECT_EQ(engine->dead_letters().at(0).died_at, rescues.journal("r").at(1).at);
    // Retried by an operator and failed again, it is told again.
    EXPECT_EQ(engine->retry_dead_letters({}), 1);
    engine->run_until_idle();
    EXPECT_THAT(rescues.state("r")->log, ElementsAre("called", "silent", "silent"));
    EXPECT_EQ(engine->count_dead_letters(), 1);
}

TEST_P(FailedEffects, AreBuriedAlsoWhenTheWorkflowRefusesToHearOrBreaks) {
    rescues.send("a", Rescue::Call{"refused"});
    rescues.send("b", Rescue::Call{"broken"});
    for (int i = 0; i < 5; ++i) advance(*engine, 1s);
    EXPECT_THAT(rescues.state("a")->log, ElementsAre("called"));
    EXPECT_THAT(rescues.state("b")->log, ElementsAre("called"));
    EXPECT_EQ(engine->count_dead_letters(), 2);
    EXPECT_THAT(engine->pending(), IsEmpty());
}

TEST_P(FailedEffects, AreNamedApartOnTheWire) {
    const auto outcome = engine->send(
        "rescue", "r",
        R"({"type":"Failed<Boat>","effect":{"how":"by hand"},"reason":"seen","attempts":7})");
    EXPECT_TRUE(outcome.accepted());
    EXPECT_THAT(rescues.state("r")->log, ElementsAre("sank by hand: seen"));
}

class SharedFailedEffects : public SharedEngineTest {
protected:
    Workflow<Rescue> add(Engine& engine) {
        return engine.add<Rescue>("rescue",
                                  Handlers{[](const Rescue::Boat&) {},
                                           [](const Rescue::Horn&) { throw Permanent{"no air"}; }});
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedFailedEffects, shared_stores(), name_of);

TEST_P(SharedFailedEffects, AreBuriedAndToldTogetherWhereverTheirProcessIsKilled) {
    int told = 0;
    for (const auto point : base::points::all) {
        if (!point.starts_with("group:") && !point.starts_with("commit:")) continue;
        const std::string id{point};
        if (const pid_t child = fork(); child == 0) {
            alarm(60);
            bool armed = false;  // from the handler's failure on: what follows is the burial
            auto deadly = options();
            deadly.test.at_point = [&](std::string_view reached) {
                armed = armed || reached == base::points::handler_before;
                if (armed && reached == point) ::raise(SIGKILL);
            };
            Engine engine{url(), deadly};
            add(engine).send(id, Rescue::Call{"horn"});
            engine.run_until_idle();
            _exit(1);
        } else {
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point;
        }
        auto engine = open();
        auto rescues = add(*engine);
        const auto heard = rescues.journal(id).size() - 1;
        told += static_cast<int>(heard);
        EXPECT_EQ(engine->dead_letters({.type = "rescue", .id = id}).size(), heard) << point;
        EXPECT_EQ(rescues.pending(id).size(), 1 - heard) << point;
        advance(*engine, 1min);  // its lease passes
        EXPECT_THAT(names_of(rescues.journal(id)), ElementsAre("Called", "Silent")) << point;
        EXPECT_EQ(engine->dead_letters({.type = "rescue", .id = id}).size(), 1u) << point;
        EXPECT_THAT(rescues.pending(id), IsEmpty()) << point;
    }
    EXPECT_EQ(told, 2);  // only those that were killed after the commit
}

}  // namespace
}  // namespace pawl::engine_test
