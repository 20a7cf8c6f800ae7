// Inputs that find their instances by a tag, whichever of the two comes first.
#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"

namespace pawl::engine_test {
namespace {

struct Desk {
    struct Take {
        std::string tag;
    };
    struct Leave {
        std::string tag;
    };
    struct Say {
        std::string word;
    };
    struct Close {};
    using Input = std::variant<Take, Leave, Say, Close>;
    struct Took {};
    struct Left {};
    struct Said {
        std::string word;
    };
    struct Closed {};
    using Event = std::variant<Took, Left, Said, Closed>;

    std::string all;
    bool closed = false;

    void evolve(const Took&) {}
    void evolve(const Left&) {}
    void evolve(const Said& e) { all += e.word; }
    void evolve(const Closed&) { closed = true; }

    Decision<Desk> decide(const Take& in) const { return Decision<Desk>{Took{}}.listen(in.tag); }
    Decision<Desk> decide(const Leave& in) const { return Decision<Desk>{Left{}}.unlisten(in.tag); }
    Decision<Desk> decide(const Say& in) const {
        if (in.word == "?") return reject("a question");
        return Said{in.word};
    }
    Decision<Desk> decide(const Close&) const { return Closed{}; }
    bool finished() const { return closed; }
};

constexpr const char* router = "pawl.router";
constexpr const char* router_inbox = "pawl.inbox.pawl.router";

std::vector<std::pair<std::string, Desk::Input>> words(const std::string& tag, int count) {
    return {static_cast<std::size_t>(count), {tag, Desk::Say{"x"}}};
}

class Routing : public EngineTest {
protected:
    std::string said_by(std::string_view id) { return said_by(desks, id); }
    static std::string said_by(const Workflow<Desk>& workflow, std::string_view id) {
        const auto state = workflow.state(id);
        return state ? state->all : "nothing";
    }
    std::string routing_of(std::string_view tag) {
        return engine->state(router, "desk/" + std::string{tag}).value_or("");
    }

