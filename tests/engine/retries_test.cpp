#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;
constexpr Policy steady{.attempts = 4, .base = 1s, .cap = 3s, .jitter = 0};

class Retries : public EngineTest {
protected:
    /// An engine whose handler does what `act` says, by `policy`.
    void begin(Policy policy, std::function<void(const Carry&, const Delivery&)> act) {
        engine = open();
        couriers.emplace(engine->add<Courier>(
            "courier", Handlers{with(policy, [this, act](const Carry& e, const Delivery& d) {
                attempts.emplace_back(d.attempt, clock.now() - d.created_at);
                keys.push_back(d.key);
                act(e, d);
            })}));
    }
    void send() { couriers->send("c", Courier::Send{"ada"}); }

    std::unique_ptr<Engine> engine;
    std::optional<Workflow<Courier>> couriers;
    std::vector<std::pair<int, Duration>> attempts;
    std::vector<std::string> keys;
};
INSTANTIATE_TEST_SUITE_P(Stores, Retries, every_store(), name_of);

const auto fail = [](const Carry&, const Delivery&) { throw std::runtime_error{"no road"}; };
using At = std::pair<int, Duration>;

TEST_P(Retries, WaitLongerEachTimeUpToTheCapAndThenBury) {
    begin(steady, fail);
    send();
    for (int i = 0; i < 100; ++i) advance(*engine, 100ms);
    EXPECT_THAT(attempts, ElementsAre(At{1, 100ms}, At{2, 1100ms}, At{3, 3100ms}, At{4, 6100ms}));
    EXPECT_THAT(couriers->pending("c"), IsEmpty());
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].reason, "attempt 4 of 4 failed: no road");
    EXPECT_EQ(letters[0].work.attempts, 4);
    EXPECT_EQ(letters[0].work.payload, R"({"type":"Carry","to":"ada","parcel":1})");
    ASSERT_EQ(letters[0].history.size(), 4u);
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(letters[0].history[static_cast<std::size_t>(i)].attempt, i + 1);
    EXPECT_EQ(letters[0].history[0].error, "no road");
    EXPECT_EQ(letters[0].died_at, letters[0].history[3].at);
    for (const auto& key : keys) EXPECT_EQ(key, letters[0].work.key);
}

TEST_P(Retries, ShowTheLastErrorWhileTheyWait) {
    begin(steady, fail);
    send();
    engine->run_until_idle();
    const auto pending = couriers->pending("c");
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_EQ(pending[0].attempts, 1);
    EXPECT_EQ(pending[0].last_error, "no road");
    EXPECT_EQ(pending[0].due_at, clock.now() + 1s);
}

TEST_P(Retries, EndWithTheFirstSuccess) {
    begin(steady, [](const Carry&, const Delivery& d) {
        if (d.attempt < 3) throw std::runtime_error{"no road"};
    });
    send();
    for (int i = 0; i < 10; ++i) advance(*engine, 1s);
    EXPECT_EQ(attempts.size(), 3u);
    EXPECT_EQ(engine->count_dead_letters(), 0);
    EXPECT_THAT(couriers->pending("c"), IsEmpty());
}

TEST_P(Retries, AreNotMadeOfAPermanentFailure) {
    begin(steady, [](const Carry&, const Delivery&) { throw Permanent{"no such street"}; });
    send();
    engine->run_until_idle();
    EXPECT_EQ(attempts.size(), 1u);
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].reason, "no such street");
    EXPECT_EQ(letters[0].history.size(), 1u);
}

TEST_P(Retries, AreNotMadeOfAMistakeOfTheProgram) {
    for (const auto code : {Code::invalid, Code::misuse}) {
        attempts.clear();
        begin(steady, [&](const Carry&, const Delivery&) { throw Error{code, "a mistake"}; });
        send();
        engine->run_until_idle();
        EXPECT_EQ(attempts.size(), 1u) << name(code);
        const auto letters = engine->dead_letters();
        ASSERT_EQ(letters.size(), 1u) << name(code);
        EXPECT_EQ(letters[0].reason, "a mistake");
        engine->discard_dead_letters({});
    }
}

TEST_P(Retries, AreMadeOfEveryOtherErrorOfPawls) {
    for (const auto code :
         {Code::unknown, Code::codec, Code::unique_key_taken, Code::conflict, Code::workflow,
          Code::busy, Code::in_doubt, Code::unavailable, Code::corrupt}) {
        attempts.clear();
        begin(steady, [&](const Carry&, const Delivery& d) {
            if (d.attempt == 1) throw Error{code, "it may pass"};
        });
        send();
        engine->run_until_idle();
        EXPECT_EQ(engine->count_dead_letters(), 0) << name(code);
        advance(*engine, 1s);
        EXPECT_EQ(attempts.size(), 2u) << name(code);
        EXPECT_THAT(couriers->pending("c"), IsEmpty()) << name(code);
    }
}

