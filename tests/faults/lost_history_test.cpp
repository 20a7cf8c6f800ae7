// Servers that lose commits which they have answered, under processes that remember them: a backup
// takes the place of the data, or a dump is restored while everybody stays connected. What is lost
// may be lost; what comes after must be right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <pawl/pawl.hpp>
#include <set>
#include <variant>

#include "engine/open_store.hpp"
#include "faults/load.hpp"

namespace pawl::faults {
namespace {

using namespace std::chrono_literals;

struct Purse {
    struct Deposit {
        std::int64_t amount = 0;
    };
    struct Withdraw {
        std::int64_t amount = 0;
    };
    using Input = std::variant<Deposit, Withdraw>;
    struct Deposited {
        std::int64_t amount = 0;
    };
    struct Withdrawn {
        std::int64_t amount = 0;
    };
    using Event = std::variant<Deposited, Withdrawn>;

    std::int64_t balance = 0;

    void evolve(const Deposited& e) { balance += e.amount; }
    void evolve(const Withdrawn& e) { balance -= e.amount; }
    using Decision = pawl::Decision<Purse>;
    Decision decide(const Deposit& in) const { return Deposited{in.amount}; }
    Decision decide(const Withdraw& in) const {
        if (in.amount > balance) return reject("not enough");
        return Withdrawn{in.amount};
    }
};

struct Diary {
    struct Write {
        std::string line;
    };
    using Input = std::variant<Write>;
    struct Written {
        std::string line;
    };
    using Event = std::variant<Written>;

    std::string last;

    void evolve(const Written& e) { last = e.line; }
    pawl::Decision<Diary> decide(const Write& in) const { return Written{in.line}; }
};

struct Loss {
    std::string name;
    ServerUnderTest server;
    bool by_dump = false;
    friend std::ostream& operator<<(std::ostream& out, const Loss& loss) {
        return out << loss.name;
    }
};

class LostHistory : public testing::TestWithParam<Loss> {
protected:
    void SetUp() override {
        if (!GetParam().server.missing.empty()) GTEST_SKIP() << GetParam().server.missing;
        server = GetParam().server.create({});
        server->start();
    }
    void save() {
        if (GetParam().by_dump)
            dynamic_cast<PostgresServer&>(*server).dump();
        else
            server->save();
    }
    void lose_what_came_since() {
        if (GetParam().by_dump)
            dynamic_cast<PostgresServer&>(*server).restore();
        else
            server->go_back();
    }
    /// Until it is not a failure of the server that has been away.
    static void insist(const std::function<void()>& call) {
        std::string last;
        EXPECT_TRUE(crash::await(
            [&] {
                try {
                    call();
                    return true;
                } catch (const Error& error) {
                    last = error.what();
                    return false;
                }
            },
            30s))
            << last;
    }

    std::unique_ptr<Server> server;
};

INSTANTIATE_TEST_SUITE_P(Servers, LostHistory,
                         testing::Values(Loss{"postgres", postgres_under_test()},
                                         Loss{"mariadb", mariadb_under_test()},
                                         Loss{"postgres_dump", postgres_under_test(), true}),
                         [](const auto& loss) { return loss.param.name; });

TEST_P(LostHistory, LeavesNoStateThatAnInputIsDecidedOn) {
    Engine survivor{server->url(), {}};
    auto purses = survivor.add<Purse>("purse");
    ASSERT_TRUE(purses.send("p", Purse::Deposit{1}).accepted());
    save();
    insist([&] { purses.send("p", Purse::Deposit{1000}, {.input_id = "lost"}); });
    ASSERT_EQ(purses.state("p")->balance, 1001);
    lose_what_came_since();
    Engine other{server->url(), {}};
    auto others = other.add<Purse>("purse");
    ASSERT_TRUE(others.send("p", Purse::Deposit{0}).accepted());  // the version is as before
    ASSERT_EQ(others.state("p")->balance, 1);

    insist([&] { EXPECT_TRUE(purses.send("p", Purse::Withdraw{500}).rejected()); });
    EXPECT_EQ(others.state("p")->balance, 1);
    insist([&] { EXPECT_TRUE(purses.send("p", Purse::Withdraw{1}).accepted()); });
    EXPECT_EQ(others.state("p")->balance, 0);
}

TEST_P(LostHistory, LeavesNoNumbersOfNamesThatAreNotThere) {
    Engine survivor{server->url(), {}};
    auto diaries = survivor.add<Diary>("diary");
    save();
    insist([&] { diaries.send("d", Diary::Write{"lost"}, {.input_id = "lost"}); });
    lose_what_came_since();
    insist([&] { diaries.send("d", Diary::Write{"kept"}, {.input_id = "kept"}); });

    Engine other{server->url(), {}};
    auto others = other.add<Diary>("diary");
    const auto page = other.instances({});
    ASSERT_EQ(page.instances.size(), 1u);
    EXPECT_EQ(page.instances[0].type, "diary");
    EXPECT_EQ(others.state("d")->last, "kept");
}

// The numbers of the names that were lost are given to others.
TEST_P(LostHistory, GivesNothingTheNameOfSomethingElse) {
    Engine survivor{server->url(), {}};
    auto diaries = survivor.add<Diary>("diary");
    save();
    insist([&] { diaries.send("d", Diary::Write{"lost"}, {.input_id = "lost"}); });
    lose_what_came_since();
    Engine other{server->url(), {}};
    auto purses = other.add<Purse>("purse");
    auto others = other.add<Diary>("diary");
    ASSERT_TRUE(purses.send("p", Purse::Deposit{1}).accepted());
    ASSERT_TRUE(purses.send("p", Purse::Withdraw{1}).accepted());

    insist([&] { diaries.send("d", Diary::Write{"kept"}, {.input_id = "kept"}); });
    EXPECT_EQ(others.state("d")->last, "kept");
    const auto entries = other.journal("purse", "p", 0, 10);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].name, "Deposited");
    EXPECT_EQ(entries[1].name, "Withdrawn");
    std::set<std::string> seen;
    insist([&] {
        for (const auto& instance : survivor.instances({}).instances)
            seen.insert(instance.type + "/" + instance.id);
    });
    EXPECT_EQ(seen, (std::set<std::string>{"diary/d", "purse/p"}));
}

