#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

struct Loan {
    struct Ask {
        int cents = 0;
    };
    using Input = std::variant<Ask>;
    struct Granted {
        int cents = 0;
    };
    using Event = std::variant<Granted>;
    struct TooMuch {
        int most = 0;
    };
    struct Closed {};
    using Rejection = std::variant<TooMuch, Closed>;

    int granted = 0;
    void evolve(const Granted& e) { granted += e.cents; }
    Decision<Loan> decide(const Ask& in) const {
        if (granted > 0) return reject(Closed{});
        if (in.cents > 100) return reject(TooMuch{100});
        return Granted{in.cents};
    }
};

class Outcomes : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Counter> counters = engine->add<Counter>("counter");
    Workflow<Loan> loans = engine->add<Loan>("loan");
    Workflow<Courier> couriers = engine->add<Courier>("courier");
};
INSTANTIATE_TEST_SUITE_P(Stores, Outcomes, every_store(), name_of);

TEST_P(Outcomes, SayHowManyEventsAndWhichVersion) {
    EXPECT_EQ(counters.send("c", Counter::Add{1}).version(), 1);
    const auto second = counters.send("c", Counter::Add{2});
    EXPECT_EQ(second.events(), 1);
    EXPECT_EQ(second.version(), 2);
    EXPECT_EQ(second.reason(), "");
}

TEST_P(Outcomes, OfARejectionHaveItsText) {
    counters.send("c", Counter::Add{5});
    const auto outcome = counters.send("c", Counter::Add{-1});
    EXPECT_TRUE(outcome.rejected());
    EXPECT_FALSE(outcome.accepted());
    EXPECT_EQ(outcome.reason(), "negative on 5");
    EXPECT_EQ(outcome.rejection(), "negative on 5");
    EXPECT_EQ(outcome.events(), 0);
    EXPECT_EQ(outcome.version(), 1);
    EXPECT_EQ(counters.journal("c").size(), 1u);
}

TEST_P(Outcomes, OfATypedRejectionHaveItsValue) {
    const auto outcome = loans.send("l", Loan::Ask{500});
    EXPECT_TRUE(outcome.rejected());
    const auto rejection = outcome.rejection();
    ASSERT_TRUE(std::holds_alternative<Loan::TooMuch>(rejection));
    EXPECT_EQ(std::get<Loan::TooMuch>(rejection).most, 100);
    EXPECT_EQ(outcome.reason(), R"({"type":"TooMuch","most":100})");
    loans.send("l", Loan::Ask{50});
    EXPECT_TRUE(std::holds_alternative<Loan::Closed>(loans.send("l", Loan::Ask{1}).rejection()));
    EXPECT_EQ(engine->send("loan", "l", R"({"type":"Ask"})").reason, R"({"type":"Closed"})");
}

TEST_P(Outcomes, OfARejectedFirstInputLeaveNothingBehind) {
    EXPECT_TRUE(counters.send("c", Counter::Add{-1}, {.input_id = "i", .tenant = "t"}).rejected());
    EXPECT_FALSE(counters.state("c"));
    EXPECT_THAT(counters.journal("c"), IsEmpty());
    EXPECT_THAT(engine->instances().instances, IsEmpty());
    EXPECT_THAT(engine->pending(), IsEmpty());
    EXPECT_THAT(engine->backlog(), IsEmpty());
    // The id of a rejected input is free: the input was not applied.
    const auto again = counters.send("c", Counter::Add{1}, {.input_id = "i"});
    EXPECT_TRUE(again.accepted());
    EXPECT_FALSE(again.duplicate());
}

TEST_P(Outcomes, OfAFinishedInstanceSayThatNothingChanged) {
    EXPECT_EQ(counters.send("c", Counter::Add{1000}).version(), 1);
    const auto late = counters.send("c", Counter::Add{1});
    EXPECT_TRUE(late.finished());
    EXPECT_FALSE(late.accepted());
    EXPECT_EQ(late.events(), 0);
    EXPECT_EQ(late.version(), 1);
    // `decide` is not asked: 13 would throw, -1 would be rejected.
    EXPECT_TRUE(counters.send("c", Counter::Add{13}).finished());
    EXPECT_TRUE(counters.send("c", Counter::Add{-1}).finished());
    EXPECT_EQ(counters.state("c")->total, 1000);
}

