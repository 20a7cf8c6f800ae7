// Routes, unique keys and input ids: which instance, at most one instance, at most once.
#include <future>
#include <thread>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

struct Signup {
    struct Begin {
        std::string email;
        std::string plan;
    };
    struct Leave {
        std::string email;
    };
    struct Ping {};
    using Input = std::variant<Begin, Leave, Ping>;
    struct Began {
        std::string email;
    };
    struct Left {};
    using Event = std::variant<Began, Left>;
    bool left = false;
    int begun = 0;
    void evolve(const Began&) { ++begun; }
    void evolve(const Left&) { left = true; }
    Decision<Signup> decide(const Begin& in) const { return Began{in.email}; }
    Decision<Signup> decide(const Leave&) const { return Left{}; }
    Decision<Signup> decide(const Ping&) const { return reject("pinged"); }
    bool finished() const { return left; }

    static std::string route(const Begin& in) { return "user/" + in.email; }
    static std::string route(const Leave& in) { return "user/" + in.email; }
    static std::optional<std::string> unique_key(const Begin& in) {
        if (in.email.empty()) return std::nullopt;
        return "email:" + in.email;
    }
};

class Keys : public EngineTest {
protected:
    std::unique_ptr<Engine> engine = open();
    Workflow<Signup> signups = engine->add<Signup>("signup");
    Workflow<Counter> counters = engine->add<Counter>("counter");
};
INSTANTIATE_TEST_SUITE_P(Stores, Keys, every_store(), name_of);

TEST_P(Keys, RouteTypedAndUntypedInputs) {
    EXPECT_TRUE(signups.send(Signup::Begin{"ada", "free"}).accepted());
    EXPECT_EQ(engine->send("signup", "", R"({"type":"Begin","email":"ada"})").version, 2);
    EXPECT_EQ(signups.state("user/ada")->begun, 2);
    EXPECT_TRUE(signups.send(Signup::Leave{"ada"}, {.tenant = "t"}).accepted());
    EXPECT_TRUE(signups.send("user/ada", Signup::Ping{}).finished());
}

TEST_P(Keys, RouteAsynchronousInputs) {
    auto with_threads = open(Options{});
    auto here = with_threads->add<Signup>("signup");
    auto begun = here.send_async(Signup::Begin{"bob", "free"});
    ASSERT_EQ(begun.wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(begun.get().accepted());
    std::promise<std::int64_t> version;
    here.send_async(Signup::Leave{"bob"}, {}, [&](auto outcome, std::exception_ptr) {
        version.set_value(outcome ? outcome->version() : -1);
    });
    auto left = version.get_future();
    ASSERT_EQ(left.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(left.get(), 2);
    EXPECT_TRUE(here.state("user/bob")->left);
}

TEST_P(Keys, RouteNothingThatHasNoRoute) {
    const auto error = error_of([&] { engine->send("signup", "", R"({"type":"Ping"})"); });
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(error.what(), HasSubstr("Ping"));
    EXPECT_THAT(error.what(), HasSubstr("\"signup\""));
    EXPECT_THAT(error.what(), HasSubstr("no route"));
}

TEST_P(Keys, AdmitOneActiveInstance) {
    EXPECT_TRUE(signups.send("s-1", Signup::Begin{"ada", ""}).accepted());
    const auto error = error_of([&] { signups.send("s-2", Signup::Begin{"ada", ""}); });
    EXPECT_EQ(error.code(), Code::unique_key_taken);
    EXPECT_THAT(error.what(), HasSubstr("\"email:ada\""));
    EXPECT_THAT(error.what(), HasSubstr("\"s-1\""));
    EXPECT_THAT(error.what(), HasSubstr("\"s-2\""));
    EXPECT_FALSE(signups.state("s-2"));
    EXPECT_EQ(engine->instances().instances[0].unique_key, "email:ada");
    // The holder's own key is no conflict, and no key is no conflict.
    EXPECT_EQ(signups.send("s-1", Signup::Begin{"ada", ""}).version(), 2);
    EXPECT_TRUE(signups.send("s-3", Signup::Begin{"", ""}).accepted());
    EXPECT_TRUE(signups.send("s-4", Signup::Begin{"", ""}).accepted());
}

TEST_P(Keys, AreFreeAgainWhenTheInstanceFinishes) {
    signups.send("s-1", Signup::Begin{"ada", ""});
    signups.send("s-1", Signup::Leave{"ada"});
    EXPECT_TRUE(signups.send("s-2", Signup::Begin{"ada", ""}).accepted());
    EXPECT_EQ(error_of([&] { signups.send("s-3", Signup::Begin{"ada", ""}); }).code(),
              Code::unique_key_taken);
}

TEST_P(Keys, OfAnotherTypeAreOtherKeys) {
    auto both = open();
    auto one = both->add<Signup>("one");
    auto two = both->add<Signup>("two");
    EXPECT_TRUE(one.send("s", Signup::Begin{"ada", ""}).accepted());
    EXPECT_TRUE(two.send("s", Signup::Begin{"ada", ""}).accepted());
}

TEST_P(Keys, AreWonByOneOfManyConcurrentCreators) {
    engine->start();
    std::vector<std::future<Outcome<Signup>>> sent;
    for (int i = 0; i < 50; ++i)
        sent.push_back(signups.send_async("s-" + std::to_string(i), Signup::Begin{"ada", ""}));
    int won = 0;
    for (auto& one : sent) {
        try {
            won += one.get().accepted();
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), Code::unique_key_taken);
        }
    }
    EXPECT_EQ(won, 1);
    EXPECT_EQ(signups.instances().instances.size(), 1u);
}

