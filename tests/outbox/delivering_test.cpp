// Messages as a program sees them: published, delivered in order, tried again, buried.
#include <map>
#include <pawl/pawl.hpp>

#include "crash/place.hpp"
#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Note {
    std::string text;
    int number = 0;
};

class Messages : public EngineTest {
protected:
    PublishOptions keyed(std::string key) { return {.key = std::move(key)}; }

    std::unique_ptr<Engine> engine = open();
    std::vector<std::string> seen;
};
INSTANTIATE_TEST_SUITE_P(Stores, Messages, every_store(), name_of);

TEST_P(Messages, AreDeliveredInTheOrderOfTheirKey) {
    std::map<std::string, std::vector<int>> by_key;
    std::map<int, std::vector<std::int64_t>> sequences;
    engine->subscribe("notes", [&](const Note& note, const Received& received) {
        by_key[received.id].push_back(note.number);
        sequences[received.partition].push_back(received.sequence);
        EXPECT_EQ(received.channel, "notes");
        EXPECT_EQ(received.type, "Note");
        EXPECT_EQ(received.attempt, 1);
    });
    for (int i = 0; i < 30; ++i)
        engine->publish("notes", Note{"x", i}, keyed("k" + std::to_string(i % 5)));
    engine->run_until_idle();
    ASSERT_EQ(by_key.size(), 5u);
    for (const auto& [key, numbers] : by_key) {
        EXPECT_EQ(numbers.size(), 6u);
        EXPECT_TRUE(std::ranges::is_sorted(numbers)) << key;
    }
    for (const auto& [partition, all] : sequences)
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(all[i], static_cast<std::int64_t>(i) + 1) << "without gaps";
}

TEST_P(Messages, CarryAllThatWasSaidOfThem) {
    std::optional<Received> got;
    engine->subscribe("notes", [&](const Note&, const Received& received) { got = received; });
    const auto id = engine->publish("notes", Note{"x"},
                                    {.key = "k",
                                     .type = "note.v2",
                                     .recipient = "printer",
                                     .schema = "https://example.org/note",
                                     .correlation = "c",
                                     .conversation = "talk",
                                     .tenant = "t",
                                     .trace = "00-1-2-01"});
    EXPECT_EQ(engine->delivered(id), MessageStatus::waiting);
    engine->run_until_idle();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->message, id);
    EXPECT_EQ(got->key, id.text());
    EXPECT_EQ(got->id, "k");
    EXPECT_EQ(got->type, "note.v2");
    EXPECT_EQ(got->recipient, "printer");
    EXPECT_EQ(got->schema, "https://example.org/note");
    EXPECT_EQ(got->correlation, "c");
    EXPECT_EQ(got->conversation, "talk");
    EXPECT_EQ(got->tenant, "t");
    EXPECT_EQ(got->trace, "00-1-2-01");
    EXPECT_EQ(got->created_at, clock.now());
    EXPECT_EQ(engine->delivered(id), MessageStatus::delivered);
    EXPECT_TRUE(engine->wait_for({id}, 0s));
}

TEST_P(Messages, AreTriedAgainBeforeThoseBehindThem) {
    int failures = 2;
    engine->subscribe("notes", [&](const Note& note, const Delivery& delivery) {
        seen.push_back(note.text + std::to_string(delivery.attempt));
        if (note.text == "b" && failures-- > 0) throw std::runtime_error("not yet");
    });
    for (const char* text : {"a", "b", "c"}) engine->publish("notes", Note{text}, keyed("k"));
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("a1", "b1")) << "the others wait for it";
    const auto depth = [&] {
        for (const auto& one : engine->partitions("notes"))
            if (one.waiting > 0) return one;
        return PartitionDepth{};
    };
    EXPECT_EQ(depth().waiting, 2);
    EXPECT_EQ(depth().error, "not yet");
    engine->publish("notes", Note{"d"}, keyed("k"));
    engine->run_until_idle();
    EXPECT_EQ(seen.size(), 2u) << "what is new does not cut the wait short";
    advance(*engine, 10s);
    advance(*engine, 10s);
    EXPECT_THAT(seen, ElementsAre("a1", "b1", "b2", "b3", "c1", "d1"));
    EXPECT_EQ(depth().waiting, 0);
}

