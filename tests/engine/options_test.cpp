// Numbers in settings that make no sense: each is refused where it is given, with its name, what it
// is and what it may be.
#include <limits>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A value of `T` with one field changed.
template <class T, class F>
T with_field(F&& change) {
    T settings;
    change(settings);
    return settings;
}

/// Gives settings to what takes them, each wrong in one field, and expects this of the error.
template <class T>
class Refusing {
public:
    Refusing(std::string whose, std::function<void(T)> give)
        : whose_(std::move(whose)), give_(std::move(give)) {}

    template <class F>
    void expect(const char* field, const char* found, const char* allowed, F&& change) const {
        const auto error = error_of([&] { give_(with_field<T>(change)); });
        EXPECT_EQ(error.code(), Code::invalid) << field << ": " << error.what();
        EXPECT_THAT(error.what(), HasSubstr(whose_)) << field;
        EXPECT_THAT(error.what(), HasSubstr(std::string{"::"} + field + " is " + found + ":"));
        EXPECT_THAT(error.what(), HasSubstr(allowed)) << field;
    }

private:
    std::string whose_;
    std::function<void(T)> give_;
};

template <class T>
void expect_tries_refused(const Refusing<T>& refusing) {
    refusing.expect("attempts", "0", "at least 1", [](T& o) { o.attempts = 0; });
    refusing.expect("attempts", "-1", "at least 1", [](T& o) { o.attempts = -1; });
    refusing.expect("base", "-1 s", "0 or more", [](T& o) { o.base = -1s; });
    refusing.expect("cap", "-1 ms", "0 or more", [](T& o) { o.cap = -1ms; });
    refusing.expect("jitter", "-0.1", "0 to 1", [](T& o) { o.jitter = -0.1; });
    refusing.expect("jitter", "1.5", "0 to 1", [](T& o) { o.jitter = 1.5; });
    refusing.expect("jitter", "nan", "0 to 1", [](T& o) { o.jitter = not_a_number; });
    refusing.expect("deadline", "-1 us", "0 or more", [](T& o) { o.deadline = -1us; });
}

void expect_policy_refused(const Refusing<Policy>& refusing) {
    expect_tries_refused(refusing);
    refusing.expect("age", "0 s", "more than 0", [](Policy& p) { p.age = 0s; });
    refusing.expect("age", "-5 s", "more than 0", [](Policy& p) { p.age = -5s; });
    refusing.expect("at_once", "-1", "0", [](Policy& p) { p.at_once = -1; });
}

TEST(OptionsThatMakeNoSense, OfAnEngineAreRefused) {
    const Refusing<Options> refusing{"Options", [](Options o) { Engine engine{"memory:", o}; }};
    refusing.expect("workers", "-1", "0 to 10000", [](Options& o) { o.workers = -1; });
    refusing.expect("workers", "1000000", "0 to 10000", [](Options& o) { o.workers = 1'000'000; });
    refusing.expect("workers", "0", "at least 1", [](Options& o) { o.workers = 0; });
    refusing.expect("lease", "0 s", "at least 1 ms", [](Options& o) { o.lease = 0s; });
    refusing.expect("lease", "-1 s", "at least 1 ms", [](Options& o) { o.lease = -1s; });
    refusing.expect("claims", "18446744073709551615", "0 to 1000000",
                    [](Options& o) { o.claims = static_cast<std::size_t>(-1); });
    refusing.expect("max_bodies", "18446744073709551615", "0 to 10000",
                    [](Options& o) { o.max_bodies = static_cast<std::size_t>(-1); });
    refusing.expect("losses", "0", "at least 1", [](Options& o) { o.losses = 0; });
    refusing.expect("losses", "-3", "at least 1", [](Options& o) { o.losses = -3; });
    refusing.expect("queue", "0", "at least 1", [](Options& o) { o.queue = 0; });
    refusing.expect("payload_limit", "0", "1 to", [](Options& o) { o.payload_limit = 0; });
    refusing.expect("payload_limit", "18446744073709551615", "1 to",
                    [](Options& o) { o.payload_limit = static_cast<std::size_t>(-1); });
    refusing.expect("transaction_limit", "0 s", "more than 0",
                    [](Options& o) { o.transaction_limit = 0s; });
    refusing.expect("transaction_limit", "7200 s", "at most an hour",
                    [](Options& o) { o.transaction_limit = 2h; });
    refusing.expect("input_id_retention", "-1 s", "0 or more",
                    [](Options& o) { o.input_id_retention = -1s; });
    refusing.expect("ending_retention", "-1 s", "0 or more",
                    [](Options& o) { o.ending_retention = -1s; });
    refusing.expect("dead_letter_retention", "-1 s", "0 or more",
                    [](Options& o) { o.dead_letter_retention = -1s; });
    refusing.expect("finished_retention", "-1 s", "0 or more",
                    [](Options& o) { o.finished_retention = -1s; });
    refusing.expect("stop_deadline", "-1 s", "0 or more",
                    [](Options& o) { o.stop_deadline = -1s; });
}

TEST(OptionsThatMakeNoSense, OfAWorkflowAreRefused) {
    Engine engine{"memory:"};
    const auto add = [&](WorkflowOptions o) { engine.add<Courier>("courier", o); };
    const Refusing<WorkflowOptions> refusing{"workflow \"courier\": ", add};
    refusing.expect("snapshot_every", "0", "at least 1",
                    [](WorkflowOptions& o) { o.snapshot_every = 0; });
    expect_policy_refused(
        {"workflow \"courier\", timers: ", [&](Policy p) { add({.timers = p}); }});
    expect_policy_refused(
        {"workflow \"courier\", effects: ", [&](Policy p) { add({.effects = p}); }});
    expect_policy_refused({"workflow \"courier\", effect Carry: ", [&](Policy p) {
                               engine.add<Courier>("courier",
                                                   Handlers{with(p, [](const Courier::Carry&) {})});
                           }});
    EXPECT_NO_THROW(add({})) << "nothing was added before";
}

