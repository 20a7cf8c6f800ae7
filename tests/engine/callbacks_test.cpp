// Callbacks of asynchronous sends: whatever they do, nobody else waits for them or is lost.
#include <atomic>
#include <future>

#include "engine/fixture.hpp"
#include "engine/slow.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

/// Its `finished` throws while `broken` is set, also on a state that was committed in good order.
struct Moody {
    struct Poke {};
    using Input = std::variant<Poke>;
    struct Poked {};
    using Event = std::variant<Poked>;

    int pokes = 0;
    static inline std::atomic<bool> broken{false};

    void evolve(const Poked&) { ++pokes; }
    Decision<Moody> decide(const Poke&) const { return Poked{}; }
    bool finished() const {
        if (broken && pokes > 0) throw std::runtime_error{"finished broke"};
        return false;
    }
};

/// Holds every group back until it is opened.
struct Gate {
    Watched<int> waiting;
    Watched<bool> is_open;
    std::function<void(std::string_view)> hook() {
        return [this](std::string_view point) {
            if (point != "commit:before") return;
            waiting.change([](int& n) { ++n; });
            is_open.wait([](bool open) { return open; });
        };
    }
    bool wait_reached() {
        return waiting.wait([](int n) { return n > 0; });
    }
    void open() {
        is_open.change([](bool& open) { open = true; });
    }
};

using Answered = std::optional<Outcome<Moody>>;

class Callbacks : public EngineTest {
protected:
    void SetUp() override {
        EngineTest::SetUp();
        Moody::broken = false;
    }
    void TearDown() override { Moody::broken = false; }
};
INSTANTIATE_TEST_SUITE_P(Stores, Callbacks, every_store(), name_of);

TEST_P(Callbacks, ThatThrowFailNobodyThatSharesTheirGroup) {
    Gate gate;
    Watched<std::vector<std::string>> log;
    Options gated;
    gated.test.at_point = gate.hook();
    gated.log = [&](const LogRecord& record) {
        log.change([&](auto& lines) { lines.push_back(record.text); });
    };
    auto engine = open(gated);
    auto moods = engine->add<Moody>("moody");
    Watched<int> called;
    engine->start();
    auto first = moods.send_async("first", Moody::Poke{});
    ASSERT_TRUE(gate.wait_reached());
    for (int i = 0; i < 10; ++i)
        moods.send_async("m-" + std::to_string(i), Moody::Poke{}, {},
                         [&](Answered, std::exception_ptr) {
                             called.change([](int& n) { ++n; });
                             throw std::runtime_error{"the callback broke"};
                         });
    gate.open();
    EXPECT_TRUE(first.get().accepted());
    EXPECT_TRUE(called.wait([](int n) { return n == 10; }));
    EXPECT_TRUE(log.wait([](const auto& lines) { return lines.size() == 10; }));
    EXPECT_THAT(log.get(), ::testing::Each(HasSubstr("the callback broke")));
}

TEST_P(Callbacks, ThatThrowOnAnErrorLeaveTheirInstanceUsable) {
    auto engine = open(Options{});
    auto moods = engine->add<Moody>("moody");
    EXPECT_TRUE(moods.send("m", Moody::Poke{}).accepted());
    Moody::broken = true;
    moods.send_async("m", Moody::Poke{}, {}, [](Answered, std::exception_ptr) { throw 42; });
    Moody::broken = false;
    EXPECT_EQ(moods.send("m", Moody::Poke{}, {.timeout = 5s}).version(), 2);
}

TEST_P(Callbacks, MaySendToTheirInstanceWhateverTheyAreTold) {
    for (const bool started : {false, true}) {
        auto engine = open(Options{});
        auto moods = engine->add<Moody>("moody");
        if (started) engine->start();
        const std::string id = started ? "started" : "not started";
        EXPECT_TRUE(moods.send(id, Moody::Poke{}).accepted());
        Moody::broken = true;
        std::promise<std::int64_t> version;
        moods.send_async(id, Moody::Poke{}, {}, [&](Answered, std::exception_ptr error) {
            EXPECT_TRUE(error);
            Moody::broken = false;
            version.set_value(moods.send(id, Moody::Poke{}, {.timeout = 5s}).version());
        });
        EXPECT_EQ(version.get_future().get(), 2);
    }
}