TEST_P(Messages, AreBuriedWhenTheirAttemptsAreUsedUp) {
    engine->subscribe("notes",
                      [&](const Note& note) {
                          seen.push_back(note.text);
                          if (note.text == "poison") throw std::runtime_error("never");
                      },
                      {.policy = {.attempts = 3, .base = 1s}});
    engine->publish("notes", Note{"before"}, keyed("k"));
    const auto id = engine->publish("notes", Note{"poison"}, keyed("k"));
    engine->publish("notes", Note{"after"}, keyed("k"));
    for (int i = 0; i < 5; ++i) advance(*engine, 1min);
    EXPECT_THAT(seen, ElementsAre("before", "poison", "poison", "poison", "after"));
    EXPECT_EQ(engine->delivered(id), MessageStatus::dead);
    const auto dead = engine->dead_messages();
    ASSERT_EQ(dead.size(), 1u);
    EXPECT_EQ(dead[0].reason, "never");
    EXPECT_EQ(dead[0].attempts, 3);
    EXPECT_EQ(dead[0].sequence, 2);
    EXPECT_EQ(dead[0].payload, R"({"text":"poison","number":0})");
    EXPECT_EQ(engine->count_dead_messages({.channel = "notes"}), 1);
}

TEST_P(Messages, AreBuriedAtOnceWhereThatIsSaid) {
    engine->subscribe("notes", [&](const Note& note) {
        seen.push_back(note.text);
        if (note.text == "bad") throw Permanent{"no such address"};
    });
    for (const char* text : {"bad", "good"}) engine->publish("notes", Note{text}, keyed("k"));
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("bad", "good"));
    EXPECT_EQ(engine->dead_messages()[0].reason, "no such address");
}

TEST_P(Messages, ThatCanNotBeReadAreBuried) {
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    engine->publish("notes", std::string{"not a note"}, keyed("k"));
    engine->publish("notes", Note{"fine"}, keyed("k"));
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("fine"));
    EXPECT_EQ(engine->count_dead_messages(), 1);
}

TEST_P(Messages, StopTheirPartitionWhereThatIsAskedFor) {
    bool broken = true;
    engine->subscribe("notes",
                      [&](const Note& note) {
                          if (broken) throw std::runtime_error("no");
                          seen.push_back(note.text);
                      },
                      {.policy = {.attempts = 1}, .poison = Poison::stop});
    for (const char* text : {"a", "b"}) engine->publish("notes", Note{text}, keyed("k"));
    advance(*engine, 1h);
    EXPECT_THAT(seen, IsEmpty());
    EXPECT_EQ(engine->count_dead_messages(), 0);
    EXPECT_EQ(std::ranges::count(engine->partitions("notes"), true, &PartitionDepth::stopped), 1);
    broken = false;
    engine->run_until_idle();
    EXPECT_THAT(seen, IsEmpty()) << "until somebody has it go on";
    EXPECT_EQ(engine->resume("notes"), 1);
    engine->run_until_idle();
    advance(*engine, 2s);
    EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST_P(Messages, AreDeliveredLaterWhereThatIsAskedFor) {
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    engine->publish("notes", Note{"later"}, {.key = "k", .deliver_after = clock.now() + 1h});
    engine->publish("notes", Note{"now"}, keyed("k"));
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("now"));
    advance(*engine, 1h);
    EXPECT_THAT(seen, ElementsAre("now", "later"));
}

TEST_P(Messages, ForATimeBeforeAllClocksAreDeliveredNow) {
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    for (const Time past : {Time{}, Time{} - 1h, Time::min()})
        engine->publish("notes", Note{"now"}, {.key = "k", .deliver_after = past});
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("now", "now", "now"));
    EXPECT_TRUE(engine->repartition("notes", 4));
}

TEST_P(Messages, CanBeTakenInBatches) {
    std::vector<std::size_t> sizes;
    engine->subscribe("notes",
                      [&](Batch<Note>& batch) {
                          sizes.push_back(batch.size());
                          for (const auto& note : batch.next(2)) seen.push_back(note.text);
                          while (const auto note = batch.next()) {
                              if (note->text == "c" && batch.received().attempt == 1) {
                                  batch.bury("not this one");
                                  continue;
                              }
                              seen.push_back(note->text);
                          }
                      },
                      {.partitions = 1, .batch = 3});
    for (const char* text : {"a", "b", "c", "d"}) engine->publish("notes", Note{text});
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("a", "b", "d"));
    EXPECT_THAT(sizes, ElementsAre(3u, 1u));
    EXPECT_EQ(engine->dead_messages()[0].reason, "not this one");
}

