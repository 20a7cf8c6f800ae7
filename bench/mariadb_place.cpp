// MariaDB: a database of its own on the server in PAWL_BENCH_MARIADB, and the rival in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <pawl/pawl.hpp>
#include <stdexcept>

#include "place.hpp"
#include "raw_mariadb.hpp"
#include "raw_rows.hpp"

namespace pawl::bench {
namespace {

using Row = RawMariadb::Row;
using Value = RawMariadb::Value;
using Numbers = std::vector<std::int64_t>;

constexpr const char* insert_instance =
    "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at, head) "
    "VALUES (?, 1, ?, 1, ?, ?, ?)";
/// As many bytes as the engine's, and others with every write.
std::int64_t head_at(std::int64_t at, std::int64_t ref) { return at * 4096 + ref; }

constexpr const char* insert_event =
    "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, payload) "
    "VALUES (?, ?, ?, ?, 2, 0, 1, ?, ?)";
constexpr const char* insert_item =
    "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
    "encoding, causation, payload) VALUES (?, 1, ?, ?, 0, 1, ?, ?, ?, 1, ?, ?)";
constexpr const char* insert_claimed_item =
    "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, created_at, "
    "session, fence, encoding, causation, payload) VALUES (?, 1, ?, ?, 0, 1, ?, 1, ?, ?, ?, 1, ?, "
    "?)";
constexpr const char* insert_result =
    "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, encoding, id, "
    "causation, correlation, payload) VALUES (?, ?, 2, ?, ?, 0, 1, ?, ?, ?, ?)";
constexpr const char* insert_dead_letter =
    "INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, attempts, "
    "losses, losses_alone, failures, created_at, died_at, encoding, reason, payload) "
    "VALUES (?, 1, ?, 1, 0, 1, 0, 1, 0, 0, 0, ?, ?, 1, 'no', ?)";

/// One number for an instance, its item and its event, for all connections that were made together.
using NextNumber = std::atomic<std::int64_t>;

enum class Claimed { no, yes };

class MariadbRival final : public Rival {
public:
    explicit MariadbRival(const std::string& database);
    /// For those that are made together.
    void share(std::shared_ptr<NextNumber> next) { next_ = std::move(next); }
    std::int64_t first_free();

    void insert(const Ids& ids) override;
    void insert_alone(const std::string& id) override;
    void cycle(const Ids& ids) override;
    void run_steps(const Ids& ids) override;
    void append_to_hot(long sequence, int count) override;
    long fire(int limit) override;
    void publish(const Ids& keys) override;
    void add_burden(long count) override;
    RowCounts row_counts() override;

private:
    struct Result {
        std::int64_t name;
        const std::string& payload;
    };

    Numbers take(std::size_t count);
    void insert_parcels(const Numbers& numbers, const Ids& ids, Claimed claimed);
    void finish(const Numbers& instances, const Numbers& items, const Result& result);
    void append_entries(const Numbers& runs, std::int64_t version,
                        const std::vector<std::string>& entries);
    /// Writes the counters, as any program that hands out numbers must.
    void commit(std::int64_t last);

