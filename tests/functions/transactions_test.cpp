// Steps that work on the user's own tables: what they do there happens exactly once.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <numeric>

#include "base/points.hpp"
#include "crash/place.hpp"
#include "engine/fixture.hpp"
#include "engine/workflows.hpp"
#include "store/sql/connection.hpp"

namespace pawl::engine_test {
namespace {

namespace points = base::points;

struct Account {
    std::string id;
    std::int64_t cents = 0;
};

class Transactions : public SharedEngineTest {
protected:
    void SetUp() override {
        SharedEngineTest::SetUp();
        if (IsSkipped()) return;
        open();  // makes pawl's tables, and where they are
        accounts = place().table("account");
        place().run("CREATE TABLE " + accounts +
                    " (id VARCHAR(40) PRIMARY KEY, cents BIGINT NOT NULL)");
    }
    void insert(Transaction& tx, std::string_view id, std::int64_t cents = 0) {
        tx.exec("INSERT INTO " + accounts + " (id, cents) VALUES ($1, $2)", id, cents);
    }
    std::string count() const { return place().ask("SELECT count(*) FROM " + accounts); }
    /// What every row of the table is called, in their order.
    std::string ids() const {
        return place().ask("SELECT coalesce(max(id), 'none') FROM " + accounts);
    }

    std::string accounts;
    std::string row;
    Function<std::monostate, int>* sender = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Stores, Transactions, shared_stores(), name_of);

TEST_P(Transactions, AreDoneAlsoIfTheMailThatCameMeanwhileCanNotBeReadAtOnce) {
    bool armed = false;
    int later = 0;
    auto o = options();
    o.test.at_point = [&](std::string_view point) {
        if (point == points::group_committed && std::exchange(armed, false))
            place().run("ALTER TABLE pawl_inbox RENAME COLUMN payload TO hidden");
    };
    o.log = [&](const LogRecord& record) {
        if (record.text.find("the mail of run \"r\" is read later") == std::string::npos) return;
        ++later;
        place().run("ALTER TABLE pawl_inbox RENAME COLUMN hidden TO payload");
    };
    auto engine = open(o);
    std::function<void()> signal;
    int bodies = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        // Repeatable, so that nothing is committed, and no mail read, before the transaction is.
        ctx.step("before", {.repeatable = true}, [&] { signal(); });
        const int one = ctx.transaction("insert", [&](Transaction& tx) {
            insert(tx, "ada");
            armed = true;
            return ++bodies;
        });
        return one + ctx.wait<int>("number");
    });
    auto run = function.start("r");
    signal = [&] { run.signal("number", 5); };
    engine->run_until_idle();
    EXPECT_EQ(later, 1);
    EXPECT_EQ(run.result(0s), 6);
    EXPECT_EQ(bodies, 1);
    EXPECT_EQ(count(), "1");
}

TEST_P(Transactions, CommitRowsAndRecordTogether) {
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx, int cents) {
        ctx.transaction("open", [&](Transaction& tx) { insert(tx, "ada", 100); });
        const auto left = ctx.transaction("debit", [&](Transaction& tx) {
            EXPECT_EQ(tx.exec("UPDATE " + accounts + " SET cents = cents - $1 WHERE id = $2", cents,
                              "ada"),
                      1);
            return tx.query<Account>("SELECT id, cents FROM " + accounts + " WHERE id = $1", "ada")
                .front()
                .cents;
        });
        return left;
    });
    auto run = function.start("r", 30);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), 70);
    EXPECT_EQ(place().ask("SELECT cents FROM " + accounts), "70");
    EXPECT_THAT(names_of(run.journal()),
                ElementsAre("pawl.started", "pawl.step", "pawl.step", "pawl.finished"));
    const auto steps = run.steps();
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].name, "debit");
    EXPECT_EQ(steps[1].result, "70");
    EXPECT_EQ(steps[1].attempts, 1);
}

TEST_P(Transactions, TakeNoFurtherCommits) {
    std::map<std::string, int> reached;
    auto o = options();
    o.test.at_point = [&](std::string_view point) { ++reached[std::string{point}]; };
    auto engine = open(o);
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.transaction("a", [&](Transaction& tx) { insert(tx, "a"); });
        ctx.transaction("b", [&](Transaction& tx) { insert(tx, "b"); });
    });
    function.start("r");
    engine->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
    EXPECT_EQ(reached["commit:after"], 2);  // the start and the end
    EXPECT_EQ(count(), "2");
}