TEST_P(LostHistory, KeepsNobodyFromPublishing) {
    Engine survivor{server->url(), {}};
    save();
    insist([&] { survivor.publish("notes", 1, {.key = "k", .once = "lost"}); });
    lose_what_came_since();
    insist([&] { survivor.publish("notes", 2, {.key = "k", .once = "kept"}); });

    std::atomic<int> heard{0};
    Engine other{server->url(), {}};
    other.subscribe("notes", [&](int number) { heard = number; });
    other.start();
    EXPECT_TRUE(crash::await([&] { return heard == 2; }, 30s));
}

TEST_P(LostHistory, GivesNoNumberTwice) {
    constexpr int each = 40;
    Engine survivor{server->url(), {}};
    Engine other{server->url(), {}};
    auto here = survivor.add<Purse>("purse");
    auto there = other.add<Purse>("purse");
    ASSERT_TRUE(here.send("first", Purse::Deposit{1}).accepted());
    save();
    insist([&] { here.send("lost", Purse::Deposit{1}, {.input_id = "lost"}); });
    lose_what_came_since();
    for (int i = 0; i < each; ++i) {
        insist([&] { there.send(fmt::format("t-{}", i), Purse::Deposit{i}, {.input_id = "1"}); });
        insist([&] { here.send(fmt::format("h-{}", i), Purse::Deposit{i}, {.input_id = "1"}); });
    }
    for (int i = 0; i < each; ++i) {
        EXPECT_EQ(here.state(fmt::format("t-{}", i))->balance, i);
        EXPECT_EQ(there.state(fmt::format("h-{}", i))->balance, i);
    }
}

TEST_P(LostHistory, GivesNobodyTheSessionOfAnother) {
    const auto survivor = engine::open_store(server->url(), {});
    save();
    store::SessionId lost = 0;
    insist([&] { lost = survivor->open_session({.lease = 1min, .owner = "survivor"}); });
    lose_what_came_since();
    const auto other = engine::open_store(server->url(), {});
    const auto session = other->open_session({.lease = 1min, .owner = "other"});
    EXPECT_NE(session, lost);
    insist([&] { EXPECT_FALSE(survivor->renew(lost, 1min)); });
    EXPECT_TRUE(other->renew(session, 1min));
}

// A run that goes on in memory must not write into a journal that is another one.
TEST_P(LostHistory, LeavesNoRunThatWritesOn) {
    Engine survivor{server->url(), {.max_bodies = 2}};
    auto function = survivor.add("adds", [](Context& ctx) {
        std::int64_t sum = 0;
        for (int i = 0; i < 4; ++i) sum += *ctx.wait<std::int64_t>("number", 1h);
        return sum;
    });
    survivor.start();
    function.start("r").signal("number", std::int64_t{1});
    save();
    insist([&] { function.run("r").signal("number", std::int64_t{1000}); });
    lose_what_came_since();
    for (const std::int64_t number : {2, 4, 8, 16})
        insist([&] { function.run("r").signal("number", number); });
    std::optional<std::int64_t> sum;
    insist([&] { sum = function.run("r").result(30s); });
    ASSERT_TRUE(sum);
    EXPECT_TRUE(*sum == 1 + 2 + 4 + 8 || *sum == 2 + 4 + 8 + 16) << *sum;
    Engine other{server->url(), {}};
    EXPECT_FALSE(other.journal("adds", "r", 0, 100).empty());
}

}  // namespace
}  // namespace pawl::faults