    RawMariadb db_;
    std::shared_ptr<NextNumber> next_;
    std::int64_t hot_ = 0;
    std::int64_t rung_ = 0;
};

MariadbRival::MariadbRival(const std::string& database) : db_(database) {
    db_.query(
        "INSERT INTO pawl_name (ref, name) SELECT * FROM (SELECT 1, 'parcel' UNION ALL "
        "SELECT 2, 'Posted' UNION ALL SELECT 3, 'Arrived') k "
        "WHERE NOT EXISTS (SELECT 1 FROM pawl_name)");
    db_.query(
        "INSERT INTO pawl_line (ref, kind, type, name) SELECT 1, 1, 1, 'Carry' FROM DUAL "
        "WHERE NOT EXISTS (SELECT 1 FROM pawl_line)");
    db_.query("INSERT IGNORE INTO pawl_name (name) VALUES ('Rung')");
    db_.query("COMMIT");
    rung_ = db_.rows("SELECT ref FROM pawl_name WHERE name = 'Rung'").front().front();
    db_.query("COMMIT");
}

std::int64_t MariadbRival::first_free() {
    const auto rows = db_.rows("SELECT GREATEST(instance, position, item) FROM pawl_counter");
    db_.query("COMMIT");
    return rows.front().front() + 1;
}

Numbers MariadbRival::take(std::size_t count) {
    Numbers numbers(count);
    auto number = next_->fetch_add(static_cast<std::int64_t>(count));
    for (auto& each : numbers) each = number++;
    return numbers;
}

void MariadbRival::commit(std::int64_t last) {
    db_.query(
        fmt::format("UPDATE pawl_counter SET instance = GREATEST(instance, {0}), "
                    "position = GREATEST(position, {0}), item = GREATEST(item, {0})",
                    last));
    db_.query("COMMIT");
}

void MariadbRival::insert_parcels(const Numbers& numbers, const Ids& ids, Claimed claimed) {
    const auto at = now();
    const bool held = claimed == Claimed::yes;
    std::vector<Row> instances, events, items;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto n = numbers[i];
        const auto event = uuid();
        instances.push_back({n, ids[i], at, at, head_at(at, n)});
        events.push_back({n, n, std::int64_t{1}, at, event, posted});
        if (held)
            items.push_back({n, n, std::int64_t{1}, n % 1024, at, claiming_session, claiming_fence,
                             event, carry});
        else
            items.push_back({n, n, std::int64_t{1}, n % 1024, at, at, event, carry});
    }
    db_.run(insert_instance, instances);
    db_.run(insert_event, events);
    db_.run(held ? insert_claimed_item : insert_item, items);
    commit(numbers.back());
}

void MariadbRival::insert(const Ids& ids) { insert_parcels(take(ids.size()), ids, Claimed::no); }

// One row is bound as it is, not as an array.
void MariadbRival::insert_alone(const std::string& id) {
    const auto n = take(1).front();
    const auto at = now();
    const auto event = uuid();
    db_.query("START TRANSACTION");
    db_.run(insert_instance, {{n, id, at, at, head_at(at, n)}});
    db_.query(fmt::format("SELECT version FROM pawl_instance WHERE ref = {} FOR UPDATE", n));
    db_.query(fmt::format("SELECT sequence, payload FROM pawl_event WHERE instance = {}", n));
    db_.run(insert_event, {{n, n, std::int64_t{1}, at, event, posted}});
    db_.run(insert_item, {{n, n, std::int64_t{1}, n % 1024, at, at, event, carry}});
    db_.run("UPDATE pawl_instance SET version = 1, updated_at = ?, head = ? WHERE ref = ?",
            {{at, head_at(at, n), n}});
    db_.query("COMMIT");
}

void MariadbRival::publish(const Ids& keys) {
    std::vector<RawMariadb::Row> rows;
    const auto at = now();
    for (const auto& key : keys) rows.push_back({partition_of(key), at, ordered_id(), key, note});
    db_.query("START TRANSACTION");
    db_.run(
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, type, "
        "payload) "
        "VALUES (1, ?, ?, 0, 1, ?, ?, 'Note', ?)",
        rows);
    db_.query("COMMIT");
}

void MariadbRival::cycle(const Ids& ids) {
    const auto numbers = take(ids.size());
    insert_parcels(numbers, ids, Claimed::yes);
    finish(numbers, numbers, {.name = 3, .payload = arrived});
}

// A list of keys in the text is one statement for all; an array of parameters would run one for
// each key, and that takes longer where no column differs from row to row.
void MariadbRival::finish(const Numbers& instances, const Numbers& items, const Result& result) {
    const auto at = now();
    const auto refs = fmt::format("{}", fmt::join(instances, ","));
    const auto finished = db_.query(
        fmt::format("UPDATE pawl_instance SET version = 2, updated_at = {0}, finished_at = {0}, "
                    "head = {0} * 4096 + ref WHERE ref IN ({1}) AND version = 1",
                    at, refs));
    const auto removed =
        db_.query(fmt::format("DELETE FROM pawl_item WHERE id IN ({}) AND fence = {}",
                              fmt::join(items, ","), claiming_fence));
    const auto wanted = static_cast<long>(items.size());
    if (finished != wanted || removed != wanted)
        throw std::runtime_error("the rival has lost a claim");
    db_.query(
        fmt::format("DELETE i FROM pawl_item i FORCE INDEX (pawl_item_of_instance) "
                    "WHERE i.instance IN ({}) AND i.kind = 2",
                    refs));
    const auto positions = take(instances.size());
    std::vector<Row> events;
    for (std::size_t i = 0; i < instances.size(); ++i) {
        const auto event = uuid();
        events.push_back({positions[i], instances[i], at, result.name, event, event, correlation,
                          result.payload});
    }
    db_.run(insert_result, events);
    commit(positions.back());
}

void MariadbRival::run_steps(const Ids& ids) {
    const auto runs = take(ids.size());
    insert_parcels(runs, ids, Claimed::yes);
    append_entries(runs, 1, {stepped});
    append_entries(runs, 2, {stepped});
    append_entries(runs, 3, {stepped, ended});
}

void MariadbRival::append_entries(const Numbers& runs, std::int64_t version,
                                  const std::vector<std::string>& entries) {
    const auto at = now();
    const bool last = entries.size() > 1;
    const auto refs = fmt::format("{}", fmt::join(runs, ","));
    const auto wanted = static_cast<long>(runs.size());
    const auto moved = db_.query(
        fmt::format("UPDATE pawl_instance SET version = {0}, updated_at = {1}, finished_at = {2}, "
                    "head = {1} * 4096 + ref WHERE ref IN ({3}) AND version = {4}",
                    version + static_cast<std::int64_t>(entries.size()), at,
                    last ? std::to_string(at) : "NULL", refs, version));
    const auto held =
        last ? db_.query(fmt::format("DELETE FROM pawl_item WHERE id IN ({}) AND fence = {}", refs,
                                     claiming_fence))
             : db_.rows(fmt::format("SELECT count(*) FROM (SELECT id FROM pawl_item WHERE id IN "
                                    "({}) AND fence = {} FOR UPDATE) held",
                                    refs, claiming_fence))
                   .front()
                   .front();
    if (moved != wanted || held != wanted) throw std::runtime_error("the rival has lost a claim");
    auto sequence = version;
    Numbers positions;
    for (const auto& entry : entries) {
        positions = take(runs.size());
        ++sequence;
        std::vector<Row> events;
        for (std::size_t i = 0; i < runs.size(); ++i)
            events.push_back({positions[i], runs[i], sequence, at, uuid(), entry});
        db_.run(insert_event, events);
    }
    commit(positions.back());
}

void MariadbRival::append_to_hot(long sequence, int count) {
    const auto at = now();
    const auto numbers = take(static_cast<std::size_t>(count));
    const bool first = hot_ == 0;
    if (first) {
        hot_ = numbers.front();
        db_.run(insert_instance, {{hot_, std::string{"hot"}, at, at, head_at(at, hot_)}});
    }
    const auto last = sequence + count - 1;
    const auto moved =
        db_.query(fmt::format("UPDATE pawl_instance SET version = {0}, updated_at = {1}, "
                              "head = {1} * 4096 + ref WHERE ref = {2} AND version = {3}",
                              last, at + 1, hot_, first ? 1 : sequence - 1));
    if (moved != 1) throw std::runtime_error("somebody else has written to the rival's instance");
    std::vector<Row> events, items;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto n = numbers[i];
        const auto each = sequence + static_cast<std::int64_t>(i);
        const auto event = uuid();
        events.push_back({n, hot_, each, at, event, posted});
        items.push_back({n, hot_, each, hot_ % 1024, at, at, event, carry});
    }
    db_.run(insert_event, events);
    db_.run(insert_item, items);
    if (const auto due = last_snapshot(sequence, count))
        db_.run(
            "INSERT INTO pawl_snapshot (instance, sequence, version, encoding, payload) "
            "VALUES (?, ?, 1, 1, ?) ON DUPLICATE KEY UPDATE sequence = VALUES(sequence), "
            "payload = VALUES(payload)",
            {{hot_, due, state}});
    commit(numbers.back());
}

