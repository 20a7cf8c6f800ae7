// Handlers that do not begin, do not return, or run while their partition is lost.
#include <pawl/pawl.hpp>

#include "crash/place.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Note {
    std::string text;
};

class MessageHandlers : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    std::vector<std::string> seen;
};
INSTANTIATE_TEST_SUITE_P(Stores, MessageHandlers, every_store(), name_of);

TEST_P(MessageHandlers, AreCalledLaterWhenTheExecutorTakesNothing) {
    bool refuses = true;
    auto with_executor = options();
    with_executor.executor = [&](Task task) {
        if (refuses) throw std::runtime_error("no room");
        task();
    };
    engine = open(with_executor);
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    engine->publish("notes", Note{"x"});
    engine->run_until_idle();
    EXPECT_THAT(engine->partitions("notes"),
                ::testing::Contains(::testing::Field(
                    &PartitionDepth::error,
                    std::optional<std::string>{"the executor did not take it: no room"})));
    refuses = false;
    advance(*engine, 1min);
    EXPECT_THAT(seen, ElementsAre("x"));
}

TEST_P(MessageHandlers, MayFailWhileTheLogPublishes) {
    auto chatty = options();
    Engine* self = nullptr;
    bool told = false;
    chatty.log = [&](const LogRecord&) {
        if (self && !std::exchange(told, true)) self->publish("audit", Note{"buried"});
    };
    engine = open(chatty);
    self = engine.get();
    engine->subscribe("notes", [](const Note&) { throw Permanent("no"); });
    engine->subscribe("audit", [&](const Note& note) { seen.push_back(note.text); });
    engine->publish("notes", Note{"x"});
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("buried"));
    self = nullptr;
}

TEST_P(MessageHandlers, ThatUsePawlWronglyAreNotCalledAgain) {
    engine->subscribe("notes",
                      [&](const Note& note) {
                          seen.push_back(note.text);
                          throw Error{note.text == "invalid" ? Code::invalid : Code::misuse, "no"};
                      },
                      {.partitions = 1});
    engine->publish("notes", Note{"invalid"});
    engine->publish("notes", Note{"misuse"});
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("invalid", "misuse"));
    EXPECT_EQ(engine->count_dead_messages(), 2);
}

TEST_P(MessageHandlers, ThatPawlCouldNotServeAreCalledAgain) {
    std::vector<Code> codes{Code::corrupt, Code::unavailable,      Code::in_doubt,
                            Code::busy,    Code::workflow,         Code::conflict,
                            Code::codec,   Code::unique_key_taken, Code::unknown};
    engine->subscribe("notes",
                      [&](const Note& note) {
                          seen.push_back(note.text);
                          if (codes.empty()) return;
                          const auto code = codes.back();
                          codes.pop_back();
                          throw Error{code, "it may pass"};
                      },
                      {.policy = {.base = 1s, .cap = 1s, .jitter = 0}});
    engine->publish("notes", Note{"x"});
    engine->run_until_idle();
    for (int i = 0; i < 9; ++i) advance(*engine, 1s);
    EXPECT_EQ(seen.size(), 10u);
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(MessageHandlers, HaveNoPolicyWithoutMeaning) {
    EXPECT_THAT(error_of([&] {
                    engine->subscribe("notes", [](const Note&) {}, {.policy = {.at_once = 1}});
                }).what(),
                HasSubstr("at_once"));
}

class SharedMessages : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedMessages, shared_stores(), name_of);

// There is always another message, so that no partition is ever idle.
TEST_P(SharedMessages, GoToAProcessThatComesWhileAllPartitionsAreBusy) {
    Watched<int> first;
    Watched<int> second;
    std::atomic<bool> over{false};
    const auto subscribe = [&](Engine& engine, Watched<int>& handled) {
        engine.subscribe("notes",
                         [&](const Note&, const Received& received) {
                             handled.change([](int& n) { ++n; });
                             if (!over)
                                 engine.publish("notes", Note{}, {.partition = received.partition});
                         },
                         {.partitions = 4, .batch = 5});
    };
    const auto here = open(Options{});
    subscribe(*here, first);
    here->start();
    for (int i = 0; i < 40; ++i) here->publish("notes", Note{}, {.partition = i % 4});
    ASSERT_TRUE(first.wait([](int n) { return n > 40; }));
    const auto there = open(Options{});
    subscribe(*there, second);
    there->start();
    EXPECT_TRUE(second.wait([](int n) { return n > 40; }));
    int before = first.get();
    EXPECT_TRUE(first.wait([&](int n) { return n > before + 40; })) << "it keeps its share";
    over = true;
    EXPECT_TRUE(here->stop());
    EXPECT_TRUE(there->stop());
}

TEST_P(SharedMessages, ForLaterAreNotForgottenWhereThereIsAlwaysAnother) {
    Watched<bool> came;
    const auto engine = open(Options{});
    engine->subscribe("notes",
                      [&](const Note& note) {
                          if (note.text == "later")
                              return came.change([](bool& it_did) { it_did = true; });
                          if (!came.get())
                              engine->publish("notes", Note{"again"}, {.partition = 0});
                      },
                      {.partitions = 1, .batch = 2});
    engine->publish("notes", Note{"later"},
                    {.partition = 0, .deliver_after = engine->now() + 300ms});
    for (int i = 0; i < 10; ++i) engine->publish("notes", Note{"again"}, {.partition = 0});
    engine->start();
    EXPECT_TRUE(came.wait([](bool it_did) { return it_did; }));
    EXPECT_TRUE(engine->stop());
}