    std::unique_ptr<Engine> engine = open();
    Workflow<Desk> desks = engine->add<Desk>("desk");
};
INSTANTIATE_TEST_SUITE_P(Stores, Routing, every_store(), name_of);

TEST_P(Routing, FindsWhoListens) {
    desks.send("a", Desk::Take{"payment:1"});
    desks.route("payment:1", Desk::Say{"x"});
    desks.route("payment:2", Desk::Say{"y"});
    EXPECT_EQ(said_by("a"), "") << "applied later";
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x");
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(Routing, WaitsForWhoWillListen) {
    for (const char* word : {"x", "y", "z"}) desks.route("payment:1", Desk::Say{word});
    engine->run_until_idle();
    EXPECT_EQ(desks.instances().instances.size(), 0u) << "nobody is made up";
    desks.send("a", Desk::Take{"payment:1"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "xyz");
    desks.send("b", Desk::Take{"payment:1"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("b"), "") << "it has been handed over";
}

TEST_P(Routing, KeepsTheOrderOfATag) {
    std::string expected;
    for (int i = 0; i < 26; ++i) {
        const std::string word(1, static_cast<char>('a' + i));
        if (i == 9) desks.send("d", Desk::Take{"t"});
        if (i == 17) engine->run_until_idle();
        desks.route("t", Desk::Say{word});
        expected += word;
    }
    engine->run_until_idle();
    EXPECT_EQ(said_by("d"), expected);
}

TEST_P(Routing, ReachesAllThatListen) {
    for (const char* id : {"a", "b", "c"}) desks.send(id, Desk::Take{"t"});
    desks.send("d", Desk::Take{"other"});
    desks.send("b", Desk::Take{"t"});  // twice is once
    desks.route("t", Desk::Say{"x"});
    desks.route("t", Desk::Say{"y"});
    engine->run_until_idle();
    for (const char* id : {"a", "b", "c"}) EXPECT_EQ(said_by(id), "xy") << id;
    EXPECT_EQ(said_by("d"), "");
}

TEST_P(Routing, EndsWhenNobodyListensAnyMore) {
    desks.send("a", Desk::Take{"t"});
    desks.send("b", Desk::Take{"t"});
    desks.route("t", Desk::Say{"x"});
    desks.send("a", Desk::Leave{"t"});
    desks.send("a", Desk::Leave{"t"});
    desks.route("t", Desk::Say{"y"});
    desks.send("b", Desk::Leave{"t"});
    desks.route("t", Desk::Say{"z"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x");
    EXPECT_EQ(said_by("b"), "xy");
    desks.send("a", Desk::Take{"t"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "xz") << "from when nobody did";
    EXPECT_EQ(engine->count_dead_messages(), 0);
}

TEST_P(Routing, TakesAnInputIdForOne) {
    desks.route("t", Desk::Say{"x"}, {.input_id = "call-1"});
    desks.route("t", Desk::Say{"x"}, {.input_id = "call-1"});
    desks.send("a", Desk::Take{"t"});
    engine->run_until_idle();
    desks.route("t", Desk::Say{"x"}, {.input_id = "call-1"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x");
    EXPECT_TRUE(desks.send("a", Desk::Say{"x"}, {.input_id = "call-1"}).duplicate())
        << "it is the input's, not the tag's";
    desks.send("a", Desk::Take{"second"});
    desks.route("second", Desk::Say{"x"}, {.input_id = "call-1"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x") << "by whichever way it comes";
}

TEST_P(Routing, KnowsTypesApart) {
    const auto counters = engine->add<Desk>("counter");
    desks.route("t", Desk::Say{"x"});
    counters.route("t", Desk::Say{"y"});
    counters.send("a", Desk::Take{"t"});
    desks.send("a", Desk::Take{"t"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x");
    EXPECT_EQ(said_by(counters, "a"), "y");
}

TEST_P(Routing, KnowsNamesWithSlashesApart) {
    const auto one = engine->add<Desk>("a");
    const auto other = engine->add<Desk>("a/b");
    const auto third = engine->add<Desk>("a%2Fb");
    one.send("i", Desk::Take{"b/c"});
    other.send("i", Desk::Take{"c"});
    third.send("i", Desk::Take{"c"});
    one.route("b/c", Desk::Say{"1"});
    other.route("c", Desk::Say{"2"});
    third.route("c", Desk::Say{"3"});
    engine->run_until_idle();
    EXPECT_EQ(said_by(one, "i"), "1");
    EXPECT_EQ(said_by(other, "i"), "2");
    EXPECT_EQ(said_by(third, "i"), "3");
}

TEST_P(Routing, CarriesTheEnvelope) {
    desks.route("t", Desk::Say{"x"},
                {.correlation = "c", .conversation = "talk", .tenant = "acme", .trace = "00-1"});
    desks.route("t", Desk::Say{"y"});
    engine->run_until_idle();
    desks.send("a", Desk::Take{"t"}, {.conversation = "own", .trace = "00-2"});
    engine->run_until_idle();
    const auto journal = desks.journal("a");
    ASSERT_EQ(names_of(journal), (std::vector<std::string>{"Took", "Said", "Said"}));
    EXPECT_EQ(journal[1].correlation, "c");
    EXPECT_EQ(journal[1].conversation, "talk");
    EXPECT_EQ(journal[1].tenant, "acme");
    EXPECT_EQ(journal[1].trace, "00-1");
    EXPECT_EQ(journal[2].correlation, journal[2].id.text()) << "not that of who listens";
    EXPECT_EQ(journal[2].conversation, "");
}

TEST_P(Routing, RefusesWhatIsNoTag) {
    const std::string longest(250, 't');  // and "desk/"
    desks.route(longest, Desk::Say{"x"});
    EXPECT_EQ(error_of([&] { desks.route("", Desk::Say{"x"}); }).code(), Code::invalid);
    const auto error = error_of([&] { desks.route(longest + "t", Desk::Say{"x"}); });
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_STREQ(error.what(),
                 "a tag of workflow \"desk\" has 251 bytes: with the name of the workflow, at most "
                 "250 fit into an id");
    EXPECT_EQ(error_of([&] { desks.send("a", Desk::Take{""}); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { desks.send("a", Desk::Take{longest + "t"}); }).code(), Code::invalid);
    EXPECT_FALSE(desks.state("a")) << "nothing of the decision was written";
    desks.send("a", Desk::Take{longest});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "x");
}

TEST_P(Routing, TreatsTheFinishedAndTheUnwillingAsTheInboxDoes) {
    for (const char* id : {"a", "b"}) desks.send(id, Desk::Take{"t"});
    engine->run_until_idle();
    desks.send("a", Desk::Close{});
    desks.route("t", Desk::Say{"?"});
    desks.route("t", Desk::Say{"x"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), "");
    EXPECT_EQ(said_by("b"), "x") << "the others are not held up";
    EXPECT_EQ(routing_of("t"), R"({"listeners":["b"],"waiting":[]})")
        << "who has finished does not listen";
}

TEST_P(Routing, LetsSoMuchWaitAndBuriesTheRest) {
    constexpr int most = 1000;
    desks.route(words("t", most + 2));
    desks.route("u", Desk::Say{"y"});
    desks.send("u", Desk::Take{"u"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("u"), "y") << "other tags are not held up";
    const auto dead = engine->dead_messages({.channel = router_inbox});
    ASSERT_EQ(dead.size(), 2u);
    EXPECT_EQ(
        dead[0].reason,
        "too much waits for somebody to listen to tag \"t\" of workflow \"desk\": 1000 inputs");
    EXPECT_THAT(dead[0].payload, HasSubstr(R"("word":"x")"));
    desks.send("a", Desk::Take{"t"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a"), std::string(most, 'x'));
}

TEST_P(Routing, BoundsTheBytesThatWait) {
    const std::string large(400 * 1024, 'x');
    for (int i = 0; i < 3; ++i) desks.route("t", Desk::Say{large});
    engine->run_until_idle();
    EXPECT_EQ(engine->count_dead_messages({.channel = router_inbox}), 1);
    desks.send("a", Desk::Take{"t"});
    engine->run_until_idle();
    EXPECT_EQ(said_by("a").size(), 2 * large.size());
}

TEST_P(Routing, IsKeptOutOfSight) {
    EXPECT_EQ(error_of([&] { engine->add<Desk>("pawl.router"); }).code(), Code::invalid);
    desks.route("t", Desk::Say{"x"});
    engine->run_until_idle();
    EXPECT_EQ(engine->instances().instances.size(), 0u);
    desks.send("a", Desk::Take{"t"});
    desks.send("b", Desk::Take{"u"});
    engine->run_until_idle();
    std::vector<std::string> found;
    for (InstanceQuery query{.limit = 1};;) {
        const auto page = engine->instances(query);
        for (const auto& one : page.instances) found.push_back(one.type + " " + one.id);
        if (page.next.empty()) break;
        query.cursor = page.next;
    }
    EXPECT_THAT(found, ElementsAre("desk a", "desk b"));
    EXPECT_EQ(engine->instances({.type = router}).instances.size(), 2u) << "unless asked for";
    EXPECT_EQ(
        error_of([&] { engine->send(router, "desk/t", R"({"type":"pawl.unlisten"})"); }).code(),
        Code::unknown);
}

TEST_P(Routing, GoesOnInAnEngineThatRuns) {
    const auto started = open(Options{});
    const auto all = started->add<Desk>("desk");
    started->start();
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            for (int j = 0; j < 20; ++j)
                all.route("t" + std::to_string(j), Desk::Say{std::string(1, "xyz"[i])});
        });
    for (int j = 0; j < 20; ++j)
        all.send("d" + std::to_string(j), Desk::Take{"t" + std::to_string(j)});
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(eventually([&] {
        std::size_t words = 0;
        for (int j = 0; j < 20; ++j) words += said_by(all, "d" + std::to_string(j)).size();
        return words == 60;
    }));
}

class RoutingFixture : public ::testing::Test {
protected:
    testing::Fixture fixture;
    Workflow<Desk> desks = fixture.engine().add<Desk>("desk");
};

TEST_F(RoutingFixture, Routes) {
    desks.route("t", Desk::Say{"x"});
    desks.send("a", Desk::Take{"t"});
    fixture.run_until_idle();
    EXPECT_EQ(desks.state("a")->all, "x");
}

TEST_F(RoutingFixture, ShowsTheTagsOfADecision) {
    testing::Given<Desk>{}.when(Desk::Take{"t"}).then(Desk::Took{}).listens("t");
    testing::Given<Desk>{}.when(Desk::Leave{"t"}).then(Desk::Left{}).unlistens("t");
    EXPECT_THROW(testing::Given<Desk>{}.when(Desk::Take{"t"}).listens("u"), testing::Mismatch);
    EXPECT_THROW(testing::Given<Desk>{}.when(Desk::Take{"t"}).unlistens("t"), testing::Mismatch);
}

class SharedRouting : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedRouting, shared_stores(), name_of);

TEST_P(SharedRouting, OutlivesTheEngine) {
    auto in_engine = [&, seed = 7ull](auto&& body) mutable {
        auto with_seed = options();
        with_seed.test.seed = seed++;  // or the ids of one are those of the next
        const auto engine = open(with_seed);
        auto desks = engine->add<Desk>("desk");
        body(*engine, desks);
        clock.advance(1min);  // its share of the partitions is free
    };
    in_engine([&](Engine&, auto& desks) { desks.route("t", Desk::Say{"a"}); });
    in_engine([&](Engine& engine, auto& desks) {
        engine.run_until_idle();
        desks.route("t", Desk::Say{"b"});
    });
    in_engine([&](Engine&, auto& desks) { desks.send("d", Desk::Take{"t"}); });
    in_engine([&](Engine& engine, auto& desks) {
        desks.route("t", Desk::Say{"c"});
        engine.run_until_idle();
        EXPECT_EQ(desks.state("d")->all, "abc");
    });
}

TEST_P(SharedRouting, IsReadFromASnapshot) {
    const auto engine = open();
    const auto desks = engine->add<Desk>("desk");
    desks.send("a", Desk::Take{"t"});
    desks.route(words("t", 250));
    engine->run_until_idle();
    const store::LoadRequest router_of_t{.instance = {router, "desk/t"}, .snapshot_version = 1};
    const auto loaded = open_store()->load({&router_of_t, 1}).front();
    ASSERT_TRUE(loaded.row && loaded.snapshot);
    EXPECT_EQ(loaded.row->version, 251);
    EXPECT_LT(loaded.events.size(), 100u);
    EXPECT_EQ(loaded.snapshot->payload.bytes, R"({"listeners":["a"],"waiting":[]})");
}

TEST_P(SharedRouting, IsPartOfATransaction) {
    const auto engine = open();
    const auto desks = engine->add<Desk>("desk");
    desks.send("d", Desk::Take{"t"});
    {
        auto tx = engine->begin();
        tx.route(desks, "t", Desk::Say{"rolled back"});
        EXPECT_EQ(error_of([&] { tx.route(desks, "", Desk::Say{"x"}); }).code(), Code::invalid);
    }
    auto tx = engine->begin();
    tx.route(desks, "t", Desk::Say{"x"}, {.input_id = "once"});
    tx.route(desks, "t", Desk::Say{"x"}, {.input_id = "once"});
    tx.route(desks, "t", Desk::Say{"y"});
    tx.commit();
    engine->run_until_idle();
    EXPECT_EQ(desks.state("d")->all, "xy");
}

struct Payment {
    std::string word;
};

TEST_P(SharedRouting, IsPartOfAHandlersTransaction) {
    const auto engine = open();
    const auto desks = engine->add<Desk>("desk");
    int attempts = 0;
    engine->subscribe("payments", [&](Transaction& tx, const Payment& payment) {
        tx.route(desks, "t", Desk::Say{payment.word});
        if (++attempts == 1) throw std::runtime_error("not yet");
    });
    engine->publish("payments", Payment{"x"});
    desks.send("d", Desk::Take{"t"});
    engine->run_until_idle();
    advance(*engine, 10s);
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(desks.state("d")->all, "x");
}

}  // namespace
}  // namespace pawl::engine_test
