#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class Logs : public ::testing::Test {
protected:
    void fail(const std::string& id, const std::string& error, int attempt = 1) {
        log.count({.level = LogLevel::warning,
                   .event = LogEvent::attempt_failed,
                   .type = "order",
                   .id = id,
                   .item = "Charge",
                   .attempt = attempt,
                   .error = error,
                   .text = id + ": " + error});
    }
    std::vector<std::string> texts() {
        std::vector<std::string> texts;
        for (const auto& record : std::exchange(told, {})) texts.push_back(record.text);
        return texts;
    }
    ManualClock clock;
    std::vector<LogRecord> told;
    Log log{[this](const LogRecord& record) { told.push_back(record); }, clock};
};

TEST_F(Logs, TellTheFirstFailureAtOnceAndTheOthersOfItsSecondInOneLine) {
    for (int i = 1; i <= 100; ++i) fail("o-" + std::to_string(i), "no", i);
    EXPECT_THAT(texts(), ElementsAre("o-1: no"));
    EXPECT_EQ(log.step(), 1s);
    clock.advance(1s);
    EXPECT_EQ(log.step(), std::nullopt);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].count, 99);
    EXPECT_EQ(told[0].id, "o-100");
    EXPECT_EQ(told[0].attempt, 100);
    EXPECT_THAT(texts(), ElementsAre("o-100: no (99 like this)"));
}

TEST_F(Logs, TellOfFailuresThatGoOnOnceASecond) {
    for (int second = 0; second < 3; ++second) {
        for (int i = 0; i < 10; ++i) fail("o", "no");
        clock.advance(1s);
        log.step();
    }
    EXPECT_THAT(texts(), ElementsAre("o: no", "o: no (9 like this)", "o: no (10 like this)",
                                     "o: no (10 like this)"));
    clock.advance(2s);
    log.step();
    fail("o", "no");
    EXPECT_THAT(texts(), ElementsAre("o: no"));
}

TEST_F(Logs, TakeOtherErrorsForOtherFailures) {
    fail("o-1", "no");
    fail("o-2", "never");
    EXPECT_THAT(texts(), ElementsAre("o-1: no", "o-2: never"));
}

// A text that is new each time would otherwise fill the memory.
TEST_F(Logs, TellEveryFailureWhereEachSaysSomethingElse) {
    for (int i = 0; i < 10'000; ++i) fail("o", "no " + std::to_string(i));
    EXPECT_EQ(texts().size(), 10'000u);
    clock.advance(1s);
    log.step();
    for (int i = 0; i < 2; ++i) fail("o", "another");
    EXPECT_THAT(texts(), ElementsAre("o: another"));
}

TEST_F(Logs, TellWhatWasCountedWhenTheEngineStops) {
    for (int i = 0; i < 3; ++i) fail("o", "no");
    log.flush();
    log.flush();
    EXPECT_THAT(texts(), ElementsAre("o: no", "o: no (2 like this)"));
}

TEST_F(Logs, AskForAStepWhenSomethingIsCounted) {
    int wanted = 0;
    log.on_wanted([&] { ++wanted; });
    fail("o", "no");
    EXPECT_EQ(wanted, 0);
    for (int i = 0; i < 5; ++i) fail("o", "no");
    EXPECT_EQ(wanted, 1);
}

TEST(SilentLogs, DropWhatTheirReaderThrows) {
    ManualClock clock;
    Log log{[](const LogRecord&) { throw std::runtime_error{"the disk is full"}; }, clock};
    log.say(LogLevel::error, LogEvent::store_failed, "x");
    for (int i = 0; i < 2; ++i) log.count({.error = "no"});
    log.flush();
    Log unread{{}, clock};
    unread.count({.error = "no"});
    EXPECT_EQ(unread.step(), std::nullopt);
}

TEST(LogEvents, HaveNames) {
    EXPECT_STREQ(name(LogEvent::attempt_failed), "attempt_failed");
    EXPECT_STREQ(name(LogLevel::warning), "warning");
}

}  // namespace
}  // namespace pawl::base