long MariadbRival::fire(int limit) {
    const auto due = db_.rows(fmt::format(
        "SELECT id, instance FROM pawl_item FORCE INDEX (pawl_item_waiting) "
        "WHERE line = (SELECT min(ref) FROM pawl_line) "
        "AND alone = 0 AND session IS NULL AND due_at <= {} ORDER BY due_at, id LIMIT {} "
        "FOR UPDATE SKIP LOCKED",
        now(), limit));
    Numbers items, instances;
    for (const auto& row : due) {
        items.push_back(row[0]);
        instances.push_back(row[1]);
    }
    if (!due.empty())
        db_.query(
            fmt::format("UPDATE pawl_item SET due_at = NULL, session = {}, fence = {}, "
                        "attempts = attempts + 1 WHERE id IN ({})",
                        claiming_session, claiming_fence, fmt::join(items, ",")));
    db_.query("COMMIT");
    if (due.empty()) return 0;
    const auto journal =
        db_.rows(fmt::format("SELECT instance, sequence, payload FROM pawl_event "
                             "FORCE INDEX (pawl_event_of_instance) WHERE instance IN ({}) "
                             "ORDER BY instance, sequence",
                             fmt::join(instances, ",")));
    if (journal.size() != due.size()) throw std::runtime_error("an alarm has another journal");
    finish(instances, items, {.name = rung_, .payload = rung});
    return static_cast<long>(due.size());
}