TEST_P(Retries, AreNotMadeOfACallThatNoHandlerMayMake) {
    begin(steady, [&](const Carry&, const Delivery&) { engine->start(); });
    send();
    engine->start();
    ASSERT_TRUE(eventually([&] { return engine->count_dead_letters() == 1; }));
    EXPECT_TRUE(engine->stop());
    EXPECT_EQ(attempts.size(), 1u);
    EXPECT_THAT(engine->dead_letters()[0].reason, HasSubstr("started already"));
}

TEST_P(Retries, AreNotMadeOfWhatIsTooOld) {
    Policy policy = steady;
    policy.attempts = 100;
    policy.age = 5s;
    begin(policy, fail);
    send();
    for (int i = 0; i < 20; ++i) advance(*engine, 1s);
    const auto letters = engine->dead_letters();
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_THAT(letters[0].reason, HasSubstr("too old"));
    EXPECT_THAT(letters[0].reason, HasSubstr("no road"));
    EXPECT_GE(attempts.back().second, 5s);
    EXPECT_LT(attempts[attempts.size() - 2].second, 5s);
}

TEST_P(Retries, OfAnOldItemAreStillTriedOnce) {
    Policy policy = steady;
    policy.age = 5s;
    begin(policy, [](const Carry&, const Delivery&) {});
    send();
    advance(*engine, 1h);
    EXPECT_EQ(attempts.size(), 1u);
    EXPECT_EQ(engine->count_dead_letters(), 0);
}

TEST_P(Retries, AreMadeOfWhateverIsThrown) {
    begin(steady, [](const Carry&, const Delivery& d) {
        if (d.attempt == 1) throw 42;
        if (d.attempt == 2) throw "text";
        if (d.attempt == 3) throw Error{Code::unavailable, "pawl's own"};
    });
    send();
    for (int i = 0; i < 10; ++i) advance(*engine, 1s);
    EXPECT_EQ(attempts.size(), 4u);
    EXPECT_EQ(engine->count_dead_letters(), 0);
}

TEST_P(Retries, HaveAPolicyPerHandlerOrOfTheWorkflow) {
    engine = open();
    std::vector<std::string> log;
    const auto failing = [&](const char* name) {
        return [&log, name](const Carry&) {
            log.emplace_back(name);
            throw std::runtime_error{"no"};
        };
    };
    auto own = engine->add<Courier>("own", Handlers{with({.attempts = 1}, failing("own"))},
                                    {.effects = {.attempts = 5, .base = 1s, .jitter = 0}});
    auto shared = engine->add<Courier>("shared", Handlers{failing("shared")},
                                       {.effects = {.attempts = 2, .base = 1s, .jitter = 0}});
    own.send("c", Courier::Send{"ada"});
    shared.send("c", Courier::Send{"ada"});
    for (int i = 0; i < 5; ++i) advance(*engine, 1s);
    EXPECT_THAT(log, ::testing::UnorderedElementsAre("own", "shared", "shared"));
    EXPECT_EQ(engine->count_dead_letters(), 2);
}

TEST_P(Retries, AreSpreadByJitter) {
    Policy policy{.attempts = 2, .base = 100s, .cap = 100s, .jitter = 0.5};
    begin(policy, fail);
    for (int i = 0; i < 50; ++i) couriers->send("c-" + std::to_string(i), Courier::Send{"ada"});
    engine->run_until_idle();
    std::vector<Time> due;
    for (const auto& work : engine->pending({.limit = 100})) due.push_back(work.due_at.value());
    std::sort(due.begin(), due.end());
    ASSERT_EQ(due.size(), 50u);
    EXPECT_GE(due.front(), clock.now() + 50s);
    EXPECT_LE(due.back(), clock.now() + 100s);
    EXPECT_GT(due.back() - due.front(), 20s);
}

TEST_P(Retries, OfOneEffectDelayNoOther) {
    begin(steady, [](const Carry& e, const Delivery&) {
        if (e.parcel == 2) throw std::runtime_error{"no road"};
    });
    couriers->send("c", Courier::Send{"ada", 3});
    engine->run_until_idle();
    EXPECT_EQ(attempts.size(), 3u);
    EXPECT_EQ(couriers->pending("c").size(), 1u);
}

class SharedRetries : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedRetries, shared_stores(), name_of);

TEST_P(SharedRetries, KeepTheirScheduleOverARestart) {
    std::vector<At> attempts;
    std::vector<std::string> keys;
    const auto handler = with(steady, [&](const Carry&, const Delivery& d) {
        attempts.emplace_back(d.attempt, clock.now() - d.created_at);
        keys.push_back(d.key);
        throw std::runtime_error{"no road"};
    });
    auto engine = open();
    engine->add<Courier>("courier", Handlers{handler}).send("c", Courier::Send{"ada"});
    for (int i = 0; i < 100; ++i) {
        engine.reset();
        engine = open();
        engine->add<Courier>("courier", Handlers{handler});
        advance(*engine, 100ms);
    }
    EXPECT_THAT(attempts, ElementsAre(At{1, 100ms}, At{2, 1100ms}, At{3, 3100ms}, At{4, 6100ms}));
    EXPECT_EQ(engine->dead_letters().at(0).history.size(), 4u);
    EXPECT_THAT(keys, ::testing::Each(keys[0]));
}

}  // namespace
}  // namespace pawl::engine_test