TEST_P(Messages, AreTakenInBatchesOfSoManyBytes) {
    std::vector<std::size_t> sizes;
    engine->subscribe("notes",
                      [&](Batch<Note>& batch) {
                          sizes.push_back(batch.size());
                          while (const auto note = batch.next()) seen.push_back(note->text);
                      },
                      {.partitions = 1, .batch_bytes = 1000});
    std::vector<std::string> texts(5, std::string(400, 'x'));
    for (const char* text : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
        texts.emplace_back(text);
    for (const auto& text : texts) engine->publish("notes", Note{text});
    engine->run_until_idle();
    EXPECT_EQ(seen, texts);
    EXPECT_THAT(sizes, ElementsAre(3u, 6u, 6u)) << "then twice as many are asked for";
}

TEST_P(Messages, OfABatchThatWereAcknowledgedDoNotComeAgain) {
    int failures = 1;
    engine->subscribe("notes",
                      [&](Batch<Note>& batch) {
                          while (const auto note = batch.next()) {
                              seen.push_back(note->text);
                              if (note->text == "b" && failures-- > 0)
                                  throw std::runtime_error("b fails");
                              batch.ack();
                          }
                      },
                      {.partitions = 1});
    for (const char* text : {"a", "b", "c"}) engine->publish("notes", Note{text});
    engine->run_until_idle();
    advance(*engine, 10s);
    EXPECT_THAT(seen, ElementsAre("a", "b", "b", "c"));
}

TEST_P(Messages, PublishedTogetherAreAllThereOrNone) {
    engine->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); });
    const std::vector<Note> notes{{"a"}, {std::string(2 << 20, 'x')}};
    const auto error = error_of(
        [&] { engine->publish_all("notes", notes, [&](const Note&) { return keyed("k"); }); });
    EXPECT_EQ(error.code(), Code::invalid);
    engine->run_until_idle();
    EXPECT_THAT(seen, IsEmpty());
    EXPECT_EQ(engine
                  ->publish_all("notes", std::vector<Note>{{"a"}, {"b"}},
                                [&](const Note&) { return keyed("k"); })
                  .size(),
              2u);
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST_P(Messages, AreRefusedWithAReason) {
    const auto subscribe = [&](SubscribeOptions options) {
        return std::string{
            error_of([&] { engine->subscribe("notes", [](const Note&) {}, options); }).what()};
    };
    EXPECT_THAT(subscribe({.batch = 0}),
                HasSubstr("SubscribeOptions::batch is 0: it must be 1 to"));
    EXPECT_THAT(subscribe({.batch_bytes = 0}),
                HasSubstr("SubscribeOptions::batch_bytes is 0: it must be 1 to"));
    EXPECT_THAT(error_of([&] { engine->publish("", Note{}); }).what(), HasSubstr("channel"));
    EXPECT_THAT(error_of([&] { engine->publish("pawl.inbox.x", Note{}); }).what(),
                HasSubstr("pawl's own"));
    EXPECT_THAT(error_of([&] { engine->publish("notes", Note{}, {.partition = -1}); }).what(),
                HasSubstr("partition -1"));
    EXPECT_EQ(error_of([&] { engine->publish("notes", Note{}, {.partition = 99}); }).code(),
              Code::invalid);
    EXPECT_EQ(error_of([&] { engine->publish("notes", Note{}, {.key = "\xff"}); }).code(),
              Code::invalid);
}

