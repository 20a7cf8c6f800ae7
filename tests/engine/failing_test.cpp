// What fails alone: a `decide`, `evolve`, key or event that breaks hurts nobody beside it.
#include <future>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

struct Fragile {
    struct Poke {
        std::string how;
    };
    using Input = std::variant<Poke>;
    struct Poked {
        std::string how;
    };
    using Event = std::variant<Poked>;

    int pokes = 0;
    bool broken = false;
    void evolve(const Poked& e) {
        if (e.how == "evolve") throw std::runtime_error{"evolve broke"};
        if (e.how == "odd") throw 42;
        if (e.how == "finished") broken = true;
        ++pokes;
    }
    Decision<Fragile> decide(const Poke& in) const {
        if (in.how == "decide") throw 42;
        return Poked{in.how};
    }
    bool finished() const {
        if (broken) throw std::runtime_error{"finished broke"};
        return false;
    }
    static std::string unique_key(const Poke& in) {
        if (in.how == "key") throw std::runtime_error{"the key broke"};
        return {};
    }
};

class Failing : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Counter> counters = engine->add<Counter>("counter");
    Workflow<Fragile> fragile = engine->add<Fragile>("fragile");
};
INSTANTIATE_TEST_SUITE_P(Stores, Failing, every_store(), name_of);

TEST_P(Failing, EvolveFailsItsCallerAlone) {
    EXPECT_TRUE(fragile.send("f", Fragile::Poke{"ok"}).accepted());
    const auto error = error_of([&] { fragile.send("f", Fragile::Poke{"evolve"}); });
    EXPECT_EQ(error.code(), Code::workflow);
    EXPECT_THAT(error.what(), HasSubstr("evolve broke"));
    EXPECT_THAT(error.what(), HasSubstr("\"fragile\""));
    EXPECT_THAT(error.what(), HasSubstr("\"f\""));
    EXPECT_THAT(error.what(), HasSubstr("Poke"));
    EXPECT_EQ(fragile.send("f", Fragile::Poke{"ok"}).version(), 2);
    EXPECT_EQ(fragile.state("f")->pokes, 2);
}

TEST_P(Failing, WhateverIsThrownIsAnErrorOfTheWorkflow) {
    for (const auto* how : {"decide", "evolve", "odd", "key", "finished"}) {
        const auto error = error_of([&] { fragile.send("f", Fragile::Poke{how}); });
        EXPECT_EQ(error.code(), Code::workflow) << how;
        EXPECT_THAT(error.what(), HasSubstr("\"fragile\"")) << how;
        EXPECT_THAT(error.what(), HasSubstr("\"f\"")) << how;
    }
    EXPECT_FALSE(fragile.state("f"));
    EXPECT_EQ(fragile.send("f", Fragile::Poke{"ok"}).version(), 1);
}