TEST_P(Keys, OfInputsApplyThemOnceEachPerInstance) {
    EXPECT_FALSE(counters.send("a", Counter::Add{1}, {.input_id = "i"}).duplicate());
    EXPECT_TRUE(counters.send("a", Counter::Add{1}, {.input_id = "i"}).duplicate());
    EXPECT_FALSE(counters.send("b", Counter::Add{1}, {.input_id = "i"}).duplicate());
    EXPECT_FALSE(counters.send("a", Counter::Add{1}, {.input_id = "j"}).duplicate());
    EXPECT_EQ(counters.state("a")->total, 2);
    EXPECT_EQ(counters.state("b")->total, 1);
}

TEST_P(Keys, OfInputsApplyThemOnceConcurrently) {
    engine->start();
    std::vector<std::future<Outcome<Counter>>> sent;
    for (int i = 0; i < 100; ++i)
        sent.push_back(
            counters.send_async("c", Counter::Add{1}, {.input_id = "i-" + std::to_string(i % 10)}));
    int duplicates = 0;
    for (auto& one : sent) {
        const auto outcome = one.get();
        EXPECT_TRUE(outcome.accepted());
        duplicates += outcome.duplicate();
    }
    EXPECT_EQ(duplicates, 90);
    EXPECT_EQ(counters.state("c")->total, 10);
    EXPECT_EQ(counters.journal("c").size(), 10u);
}

TEST_P(Keys, OfInputsFailNobodyBesideTheDuplicates) {
    engine->start();
    std::vector<std::future<Outcome<Counter>>> sent;
    for (int i = 0; i < 600; ++i)
        sent.push_back(counters.send_async(
            "hot", Counter::Add{1}, {.input_id = i % 2 ? "same" : "i-" + std::to_string(i)}));
    int duplicates = 0;
    for (auto& one : sent) duplicates += one.get().duplicate();
    EXPECT_EQ(duplicates, 299);
    EXPECT_EQ(counters.state("hot")->total, 301);
}

TEST_P(Keys, OfInputsAreForgottenAfterTheirRetention) {
    auto brief = options();
    brief.input_id_retention = 1h;
    auto short_lived = open(brief);
    auto some = short_lived->add<Counter>("counter");
    some.send("c", Counter::Add{1}, {.input_id = "i"});
    advance(*short_lived, 59min);
    EXPECT_TRUE(some.send("c", Counter::Add{1}, {.input_id = "i"}).duplicate());
    advance(*short_lived, 2min);
    EXPECT_FALSE(some.send("c", Counter::Add{1}, {.input_id = "i"}).duplicate());
    EXPECT_EQ(some.state("c")->total, 2);
}

TEST_P(Keys, OfFinishedInstancesAreFreeAfterTheirRetention) {
    auto brief = options();
    brief.finished_retention = 1h;
    auto short_lived = open(brief);
    auto some = short_lived->add<Signup>("signup");
    some.send("s", Signup::Begin{"ada", ""}, {.input_id = "i"});
    some.send("s", Signup::Leave{"ada"});
    advance(*short_lived, 59min);
    EXPECT_TRUE(some.send("s", Signup::Begin{"ada", ""}).finished());
    advance(*short_lived, 2min);
    EXPECT_FALSE(some.state("s")) << "also where the state was cached";
    const auto again = some.send("s", Signup::Begin{"ada", ""}, {.input_id = "i"});
    EXPECT_TRUE(again.accepted());
    EXPECT_FALSE(again.duplicate());
    EXPECT_EQ(again.version(), 1);
    EXPECT_EQ(some.journal("s").size(), 1u);
}

