// SQLite: a file, and the rival on it. Writers take turns there, so there is one.
#include <stdlib.h>

#include <filesystem>
#include <pawl/pawl.hpp>
#include <stdexcept>

#include "place.hpp"
#include "raw_rows.hpp"
#include "raw_sqlite.hpp"

namespace pawl::bench {
namespace {

using Value = RawSqlite::Value;

constexpr const char* insert_instance =
    "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at, head) "
    "VALUES (?1, 1, ?2, 1, ?3, ?4, ?3 * 4096 + ?1)";
constexpr const char* insert_event =
    "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, "
    "causation, correlation, payload) VALUES (?, ?, ?, ?, ?, 0, 1, ?, ?, ?, ?)";

enum class Claimed { no, yes };

class SqliteRival final : public Rival {
public:
    explicit SqliteRival(const std::string& path);
    void insert(const Ids& ids) override;
    void insert_alone(const std::string& id) override { insert({id}); }
    void cycle(const Ids& ids) override;
    void run_steps(const Ids& ids) override;
    void append_to_hot(long sequence, int count) override;
    long fire(int limit) override;
    void publish(const Ids& keys) override;
    void add_burden(long count) override;
    RowCounts row_counts() override;

private:
    struct Claim {
        std::int64_t item;
        std::int64_t instance;
    };
    struct Result {
        std::int64_t name;
        std::string_view payload;
    };

    void begin() { db_.run("BEGIN IMMEDIATE"); }
    /// Writes the counters, as any program that hands out numbers must.
    void commit();
    void insert_parcel(const std::string& id, Claimed claimed);
    std::vector<Claim> insert_claimed(const Ids& ids);
    void insert_posted(std::int64_t instance, std::int64_t sequence, Claimed claimed);
    /// The guards, the event, the end of the instance and of the item.
    void finish(const Claim& claim, const Result& result);
    std::vector<Claim> claim_due(int limit);
    /// Entries of a run whose claim and version are checked, in one transaction for all.
    void append_entries(const std::vector<Claim>& claims, std::int64_t version,
                        const std::vector<std::string>& entries);
    std::int64_t number(const char* sql);