TEST_P(Failing, AMessageThatIsNoTextIsKeptAsOne) {
    auto other = open();
    auto couriers =
        other->add<Courier>("courier", Handlers{[](const Courier::Carry&) {
                                throw Permanent{"broken \xff text" + std::string(100'000, '!')};
                            }});
    couriers.send("c", Courier::Send{"ada"});
    other->run_until_idle();
    const auto letters = other->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_THAT(letters[0].reason, HasSubstr("broken \ufffd text!!!"));
    EXPECT_LT(letters[0].reason.size(), 10'000u);
}

TEST_P(Failing, OthersInFlightAreUntouched) {
    engine->start();
    std::vector<std::future<Outcome<Counter>>> good;
    std::vector<std::future<Outcome<Counter>>> bad;
    for (int i = 0; i < 200; ++i) {
        good.push_back(counters.send_async("hot", Counter::Add{1}));
        bad.push_back(counters.send_async("hot", Counter::Add{13}));
        good.push_back(counters.send_async("c-" + std::to_string(i), Counter::Add{1}));
        bad.push_back(counters.send_async("c-" + std::to_string(i), Counter::Add{13}));
    }
    for (auto& one : good) EXPECT_TRUE(one.get().accepted());
    for (auto& one : bad) EXPECT_EQ(error_of([&] { one.get(); }).code(), Code::workflow);
    EXPECT_EQ(counters.state("hot")->total, 200);
    EXPECT_EQ(counters.journal("hot").size(), 200u);
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(counters.state("c-" + std::to_string(i))->total, 1) << i;
}

TEST_P(Failing, EvolveOnAHotInstanceFailsNobodyBehindIt) {
    engine->start();
    std::vector<std::future<Outcome<Fragile>>> sent;
    for (int i = 0; i < 600; ++i)
        sent.push_back(fragile.send_async("hot", Fragile::Poke{i % 2 ? "evolve" : "ok"}));
    for (std::size_t i = 0; i < sent.size(); ++i) {
        if (i % 2) {
            EXPECT_EQ(error_of([&] { sent[i].get(); }).code(), Code::workflow);
        } else {
            EXPECT_TRUE(sent[i].get().accepted());
        }
    }
    EXPECT_EQ(fragile.state("hot")->pokes, 300);
}

TEST_P(Failing, AnswersOfAHotInstanceComeInTheOrderOfSending) {
    engine->start();
    std::vector<std::future<Outcome<Counter>>> outcomes;
    for (int i = 0; i < 500; ++i)
        outcomes.push_back(counters.send_async("hot", Counter::Add{i % 5 == 0 ? -1 : 1}));
    int total = 0;
    for (int i = 0; i < 500; ++i) {
        const auto outcome = outcomes[static_cast<std::size_t>(i)].get();
        if (i % 5 == 0) {
            EXPECT_EQ(outcome.reason(), "negative on " + std::to_string(total));
        } else {
            EXPECT_EQ(outcome.version(), ++total);
        }
    }
}

TEST_P(Failing, InputsThatWaitForARoomlessQueueAreToldThatNothingWasWritten) {
    Watched<int> flushing;
    Watched<bool> open_gate;
    auto tight = options();
    tight.queue = 1;
    tight.test.at_point = [&](std::string_view point) {
        if (point != "commit:before") return;
        flushing.change([](int& n) { ++n; });
        open_gate.wait([](bool is_open) { return is_open; });
    };
    auto crowded = open(tight);
    auto some = crowded->add<Counter>("counter");
    crowded->start();
    // One instance: all of its inputs wait in one lane.
    auto first = some.send_async("c", Counter::Add{1});
    ASSERT_TRUE(flushing.wait([](int n) { return n == 1; }));
    auto second = some.send_async("c", Counter::Add{1});
    const auto busy = error_of([&] { some.send("c", Counter::Add{1}, {.timeout = 10ms}); });
    EXPECT_EQ(busy.code(), Code::busy);
    EXPECT_TRUE(busy.retryable());
    open_gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(first.get().accepted());
    EXPECT_TRUE(second.get().accepted());
    EXPECT_EQ(some.state("c")->total, 2);
    EXPECT_TRUE(some.send("c", Counter::Add{1}).accepted());
}

TEST_P(Failing, InputsWhoseOutcomeIsNotKnownInTimeAreInDoubtAndResentSafely) {
    Watched<int> flushing;
    Watched<bool> open_gate;
    auto slow = options();
    slow.test.at_point = [&](std::string_view point) {
        if (point != "commit:before") return;
        flushing.change([](int& n) { ++n; });
        open_gate.wait([](bool is_open) { return is_open; });
    };
    auto late = open(slow);
    auto some = late->add<Counter>("counter");
    late->start();
    auto first = some.send_async("c", Counter::Add{1});
    ASSERT_TRUE(flushing.wait([](int n) { return n == 1; }));
    const auto doubt =
        error_of([&] { some.send("c", Counter::Add{1}, {.input_id = "i-1", .timeout = 10ms}); });
    EXPECT_EQ(doubt.code(), Code::in_doubt);
    EXPECT_EQ(doubt.input_id(), "i-1");
    EXPECT_THAT(doubt.what(), HasSubstr("same input id"));
    const auto blind = error_of([&] { some.send("c", Counter::Add{1}, {.timeout = 10ms}); });
    EXPECT_EQ(blind.code(), Code::in_doubt);
    EXPECT_EQ(blind.input_id(), "");
    open_gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(first.get().accepted());
    EXPECT_TRUE(some.send("c", Counter::Add{1}, {.input_id = "i-1"}).duplicate());
    EXPECT_EQ(some.state("c")->total, 3);
}

struct OldName {
    struct Begin {};
    using Input = std::variant<Begin>;
    struct Began {
        int size = 1;
    };
    struct Renamed {};
    using Event = std::variant<Began, Renamed>;
    int begun = 0;
    void evolve(const Began&) { ++begun; }
    void evolve(const Renamed&) {}
    Decision<OldName> decide(const Begin&) const {
        return Decision<OldName>{Began{}}.event(Renamed{});
    }
};
struct NewName {
    struct Begin {};
    using Input = std::variant<Begin>;
    struct Began {
        int size = 1;
    };
    using Event = std::variant<Began>;
    void evolve(const Began&) {}
    Decision<NewName> decide(const Begin&) const { return Began{}; }
};

class SharedFailing : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedFailing, shared_stores(), name_of);

TEST_P(SharedFailing, EventThatCannotBeDecodedIsNamed) {
    {
        auto engine = open();
        engine->add<OldName>("thing").send("t-1", OldName::Begin{});
    }
    auto engine = open();
    auto things = engine->add<NewName>("thing");
    for (const auto& error : {error_of([&] { things.state("t-1"); }),
                              error_of([&] { things.send("t-1", NewName::Begin{}); }),
                              error_of([&] { engine->state("thing", "t-1"); })}) {
        EXPECT_EQ(error.code(), Code::codec);
        EXPECT_THAT(error.what(), HasSubstr("\"thing\""));
        EXPECT_THAT(error.what(), HasSubstr("\"t-1\""));
        EXPECT_THAT(error.what(), HasSubstr("sequence 2"));
        EXPECT_THAT(error.what(), HasSubstr("Renamed"));
    }
    EXPECT_EQ(things.journal("t-1").size(), 2u);
    EXPECT_TRUE(things.send("t-2", NewName::Begin{}).accepted());
}

}  // namespace
}  // namespace pawl::engine_test
