// What the log is told of failures, and where the listings show them.
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

struct Parcel {
    std::string to;
};

class Logging : public EngineTest {
protected:
    Options logging() {
        auto o = options();
        o.log = [this](const LogRecord& record) { told.push_back(record); };
        return o;
    }
    /// What was told of this event since the last call.
    std::vector<LogRecord> told_of(LogEvent event) {
        std::vector<LogRecord> some;
        for (const auto& record : told)
            if (record.event == event) some.push_back(record);
        std::erase_if(told, [&](const LogRecord& record) { return record.event == event; });
        return some;
    }
    std::vector<LogRecord> told;
    std::unique_ptr<Engine> engine = open(logging());
};
INSTANTIATE_TEST_SUITE_P(Stores, Logging, every_store(), name_of);

constexpr auto broken = [] { throw std::runtime_error{"no road"}; };

TEST_P(Logging, TellsOfEveryFailedAttemptAtAnEffect) {
    const auto couriers = engine->add<Courier>(
        "courier",
        Handlers{with({.attempts = 2, .base = 1s, .jitter = 0}, [](const Carry&) { broken(); })});
    couriers.send("c", Courier::Send{"ada"}, {.trace = "00-1-2-01"});
    engine->run_until_idle();
    const auto failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].level, LogLevel::warning);
    EXPECT_EQ(failed[0].type, "courier");
    EXPECT_EQ(failed[0].id, "c");
    EXPECT_EQ(failed[0].item, "Carry");
    EXPECT_EQ(failed[0].attempt, 1);
    EXPECT_EQ(failed[0].error, "no road");
    EXPECT_EQ(failed[0].next_at, clock.now() + 1s);
    EXPECT_EQ(failed[0].trace, "00-1-2-01");
    EXPECT_EQ(failed[0].count, 1);
    EXPECT_EQ(failed[0].text,
              "attempt 1 of 2 at effect \"Carry\" of \"courier\" \"c\" failed, the next one is in "
              "1000 ms: no road");
    advance(*engine, 1s);
    EXPECT_THAT(told_of(LogEvent::attempt_failed), IsEmpty());
    const auto buried = told_of(LogEvent::buried);
    ASSERT_EQ(buried.size(), 1u);
    EXPECT_EQ(buried[0].level, LogLevel::error);
    EXPECT_EQ(buried[0].attempt, 2);
    EXPECT_EQ(buried[0].text,
              "effect \"Carry\" of \"courier\" \"c\" is buried: attempt 2 of 2 failed: no road");
    EXPECT_THAT(told, IsEmpty());
}

TEST_P(Logging, TellsOfEveryFailedAttemptAtAStepAndOfTheRun) {
    const auto function = engine->add("onboard", [](Context& ctx) {
        ctx.step("mail", {.attempts = 2, .base = 1s, .jitter = 0}, broken);
    });
    const auto run = function.start("r", {}, {.trace = "00-1-2-01"});
    engine->run_until_idle();
    auto failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].type, "onboard");
    EXPECT_EQ(failed[0].id, "r");
    EXPECT_EQ(failed[0].item, "mail");
    EXPECT_EQ(failed[0].attempt, 1);
    EXPECT_EQ(failed[0].error, "no road");
    EXPECT_EQ(failed[0].next_at, clock.now() + 1s);
    EXPECT_EQ(failed[0].trace, "00-1-2-01");
    EXPECT_EQ(function.runs().runs.front().last_error, "no road");
    EXPECT_EQ(told_of(LogEvent::run_failed).size(), 0u);
    advance(*engine, 1s);
    failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].next_at, std::nullopt);
    EXPECT_EQ(
        failed[0].text,
        "attempt 2 of 2 at step \"mail\" of run \"r\" of \"onboard\" failed, it was the last: "
        "no road");
    const auto ended = told_of(LogEvent::run_failed);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].level, LogLevel::warning);
    EXPECT_EQ(
        ended[0].text,
        "run \"r\" of \"onboard\" has failed: step \"mail\" failed after 2 attempts: no road");
    EXPECT_EQ(function.runs().runs.front().last_error, ended[0].error);
    EXPECT_THAT(told, IsEmpty());
}

