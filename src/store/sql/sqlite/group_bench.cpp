// How much of SQLite's own speed a group commit keeps: new instances with one event and one effect,
// by the store, and the same rows by hand with prepared statements, 256 to a transaction.
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/uuid.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::store {
namespace {

constexpr int group_size = 256;

std::vector<Commit> make_group(base::Random& random, Time now) {
    std::vector<Commit> group(group_size);
    for (auto& commit : group) {
        Append append{.instance = {"order", "o-" + base::uuid7(now, random).text()}};
        append.instance.id[3] = static_cast<char>('a' + random.next() % 26);  // not in order
        append.events.push_back({.id = base::uuid7(now, random),
                                 .name = "Placed",
                                 .payload = {R"({"type":"Placed","sku":"book","quantity":2})"}});
        append.puts.push_back(
            {.name = "Invoice", .payload = {R"({"type":"Invoice","sku":"book","quantity":2})"}});
        commit.append = std::move(append);
    }
    return group;
}

// Time by the clock, and of this thread's work alone: the second hardly depends on who else is busy
// on the machine.
class Stopwatch {
public:
    void start() {
        wall_ -= wall_now();
        work_ -= work_now();
    }
    void stop() {
        wall_ += wall_now();
        work_ += work_now();
    }
    double wall() const { return wall_; }
    double work() const { return work_; }

private:
    static double wall_now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    static double work_now() {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    }
    double wall_ = 0;
    double work_ = 0;
};

void report(const char* scenario, int groups, const Stopwatch& time) {
    const double executes = groups * group_size;
    std::printf("{\"scenario\":\"%s\",\"per_second\":%.0f,\"work_us_each\":%.2f}\n", scenario,
                executes / time.wall(), time.work() / executes * 1e6);
}

// Claims everything, and acknowledges it in groups with nothing else in them.
void drain(Store& store, int groups) {
    const auto session = store.open_session({.lease = std::chrono::hours{1}});
    Stopwatch time;
    time.start();
    Fence fence = 1;
    for (int i = 0; i < groups; ++i) {
        const auto claimed =
            store.claim({.claim = {session, ++fence},
                         .interests = {{{.type = "order", .name = "Invoice"}, group_size}},
                         .limit = group_size});
        std::vector<Commit> acks(claimed.items.size());
        for (std::size_t k = 0; k < acks.size(); ++k)
            acks[k].settlements.push_back({.item = claimed.items[k].id, .fence = fence});
        std::vector<Answer> answers(acks.size());
        store.commit(acks, answers);
    }
    time.stop();
    report("claim_and_ack", groups, time);
}

void by_store(const std::string& path, int groups) {
    const auto store = open_sqlite({.path = path});
    const auto random = base::seeded_random(1);
    Stopwatch time;
    for (int i = 0; i < groups; ++i) {
        const auto group = make_group(*random, store->now());
        std::vector<Answer> answers(group.size());
        time.start();
        store->commit(group, answers);
        time.stop();
        if (answers.back().fate != Fate::committed) std::abort();
    }
    report("group_commit", groups, time);
    drain(*store, groups);
}

class Statement {
public:
    Statement(sqlite3* db, const char* sql) {
        if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) std::abort();
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement& operator<<(std::int64_t n) {
        sqlite3_bind_int64(statement_, ++at_, n);
        return *this;
    }
    Statement& operator<<(const std::string& s) {
        sqlite3_bind_blob(statement_, ++at_, s.data(), static_cast<int>(s.size()), SQLITE_STATIC);
        return *this;
    }
    Statement& operator<<(const Uuid& id) {
        sqlite3_bind_blob(statement_, ++at_, id.bytes.data(), 16, SQLITE_STATIC);
        return *this;
    }
    void run() {
        if (sqlite3_step(statement_) != SQLITE_DONE) std::abort();
        sqlite3_reset(statement_);
        at_ = 0;
    }

private:
    sqlite3_stmt* statement_ = nullptr;
    int at_ = 0;
};

void by_hand(const std::string& path, int groups) {
    {
        open_sqlite({.path = path});
    }
    sqlite3* db = nullptr;
    if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) std::abort();
    sqlite3_exec(db,
                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                 "PRAGMA cache_size = -16384",
                 nullptr, nullptr, nullptr);
    Stopwatch time;
    {
        Statement begin{db, "BEGIN IMMEDIATE"}, commit{db, "COMMIT"};
        Statement instance{db,
                           "INSERT INTO pawl_instance (ref, type, id, version, created_at, "
                           "updated_at) VALUES (?, ?, ?, ?, ?, ?)"};
        Statement event{db,
                        "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, "
                        "encoding, id, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"};
        Statement item{db,
                       "INSERT INTO pawl_item (id, line, instance, sequence, idx, timer, "
                       "shard, created_at, due_at, encoding, causation, payload) VALUES (?, ?, "
                       "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
        const auto random = base::seeded_random(1);
        std::int64_t ref = 0;
        for (int i = 0; i < groups; ++i) {
            const Time at = system_clock().now();
            const auto now = at.time_since_epoch().count();
            const auto group = make_group(*random, at);
            time.start();
            begin.run();
            for (const auto& c : group) {
                const Append& a = *c.append;
                ++ref;
                (instance << ref << 1 << a.instance.id << 1 << now << now).run();
                (event << ref << ref << 1 << now << 2 << 0 << 1 << a.events[0].id
                       << a.events[0].payload.bytes)
                    .run();
                (item << ref << 1 << ref << 1 << 0 << 0 << ref % 1024 << now << now << 1
                      << a.events[0].id << a.puts[0].payload.bytes)
                    .run();
            }
            commit.run();
            time.stop();
        }
    }
    sqlite3_close(db);
    report("by_hand", groups, time);
}

}  // namespace
}  // namespace pawl::store

int main(int argc, char** argv) {
    const int groups = argc > 1 ? std::atoi(argv[1]) : 400;
    std::string pattern = argc > 2 ? std::string{argv[2]} + "/pawl-XXXXXX" : "/tmp/pawl-XXXXXX";
    if (!mkdtemp(pattern.data())) return 1;
    pawl::store::by_hand(pattern + "/hand.db", groups);
    pawl::store::by_store(pattern + "/store.db", groups);
    std::filesystem::remove_all(pattern);
}