void MariadbRival::add_burden(long count) {
    constexpr long at_once = 10'000;
    const auto at = now();
    for (long done = 0; done < count; done += at_once) {
        const auto size = static_cast<std::size_t>(std::min(at_once, count - done));
        const auto numbers = take(size);
        const auto letters = take(size);
        std::vector<Row> instances, items, dead;
        for (std::size_t i = 0; i < size; ++i) {
            const auto n = numbers[i];
            const auto id = fmt::format("burden-{}", done + static_cast<long>(i));
            instances.push_back({n, id, at, at, head_at(at, n)});
            items.push_back({n, n, std::int64_t{1}, std::int64_t{0}, at, at + day, nullptr, carry});
            dead.push_back({letters[i], n, at, at, carry});
        }
        db_.run(insert_instance, instances);
        db_.run(insert_item, items);
        db_.run(insert_dead_letter, dead);
        commit(letters.back());
    }
}

RowCounts MariadbRival::row_counts() {
    const auto row =
        db_.rows(
               "SELECT (SELECT count(*) FROM pawl_instance), "
               "(SELECT count(finished_at) FROM pawl_instance), (SELECT count(*) FROM pawl_event), "
               "(SELECT count(*) FROM pawl_item)")
            .front();
    db_.query("COMMIT");
    return {.instances = row[0], .finished = row[1], .events = row[2], .items = row[3]};
}

class MariadbPlace final : public Place {
public:
    MariadbPlace() : name_(fmt::format("bench_{}", now())) {
        RawMariadb{}.query("CREATE DATABASE " + name_);
        const Engine engine{url()};  // makes the schema
    }
    ~MariadbPlace() override {
        try {
            RawMariadb{}.query("DROP DATABASE " + name_);
        } catch (const std::exception&) {
            // The server is thrown away too; what made this fail has been told already.
        }
    }
    std::string url() const override {
        const auto text = MariadbServer::of_environment().text;
        return text.substr(0, text.rfind('/') + 1) + name_;
    }
    std::vector<std::unique_ptr<Rival>> rivals(int connections) override;
    void settle() override {
        RawMariadb{name_}.query(
            "ANALYZE TABLE pawl_instance, pawl_event, pawl_item, pawl_dead_letter");
    }

private:
    std::string name_;
};

std::vector<std::unique_ptr<Rival>> MariadbPlace::rivals(int connections) {
    std::vector<std::unique_ptr<Rival>> all;
    std::shared_ptr<NextNumber> next;
    for (int i = 0; i < connections; ++i) {
        auto rival = std::make_unique<MariadbRival>(name_);
        if (!next) next = std::make_shared<NextNumber>(rival->first_free());
        rival->share(next);
        all.push_back(std::move(rival));
    }
    return all;
}

}  // namespace

std::unique_ptr<Place> make_mariadb_place() { return std::make_unique<MariadbPlace>(); }

}  // namespace pawl::bench