TEST_P(Transactions, AreRolledBackAndTriedAgainWhenTheirBodyThrows) {
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx) {
        return ctx.transaction("flaky", {.attempts = 3, .base = 1min, .jitter = 0},
                               [&](Transaction& tx, const Attempt& attempt) {
                                   insert(tx, "attempt " + std::to_string(attempt.number));
                                   if (attempt.number < 3) throw std::runtime_error("not yet");
                                   return attempt.number;
                               });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(count(), "0");
    EXPECT_EQ(run.status(), RunStatus::retrying);
    EXPECT_EQ(run.steps().front().error, "not yet");
    advance(*engine, 1min);
    EXPECT_EQ(count(), "0");
    advance(*engine, 2min);
    EXPECT_EQ(run.result(0s), 3);
    EXPECT_EQ(count(), "1");
    EXPECT_EQ(ids(), "attempt 3");
    EXPECT_EQ(run.steps().front().attempts, 3);
}

TEST_P(Transactions, ThatFailForGoodAreThrownIntoTheFunction) {
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx) -> std::string {
        try {
            ctx.transaction("never", [&](Transaction& tx) {
                insert(tx, "a");
                throw Permanent("no money");
            });
        } catch (const StepFailed& e) {
            return e.reason();
        }
        return "?";
    });
    function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(function.run("r").result(0s), "no money");
    EXPECT_EQ(count(), "0");
}

TEST_P(Transactions, WithSqlThatIsWrongAreNotTriedAgain) {
    const auto strict = place().table("strict");
    place().run("CREATE TABLE " + strict + " (number INTEGER)" +
                (GetParam() == "sqlite" ? " STRICT" : ""));
    const std::string wrong[] = {
        "SELEKT 1",
        "SELECT x FROM not_there",
        "SELECT not_there FROM " + accounts,
        "INSERT INTO " + accounts + " (id) VALUES ('a', 'b')",
        "SELECT no_such_function(1)",
        "INSERT INTO " + strict + " VALUES ('ten')",
        "SELECT 1; SELECT 2",
        "COMMIT",
    };
    auto engine = open();
    int bodies = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        for (const auto& sql : wrong) try {
                ctx.transaction(sql.substr(0, 200), {.attempts = 5}, [&](Transaction& tx) {
                    ++bodies;
                    insert(tx, "a");
                    tx.exec(sql);
                });
                ADD_FAILURE() << sql;
            } catch (const StepFailed& e) {
                EXPECT_TRUE(e.permanent()) << sql << ": " << e.reason();
                EXPECT_EQ(e.attempts(), 1) << sql;
            }
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::succeeded);
    EXPECT_EQ(bodies, static_cast<int>(std::size(wrong)));
    EXPECT_EQ(count(), "0");
}

// Others may change their rows meanwhile.
TEST_P(Transactions, ThatAConstraintRefusesAreTriedAgain) {
    const auto seats = place().table("seats");
    const auto amounts = place().table("amounts");
    place().run("CREATE TABLE " + seats + " (id VARCHAR(40) PRIMARY KEY, account VARCHAR(40), " +
                "FOREIGN KEY (account) REFERENCES " + accounts + " (id))");
    place().run("CREATE TABLE " + amounts + " (cents BIGINT NOT NULL CHECK (cents > 0))");
    const std::pair<std::string, std::string> refused[] = {
        {"INSERT INTO " + seats + " VALUES ('1a', 'ada')",
         "INSERT INTO " + accounts + " VALUES ('ada', 5)"},
        {"INSERT INTO " + seats + " VALUES ('1a', NULL)", "DELETE FROM " + seats},
        {"INSERT INTO " + amounts + " SELECT max(cents) FROM " + accounts + " WHERE id = 'eve'",
         "INSERT INTO " + accounts + " VALUES ('eve', 5)"},
        {"INSERT INTO " + amounts + " SELECT max(cents) - 5 FROM " + accounts,
         "UPDATE " + accounts + " SET cents = 6"},
    };
    auto engine = open();
    const std::string* sql = nullptr;
    int bodies = 0;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.transaction("refused", {.attempts = 2, .base = 1s, .jitter = 0}, [&](Transaction& tx) {
            ++bodies;
            tx.exec(*sql);
        });
    });
    for (const auto& [statement, repair] : refused) {
        sql = &statement;
        bodies = 0;
        auto run = function.start(statement);
        engine->run_until_idle();
        EXPECT_EQ(run.status(), RunStatus::retrying) << statement;
        place().run(repair);
        advance(*engine, 1s);
        EXPECT_EQ(run.status(), RunStatus::succeeded) << statement;
        EXPECT_EQ(bodies, 2) << statement;
    }
}