TEST_P(Messages, HaveOneHandlerAndAPossibleNumberOfPartitions) {
    engine->subscribe("notes", [](const Note&) {});
    EXPECT_EQ(error_of([&] { engine->subscribe("notes", [](const Note&) {}); }).code(),
              Code::misuse);
    EXPECT_EQ(error_of([&] { engine->subscribe("pawl.x", [](const Note&) {}); }).code(),
              Code::invalid);
    EXPECT_EQ(error_of([&] { engine->repartition("notes", 0); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { engine->channel("notes", 5000); }).code(), Code::invalid);
}

TEST_P(Messages, NeedTheNumberOfPartitionsThatTheirChannelHas) {
    engine->channel("notes", 4);
    EXPECT_THAT(error_of([&] { engine->channel("notes", 8); }).what(),
                HasSubstr("has 4 partitions, not 8"));
    engine->publish("notes", Note{"a"});
    EXPECT_FALSE(engine->repartition("notes", 8)) << "it is not empty";
    {
        const auto other = open();
        other->subscribe("notes", [&](const Note& note) { seen.push_back(note.text); },
                         {.partitions = 4});
        if (GetParam() == "memory") return;  // two engines have two stores
        other->run_until_idle();
    }
    EXPECT_THAT(seen, ElementsAre("a"));
    EXPECT_TRUE(engine->repartition("notes", 8));
    engine->channel("notes", 8);
}

TEST_P(Messages, ThatDiedAreReplayedResolvedAndDiscarded) {
    engine->subscribe("notes", [](const Note&) { throw Permanent{"no"}; });
    for (const char* text : {"a", "b", "c"}) engine->publish("notes", Note{text});
    engine->run_until_idle();
    const auto taken = engine->replay_dead_messages({.channel = "notes"}, 1min);
    ASSERT_EQ(taken.size(), 3u);
    EXPECT_THAT(engine->replay_dead_messages({}, 1min), IsEmpty());
    EXPECT_EQ(engine->resolve_dead_messages({taken[0].number}), 1);
    EXPECT_EQ(engine->discard_dead_messages({taken[1].number}), 1);
    EXPECT_EQ(engine->bury_dead_messages({taken[2].number}, "still no"), 1);
    EXPECT_EQ(engine->dead_messages({.status = DeadMessageStatus::pending})[0].reason, "still no");
    EXPECT_EQ(engine->replay_dead_messages({}, 1min).size(), 1u);
    clock.advance(2min);
    EXPECT_EQ(engine->count_dead_messages({.status = DeadMessageStatus::pending}), 1);
    EXPECT_EQ(engine->clean_up_dead_messages(1min), 2);
    EXPECT_EQ(engine->count_dead_messages(), 1);
}

TEST_P(Messages, TakeLengthsOfTimeThatNeverEnd) {
    constexpr auto for_ever = Duration::max();
    int count = 0;
    SubscribeOptions options{.grace = for_ever, .poll = for_ever};
    options.policy.deadline = for_ever;
    options.policy.attempts = 1;
    engine->subscribe(
        "notes",
        [&](const Note& note, const Received& received) {
            ++count;
            EXPECT_FALSE(received.stop.stop_requested());
            if (note.text == "bad") throw Permanent{"no"};
        },
        options);
    for (int i = 0; i < 3; ++i) {
        engine->publish("notes", Note{"x"}, {.once = "x", .once_for = for_ever});
        clock.advance(24h * 365);
        engine->run_until_idle();
        EXPECT_EQ(count, 1) << "it is remembered for ever";
    }
    engine->publish("notes", Note{"bad"});
    engine->run_until_idle();
    EXPECT_EQ(engine->replay_dead_messages({}, for_ever).size(), 1u);
    EXPECT_EQ(engine->replay_dead_messages({}, for_ever).size(), 0u) << "somebody is at it";
    EXPECT_EQ(engine->clean_up_dead_messages(for_ever), 0);
}

TEST_P(Messages, AreDeliveredByThreads) {
    Watched<std::map<std::string, std::vector<int>>> by_key;
    Options options;
    options.workers = 4;
    const auto started = open(options);
    started->subscribe(
        "notes",
        [&](const Note& note, const Received& received) {
            by_key.change([&](auto& all) { all[received.id].push_back(note.number); });
        },
        {.partitions = 8});
    started->start();
    std::vector<std::thread> producers;
    for (int p = 0; p < 4; ++p)
        producers.emplace_back([&, p] {
            for (int i = 0; i < 100; ++i)
                started->publish("notes", Note{"", i}, {.key = "p" + std::to_string(p)});
        });
    for (auto& producer : producers) producer.join();
    EXPECT_TRUE(by_key.wait([](const auto& all) {
        std::size_t count = 0;
        for (const auto& [key, numbers] : all) count += numbers.size();
        return count == 400;
    }));
    EXPECT_TRUE(started->stop());
    for (const auto& [key, numbers] : by_key.get()) {
        EXPECT_EQ(numbers.size(), 100u);
        EXPECT_TRUE(std::ranges::is_sorted(numbers)) << key;
    }
}

struct Shop {
    struct Sell {
        std::string what;
    };
    using Input = std::variant<Sell>;
    struct Sold {
        std::string what;
    };
    using Event = std::variant<Sold>;
    int count = 0;
    void evolve(const Sold&) { ++count; }
    Decision<Shop> decide(const Sell& in) const {
        if (count == 2) return reject("sold out");
        return Decision<Shop>{Sold{in.what}}.publish("notes", Note{in.what, count + 1},
                                                     {.key = "shop"});
    }
};

TEST_P(Messages, ArePublishedByDecisions) {
    std::vector<std::string> correlations;
    engine->subscribe("notes", [&](const Note& note, const Received& received) {
        seen.push_back(note.text + std::to_string(note.number));
        correlations.push_back(received.correlation);
    });
    const auto shops = engine->add<Shop>("shop");
    shops.send("s", Shop::Sell{"book"}, {.correlation = "c1"});
    shops.send("s", Shop::Sell{"pen"}, {.correlation = "c2"});
    EXPECT_TRUE(shops.send("s", Shop::Sell{"ink"}).rejected());
    engine->run_until_idle();
    EXPECT_THAT(seen, ElementsAre("book1", "pen2"));
    EXPECT_THAT(correlations, ElementsAre("c1", "c2"));
}

TEST_P(Messages, ThatDiedAreDeliveredOnceMore) {
    bool broken = true;
    std::vector<std::string> keys;
    engine->subscribe("notes",
                      [&](const Note& note, const Received& received) {
                          if (broken && note.text != "good") throw Permanent("broken");
                          seen.push_back(note.text);
                          keys.push_back(received.key);
                      },
                      {.partitions = 3});
    const auto bad = engine->publish("notes", Note{"bad"}, keyed("k"));
    const auto placed = engine->publish("notes", Note{"placed"}, {.partition = 2});
    engine->publish("notes", Note{"good"}, keyed("k"));
    engine->run_until_idle();
    EXPECT_EQ(engine->delivered(bad), MessageStatus::dead);
    broken = false;
    EXPECT_EQ(engine->redeliver_dead_messages({.reason = "other"}), 0);
    EXPECT_EQ(engine->redeliver_dead_messages({.channel = "notes"}), 2);
    EXPECT_EQ(engine->redeliver_dead_messages({.channel = "notes"}), 0) << "once";
    EXPECT_EQ(engine->delivered(bad), MessageStatus::waiting);
    engine->run_until_idle();
    EXPECT_THAT(seen, ::testing::UnorderedElementsAre("good", "bad", "placed"));
    EXPECT_THAT(keys, ::testing::IsSupersetOf({bad.text(), placed.text()})) << "the same ids";
    EXPECT_EQ(engine->delivered(bad), MessageStatus::delivered);
    EXPECT_EQ(engine->count_dead_messages({.status = DeadMessageStatus::resolved}), 2);
}

TEST_P(Messages, AreCountedAndMeasured) {
    engine->subscribe("notes", [](const Note&) {}, {.partitions = 2});
    engine->publish_all("notes", std::vector<Note>(10));
    clock.advance(2s);
    const auto before = engine->statistics("notes");
    EXPECT_EQ(before.published, 10);
    EXPECT_EQ(before.waiting, 10);
    EXPECT_EQ(before.delivered, 0);
    EXPECT_EQ(before.lag, 2s);
    engine->run_until_idle();
    engine->publish_all("notes", std::vector<Note>(4));
    clock.advance(2s);
    const auto after = engine->statistics("notes");
    EXPECT_EQ(after.delivered, 10);
    EXPECT_EQ(after.waiting, 4);
    EXPECT_EQ(rates(before, after).delivered, 5);
    EXPECT_EQ(rates(before, after).published, 2);
    EXPECT_EQ(rates(after, after).published, 0);
    EXPECT_EQ(engine->statistics("nothing").published, 0);
}

TEST_P(Messages, ThatAreForLaterAgeFromThen) {
    int calls = 0;
    engine->subscribe("notes",
                      [&](const Note&) {
                          if (++calls == 1) throw std::runtime_error("not yet");
                      },
                      {.policy = {.age = 1h, .base = 1s}});
    const auto id =
        engine->publish("notes", Note{"x"}, {.deliver_after = clock.now() + std::chrono::days{1}});
    advance(*engine, std::chrono::days{1} + 1min);
    EXPECT_EQ(calls, 1);
    advance(*engine, 1min);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(engine->delivered(id), MessageStatus::delivered);
}

}  // namespace
}  // namespace pawl::engine_test
