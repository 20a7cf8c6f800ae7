#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

struct Door {
    struct Open {
        std::string by;
    };
    using Input = std::variant<Open>;
    struct Opened {
        std::string by;
    };
    using Event = std::variant<Opened>;
    std::string last;
    void evolve(const Opened& e) { last = e.by; }
    Decision<Door> decide(const Open& in) const { return Opened{in.by}; }
};

/// A Counter of an older version of the program, whose values had another field.
struct OldCounter {
    struct Add {
        int amount = 1;
        std::string why;
    };
    using Input = std::variant<Add>;
    struct Added {
        int amount = 1;
        std::string why;
    };
    using Event = std::variant<Added>;
    int total = 0;
    std::string last;
    void evolve(const Added& e) {
        total += e.amount;
        last = e.why;
    }
    Decision<OldCounter> decide(const Add& in) const { return Added{in.amount, in.why}; }
};

class Sending : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Counter> counters = engine->add<Counter>("counter");
};
INSTANTIATE_TEST_SUITE_P(Stores, Sending, every_store(), name_of);

TEST_P(Sending, IsTypedAndUntypedWithOneOutcome) {
    const auto typed = counters.send("typed", Counter::Add{5});
    EXPECT_TRUE(typed.accepted());
    EXPECT_FALSE(typed.rejected());
    EXPECT_FALSE(typed.finished());
    EXPECT_FALSE(typed.duplicate());
    EXPECT_EQ(typed.events(), 1);
    EXPECT_EQ(typed.version(), 1);
    const auto record = engine->send("counter", "untyped", R"({"type":"Add","amount":5})");
    EXPECT_TRUE(record.accepted());
    EXPECT_FALSE(record.duplicate);
    EXPECT_EQ(record.events, 1);
    EXPECT_EQ(record.version, 1);
    EXPECT_EQ(record.reason, "");
    EXPECT_EQ(counters.state("typed")->total, 5);
    EXPECT_EQ(counters.state("untyped")->total, 5);
    EXPECT_EQ(counters.journal("typed")[0].payload, counters.journal("untyped")[0].payload);
    EXPECT_EQ(engine->state("counter", "untyped"), R"({"total":5,"count":1})");
}

TEST_P(Sending, TakesAWholeInputAndFillsMissingFields) {
    EXPECT_TRUE(counters.send("c", Counter::Input{Counter::Add{2}}).accepted());
    EXPECT_TRUE(engine->send("counter", "c", R"({"type":"Add"})").accepted());
    EXPECT_EQ(counters.state("c")->total, 3);
}

TEST_P(Sending, KeepsTypesApartInOneEngine) {
    auto other = open();
    auto doors = other->add<Door>("door");
    auto twins = other->add<Door>("twin");
    doors.send("1", Door::Open{"ada"});
    twins.send("1", Door::Open{"bob"});
    EXPECT_EQ(doors.state("1")->last, "ada");
    EXPECT_EQ(twins.state("1")->last, "bob");
    EXPECT_EQ(doors.instances().instances.size(), 1u);
    EXPECT_EQ(other->instances().instances.size(), 2u);
    EXPECT_EQ(twins.name(), "twin");
}

TEST_P(Sending, RefusesATypeAddedTwice) {
    const auto error = error_of([&] { engine->add<Door>("counter"); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("\"counter\" is added twice"));
    EXPECT_TRUE(counters.send("c", Counter::Add{1}).accepted());
}

TEST_P(Sending, RefusesATypeAddedAfterTheFirstInput) {
    counters.send("c", Counter::Add{1});
    const auto error = error_of([&] { engine->add<Door>("door"); });
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("\"door\" is added too late"));
    EXPECT_EQ(error_of([&] { engine->send("door", "1", R"({"type":"Open"})"); }).code(),
              Code::unknown);
}

TEST_P(Sending, NamesTheKnownTypesWhenOneIsUnknown) {
    engine->add<Door>("door");
    const auto error = error_of([&] { engine->send("dor", "1", "{}"); });
    EXPECT_EQ(error.code(), Code::unknown);
    EXPECT_FALSE(error.retryable());
    EXPECT_THAT(error.what(), HasSubstr("no workflow \"dor\""));
    EXPECT_THAT(error.what(), HasSubstr("counter, door"));
    EXPECT_EQ(error_of([&] { engine->state("dor", "1"); }).code(), Code::unknown);
}