TEST_P(Transactions, ThatSwallowAFailedStatementAreRolledBackAllTheSame) {
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.transaction("twice", {.attempts = 1}, [&](Transaction& tx) {
            insert(tx, "a");
            const auto refused = error_of([&] { insert(tx, "a"); });
            EXPECT_EQ(refused.code(), Code::invalid) << refused.what();
            EXPECT_THROW(insert(tx, "b"), Error);
        });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(run.steps().front().error, HasSubstr("INSERT INTO"));
    EXPECT_EQ(count(), "0");
}

TEST_P(Transactions, AreNotRunAgainByAReplay) {
    std::atomic<int> bodies{0};
    const auto shape = [&](Context& ctx) {
        const int number = ctx.transaction("once", [&](Transaction& tx) {
            insert(tx, "a");
            return ++bodies;
        });
        ctx.sleep(1h);
        return number;
    };
    {
        auto engine = open();
        engine->add("f", shape).start("r");
        engine->run_until_idle();
    }
    auto engine = open();
    auto function = engine->add("f", shape);
    advance(*engine, 1h);
    EXPECT_EQ(function.run("r").result(0s), 1);
    EXPECT_EQ(bodies, 1);
    EXPECT_EQ(count(), "1");
}

TEST_P(Transactions, WriteWhatWasPendingBeforeThem) {
    auto engine = open();
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.step("pure", {.repeatable = true}, [] { return 1; });
        ctx.transaction("t", [&](Transaction& tx) { insert(tx, "a"); });
        const auto more = ctx.wait<int>("more");
        ctx.transaction("u", [&](Transaction& tx) { insert(tx, "b", more); });
        return more;
    });
    auto run = function.start("r");
    engine->run_until_idle();
    run.signal("more", 7);
    engine->run_until_idle();
    EXPECT_EQ(run.result(0s), 7);
    EXPECT_EQ(count(), "2");
    EXPECT_THAT(names_of(run.journal()),
                ElementsAre("pawl.started", "pawl.step", "pawl.step", "pawl.signal",
                            "pawl.received", "pawl.step", "pawl.finished"));
}

// A signal that comes while the body runs is in the inbox when it commits.
TEST_P(Transactions, ReadTheMailThatCameMeanwhile) {
    if (GetParam() == "sqlite") GTEST_SKIP() << "nobody writes beside it";
    auto engine = open();
    auto other = open();
    const auto shape = [&](Context& ctx) {
        ctx.transaction("t", [&](Transaction& tx) {
            insert(tx, "a");
            sender->run("r").signal("go", 5);
        });
        return ctx.wait<int>("go");
    };
    auto theirs = other->add("f", shape);
    sender = &theirs;
    auto function = engine->add("f", shape);
    function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(function.run("r").result(0s), 5);
    EXPECT_EQ(count(), "1");
}

TEST_P(Transactions, WriteNothingWhenTheirClaimWasLost) {
    std::atomic<bool> taken_over{false};
    std::unique_ptr<Engine> second;
    const auto shape = [&](const char* name) {
        return [&, name](Context& ctx) {
            if (!taken_over.exchange(true)) {
                clock.advance(1min);
                second->run_until_idle();  // the first one's lease has passed
            }
            ctx.transaction("t", [&](Transaction& tx) { insert(tx, name); });
        };
    };
    auto first = open();
    auto function = first->add("f", shape("first"));
    second = open();
    second->add("f", shape("second"));
    function.start("r");
    first->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
    EXPECT_EQ(count(), "1");
    EXPECT_EQ(ids(), "second");
}

TEST_P(Transactions, WriteNothingWhenTheirClaimIsLostWhileTheyRun) {
    if (GetParam() == "sqlite") GTEST_SKIP() << "nobody writes beside it";
    std::atomic<bool> taken_over{false};
    std::unique_ptr<Engine> second;
    const auto shape = [&](const char* name) {
        return [&, name](Context& ctx) {
            ctx.transaction("t", [&](Transaction& tx) {
                insert(tx, name);
                if (taken_over.exchange(true)) return;
                clock.advance(1min);
                second->run_until_idle();
            });
        };
    };
    auto first = open();
    auto function = first->add("f", shape("first"));
    second = open();
    second->add("f", shape("second"));
    function.start("r");
    first->run_until_idle();
    EXPECT_TRUE(function.run("r").result(0s));
    EXPECT_EQ(count(), "1");
    EXPECT_EQ(ids(), "second");
}