TEST_P(Logging, TellsOfEveryFailedAttemptAtAMessage) {
    engine->subscribe("parcels", [](const Parcel&) { broken(); },
                      {.policy = {.attempts = 2, .base = 1s, .jitter = 0}});
    engine->publish("parcels", Parcel{"ada"}, {.key = "ada", .trace = "00-1-2-01"});
    engine->run_until_idle();
    const auto failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].level, LogLevel::warning);
    EXPECT_EQ(failed[0].type, "parcels");
    EXPECT_EQ(failed[0].id, "ada");
    EXPECT_EQ(failed[0].item, "Parcel");
    EXPECT_EQ(failed[0].attempt, 1);
    EXPECT_EQ(failed[0].error, "no road");
    EXPECT_EQ(failed[0].next_at, clock.now() + 1s);
    EXPECT_EQ(failed[0].trace, "00-1-2-01");
    EXPECT_THAT(failed[0].text, HasSubstr("attempt 1 of 2 at message 1 of partition "));
    EXPECT_THAT(engine->partitions("parcels"),
                ::testing::Contains(::testing::Field(&PartitionDepth::error,
                                                     std::optional<std::string>{"no road"})));
    advance(*engine, 1s);
    const auto buried = told_of(LogEvent::buried);
    ASSERT_EQ(buried.size(), 1u);
    EXPECT_EQ(buried[0].attempt, 2);
    EXPECT_EQ(buried[0].error, "no road");
    EXPECT_THAT(told, IsEmpty());
}

TEST_P(Logging, TellsOfAStepThatAProgramFailed) {
    const auto imports = engine->add_steps<int, int>("import");
    auto run = imports.open("i", 1);
    run.acquire("fetch").fail("no road");
    const auto failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].item, "fetch");
    EXPECT_EQ(failed[0].error, "no road");
    run.fail("given up");
    EXPECT_EQ(told_of(LogEvent::run_failed).size(), 1u);
}

TEST_P(Logging, TellsOfEqualFailuresInOneRecordWithTheirCount) {
    const auto function = engine->add("onboard", [](Context& ctx) { ctx.step("mail", broken); });
    for (int i = 0; i < 50; ++i) function.start("r-" + std::to_string(i));
    engine->run_until_idle();
    const auto failed = told_of(LogEvent::attempt_failed);
    ASSERT_EQ(failed.size(), 2u);
    EXPECT_EQ(failed[0].count, 1);
    EXPECT_EQ(failed[1].count, 49);
    EXPECT_THAT(failed[1].text, HasSubstr("no road (49 like this)"));
}

TEST_P(Logging, WarnsOfTheLimitOfAJournalOnceHoweverOftenItsRunIsResumed) {
    const auto function = engine->add("long",
                                      [](Context& ctx) {
                                          for (int i = 0; i < 90; ++i) {
                                              ctx.step("s", [] {});
                                              ctx.sleep(1s);
                                          }
                                      },
                                      {.journal_limit = 200});
    const auto run = function.start("r");
    for (int i = 0; i <= 90; ++i) advance(*engine, 1s);
    EXPECT_TRUE(run.result(0s));
    const auto warnings = told_of(LogEvent::journal_limit);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_THAT(warnings[0].text, HasSubstr("has 160 of 200 entries"));
}

class StartedLogging : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, StartedLogging, every_store(), name_of);

// Nothing else happens behind them that would have them told.
TEST_P(StartedLogging, TellsWhatItCountedWhenTheSecondIsOver) {
    Watched<int> attempts;
    Options o;
    o.log = [&](const LogRecord& record) {
        if (record.event == LogEvent::attempt_failed)
            attempts.change([&](int& n) { n += record.count; });
    };
    const auto engine = open(o);
    const auto function = engine->add(
        "onboard", [](Context& ctx) { ctx.step("mail", {.base = 1h, .cap = 1h}, broken); });
    engine->start();
    for (int i = 0; i < 20; ++i) function.start("r-" + std::to_string(i));
    EXPECT_TRUE(attempts.wait([](int n) { return n == 20; }));
}

}  // namespace
}  // namespace pawl::engine_test
