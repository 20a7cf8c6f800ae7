// PostgreSQL: a schema of its own on the server in PAWL_BENCH_POSTGRES, and the rival in it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <pawl/migrate.hpp>
#include <stdexcept>

#include "place.hpp"
#include "raw_postgres.hpp"
#include "raw_rows.hpp"

namespace pawl::bench {
namespace {

using Numbers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

struct Prepared {
    const char* name;
    const char* sql;
};

// The cast of a parameter's first use tells its type. A guard that does not hold raises an error,
// by a division by zero: what was posted with it is rolled back, and nobody had to be asked first.
constexpr Prepared prepared[] = {
    {"add_instances",
     "INSERT INTO instance (ref, type, id, version, created_at, updated_at, head) "
     "SELECT ref, 1, id, 1, $3::bigint, $3, $3 * 4096 + ref FROM unnest($1::bigint[], $2::bytea[]) "
     "k (ref, id)"},
    {"add_events",
     "INSERT INTO event (instance, sequence, at, name, kind, encoding, id, payload) "
     "SELECT ref, sequence, $5::bigint, 2, 0, 1, id, payload "
     "FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) "
     "k (ref, sequence, id, payload)"},
    {"add_items",
     "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
     "encoding, causation, payload) SELECT number, 1, ref, sequence, 0, 1, ref % 1024, "
     "$6::bigint, $6, 1, cause, payload "
     "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) "
     "k (number, ref, sequence, cause, payload)"},
    {"add_claimed_items",
     "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, attempts, created_at, "
     "session, fence, encoding, causation, payload) SELECT number, 1, ref, sequence, 0, 1, "
     "ref % 1024, 1, $6::bigint, $7::bigint, $8::bigint, 1, cause, payload "
     "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) "
     "k (number, ref, sequence, cause, payload)"},
    {"finish_instances",
     "WITH done AS (UPDATE instance SET version = 2, updated_at = $2::bigint, finished_at = $2, "
     "head = $2 * 4096 + ref WHERE ref = ANY ($1::bigint[]) AND version = 1 RETURNING 1) "
     "SELECT 1 / (count(*) = cardinality($1))::integer FROM done"},
    {"move_runs",
     "WITH done AS (UPDATE instance n SET version = $3::bigint, updated_at = $4::bigint, "
     "finished_at = nullif($5::bigint, 0), head = $4 * 4096 + ref WHERE n.ref = ANY ($1::bigint[]) "
     "AND n.version = $2::bigint RETURNING 1) "
     "SELECT 1 / (count(*) = cardinality($1))::integer FROM done"},
    {"hold_items",
     "SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM (SELECT 1 FROM item "
     "WHERE id = ANY ($1) AND fence = $2::bigint FOR UPDATE) held"},
    {"remove_items",
     "WITH done AS (DELETE FROM item WHERE id = ANY ($1::bigint[]) AND fence = $2::bigint "
     "RETURNING 1) "
     "SELECT 1 / (count(*) = cardinality($1))::integer FROM done"},
    {"remove_timers", "DELETE FROM item WHERE instance = ANY ($1::bigint[]) AND kind = 2"},
    {"add_results",
     "INSERT INTO event (instance, sequence, at, name, kind, encoding, id, causation, "
     "correlation, payload) SELECT ref, 2, $5::bigint, $6::bigint, 0, 1, id, id, correlation, "
     "payload FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bytea[]) "
     "k (ref, id, correlation, payload)"},
    {"move_hot",
     "WITH done AS (UPDATE instance SET version = $3::bigint, updated_at = $4::bigint, "
     "head = $4 * 4096 + ref WHERE ref = $1::bigint AND version = $2::bigint RETURNING 1) "
     "SELECT 1 / count(*) FROM done"},
    {"set_snapshot",
     "INSERT INTO snapshot (instance, sequence, version, encoding, payload) "
     "VALUES ($1::bigint, $2::bigint, 1, 1, $3::bytea) ON CONFLICT (instance) DO UPDATE "
     "SET sequence = excluded.sequence, payload = excluded.payload"},
    // The claim, and with it what is needed to decide.
    {"claim",
     "WITH due AS (SELECT id FROM item WHERE line = (SELECT min(ref) FROM line) AND alone = 0 AND "
     "due_at <= $1::bigint "
     "ORDER BY due_at, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED), "
     "claimed AS (UPDATE item i SET due_at = NULL, session = $3::bigint, fence = $4::bigint, "
     "attempts = attempts + 1 FROM due WHERE i.id = due.id RETURNING i.id, i.instance, i.payload) "
     "SELECT c.id, c.instance, e.sequence, c.payload, e.payload FROM claimed c "
     "JOIN event e ON e.instance = c.instance ORDER BY c.instance, e.sequence"},
    {"add_waiting_items",
     "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
     "encoding, payload) SELECT ref, 1, ref, 1, 0, 1, 0, $2::bigint, $3::bigint, 1, $4::bytea "
     "FROM unnest($1::bigint[]) k (ref)"},
    {"add_dead_letters",
     "INSERT INTO dead_letter (id, line, instance, sequence, idx, kind, shard, attempts, losses, "
     "losses_alone, failures, created_at, died_at, encoding, reason, payload) "
     "SELECT id, 1, ref, 1, 0, 1, 0, 1, 0, 0, 0, $3::bigint, $3, 1, 'no', $4::bytea "
     "FROM unnest($1::bigint[], $2::bigint[]) k (id, ref)"},
    {"add_messages",
     "INSERT INTO message (channel, part, at, due_at, encoding, id, message_key, type, payload) "
     "SELECT 1, part, $5::bigint, 0, 1, id, key, 'Note', payload "
     "FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) k (part, id, key, payload)"},
    {"begin", "BEGIN"},
    {"commit", "COMMIT"},
    {"add_instance",
     "INSERT INTO instance (ref, type, id, version, created_at, updated_at, head) "
     "VALUES ($1::bigint, 1, $2::bytea, 0, $3::bigint, $3, $3 * 4096 + $1)"},
    {"lock", "SELECT ref, version FROM instance WHERE type = 1 AND id = $1::bytea FOR UPDATE"},
    {"read", "SELECT sequence, payload FROM event WHERE instance = $1::bigint ORDER BY sequence"},
    {"add_event",
     "INSERT INTO event (instance, sequence, at, name, kind, encoding, id, payload) "
     "VALUES ($1::bigint, 1, $2::bigint, 2, 0, 1, $3::bytea, $4::bytea)"},
    {"add_item",
     "INSERT INTO item (id, line, instance, sequence, idx, kind, shard, created_at, due_at, "
     "encoding, causation, payload) VALUES ($1::bigint, 1, $1, 1, 0, 1, $1 % 1024, "
     "$2::bigint, $2, 1, $3::bytea, $4::bytea)"},
    {"update",
     "UPDATE instance SET version = 1, updated_at = $2::bigint, head = $2 * 4096 + ref "
     "WHERE ref = $1::bigint"},
    {"rung", "SELECT ref FROM name WHERE name = 'Rung'"},
    // Leaves what an engine takes after this far behind it.
    {"reserve",
     "SELECT setval('instance_block', n + (1::bigint << 40)) - (1::bigint << 40), "
     "setval('item_block', n + (1::bigint << 40)) "
     "FROM greatest(nextval('instance_block'), nextval('item_block')) n"},
    {"count",
     "SELECT (SELECT count(*) FROM instance), (SELECT count(finished_at) FROM instance), "
     "(SELECT count(*) FROM event), (SELECT count(*) FROM item)"},
};

/// One number for an instance and its item, for all connections that were made together.
using NextNumber = std::atomic<std::int64_t>;

class PostgresRival final : public Rival {
public:
    PostgresRival(const std::string& server, const std::string& schema);
    /// For those that are made together.
    void share(std::shared_ptr<NextNumber> next) { next_ = std::move(next); }
    std::int64_t reserve() { return db_.run("reserve").front().front(); }

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
    void post_parcels(const Numbers& numbers, const Ids& ids, const char* add_items,
                      const RawPostgres::Parameters& claim);
    void finish(const Numbers& instances, const Numbers& items, const Result& result);
    void append_entries(const Numbers& runs, std::int64_t version,
                        const std::vector<std::string>& entries);