// A process that is killed at each point inside and around the transaction.
TEST_P(Transactions, HappenOnceWhereverTheProcessIsKilled) {
    int bodies = 0;
    const auto shape = [&](Context& ctx) {
        return ctx.transaction("t", [&](Transaction& tx) {
            ++bodies;
            insert(tx, row, bodies);
            return std::string{"done"};
        });
    };
    int number = 0;
    for (const auto point :
         {points::step_before, points::step_after, points::group_judged, points::group_instances,
          points::group_events, points::group_item_changes, points::group_written,
          points::group_committed}) {
        row = "r-" + std::to_string(++number);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            bool armed = false;
            auto o = options();
            o.test.at_point = [&](std::string_view reached) {
                armed = armed || reached == points::step_before;
                if (armed && reached == point) ::kill(::getpid(), SIGKILL);
            };
            auto engine = open(o);
            engine->add("f", shape).start(row);
            engine->run_until_idle();
            ::_exit(1);  // the point was not reached
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point;
        const bool committed = point == points::group_committed;
        EXPECT_EQ(count(), std::to_string(committed ? number : number - 1)) << point;
        clock.advance(1min);
        auto engine = open();
        auto function = engine->add("f", shape);
        engine->run_until_idle();
        EXPECT_EQ(function.run(row).result(0s), "done") << point;
        EXPECT_EQ(count(), std::to_string(number)) << point;
    }
    EXPECT_EQ(bodies, number - 1) << "after the last one the record is there";
}

// Of a connection that is lost the engine finds out whether the commit was there.
TEST_P(Transactions, HappenOnceWhenTheConnectionIsLost) {
    for (const auto point : {points::group_written, points::group_committed}) {
        int bodies = 0;
        bool lose = false;
        auto o = options();
        o.test.at_point = [&](std::string_view reached) {
            if (reached == point && std::exchange(lose, false))
                throw store::sql::LostConnection{Code::unavailable, "the test cut it"};
        };
        auto engine = open(o);
        auto function = engine->add("f", [&](Context& ctx) {
            ctx.transaction("t", [&](Transaction& tx) {
                insert(tx, point);
                lose = ++bodies == 1;
            });
        });
        function.start(point);
        engine->run_until_idle();
        advance(*engine, 1s);  // nothing is tried again at once
        EXPECT_TRUE(function.run(point).result(0s)) << point;
        EXPECT_EQ(bodies, point == points::group_written ? 2 : 1);
    }
    EXPECT_EQ(count(), "2");
}

TEST_P(Transactions, ThatCollideAreRunAgainAsAWhole) {
    if (GetParam() == "sqlite") GTEST_SKIP() << "here they take turns";
    for (const char* id : {"a", "b"})
        place().run("INSERT INTO " + accounts + " VALUES ('" + id + "', 0)");
    auto engine = open({});
    Watched<int> inside;
    std::atomic<int> bodies{0};
    const auto add_one = "UPDATE " + accounts + " SET cents = cents + 1 WHERE id = $1";
    auto function = engine->add("f", [&](Context& ctx, const std::string& first) {
        ctx.transaction("t", [&](Transaction& tx) {
            ++bodies;
            tx.exec(add_one, first);
            inside.change([](int& n) { ++n; });
            // Each has a row that the other wants.
            EXPECT_TRUE(inside.wait([](int n) { return n >= 2; }));
            tx.exec(add_one, first == "a" ? "b" : "a");
        });
    });
    engine->start();
    auto one = function.start("1", "a");
    auto two = function.start("2", "b");
    EXPECT_TRUE(one.result(patience));
    EXPECT_TRUE(two.result(patience));
    EXPECT_GE(bodies, 3);
    EXPECT_EQ(place().ask("SELECT sum(cents) FROM " + accounts), "4");
    EXPECT_EQ(one.steps().front().attempts + two.steps().front().attempts, 2)
        << "a collision is no attempt that failed";
}

