#include "store/sql/sqlite/sqlite_store.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <pawl/error.hpp>
#include <thread>

#include "base/random.hpp"
#include "base/uuid.hpp"
#include "conformance/temporary_directory.hpp"
#include "store/sql/sqlite/raw_database.hpp"
#include "store/sql/sqlite/write_turn.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using conformance::TemporaryDirectory;
using namespace std::chrono_literals;

class SqliteStore : public testing::Test {
protected:
    Commit create(const std::string& id, const std::string& payload = "{}") {
        Append append{.instance = {"order", id}};
        append.events.push_back(
            {.id = base::uuid7(clock_.now(), *random_), .name = "Placed", .payload = {payload}});
        append.puts.push_back({.name = "Invoice", .payload = {payload}});
        return {.append = std::move(append)};
    }
    std::unique_ptr<Store> open(SqliteOptions options = {}) {
        options.path = path_;
        options.clock = &clock_;
        return open_sqlite(options);
    }
    static std::vector<Answer> commit(Store& store, const std::vector<Commit>& group) {
        std::vector<Answer> answers(group.size());
        store.commit(group, answers);
        return answers;
    }
    std::uintmax_t log_size() const {
        std::error_code error;
        const auto size = std::filesystem::file_size(path_ + "-wal", error);
        return error ? 0 : size;
    }

    TemporaryDirectory directory_;
    const std::string path_ = directory_.path() / "store.db";
    ManualClock clock_;
    std::unique_ptr<base::Random> random_ = base::seeded_random(7);
};

TEST_F(SqliteStore, LetsAPoisonousCommitFailAlone) {
    const auto store = open();
    // A rule of the user's own, in the same file.
    RawDatabase{path_}.run(
        "CREATE TRIGGER refuse BEFORE INSERT ON pawl_event WHEN NEW.payload = x'706f69736f6e' "
        "BEGIN SELECT RAISE(ABORT, 'not this one'); END");
    std::vector<Commit> group;
    for (int i = 0; i < 9; ++i) group.push_back(create("o-" + std::to_string(i)));
    group[5] = create("o-5", "poison");
    Commit behind = create("o-5");
    behind.append->expected = 1;
    group.push_back(behind);
    const auto answers = commit(*store, group);

    for (std::size_t i = 0; i < group.size(); ++i) {
        if (i == 5)
            EXPECT_EQ(answers[i].fate, Fate::failed);
        else if (i == 9)
            EXPECT_EQ(answers[i].fate, Fate::stale);
        else
            EXPECT_EQ(answers[i].fate, Fate::committed) << i;
    }
    try {
        std::rethrow_exception(answers[5].error);
    } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find("not this one"), std::string::npos);
    }
    EXPECT_EQ(store->follow("", 100).events.size(), 8u);
    EXPECT_EQ(store->items({}).size(), 8u);
    EXPECT_EQ(commit(*store, {create("o-5")})[0].fate, Fate::committed);
}

TEST_F(SqliteStore, StaysOnItsFileWhereverTheProcessGoes) {
    const TemporaryDirectory elsewhere;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    const auto store = open_sqlite({.path = "store.db", .clock = &clock_});
    std::filesystem::current_path(elsewhere.path());
    open_sqlite({.path = "store.db", .clock = &clock_});  // another one of that name
    EXPECT_EQ(commit(*store, {create("o-1")})[0].fate, Fate::committed);
    const LoadRequest wanted{.instance = {"order", "o-1"}};
    const auto loaded = store->load({&wanted, 1});
    std::filesystem::current_path(before);
    EXPECT_TRUE(loaded[0].row);
    EXPECT_TRUE(store->watch());
}

TEST_F(SqliteStore, IsNoFileInMemory) {
    try {
        open_sqlite({.path = ":memory:"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::invalid);
    }
}

TEST_F(SqliteStore, ForgetsNamesOfAGroupThatWasRolledBack) {
    const auto store = open();
    RawDatabase raw{path_};
    raw.run(
        "CREATE TRIGGER refuse BEFORE INSERT ON pawl_item "
        "BEGIN SELECT RAISE(ABORT, 'no items'); END");
    EXPECT_EQ(commit(*store, {create("o-1")})[0].fate, Fate::failed);
    EXPECT_EQ(raw.run("SELECT count(*) FROM pawl_name"), "0\n");
    raw.run("DROP TRIGGER refuse; INSERT INTO pawl_name (ref, name) VALUES (1, 'other')");
    EXPECT_EQ(commit(*store, {create("o-1")})[0].fate, Fate::committed);
    EXPECT_EQ(store->journal({"order", "o-1"}, 0, 10).at(0).event.name, "Placed");
}

TEST_F(SqliteStore, IsBusyWhileAForeignProgramHoldsTheLock) {
    const auto store = open({.busy_deadline = 1ms});
    RawDatabase raw{path_};
    raw.run("BEGIN IMMEDIATE");
    try {
        commit(*store, {create("o-1")});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::busy);
        EXPECT_TRUE(error.retryable());
    }
    raw.run("COMMIT");
    EXPECT_EQ(commit(*store, {create("o-1")})[0].fate, Fate::committed);
}