    RawPostgres db_;
    std::shared_ptr<NextNumber> next_;
    std::int64_t hot_ = 0;
    std::int64_t rung_ = 0;
};

Texts uuids(std::size_t count) {
    Texts out(count);
    for (auto& id : out) id = uuid();
    return out;
}

std::string array_of(const std::string& payload, std::size_t count) {
    return binary_array(Bytes::bytea, Texts(count, payload));
}

PostgresRival::PostgresRival(const std::string& server, const std::string& schema) : db_(server) {
    db_.command(fmt::format("SET search_path = {}", schema));
    // As the engine does: a plan that is made while a table is empty is kept, and must be right
    // when it is full.
    db_.command(
        "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; "
        "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; "
        "SET jit = off");
    db_.command(
        "INSERT INTO name (name) SELECT name FROM unnest(ARRAY['parcel', 'Posted', 'Arrived']) k "
        "(name) WHERE NOT EXISTS (SELECT 1 FROM name)");
    db_.command(
        "INSERT INTO line (kind, type, name) SELECT 1, 1, 'Carry' "
        "WHERE NOT EXISTS (SELECT 1 FROM line)");
    db_.command("INSERT INTO name (name) VALUES ('Rung') ON CONFLICT DO NOTHING");
    for (const auto& [name, sql] : prepared) db_.prepare(name, sql);
    rung_ = db_.run("rung").front().front();
}

Numbers PostgresRival::take(std::size_t count) {
    Numbers numbers(count);
    auto number = next_->fetch_add(static_cast<std::int64_t>(count));
    for (auto& each : numbers) each = number++;
    return numbers;
}

void PostgresRival::post_parcels(const Numbers& numbers, const Ids& ids, const char* add_items,
                                 const RawPostgres::Parameters& claim) {
    const auto at = binary(now());
    const auto count = ids.size();
    const auto refs = binary_array(numbers);
    const auto ones = binary_array(Numbers(count, 1));
    const auto events = binary_array(Bytes::bytea, uuids(count));
    db_.post("add_instances", {refs, binary_array(Bytes::bytea, ids), at});
    db_.post("add_events", {refs, ones, events, array_of(posted, count), at});
    RawPostgres::Parameters items{refs, refs, ones, events, array_of(carry, count), at};
    items.insert(items.end(), claim.begin(), claim.end());
    db_.post(add_items, items);
}

void PostgresRival::insert(const Ids& ids) {
    post_parcels(take(ids.size()), ids, "add_items", {});
    db_.commit_posted();
}

void PostgresRival::insert_alone(const std::string& id) {
    const auto at = binary(now());
    const auto ref = binary(take(1).front());
    const auto event = uuid();
    db_.run("begin");
    db_.run("add_instance", {ref, id, at});
    db_.run("lock", {id});
    db_.run("read", {ref});
    db_.run("add_event", {ref, at, event, posted});
    db_.run("add_item", {ref, at, event, carry});
    db_.run("update", {ref, at});
    db_.run("commit");
}

void PostgresRival::cycle(const Ids& ids) {
    const auto numbers = take(ids.size());
    post_parcels(numbers, ids, "add_claimed_items",
                 {binary(claiming_session), binary(claiming_fence)});
    db_.commit_posted();
    finish(numbers, numbers, {.name = 3, .payload = arrived});
}

void PostgresRival::finish(const Numbers& instances, const Numbers& items, const Result& result) {
    const auto at = binary(now());
    const auto count = instances.size();
    const auto refs = binary_array(instances);
    db_.post("finish_instances", {refs, at});
    db_.post("remove_items", {binary_array(items), binary(claiming_fence)});
    db_.post("remove_timers", {refs});
    db_.post("add_results", {refs, binary_array(Bytes::bytea, uuids(count)),
                             binary_array(Bytes::text, Texts(count, correlation)),
                             array_of(result.payload, count), at, binary(result.name)});
    db_.commit_posted();
}

void PostgresRival::run_steps(const Ids& ids) {
    const auto runs = take(ids.size());
    post_parcels(runs, ids, "add_claimed_items",
                 {binary(claiming_session), binary(claiming_fence)});
    db_.commit_posted();
    append_entries(runs, 1, {stepped});
    append_entries(runs, 2, {stepped});
    append_entries(runs, 3, {stepped, ended});
}

void PostgresRival::append_entries(const Numbers& runs, std::int64_t version,
                                   const std::vector<std::string>& entries) {
    const auto at = binary(now());
    const auto refs = binary_array(runs);
    const bool last = entries.size() > 1;
    const auto next = version + static_cast<std::int64_t>(entries.size());
    db_.post("move_runs", {refs, binary(version), binary(next), at, binary(last ? now() : 0)});
    db_.post(last ? "remove_items" : "hold_items", {refs, binary(claiming_fence)});
    auto sequence = version;
    for (const auto& entry : entries)
        db_.post("add_events", {refs, binary_array(Numbers(runs.size(), ++sequence)),
                                binary_array(Bytes::bytea, uuids(runs.size())),
                                array_of(entry, runs.size()), at});
    db_.commit_posted();
}

void PostgresRival::append_to_hot(long sequence, int count) {
    const auto at = binary(now());
    const auto size = static_cast<std::size_t>(count);
    const bool first = hot_ == 0;
    const auto numbers = take(size);
    if (first) hot_ = numbers.front();
    Numbers sequences(size);
    for (std::size_t i = 0; i < size; ++i) sequences[i] = sequence + static_cast<std::int64_t>(i);
    const auto refs = binary_array(Numbers(size, hot_));
    const auto events = binary_array(Bytes::bytea, uuids(size));
    if (first)
        db_.post("add_instances", {binary_array({hot_}), binary_array(Bytes::bytea, {"hot"}), at});
    db_.post("move_hot",
             {binary(hot_), binary(first ? 1 : sequence - 1), binary(sequences.back()), at});
    db_.post("add_events", {refs, binary_array(sequences), events, array_of(posted, size), at});
    db_.post("add_items", {binary_array(numbers), refs, binary_array(sequences), events,
                           array_of(carry, size), at});
    if (const auto last = last_snapshot(sequence, count))
        db_.post("set_snapshot", {binary(hot_), binary(last), state});
    db_.commit_posted();
}

void PostgresRival::publish(const Ids& keys) {
    Numbers parts;
    Texts ids;
    for (const auto& key : keys) {
        parts.push_back(partition_of(key));
        ids.push_back(ordered_id());
    }
    db_.post("add_messages",
             {binary_array(parts), binary_array(Bytes::bytea, ids),
              binary_array(Bytes::bytea, keys), array_of(note, keys.size()), binary(now())});
    db_.commit_posted();
}

long PostgresRival::fire(int limit) {
    const auto claimed = db_.run(
        "claim", {binary(now()), binary(limit), binary(claiming_session), binary(claiming_fence)});
    if (claimed.empty()) return 0;
    Numbers items, instances;
    for (const auto& row : claimed) {
        if (row[2] != 1) throw std::runtime_error("an alarm has another journal");
        items.push_back(row[0]);
        instances.push_back(row[1]);
    }
    finish(instances, items, {.name = rung_, .payload = rung});
    return static_cast<long>(items.size());
}

void PostgresRival::add_burden(long count) {
    constexpr long at_once = 10'000;
    const auto at = now();
    for (long done = 0; done < count; done += at_once) {
        const auto size = static_cast<std::size_t>(std::min(at_once, count - done));
        Ids ids(size);
        for (std::size_t i = 0; i < size; ++i)
            ids[i] = fmt::format("burden-{}", done + static_cast<long>(i));
        const auto numbers = take(size);
        const auto refs = binary_array(numbers);
        db_.post("add_instances", {refs, binary_array(Bytes::bytea, ids), binary(at)});
        db_.post("add_waiting_items", {refs, binary(at), binary(at + day), carry});
        db_.post("add_dead_letters", {binary_array(take(size)), refs, binary(at), carry});
        db_.commit_posted();
    }
}

RowCounts PostgresRival::row_counts() {
    const auto row = db_.run("count").front();
    return {.instances = row[0], .finished = row[1], .events = row[2], .items = row[3]};
}

std::string server() {
    const char* given = std::getenv("PAWL_BENCH_POSTGRES");
    if (!given)
        throw std::runtime_error("PAWL_BENCH_POSTGRES names no server; ./dev bench starts one");
    return given;
}

class PostgresPlace final : public Place {
public:
    PostgresPlace() {
        static std::atomic<int> count{0};
        schema_ = fmt::format("bench_{}_{}", ::getpid(), ++count);
        pawl::migrate(url());
    }
    ~PostgresPlace() override {
        try {
            RawPostgres{server()}.command(fmt::format("DROP SCHEMA {} CASCADE", schema_));
        } catch (const std::exception&) {
            // The server is thrown away too; what made this fail has been told already.
        }
    }
    std::string url() const override {
        const auto base = server();
        return base + (base.find('?') == base.npos ? '?' : '&') + "schema=" + schema_;
    }
    std::vector<std::unique_ptr<Rival>> rivals(int connections) override;
    void settle() override;

private:
    std::string schema_;
};

std::vector<std::unique_ptr<Rival>> PostgresPlace::rivals(int connections) {
    std::vector<std::unique_ptr<Rival>> all;
    std::shared_ptr<NextNumber> next;
    for (int i = 0; i < connections; ++i) {
        auto rival = std::make_unique<PostgresRival>(server(), schema_);
        if (!next) next = std::make_shared<NextNumber>(rival->reserve());
        rival->share(next);
        all.push_back(std::move(rival));
    }
    return all;
}

// Without statistics of its own the planner guesses, for the rival as for the engine; autovacuum
// would bring them a minute later, in the middle of one side.
void PostgresPlace::settle() {
    RawPostgres db{server()};
    for (const char* table : {"instance", "event", "item", "dead_letter"})
        db.command(fmt::format("VACUUM (ANALYZE) {}.{}", schema_, table));
}

}  // namespace

std::unique_ptr<Place> make_postgres_place() { return std::make_unique<PostgresPlace>(); }

}  // namespace pawl::bench
