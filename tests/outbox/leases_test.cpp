// Partitions whose lease passes while they are delivered: the rest is not begun here.
#include <atomic>
#include <mutex>
#include <pawl/pawl.hpp>

#include "base/points.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

constexpr int messages = 10;
constexpr int takeover_at = 3;

/// Counts what it is told, and calls this first.
struct Sum {
    struct Add {
        int number = 0;
    };
    using Input = std::variant<Add>;
    struct Added {
        int number = 0;
    };
    using Event = std::variant<Added>;

    static inline std::function<void(int)> at_decision;
    int total = 0;
    void evolve(const Added& e) { total += e.number; }
    Decision<Sum> decide(const Add& in) const {
        at_decision(in.number);
        return Added{in.number};
    }
};

std::string numbered(const std::string& who, int number) {
    return who + " " + std::to_string(number);
}

/// Two processes; the first is away so long, in the middle of its batch, that the second takes
/// over.
class Takeovers : public SharedEngineTest {
protected:
    /// What both do with a message.
    void handle(const std::string& who, int number) {
        begun.push_back(numbered(who, number));
        if (who != "first" || number != takeover_at || was_taken) return;
        was_taken = true;
        clock.advance(1min);
        second->run_until_idle();
    }
    template <class Handler>
    void subscribe(Handler handler) {
        first->subscribe("notes", handler("first"), {.partitions = 1});
        second->subscribe("notes", handler("second"), {.partitions = 1});
    }
    void publish_and_run() {
        producer->channel("notes", 1);
        for (int i = 1; i <= messages; ++i) producer->publish("notes", i);
        first->run_until_idle();
    }
    /// The second began with what it knew to be begun; the first began nothing any more.
    void expect_takeover() {
        std::vector<std::string> expected;
        for (int i = 1; i <= takeover_at; ++i) expected.push_back(numbered("first", i));
        for (int i = 1; i <= messages; ++i) expected.push_back(numbered("second", i));
        EXPECT_EQ(begun, expected);
        EXPECT_EQ(producer->partitions("notes")[0].sequence, messages);
        EXPECT_EQ(producer->count_dead_messages(), 0);
    }

    std::unique_ptr<Engine> first = open();
    std::unique_ptr<Engine> second = open();
    std::unique_ptr<Engine> producer = open();
    std::vector<std::string> begun;
    bool was_taken = false;
};
INSTANTIATE_TEST_SUITE_P(Stores, Takeovers, shared_stores(), name_of);

TEST_P(Takeovers, EndTheMessagesOfTheOldOwner) {
    subscribe([this](const std::string& who) {
        return [this, who](int number) { handle(who, number); };
    });
    publish_and_run();
    expect_takeover();
}

TEST_P(Takeovers, EndTheBatchOfTheOldOwner) {
    subscribe([this](const std::string& who) {
        return [this, who](Batch<int>& batch) {
            while (const auto number = batch.next()) handle(who, *number);
        };
    });
    publish_and_run();
    expect_takeover();
}

// Nobody has ended the session of the first, so its renewal succeeds although it comes too late.
TEST_P(Takeovers, EndTheBatchOfAnOwnerWhoseLeaseIsRenewedAfterwards) {
    auto o = options();
    o.lease = 300ms;
    std::atomic<int> renewals = 0;
    // A renewal between the jump of the clock and the takeover would prevent the takeover.
    std::mutex renewing;
    o.test.at_point = [&](std::string_view point) {
        if (point == base::points::renew_before) renewing.lock();
        if (point != base::points::renew_after) return;
        ++renewals;
        renewing.unlock();
    };
    first = open(o);
    std::atomic<bool> has_returned = false;
    subscribe([&](const std::string& who) {
        return [&, who](Batch<int>& batch) {
            while (const auto number = batch.next()) {
                const bool loses = who == "first" && *number == takeover_at && !was_taken;
                if (loses) renewing.lock();
                handle(who, *number);
                if (loses) {
                    renewing.unlock();
                    const int before = renewals;
                    EXPECT_TRUE(eventually([&] { return renewals >= before + 2; }));
                }
            }
            if (who == "first") has_returned = true;
        };
    });
    producer->channel("notes", 1);
    for (int i = 1; i <= messages; ++i) producer->publish("notes", i);
    first->start();
    EXPECT_TRUE(eventually([&] { return has_returned.load(); }));
    EXPECT_TRUE(first->stop());
    expect_takeover();
}

TEST_P(Takeovers, LeaveNothingInTheBatchOfTheOldOwner) {
    subscribe([this](const std::string& who) {
        return [this, who](Batch<int>& batch) {
            while (batch.remaining() > 0)
                for (const int number : batch.next(1)) handle(who, number);
        };
    });
    publish_and_run();
    expect_takeover();
}

TEST_P(Takeovers, EndTheTransactionOfTheOldOwner) {
    if (GetParam() == "sqlite") GTEST_SKIP() << "nobody writes beside it";
    subscribe([this](const std::string& who) {
        return [this, who](Transaction&, int number) { handle(who, number); };
    });
    publish_and_run();
    expect_takeover();
}

TEST_P(Takeovers, EndThePostedInputsOfTheOldOwner) {
    std::string who = "first";
    Sum::at_decision = [&](int number) {
        begun.push_back(numbered(who, number));
        if (number != takeover_at || was_taken) return;
        was_taken = true;
        clock.advance(1min);
        who = "second";
        second->run_until_idle();
        who = "first";
    };
    const auto sums = first->add<Sum>("sum");
    second->add<Sum>("sum");
    const auto posted = producer->add<Sum>("sum");
    for (int i = 1; i <= messages; ++i) posted.post("s", Sum::Add{i});
    first->run_until_idle();
    Sum::at_decision = nullptr;
    for (int i = takeover_at + 1; i <= messages; ++i)
        EXPECT_THAT(begun, ::testing::Not(::testing::Contains(numbered("first", i))));
    EXPECT_EQ(posted.state("s")->total, messages * (messages + 1) / 2);
}

class LateLeases : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, LateLeases, every_store(), name_of);

TEST_P(LateLeases, ThatNobodyHasTakenCostNoAttempt) {
    auto engine = open();
    std::vector<int> seen;
    engine->subscribe("notes",
                      [&](int number, const Received& received) {
                          seen.push_back(number);
                          EXPECT_EQ(received.attempt, 1) << number;
                          if (number == takeover_at) clock.advance(1min);
                      },
                      {.partitions = 1, .policy = {.attempts = 1}});
    for (int i = 1; i <= messages; ++i) engine->publish("notes", i);
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(LateLeases, BeginNothingBeforeTheyAreRenewed) {
    auto o = options();
    bool is_late = false;
    std::vector<std::string> order;
    o.test.at_point = [&](std::string_view point) {
        if (is_late && point == "renew:after") order.push_back("renewed");
    };
    auto engine = open(o);
    engine->subscribe("notes",
                      [&](int number) {
                          order.push_back(std::to_string(number));
                          is_late = number == 1;
                          if (number == 1) clock.advance(1min);
                      },
                      {.partitions = 1});
    for (int i = 1; i <= 2; ++i) engine->publish("notes", i);
    engine->run_until_idle();
    ASSERT_GE(order.size(), 3u);
    EXPECT_EQ(order[0], "1");
    EXPECT_EQ(order[1], "renewed");
    EXPECT_EQ(order.back(), "2");
}

}  // namespace
}  // namespace pawl::engine_test