TEST_P(Outcomes, OfADuplicateHaveTheVersionItLedTo) {
    counters.send("c", Counter::Add{1}, {.input_id = "first"});
    counters.send("c", Counter::Add{2});
    const auto again = counters.send("c", Counter::Add{1}, {.input_id = "first"});
    EXPECT_TRUE(again.accepted());
    EXPECT_TRUE(again.duplicate());
    EXPECT_EQ(again.events(), 0);
    EXPECT_EQ(again.version(), 1);
    EXPECT_EQ(counters.state("c")->total, 3);
}

TEST_P(Outcomes, OfADuplicateComeBeforeRejectionFailureAndFinish) {
    counters.send("c", Counter::Add{1}, {.input_id = "i"});
    EXPECT_TRUE(counters.send("c", Counter::Add{-1}, {.input_id = "i"}).duplicate());
    EXPECT_TRUE(counters.send("c", Counter::Add{13}, {.input_id = "i"}).duplicate());
    counters.send("c", Counter::Add{1000}, {.input_id = "end"});
    const auto again = counters.send("c", Counter::Add{1000}, {.input_id = "end"});
    EXPECT_TRUE(again.duplicate());
    EXPECT_TRUE(again.accepted());
    EXPECT_EQ(counters.state("c")->total, 1001);
}

TEST_P(Outcomes, OfADecideThatThrowsNameWorkflowInstanceAndInput) {
    counters.send("c-1", Counter::Add{5});
    const auto error = error_of([&] { counters.send("c-1", Counter::Add{13}); });
    EXPECT_EQ(error.code(), Code::workflow);
    EXPECT_FALSE(error.retryable());
    EXPECT_THAT(error.what(), HasSubstr("Add"));
    EXPECT_THAT(error.what(), HasSubstr("\"counter\""));
    EXPECT_THAT(error.what(), HasSubstr("\"c-1\""));
    EXPECT_THAT(error.what(), HasSubstr("unlucky on 5"));
    EXPECT_EQ(counters.send("c-1", Counter::Add{1}).version(), 2);
    EXPECT_EQ(counters.state("c-1")->total, 6);
}

TEST_P(Outcomes, OfADecideThatThrowsFirstLeaveNothingBehind) {
    EXPECT_EQ(error_of([&] { counters.send("c", Counter::Add{13}); }).code(), Code::workflow);
    EXPECT_FALSE(counters.state("c"));
    EXPECT_THAT(engine->instances().instances, IsEmpty());
}

class SharedOutcomes : public SharedEngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    std::unique_ptr<Engine> other = open();
    Workflow<Counter> here = engine->add<Counter>("counter");
    Workflow<Counter> there = other->add<Counter>("counter");
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedOutcomes, shared_stores(), name_of);

TEST_P(SharedOutcomes, AreNeverDecidedOnAStateThatAnotherEngineChanged) {
    EXPECT_EQ(here.send("c", Counter::Add{1}).version(), 1);
    EXPECT_EQ(there.send("c", Counter::Add{2}).version(), 2);
    // Each line finds what is cached here behind by one event.
    EXPECT_EQ(here.send("c", Counter::Add{-1}).reason(), "negative on 3");
    there.send("c", Counter::Add{4});
    EXPECT_THAT(error_of([&] { here.send("c", Counter::Add{13}); }).what(),
                HasSubstr("unlucky on 7"));
    there.send("c", Counter::Add{8});
    EXPECT_EQ(here.send("c", Counter::Add{16}).version(), 5);
    EXPECT_EQ(here.state("c")->total, 31);
    there.send("c", Counter::Add{1000});
    EXPECT_TRUE(here.send("c", Counter::Add{-1}).finished());
}

TEST_P(SharedOutcomes, OfANewInstanceSeeTheOneThatAnotherEngineMade) {
    EXPECT_TRUE(here.send("c", Counter::Add{-1}).rejected());
    there.send("c", Counter::Add{2});
    EXPECT_EQ(here.send("c", Counter::Add{-1}).reason(), "negative on 2");
    EXPECT_THAT(error_of([&] { here.send("c", Counter::Add{13}); }).what(),
                HasSubstr("unlucky on 2"));
}

TEST_P(SharedOutcomes, KnowTheInputIdsOfTheOtherEngine) {
    there.send("c", Counter::Add{1});
    EXPECT_TRUE(here.send("c", Counter::Add{1}, {.input_id = "i"}).accepted());
    EXPECT_TRUE(there.send("c", Counter::Add{1}, {.input_id = "i"}).duplicate());
}

}  // namespace
}  // namespace pawl::engine_test