TEST(OptionsThatMakeNoSense, OfAChannelAreRefused) {
    Engine engine{"memory:"};
    const auto subscribe = [&](SubscribeOptions o) { engine.subscribe("notes", [](int) {}, o); };
    using Subscribe = SubscribeOptions;
    const Refusing<Subscribe> refusing{"channel \"notes\": ", subscribe};
    refusing.expect("batch", "0", "1 to 1000000", [](Subscribe& o) { o.batch = 0; });
    refusing.expect("batch", "18446744073709551615", "1 to 1000000",
                    [](Subscribe& o) { o.batch = static_cast<std::size_t>(-1); });
    refusing.expect("batch_bytes", "0", "1 to", [](Subscribe& o) { o.batch_bytes = 0; });
    refusing.expect("grace", "-1 s", "0 or more", [](Subscribe& o) { o.grace = -1s; });
    refusing.expect("gather", "-1 s", "0 or more", [](Subscribe& o) { o.gather = -1s; });
    refusing.expect("poll", "0 s", "more than 0", [](Subscribe& o) { o.poll = 0s; });
    refusing.expect("poll", "-1 s", "more than 0", [](Subscribe& o) { o.poll = -1s; });
    expect_policy_refused({"channel \"notes\": ", [&](Policy p) { subscribe({.policy = p}); }});
    EXPECT_EQ(error_of([&] { subscribe({.partitions = -1}); }).code(), Code::invalid);
    EXPECT_NO_THROW(subscribe({})) << "nothing was subscribed to before";
}

TEST(OptionsThatMakeNoSense, OfAFunctionAreRefused) {
    Engine engine{"memory:"};
    const auto add = [&](FunctionOptions o) { engine.add("book", [](Context&) {}, o); };
    const Refusing<FunctionOptions> refusing{"function \"book\": ", add};
    refusing.expect("version", "0", "at least 1", [](FunctionOptions& o) { o.version = 0; });
    refusing.expect("oldest", "-1", "1 to its version, 1",
                    [](FunctionOptions& o) { o.oldest = -1; });
    refusing.expect("oldest", "2", "1 to its version, 1", [](FunctionOptions& o) { o.oldest = 2; });
    refusing.expect("journal_limit", "9", "at least 10",
                    [](FunctionOptions& o) { o.journal_limit = 9; });
    refusing.expect("at_once", "-1", "0 or more", [](FunctionOptions& o) { o.at_once = -1; });
    EXPECT_NO_THROW(add({})) << "nothing was added before";
}

TEST(OptionsThatMakeNoSense, OfAStepAreRefusedInTheFunction) {
    testing::Fixture fixture;
    StepOptions given;
    std::string where;
    auto function = fixture.engine().add("book", [&](Context& ctx) {
        if (where == "step") ctx.step("pay", given, [] {});
        if (where == "later") (void)ctx.later("pay", given, [] {});
        if (where == "transaction") ctx.transaction("pay", given, [](Transaction&) {});
        if (where == "compensate") ctx.compensate("pay", given, [] {});
    });
    int runs = 0;
    for (const auto* kind : {"step", "later", "transaction", "compensate"}) {
        const Refusing<StepOptions> refusing{"step \"pay\": ", [&](StepOptions o) {
                                                 given = o;
                                                 where = kind;
                                                 auto run = function.start(std::to_string(++runs));
                                                 fixture.run_until_idle();
                                                 try {
                                                     run.result(0s);
                                                 } catch (const RunFailed& e) {
                                                     throw Error{Code::invalid, e.reason()};
                                                 }
                                             }};
        expect_tries_refused(refusing);
        refusing.expect("heartbeat", "-1 s", "0 or more",
                        [](StepOptions& o) { o.heartbeat = -1s; });
    }
}

TEST(OptionsThatMakeNoSense, OfATaskOfADagAreRefusedWhereItIsAdded) {
    Dag dag;
    const Refusing<StepOptions> refusing{"step \"pay\": ",
                                         [&](StepOptions o) { dag.task("pay", o, [] {}); }};
    expect_tries_refused(refusing);
    EXPECT_NO_THROW(dag.task("pay", [] {}));
}

TEST(OptionsThatMakeNoSense, OfOneInputOrStartAreRefusedBeforeItIsWritten) {
    testing::Fixture fixture;
    auto& engine = fixture.engine();
    auto counters = engine.add<Counter>("counter");
    auto function = engine.add("book", [](Context&) {});
    auto steps = engine.add_steps<int>("steps");
    const Refusing<SendOptions> sending{
        "SendOptions", [&](SendOptions o) { counters.send("c", Counter::Add{1}, o); }};
    sending.expect("timeout", "-1 s", "0 or more", [](SendOptions& o) { o.timeout = -1s; });
    EXPECT_FALSE(counters.state("c"));
    const Refusing<StartOptions> starting{"StartOptions",
                                          [&](StartOptions o) { function.start("r", {}, o); }};
    starting.expect("timeout", "-1 s", "0 or more", [](StartOptions& o) { o.timeout = -1s; });
    EXPECT_TRUE(function.runs().runs.empty());
    const Refusing<StartOptions> opening{"StartOptions",
                                         [&](StartOptions o) { steps.open("r", 1, o); }};
    opening.expect("timeout", "-1 s", "0 or more", [](StartOptions& o) { o.timeout = -1s; });
    EXPECT_TRUE(steps.runs().runs.empty());
}

}  // namespace
}  // namespace pawl::engine_test