TEST_F(SqliteStore, FailsAWholeGroupOnAFullDiskAndGoesOnWhenThereIsRoom) {
    const std::string disk = directory_.path() / "disk";
    std::filesystem::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0)
        GTEST_SKIP() << "a small disk can't be mounted here";
    std::ofstream{disk + "/filler"} << std::string(2'000'000, 'x');
    {
        const auto store = open_sqlite({.path = disk + "/store.db", .clock = &clock_});
        int committed = 0;
        std::optional<Code> failure;
        for (int i = 0; i < 1000 && !failure; ++i) try {
                commit(*store, {create("o-" + std::to_string(i), std::string(5000, 'x')),
                                create("p-" + std::to_string(i), std::string(5000, 'x'))});
                ++committed;
            } catch (const Error& error) {
                failure = error.code();
            }
        EXPECT_EQ(failure, Code::unavailable);
        EXPECT_EQ(store->instances({.limit = 5000}).rows.size(), 2u * committed);
        std::filesystem::remove(disk + "/filler");
        EXPECT_EQ(commit(*store, {create("after")})[0].fate, Fate::committed);
        EXPECT_EQ(store->follow("", 5000).events.size(), 2u * committed + 1);
    }
    ::umount(disk.c_str());
}

TEST_F(SqliteStore, WritesNothingWhenThereIsNothingToClaim) {
    const auto store = open();
    const auto session = store->open_session({.lease = 1h});
    Commit later = create("o-1");
    later.append->puts[0].after = 1h;
    commit(*store, {later});
    RawDatabase raw{path_};
    const auto version = raw.run("PRAGMA data_version");
    for (int i = 0; i < 10; ++i) {
        const auto claimed = store->claim({.claim = {session, 1},
                                           .interests = {{{.type = "order", .name = "Invoice"}, 5}},
                                           .limit = 5});
        EXPECT_TRUE(claimed.items.empty());
        EXPECT_EQ(claimed.next_due, clock_.now() + 1h);
    }
    EXPECT_EQ(raw.run("PRAGMA data_version"), version);
}

TEST_F(SqliteStore, ConfirmsAVersionWithoutWriting) {
    const auto store = open();
    commit(*store, {create("o-1")});
    RawDatabase raw{path_};
    const auto version = raw.run("PRAGMA data_version");
    raw.run("BEGIN IMMEDIATE");  // nobody else could write now
    const auto answers =
        commit(*store, {{.append = Append{.instance = {"order", "o-1"}, .expected = 1}}});
    raw.run("COMMIT");
    EXPECT_EQ(answers[0].fate, Fate::committed);
    EXPECT_EQ(answers[0].version, 1);
    EXPECT_EQ(raw.run("PRAGMA data_version"), version);
}

TEST_F(SqliteStore, KeepsItsLogShortUnderLoadAndBesideAReader) {
    constexpr std::size_t bound = 4 * 1024 * 1024;
    const auto store = open({.longest_log = bound});
    std::atomic<bool> stop{false};
    std::jthread reader{[&] {
        while (!stop) store->follow("", 50);
    }};
    std::uintmax_t longest = 0;
    for (int i = 0; i < 150; ++i) {
        std::vector<Commit> group;
        for (int k = 0; k < 64; ++k)
            group.push_back(
                create(base::uuid7(clock_.now(), *random_).text(), std::string(1000, 'x')));
        commit(*store, group);
        longest = std::max(longest, log_size());
    }
    stop = true;
    EXPECT_GT(std::filesystem::file_size(path_), 4u * bound);
    EXPECT_LT(longest, 4u * bound);
}

TEST_F(SqliteStore, EmptiesItsLogWhenItIsClosed) {
    {
        commit(*open(), {create("o-1")});
    }
    EXPECT_EQ(log_size(), 0u);
    EXPECT_EQ(open()->follow("", 10).events.size(), 1u);
}

TEST_F(SqliteStore, NeverGivesANumberTwice) {
    const auto store = open();
    const auto session = store->open_session({.lease = 1h});
    const auto first = commit(*store, {create("o-1")})[0].items.at(0);
    const auto claimed = store->claim({.claim = {session, 9},
                                       .interests = {{{.type = "order", .name = "Invoice"}, 5}},
                                       .limit = 5});
    ASSERT_EQ(claimed.items.size(), 1u);
    commit(*store, {{.settlements = {{.item = first, .fence = 9}}}});
    EXPECT_TRUE(store->items({}).empty());
    EXPECT_GT(commit(*store, {create("o-2")})[0].items.at(0), first);
    store->close_session(session);
    EXPECT_GT(store->open_session({.lease = 1h}), session);
}

// A program that knows nothing of turns holds the file for longer than a clock's readings differ.
TEST_F(SqliteStore, HasATimerCountFromTheEndOfAWaitForTheFile) {
    constexpr Duration delay = 200ms;
    const auto store = open_sqlite({.path = path_});
    RawDatabase other{path_};
    other.run("BEGIN IMMEDIATE");
    Commit one = create("1");
    one.append->puts[0].after = delay;
    auto committed = std::async(std::launch::async, [&] { return commit(*store, {one})[0].fate; });
    // Once it has its turn it waits for the file.
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    for (bool has_turn = false; !has_turn;) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        TurnFile turn{path_ + "-turn"};
        has_turn = !turn.take(std::chrono::steady_clock::now());
        if (!has_turn) turn.give();
    }
    const Time begun = store->now();
    Time now = begun;
    while (now < begun + 50ms) now = store->now();
    other.run("ROLLBACK");
    EXPECT_EQ(committed.get(), Fate::committed);
    EXPECT_GE(store->items({}).at(0).due_at.value_or(Time{}), now + delay);
}

}  // namespace
}  // namespace pawl::store::sql::sqlite