// Whoever delivers is woken as rarely as it can be, and not once too rarely: it never looks by
// itself here.
TEST_P(SharedMessages, AreGatheredAndNoneIsForgotten) {
    for (const bool across : {false, true}) {
        const std::string channel = across ? "across" : "within";
        Watched<int> handled;
        const auto here = open(Options{});
        const auto there = open(Options{});
        auto& consumer = across ? *there : *here;
        consumer.subscribe(channel, [&](const Note&) { handled.change([](int& n) { ++n; }); },
                           {.partitions = 4, .gather = 3ms, .poll = 1h});
        consumer.start();
        // Until the partitions are its own: that takes a look, once a second.
        here->publish(channel, Note{"first"});
        ASSERT_TRUE(handled.wait([](int n) { return n == 1; }));
        for (int i = 0; i < 200; ++i) {
            here->publish(channel, Note{"more"});
            // First each falls into the time after the one before, then more and more together.
            if (i % (1 + i / 40) == 0) {
                ASSERT_TRUE(handled.wait([&](int n) { return n == i + 2; })) << i;
            }
        }
    }
}

TEST_P(SharedMessages, WaitForAHandlerThatHasThemStill) {
    struct Calls {
        int begun = 0;
        int at_once = 0;
        int most = 0;
        bool released = false;
        int asked_to_stop = 0;
        int others = 0;
    };
    Watched<Calls> calls;
    const auto engine = open(Options{});
    engine->subscribe("notes",
                      [&](const Note&, const Received& received) {
                          calls.change([](Calls& all) {
                              ++all.begun;
                              all.most = std::max(all.most, ++all.at_once);
                          });
                          calls.wait([](const Calls& all) { return all.released; });
                          calls.change([&](Calls& all) {
                              --all.at_once;
                              all.asked_to_stop += received.stop.stop_requested();
                          });
                      },
                      {.partitions = 1});
    engine->subscribe("others", [&](const Note&) { calls.change([](auto& all) { ++all.others; }); },
                      {.partitions = 1});
    engine->start();
    engine->publish("notes", Note{"slow"});
    ASSERT_TRUE(calls.wait([](const Calls& all) { return all.begun == 1; }));
    const auto owner = "SELECT max(session) FROM pawl_partition";
    ASSERT_TRUE(eventually([&] { return !place().ask(owner).empty(); }));
    const auto before = place().ask(owner);
    // As somebody does who finds that its lease has passed.
    open_store()->close_session(std::stoll(before));
    ASSERT_TRUE(eventually([&] { return place().ask(owner) != before; }))
        << "the other channel is taken again";
    for (int i = 1; i <= 3; ++i) {
        engine->publish("others", Note{"quick"});
        ASSERT_TRUE(calls.wait([&](const Calls& all) { return all.others >= i; }));
    }
    EXPECT_EQ(calls.get().begun, 1);
    calls.change([](Calls& all) { all.released = true; });
    EXPECT_TRUE(calls.wait([](const Calls& all) { return all.begun == 2 && all.at_once == 0; }))
        << "what it said in the end does not count";
    EXPECT_EQ(calls.get().most, 1);
    EXPECT_EQ(calls.get().asked_to_stop, 1);
    EXPECT_TRUE(eventually([&] { return engine->partitions("notes")[0].sequence == 1; }));
    EXPECT_TRUE(engine->stop());
}

// Two engines: one has a handler that hangs, and the other delivers in the end.
TEST_P(SharedMessages, AreLeftToOthersByAHandlerThatDoesNotReturn) {
    struct Calls {
        int hung = 0;
        bool released = false;
        int done = 0;
    };
    Watched<Calls> calls;
    const SubscribeOptions options{
        .partitions = 1, .policy = {.base = 1ms, .deadline = 100ms}, .grace = 100ms};
    const auto hanging = open(Options{});
    hanging->subscribe(
        "notes",
        [&](const Note&) {
            calls.change([](Calls& all) { ++all.hung; });
            calls.wait([](const Calls& all) { return all.released; });
        },
        options);
    hanging->start();
    const auto id = hanging->publish("notes", Note{"slow"});
    ASSERT_TRUE(calls.wait([](const Calls& all) { return all.hung == 1; }));
    const auto other = open(Options{});
    other->subscribe(
        "notes", [&](const Note&) { calls.change([](Calls& all) { ++all.done; }); }, options);
    other->start();
    EXPECT_TRUE(calls.wait([](const Calls& all) { return all.done == 1; }));
    EXPECT_TRUE(eventually([&] { return other->delivered(id) == MessageStatus::delivered; }));
    calls.change([](Calls& all) { all.released = true; });
    EXPECT_TRUE(hanging->stop());
    EXPECT_EQ(calls.get().hung, 1) << "it was not taken again while it hung";
    EXPECT_EQ(other->partitions("notes")[0].sequence, 1);
}

}  // namespace
}  // namespace pawl::engine_test