TEST_P(Callbacks, MayAllWaitForAnInstanceThatManyInputsWaitFor) {
    Watched<bool> inside;
    Watched<bool> gate;
    Slow::inside = &inside;
    Slow::gate = &gate;
    auto engine = open(Options{});
    auto slow = engine->add<Slow>("slow");
    auto moods = engine->add<Moody>("moody");
    engine->start();
    auto first = std::async(std::launch::async, [&] { return slow.send("hot", Slow::Step{}); });
    ASSERT_TRUE(inside.wait([](bool value) { return value; }));
    std::vector<std::future<Outcome<Slow>>> crowd;
    for (int i = 0; i < 200; ++i) crowd.push_back(slow.send_async("hot", Slow::Step{}));
    // More callbacks than there are threads for them, and each waits for its own input there.
    constexpr int callbacks = 4;
    Watched<int> begun;
    Watched<int> accepted;
    for (int i = 0; i < callbacks; ++i) {
        moods.send_async("m-" + std::to_string(i), Moody::Poke{}, {},
                         [&](Answered, std::exception_ptr) {
                             begun.change([](int& n) { ++n; });
                             const auto outcome = slow.send("hot", Slow::Step{}, {.timeout = 10s});
                             accepted.change([&](int& n) { n += outcome.accepted(); });
                         });
        // The first two each on a thread.
        EXPECT_TRUE(begun.wait([&](int n) { return n >= std::min(i + 1, 2); }));
    }
    gate.change([](bool& is_open) { is_open = true; });
    EXPECT_TRUE(first.get().accepted());
    for (auto& one : crowd) EXPECT_TRUE(one.get().accepted());
    EXPECT_TRUE(accepted.wait([](int n) { return n == callbacks; }));
    EXPECT_EQ(slow.state("hot")->steps, 201 + callbacks);
}

TEST_P(Callbacks, CantStopTheEngineThatCallsThem) {
    auto engine = open(Options{});
    auto moods = engine->add<Moody>("moody");
    engine->start();
    std::promise<Error> refused;
    moods.send_async("m", Moody::Poke{}, {}, [&](Answered, std::exception_ptr) {
        refused.set_value(error_of([&] { engine->stop(); }));
    });
    const auto error = refused.get_future().get();
    EXPECT_EQ(error.code(), Code::misuse);
    EXPECT_THAT(error.what(), HasSubstr("callback"));
    EXPECT_TRUE(moods.send("m", Moody::Poke{}).accepted());
    EXPECT_TRUE(engine->stop());
}

TEST_P(Callbacks, OfAFinishedThatThrowsAreToldOnAConfirmedVersion) {
    auto engine = open(options());
    auto moods = engine->add<Moody>("moody");
    EXPECT_TRUE(moods.send("m", Moody::Poke{}, {.input_id = "i-1"}).accepted());
    Moody::broken = true;
    // What was applied stays applied, whatever the state says of itself.
    EXPECT_TRUE(moods.send("m", Moody::Poke{}, {.input_id = "i-1"}).duplicate());
    const auto error = error_of([&] { moods.send("m", Moody::Poke{}); });
    EXPECT_EQ(error.code(), Code::workflow);
    EXPECT_THAT(error.what(), HasSubstr("finished broke"));
    EXPECT_THAT(error.what(), HasSubstr("\"m\""));
    Moody::broken = false;
    EXPECT_EQ(moods.send("m", Moody::Poke{}).version(), 2);
}

class SharedCallbacks : public SharedEngineTest {
protected:
    void TearDown() override { Moody::broken = false; }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedCallbacks, shared_stores(), name_of);

TEST_P(SharedCallbacks, OfAFinishedThatThrowsOnALoadedStateNameTheWorkflow) {
    open()->add<Moody>("moody").send("m", Moody::Poke{});
    Moody::broken = true;
    auto engine = open();
    auto moods = engine->add<Moody>("moody");
    for (int i = 0; i < 2; ++i) {
        const auto error = error_of([&] { moods.send("m", Moody::Poke{}); });
        EXPECT_EQ(error.code(), Code::workflow);
        EXPECT_THAT(error.what(), HasSubstr("finished broke"));
        EXPECT_THAT(error.what(), HasSubstr("\"m\""));
    }
    Moody::broken = false;
    EXPECT_EQ(moods.send("m", Moody::Poke{}).version(), 2);
}

}  // namespace
}  // namespace pawl::engine_test