TEST_P(Keys, OfFinishedInstancesAreFreeForASendThatHasNotLooked) {
    auto brief = options();
    brief.finished_retention = 1h;
    auto short_lived = open(brief);
    auto some = short_lived->add<Signup>("signup");
    some.send("s", Signup::Begin{"ada", ""});
    some.send("s", Signup::Leave{"ada"});
    advance(*short_lived, 2h);
    EXPECT_TRUE(some.send("s", Signup::Begin{"ada", ""}).accepted());
    EXPECT_EQ(some.state("s")->begun, 1);
}

class SharedKeys : public SharedEngineTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedKeys, shared_stores(), name_of);

// What this process knows of the old one, at the same version, is not taken for the new one.
TEST_P(SharedKeys, OfFinishedInstancesAreUsedAgainBesideAProcessThatKnewTheOldOne) {
    auto brief = options();
    brief.finished_retention = 1h;
    for (const bool knows_the_end : {false, true}) {
        const std::string id = knows_the_end ? "b" : "a";
        auto here = open(options());
        auto there = open(brief);
        auto mine = here->add<Counter>("counter");
        auto theirs = there->add<Counter>("counter");
        mine.send(id, Counter::Add{knows_the_end ? 2000 : 5});
        if (!knows_the_end) theirs.send(id, Counter::Add{2000});
        advance(*there, 2h);
        ASSERT_FALSE(theirs.state(id));
        theirs.send(id, Counter::Add{7});
        EXPECT_EQ(mine.send(id, Counter::Add{-1}).reason(), "negative on 7");
        EXPECT_TRUE(mine.send(id, Counter::Add{1}).accepted());
        EXPECT_EQ(theirs.state(id)->total, 8);
    }
}

TEST_P(SharedKeys, SurviveARestart) {
    {
        auto engine = open();
        auto counters = engine->add<Counter>("counter");
        auto signups = engine->add<Signup>("signup");
        counters.send("c", Counter::Add{1}, {.input_id = "i"});
        signups.send("s-1", Signup::Begin{"ada", ""});
    }
    auto engine = open();
    auto counters = engine->add<Counter>("counter");
    auto signups = engine->add<Signup>("signup");
    const auto again = counters.send("c", Counter::Add{1}, {.input_id = "i"});
    EXPECT_TRUE(again.duplicate());
    EXPECT_EQ(again.version(), 1);
    EXPECT_EQ(error_of([&] { signups.send("s-2", Signup::Begin{"ada", ""}); }).code(),
              Code::unique_key_taken);
}

TEST_P(SharedKeys, HoldBetweenTwoEngines) {
    auto first = open();
    auto second = open();
    auto here = first->add<Signup>("signup");
    auto there = second->add<Signup>("signup");
    std::atomic<int> won{0};
    std::atomic<int> lost{0};
    const auto create = [&](Workflow<Signup>& signups, const std::string& prefix) {
        for (int i = 0; i < 30; ++i) {
            try {
                won += signups
                           .send(prefix + std::to_string(i),
                                 Signup::Begin{"user " + std::to_string(i), ""})
                           .accepted();
            } catch (const Error& e) {
                EXPECT_EQ(e.code(), Code::unique_key_taken) << e.what();
                ++lost;
            }
        }
    };
    {
        std::jthread one{[&] { create(here, "a-"); }};
        std::jthread two{[&] { create(there, "b-"); }};
    }
    EXPECT_EQ(won, 30);
    EXPECT_EQ(lost, 30);
    EXPECT_EQ(here.instances({.limit = 1000}).instances.size(), 30u);
}

TEST_P(SharedKeys, OfInputsHoldBetweenTwoEngines) {
    auto first = open();
    auto second = open();
    auto here = first->add<Counter>("counter");
    auto there = second->add<Counter>("counter");
    const auto add = [](Workflow<Counter>& counters) {
        for (int i = 0; i < 50; ++i)
            EXPECT_TRUE(
                counters.send("c", Counter::Add{1}, {.input_id = std::to_string(i)}).accepted());
    };
    {
        std::jthread one{[&] { add(here); }};
        std::jthread two{[&] { add(there); }};
    }
    EXPECT_EQ(here.state("c")->total, 50);
    EXPECT_EQ(there.journal("c").size(), 50u);
}

}  // namespace
}  // namespace pawl::engine_test