TEST_P(Transactions, OfManyThreadsAndEnginesCountRight) {
    place().run("INSERT INTO " + accounts + " VALUES ('n', 0)");
    constexpr int runs = 40;
    const auto shape = [&](Context& ctx) {
        for (int i = 0; i < 2; ++i)
            ctx.transaction("add", [&](Transaction& tx) {
                tx.exec("UPDATE " + accounts + " SET cents = cents + 1 WHERE id = 'n'");
            });
    };
    std::vector<std::unique_ptr<Engine>> engines;
    std::vector<pawl::Run<void>> started;
    for (int e = 0; e < 2; ++e) {
        auto& engine = *engines.emplace_back(open({.max_bodies = 4}));
        auto function = engine.add("f", shape);
        engine.start();
        for (int i = 0; i < runs / 2; ++i)
            started.push_back(function.start(std::to_string(e) + "-" + std::to_string(i)));
    }
    for (const auto& run : started) EXPECT_TRUE(run.result(2 * patience));
    EXPECT_EQ(place().ask("SELECT cents FROM " + accounts), std::to_string(2 * runs));
}

TEST_P(Transactions, EndWhenTheyTakeTooLong) {
    auto o = options();
    o.transaction_limit = 20ms;
    auto engine = open(o);
    const std::map<std::string, std::string> endless{
        {"sqlite",
         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"},
        {"postgres", "SELECT 1 FROM pg_sleep(100)"},
        {"mariadb", "SELECT SLEEP(100)"}};
    auto statement = engine->add("statement", [&](Context& ctx) {
        ctx.transaction("t", {.attempts = 1}, [&](Transaction& tx) {
            insert(tx, "a");
            tx.query<int>(endless.at(GetParam()));
        });
    });
    auto body = engine->add("body", [&](Context& ctx) {
        ctx.transaction("t", {.attempts = 1}, [&](Transaction& tx) {
            insert(tx, "a");
            const auto end = std::chrono::steady_clock::now() + 25ms;
            while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
        });
    });
    statement.start("r");
    body.start("r");
    engine->run_until_idle();
    EXPECT_THAT(statement.run("r").steps().front().error, HasSubstr("took too long"));
    EXPECT_THAT(body.run("r").steps().front().error, HasSubstr("took longer than 20 ms"));
    EXPECT_EQ(count(), "0");
}

TEST_P(Transactions, WhoseResultIsTooLargeWriteNothing) {
    auto o = options();
    o.payload_limit = 1000;
    auto engine = open(o);
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.transaction("large", [&](Transaction& tx) {
            insert(tx, "a");
            return std::string(2000, 'x');
        });
    });
    auto run = function.start("r");
    engine->run_until_idle();
    EXPECT_EQ(run.status(), RunStatus::failed);
    EXPECT_THAT(run.steps().front().error, HasSubstr("the limit is 1000"));
    EXPECT_EQ(count(), "0");
}

// Whatever would wait for the engine is refused at once, and not when somebody's patience ends.
TEST_P(Transactions, CannotWaitForTheEngine) {
    auto engine = open({});
    auto other = engine->add("other", [](Context&) {});
    auto counters = engine->add<Counter>("counter");
    std::map<std::string, Code> codes;
    auto function = engine->add("f", [&](Context& ctx) {
        ctx.transaction("t", [&](Transaction& tx) {
            insert(tx, "a");
            codes["start"] = error_of([&] { other.start("x"); }).code();
            codes["signal"] = error_of([&] { other.run("x").signal("s"); }).code();
            codes["cancel"] = error_of([&] { other.run("x").cancel(); }).code();
            codes["terminate"] = error_of([&] { other.run("x").terminate(); }).code();
            codes["result"] = error_of([&] { (void)other.run("x").result(); }).code();
            codes["value"] = error_of([&] { (void)other.run("x").value<int>("k", 1s); }).code();
            codes["step"] = error_of([&] { ctx.step("s", [] {}); }).code();
            codes["send"] = error_of([&] { counters.send("x", Counter::Add{}); }).code();
        });
    });
    engine->start();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(function.start("r").result(patience));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    EXPECT_EQ(codes.size(), 8u);
    for (const auto& [what, code] : codes) EXPECT_EQ(code, Code::misuse) << what;
    EXPECT_EQ(count(), "1");
}

TEST(TransactionsInMemory, SayThatThereIsNoSql) {
    testing::Fixture world;
    auto function = world.engine().add("f", [](Context& ctx) {
        ctx.transaction("t", [](Transaction& tx) { tx.exec("SELECT 1"); });
    });
    auto run = function.start("r");
    world.advance(1s);
    try {
        (void)run.result(0s);
        FAIL();
    } catch (const RunFailed& e) {
        EXPECT_THAT(e.reason(), HasSubstr("a store in memory has no SQL"));
    }
}

}  // namespace
}  // namespace pawl::engine_test