    RawSqlite db_;
    std::int64_t positions_ = 0;
    std::int64_t items_ = 0;
    std::int64_t instances_ = 0;
    std::int64_t hot_ = 0;
    std::int64_t rung_ = 0;
};

SqliteRival::SqliteRival(const std::string& path) : db_(path) {
    db_.run(
        "INSERT INTO pawl_name (ref, name) SELECT column1, column2 FROM (VALUES (1, 'parcel'), "
        "(2, 'Posted'), (3, 'Arrived')) WHERE NOT EXISTS (SELECT 1 FROM pawl_name)");
    db_.run(
        "INSERT INTO pawl_line (ref, kind, type, name) SELECT 1, 1, 1, 'Carry' "
        "WHERE NOT EXISTS (SELECT 1 FROM pawl_line)");
    db_.run("INSERT OR IGNORE INTO pawl_name (name) VALUES ('Rung')");
    rung_ = number("SELECT ref FROM pawl_name WHERE name = 'Rung'");
    const auto row = db_.rows("SELECT position, item, instance FROM pawl_counter").front();
    positions_ = row[0];
    items_ = row[1];
    instances_ = row[2];
}

void SqliteRival::commit() {
    db_.run("UPDATE pawl_counter SET instance = ?, position = ?, item = ?",
            {instances_, positions_, items_});
    db_.run("COMMIT");
}

std::int64_t SqliteRival::number(const char* sql) { return db_.rows(sql).front().front(); }

void SqliteRival::insert_posted(std::int64_t instance, std::int64_t sequence, Claimed claimed) {
    const auto at = now();
    const auto event_id = uuid();
    const bool held = claimed == Claimed::yes;
    const Value due = held ? Value{nullptr} : Value{at};
    const Value session = held ? Value{claiming_session} : Value{nullptr};
    const Value fence = held ? Value{claiming_fence} : Value{nullptr};
    db_.run(insert_event, {++positions_, instance, sequence, at, std::int64_t{2},
                           std::string_view{event_id}, nullptr, nullptr, std::string_view{posted}});
    db_.run(
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
        "created_at, due_at, session, fence, encoding, causation, payload) "
        "VALUES (?, 1, ?, ?, 0, 1, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
        {++items_, instance, sequence, instance % 1024, std::int64_t{held ? 1 : 0}, at, due,
         session, fence, std::string_view{event_id}, std::string_view{carry}});
}

void SqliteRival::insert_parcel(const std::string& id, Claimed claimed) {
    const auto at = now();
    db_.run(insert_instance, {++instances_, std::string_view{id}, at, at});
    insert_posted(instances_, 1, claimed);
}

void SqliteRival::insert(const Ids& ids) {
    begin();
    for (const auto& id : ids) insert_parcel(id, Claimed::no);
    commit();
}

void SqliteRival::publish(const Ids& keys) {
    begin();
    const auto at = now();
    for (const auto& key : keys)
        db_.run(
            "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, type, "
            "payload) VALUES (1, ?, ?, 0, 1, ?, ?, 'Note', ?)",
            {partition_of(key), at, ordered_id(), key, note});
    db_.run("COMMIT");
}

std::vector<SqliteRival::Claim> SqliteRival::insert_claimed(const Ids& ids) {
    std::vector<Claim> claims;
    begin();
    for (const auto& id : ids) {
        insert_parcel(id, Claimed::yes);
        claims.push_back({items_, instances_});
    }
    commit();
    return claims;
}

void SqliteRival::cycle(const Ids& ids) {
    const auto claims = insert_claimed(ids);
    begin();
    for (const auto& claim : claims) finish(claim, {.name = 3, .payload = arrived});
    commit();
}

void SqliteRival::finish(const Claim& claim, const Result& result) {
    const auto at = now();
    const auto event_id = uuid();
    // The claim must hold, and the version must be the one it was decided on.
    const auto held = db_.rows("SELECT id FROM pawl_item WHERE id = ? AND fence = ?",
                               {claim.item, claiming_fence});
    const auto row = db_.rows("SELECT version FROM pawl_instance WHERE ref = ?", {claim.instance});
    if (held.empty() || row.empty() || row.front().front() != 1)
        throw std::runtime_error("the rival has lost a claim");
    db_.run("DELETE FROM pawl_item WHERE id = ?", {claim.item});
    db_.run("DELETE FROM pawl_item WHERE instance = ? AND kind = 2", {claim.instance});
    db_.run(insert_event, {++positions_, claim.instance, std::int64_t{2}, at, result.name,
                           std::string_view{event_id}, std::string_view{event_id},
                           std::string_view{correlation}, result.payload});
    db_.run(
        "UPDATE pawl_instance SET version = 2, updated_at = ?1, finished_at = ?2, "
        "head = ?1 * 4096 + ref WHERE ref = ?3",
        {at, at, claim.instance});
}

void SqliteRival::run_steps(const Ids& ids) {
    const auto claims = insert_claimed(ids);
    append_entries(claims, 1, {stepped});
    append_entries(claims, 2, {stepped});
    append_entries(claims, 3, {stepped, ended});
}

void SqliteRival::append_entries(const std::vector<Claim>& claims, std::int64_t version,
                                 const std::vector<std::string>& entries) {
    const auto at = now();
    const bool last = entries.size() > 1;
    begin();
    for (const auto& claim : claims) {
        const auto held = db_.rows("SELECT id FROM pawl_item WHERE id = ? AND fence = ?",
                                   {claim.item, claiming_fence});
        const auto row =
            db_.rows("SELECT version FROM pawl_instance WHERE ref = ?", {claim.instance});
        if (held.empty() || row.empty() || row.front().front() != version)
            throw std::runtime_error("the rival has lost a claim");
        auto sequence = version;
        for (const auto& entry : entries) {
            const auto id = uuid();
            db_.run(insert_event, {++positions_, claim.instance, ++sequence, at, std::int64_t{2},
                                   std::string_view{id}, std::string_view{id},
                                   std::string_view{correlation}, std::string_view{entry}});
        }
        if (last) db_.run("DELETE FROM pawl_item WHERE id = ?", {claim.item});
        db_.run(
            "UPDATE pawl_instance SET version = ?1, updated_at = ?2, finished_at = ?3, "
            "head = ?2 * 4096 + ref WHERE ref = ?4",
            {sequence, at, last ? Value{at} : Value{nullptr}, claim.instance});
    }
    commit();
}

void SqliteRival::append_to_hot(long sequence, int count) {
    begin();
    if (!hot_) {
        hot_ = ++instances_;
        db_.run(insert_instance, {hot_, std::string_view{"hot"}, now(), now()});
    }
    for (int i = 0; i < count; ++i) insert_posted(hot_, sequence + i, Claimed::no);
    if (const auto last = last_snapshot(sequence, count))
        db_.run(
            "INSERT OR REPLACE INTO pawl_snapshot (instance, sequence, version, encoding, payload) "
            "VALUES (?, ?, 1, 1, ?)",
            {hot_, last, std::string_view{state}});
    db_.run(
        "UPDATE pawl_instance SET version = ?1, updated_at = ?2, head = ?2 * 4096 + ref "
        "WHERE ref = ?3",
        {sequence + count - 1, now(), hot_});
    commit();
}

std::vector<SqliteRival::Claim> SqliteRival::claim_due(int limit) {
    begin();
    const auto due = db_.rows(
        "SELECT id, instance FROM pawl_item WHERE line = 1 AND alone = 0 AND due_at <= ? "
        "ORDER BY due_at LIMIT ?",
        {now(), std::int64_t{limit}});
    std::vector<Claim> claims;
    for (const auto& item : due) {
        db_.run(
            "UPDATE pawl_item SET due_at = NULL, session = ?, fence = ?, attempts = attempts + 1 "
            "WHERE id = ?",
            {claiming_session, claiming_fence, item[0]});
        claims.push_back({item[0], item[1]});
    }
    db_.run("COMMIT");
    return claims;
}

long SqliteRival::fire(int limit) {
    const auto claims = claim_due(limit);
    if (claims.empty()) return 0;
    begin();
    for (const auto& claim : claims) {
        const auto events = db_.rows(
            "SELECT sequence, payload FROM pawl_event WHERE instance = ? ORDER BY sequence",
            {claim.instance});
        if (events.size() != 1) throw std::runtime_error("an alarm has another journal");
        finish(claim, {.name = rung_, .payload = rung});
    }
    commit();
    return static_cast<long>(claims.size());
}

void SqliteRival::add_burden(long count) {
    begin();
    const auto at = now();
    for (long i = 0; i < count; ++i) {
        db_.run(insert_instance,
                {++instances_, std::string_view{"burden-" + std::to_string(i)}, at, at});
        db_.run(
            "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, created_at, "
            "due_at, encoding, payload) VALUES (?, 1, ?, 1, 0, 1, 0, ?, ?, 1, ?)",
            {++items_, instances_, at, at + day, std::string_view{carry}});
        db_.run(
            "INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, "
            "attempts, losses, losses_alone, failures, created_at, died_at, encoding, reason, "
            "payload) VALUES (?, 1, ?, 1, 0, 1, 0, 1, 0, 0, 0, ?, ?, 1, 'no', ?)",
            {++items_, instances_, at, at, std::string_view{carry}});
    }
    commit();
}

RowCounts SqliteRival::row_counts() {
    return {.instances = number("SELECT count(*) FROM pawl_instance"),
            .finished = number("SELECT count(finished_at) FROM pawl_instance"),
            .events = number("SELECT count(*) FROM pawl_event"),
            .items = number("SELECT count(*) FROM pawl_item")};
}

/// In a directory on disk beside the build: a benchmark on tmpfs would not sync.
class SqlitePlace final : public Place {
public:
    SqlitePlace() {
        std::string pattern = (std::filesystem::current_path() / "pawl-bench-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
        const Engine engine{url()};  // makes the schema
    }
    ~SqlitePlace() override { std::filesystem::remove_all(path_); }
    std::string url() const override { return "sqlite:" + file(); }
    std::vector<std::unique_ptr<Rival>> rivals(int connections) override {
        if (connections != 1) throw std::runtime_error("SQLite has one writer");
        std::vector<std::unique_ptr<Rival>> one;
        one.push_back(std::make_unique<SqliteRival>(file()));
        return one;
    }

private:
    std::string file() const { return (path_ / "bench.db").string(); }

    std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<Place> make_sqlite_place() { return std::make_unique<SqlitePlace>(); }

}  // namespace pawl::bench