TEST_P(Sending, RefusesBadNamesOfTypes) {
    EXPECT_EQ(error_of([&] { engine->add<Door>(""); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { engine->add<Door>(std::string(256, 'x')); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { engine->add<Door>("door", {.snapshot_every = 0}); }).code(),
              Code::invalid);
}

TEST_P(Sending, RefusesBadIds) {
    const auto code = [&](const std::string& id) {
        return error_of([&] { counters.send(id, Counter::Add{1}); }).code();
    };
    EXPECT_EQ(code(""), Code::invalid);
    EXPECT_EQ(code(std::string(256, 'x')), Code::invalid);
    EXPECT_EQ(code("\xff\xfe"), Code::invalid);
    EXPECT_EQ(code("\xc3"), Code::invalid);
    EXPECT_EQ(code(std::string{"a\0b", 3}), Code::invalid);
    EXPECT_TRUE(counters.send(std::string(255, 'x'), Counter::Add{1}).accepted());
    EXPECT_TRUE(counters.send("größe ✓", Counter::Add{1}).accepted());
    EXPECT_EQ(engine->instances().instances.size(), 2u);
}

TEST_P(Sending, TellsIdsApartByteForByte) {
    for (const auto* id : {"a", "A", "a ", "\xc3\xa4", "a\xcc\x88"})
        EXPECT_EQ(counters.send(id, Counter::Add{1}).version(), 1) << id;
}

TEST_P(Sending, RefusesBadOptionsOfAnInput) {
    const std::string long_text(256, 'x');
    const auto code = [&](SendOptions o) {
        return error_of([&] { counters.send("c", Counter::Add{1}, o); }).code();
    };
    EXPECT_EQ(code({.input_id = long_text}), Code::invalid);
    EXPECT_EQ(code({.correlation = "\xff"}), Code::invalid);
    EXPECT_EQ(code({.conversation = long_text}), Code::invalid);
    EXPECT_EQ(code({.tenant = long_text}), Code::invalid);
    EXPECT_EQ(code({.trace = long_text}), Code::invalid);
    EXPECT_FALSE(counters.state("c"));
}

TEST_P(Sending, SaysWhereBadJsonIsBad) {
    const auto error_for = [&](const char* json) {
        return error_of([&] { engine->send("counter", "c", json); });
    };
    auto error = error_for(R"({"type":"Add","amount":"many"})");
    EXPECT_EQ(error.code(), Code::codec);
    EXPECT_THAT(error.what(), HasSubstr("$.amount"));
    error = error_for(R"({"type":"Subtract"})");
    EXPECT_EQ(error.code(), Code::codec);
    EXPECT_THAT(error.what(), HasSubstr("Subtract"));
    EXPECT_EQ(error_for("{\"type\":\"Add\"").code(), Code::codec);
    EXPECT_EQ(error_for("").code(), Code::codec);
    EXPECT_EQ(error_for(R"({"amount":1})").code(), Code::codec);
    EXPECT_EQ(error_for(R"({"type":"Add","amount":99999999999})").code(), Code::codec);
    EXPECT_FALSE(counters.state("c"));
}

TEST_P(Sending, RefusesUnknownFieldsAndEqualKeysOfJson) {
    const auto message = [&](const char* json, bool lenient) {
        const auto error =
            error_of([&] { engine->send("counter", "c", json, {.lenient = lenient}); });
        EXPECT_EQ(error.code(), Code::codec) << json;
        return std::string{error.what()};
    };
    EXPECT_THAT(message(R"({"type":"Add","amuont":5})", false),
                HasSubstr("$.amuont: unknown field; known are amount"));
    for (const bool lenient : {false, true})
        EXPECT_THAT(message(R"({"type":"Add","amount":5,"amount":6})", lenient),
                    HasSubstr("$.amount: duplicate key"));
    EXPECT_THAT(message(R"({"type":"Add","note":{"a":1,"a":2}})", true),
                HasSubstr("$.note.a: duplicate key"));
    EXPECT_FALSE(counters.state("c"));
    const auto* json = R"({"type":"Add","amount":5,"note":{"a":1}})";
    EXPECT_TRUE(engine->send("counter", "c", json, {.lenient = true}).accepted());
    EXPECT_EQ(counters.state("c")->total, 5);
}

TEST_P(Sending, NamesWorkflowAndInstanceOfBadJson) {
    const auto error = error_of([&] { engine->send("counter", "c-7", R"({"type":"Ad"})"); });
    EXPECT_THAT(error.what(), HasSubstr("\"counter\""));
    EXPECT_THAT(error.what(), HasSubstr("\"c-7\""));
}

TEST_P(Sending, WorksAsynchronouslyWithFutureAndCallback) {
    auto future = counters.send_async("c", Counter::Add{1});
    EXPECT_EQ(future.get().version(), 1);
    std::optional<Outcome<Counter>> outcome;
    std::exception_ptr error;
    Watched<int> calls;
    const auto keep = [&](std::optional<Outcome<Counter>> o, std::exception_ptr e) {
        outcome = std::move(o);
        error = e;
        calls.change([](int& n) { ++n; });
    };
    counters.send_async("c", Counter::Add{2}, {}, keep);
    ASSERT_TRUE(calls.wait([](int n) { return n == 1; }));
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->version(), 2);
    EXPECT_FALSE(error);
    counters.send_async("c", Counter::Add{13}, {}, keep);
    ASSERT_TRUE(calls.wait([](int n) { return n == 2; }));
    EXPECT_FALSE(outcome);
    EXPECT_TRUE(error);
}

TEST_P(Sending, RefusesWhatIsTooLarge) {
    auto small_options = options();
    small_options.payload_limit = 64;
    auto small = open(small_options);
    auto doors = small->add<Door>("door");
    EXPECT_TRUE(doors.send("1", Door::Open{"ada"}).accepted());
    const auto error = error_of([&] { doors.send("1", Door::Open{std::string(100, 'x')}); });
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(error.what(), HasSubstr("event Opened has"));
    EXPECT_EQ(doors.state("1")->last, "ada");
    EXPECT_EQ(doors.send("1", Door::Open{"bob"}).version(), 2);
}

class SharedSending : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedSending, shared_stores(), name_of);

TEST_P(SharedSending, ReadsWhatIsStoredThoughItsTypesHaveLostFields) {
    const auto before = open();
    const auto engine = open();
    auto counters = engine->add<Counter>("counter");
    auto old = before->add<OldCounter>("counter", {.snapshot_every = 2});
    for (int i = 0; i < 3; ++i) old.send("c", OldCounter::Add{2, "because"});
    old.post("c", OldCounter::Add{4, "later"});
    EXPECT_EQ(counters.state("c")->total, 6);
    engine->run_until_idle();
    EXPECT_EQ(counters.state("c")->total, 10);
    EXPECT_TRUE(counters.send("c", Counter::Add{1}).accepted());
}

}  // namespace
}  // namespace pawl::engine_test
