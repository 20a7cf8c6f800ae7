/// The statements of PostgreSQL: arrays in, one call for many rows.
#pragma once

#include "store/sql/postgres/item_statements.hpp"
#include "store/sql/postgres/outbox_statements.hpp"
#include "store/sql/postgres/presumed_statements.hpp"
#include "store/sql/statements.hpp"

namespace pawl::store::sql::postgres {

// A parameter's first use has a cast, from which the connection learns its type. Statements whose
// parameters are arrays are bulk: one call for all rows, and the first column of a result is the
// number of the row of parameters that it belongs to. Rows that a subquery chooses are given as an
// array: as a join, a plan that is made while the table is empty may begin at the wrong side.
//
// The order in which every transaction locks rows, so that no two ever wait for each other:
//
//   1. instances, by ref         groups; dead letters that are tried again or discarded
//   2. unique keys, by key       groups
//   3. sessions, by id           groups (shared, when items are born claimed), claims (shared, the
//                                own), reaping (exclusive, skipping what is locked), closing
//   4. items, by id              groups, release, close, reaping; claims skip what is locked
//   5. dead letters, by id       tried again, discarded
//   6. rows that are new         words as they are met, then instances by name and keys by key: two
//                                writers of one new row wait for each other here
//
// A renewal locks its session only, in a way that the shared locks above let pass. Words are the
// one exception: two groups that each add two new words in opposite order are a deadlock, which the
// server ends, and the store then runs the group again.

inline constexpr Statements statements{
    .names = {.find = "SELECT ref FROM pawl_name WHERE name = $1::text",
              .add = "INSERT INTO pawl_name (name) VALUES ($1::text) ON CONFLICT DO NOTHING",
              .all = "SELECT ref, name FROM pawl_name"},
    .lines = {.find = "SELECT l.ref FROM pawl_line l JOIN pawl_name n ON n.ref = l.type "
                      "WHERE l.kind = $1::integer AND n.name = $2::text AND l.name = $3::text",
              .add = "INSERT INTO pawl_line (kind, type, name) SELECT $1::integer, ref, $3::text "
                     "FROM pawl_name WHERE name = $2::text ON CONFLICT DO NOTHING",
              .all = "SELECT l.ref, l.kind, n.name, l.name FROM pawl_line l "
                     "JOIN pawl_name n ON n.ref = l.type"},
    .dictionary = {.token = "SELECT token FROM pawl_dictionary",
                   .renew = "UPDATE pawl_dictionary SET token = gen_random_uuid()::text"},
    .instances =
        {.find = R"(
            SELECT k.ord, n.ref, n.version, n.finished_at, n.unique_key, n.head
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, id, ord)
              JOIN pawl_instance n ON n.type = k.type AND n.id = k.id)",
         .lock = R"(
            SELECT k.ord, n.ref, n.version, n.finished_at, n.unique_key, n.head
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, id, ord)
              JOIN pawl_instance n ON n.type = k.type AND n.id = k.id
             ORDER BY n.ref FOR NO KEY UPDATE OF n)",
         .rows = R"(
            SELECT k.ord, n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
                   n.updated_at, n.finished_at, n.status, n.head
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, id, ord)
              JOIN pawl_instance n ON n.type = k.type AND n.id = k.id)",
         // In the order of names: two processes that add the same ones wait for each other once.
         .add = R"(
            INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at, finished_at,
                   tenant, unique_key, status, head)
            SELECT ($1::bigint[])[i], ($2::bigint[])[i], id, ($4::bigint[])[i], ($5::bigint[])[i],
                   ($5)[i], ($6::bigint[])[i], ($7::text[])[i], ($8::bytea[])[i],
                   ($9::smallint[])[i], ($10::bigint[])[i]
              FROM unnest($3::bytea[]) WITH ORDINALITY AS k (id, i)
             ORDER BY 2, 3)",
         .update = R"(
            UPDATE pawl_instance n
               SET version = k.version, updated_at = k.at, finished_at = k.finished_at,
                   unique_key = k.unique_key,
                   status = CASE WHEN k.status = 0 THEN n.status ELSE k.status END,
                   head = k.head
              FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[],
                          $6::smallint[], $7::bigint[])
                   AS k (ref, version, at, finished_at, unique_key, status, head)
             WHERE n.ref = k.ref)",
         .page = R"(
            SELECT n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
                   n.updated_at, n.finished_at, n.status, n.head,
                   i.attempts, i.due_at, i.last_error, i.session, s.owner
              FROM pawl_instance n
                   LEFT JOIN LATERAL (
                       SELECT attempts, due_at, last_error, session FROM pawl_item
                        WHERE instance = n.ref AND kind = 3 LIMIT 1) i ON true
                   LEFT JOIN pawl_session s ON s.id = i.session
             WHERE n.ref > $1::bigint AND ($2::bigint IS NULL OR n.type = $2)
               AND ($3::bytea IS NULL OR substr(n.id, 1, length($3)) = $3)
               AND ($4::text IS NULL OR n.tenant = $4)
               AND ($5::integer IS NULL OR (n.finished_at IS NOT NULL) = ($5 = 1))
               AND ($6::bigint IS NULL OR n.created_at >= $6)
               AND ($7::bigint IS NULL OR n.created_at < $7)
               AND ($9::bigint IS NULL OR ((CASE WHEN i.session IS NOT NULL THEN $10::bigint
                                                 WHEN i.last_error IS NOT NULL THEN $11::bigint
                                                 ELSE $9 END >> n.status) & 1) = 1)
             ORDER BY n.ref LIMIT $8::bigint)",
         // With a type and a prefix, the index on (type, id) finds the few that match.
         .page_of_prefix = R"(
            SELECT n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
                   n.updated_at, n.finished_at, n.status, n.head,
                   i.attempts, i.due_at, i.last_error, i.session, s.owner
              FROM pawl_instance n
                   LEFT JOIN LATERAL (
                       SELECT attempts, due_at, last_error, session FROM pawl_item
                        WHERE instance = n.ref AND kind = 3 LIMIT 1) i ON true
                   LEFT JOIN pawl_session s ON s.id = i.session
             WHERE n.ref + 0 > $1::bigint AND n.type = $2::bigint AND n.id >= $3::bytea
               AND n.id < $12::bytea
               AND ($4::text IS NULL OR n.tenant = $4)
               AND ($5::integer IS NULL OR (n.finished_at IS NOT NULL) = ($5 = 1))
               AND ($6::bigint IS NULL OR n.created_at >= $6)
               AND ($7::bigint IS NULL OR n.created_at < $7)
               AND ($9::bigint IS NULL OR ((CASE WHEN i.session IS NOT NULL THEN $10::bigint
                                                 WHEN i.last_error IS NOT NULL THEN $11::bigint
                                                 ELSE $9 END >> n.status) & 1) = 1)
             ORDER BY n.ref + 0 LIMIT $8::bigint)",
         .finished_since =
             "SELECT finished_at, type, id FROM pawl_instance WHERE finished_at >= $1::bigint "
             "ORDER BY finished_at LIMIT $2::bigint",
         // Those that somebody is writing to are left for the next pass.
         .expired = R"(
            SELECT ref FROM pawl_instance n
             WHERE finished_at < $1::bigint
               AND NOT EXISTS (SELECT 1 FROM pawl_item i WHERE i.instance = n.ref)
               AND NOT EXISTS (SELECT 1 FROM pawl_dead_letter d WHERE d.instance = n.ref)
             ORDER BY finished_at, ref LIMIT $2::bigint FOR UPDATE SKIP LOCKED)",
         .remove = "DELETE FROM pawl_instance WHERE ref = ANY ($1::bigint[])"},
    .removed = {.add = "INSERT INTO pawl_removed (instance) SELECT * FROM unnest($1::bigint[])",
                .events = R"(
            DELETE FROM pawl_event WHERE position = ANY (ARRAY(
                   SELECT e.position FROM pawl_removed r CROSS JOIN LATERAL (
                          SELECT position FROM pawl_event WHERE instance = r.instance
                          OFFSET 0 FOR UPDATE SKIP LOCKED) AS e
                    LIMIT $1::bigint)))",
                .forget = "DELETE FROM pawl_removed WHERE NOT EXISTS (SELECT 1 FROM pawl_event e "
                          "WHERE e.instance = pawl_removed.instance)"},
    .events =
        {// The server gives the positions, in the order of the rows; $1 is not used. Those who
         // follow rest on it that a transaction has its number before its first position; joined
         // with others, this may be the first of them that runs.
         .add = R"(
            INSERT INTO pawl_event (instance, sequence, at, name, kind, encoding, id, causation,
                   correlation, conversation, tenant, trace, payload)
            SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                   $6::smallint[], $7::smallint[], $8::bytea[], $9::bytea[], $10::text[],
                   $11::text[], $12::text[], $13::text[], $14::bytea[])
             WHERE pg_current_xact_id() IS NOT NULL)",
         .load = R"(
            SELECT k.ord, e.name, e.kind, e.encoding, e.id, e.payload
              FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
                   AS k (instance, after, up_to, ord)
              JOIN pawl_event e ON e.instance = k.instance AND e.sequence > k.after
                   AND e.sequence <= k.up_to
             ORDER BY k.ord, e.sequence)",
         .ids = R"(
            SELECT k.ord, e.id FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY
                   AS k (instance, sequence, ord)
              JOIN pawl_event e ON e.instance = k.instance AND e.sequence = k.sequence)",
         .journal = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_instance n JOIN pawl_event e ON e.instance = n.ref
             WHERE n.type = $1::bigint AND n.id = $2::bytea AND e.sequence > $3::bigint
             ORDER BY e.sequence LIMIT $4::bigint)",
         // Backwards along the index as far as it takes, and no sorting of the whole journal.
         .journal_back = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_instance n
             CROSS JOIN LATERAL (SELECT * FROM pawl_event
                                  WHERE instance = n.ref AND name = $3::bigint
                                    AND sequence < $4::bigint
                                  ORDER BY sequence DESC LIMIT $5::bigint) e
             WHERE n.type = $1::bigint AND n.id = $2::bytea ORDER BY e.sequence DESC)",
         .entries = R"(
            SELECT k.ord, e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id,
                   e.causation, e.correlation, e.conversation, e.tenant, e.trace, e.payload,
                   n.type, n.id
              FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k (instance, sequence, ord)
              JOIN pawl_event e ON e.instance = k.instance AND e.sequence = k.sequence
              JOIN pawl_instance n ON n.ref = k.instance)",
         // (before, floor and ceiling of it, until, seen, limit, last restored, given of those):
         // events that were committed at `until` and not at `before`. Transactions that began later
         // than `before` have numbers from the ceiling on and positions above the floor, so the
         // primary key leads to them in their order; the few that ran at `before` are found by
         // their numbers, whether the snapshot names them or stops short of them. Up to the last
         // restored position, numbers are those of another cluster, and everything is committed.
         .follow = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM ((SELECT * FROM pawl_event
                      WHERE position > greatest($2::bigint, $5::bigint, $7::bigint)
                        AND xid >= pg_snapshot_xmax($1::text::pg_snapshot)
                        AND pg_visible_in_snapshot(xid, $4::text::pg_snapshot)
                      ORDER BY position LIMIT $6::bigint)
                    UNION ALL
                    (SELECT * FROM pawl_event
                      WHERE xid >= pg_snapshot_xmax($1::text::pg_snapshot)
                        AND xid < $3::text::xid8
                        AND pg_visible_in_snapshot(xid, $4::text::pg_snapshot)
                        AND position > greatest($5, $7) AND position <= $2
                      ORDER BY position LIMIT $6)
                    UNION ALL
                    (SELECT * FROM pawl_event
                      WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::text::pg_snapshot)))
                        AND pg_visible_in_snapshot(xid, $4::text::pg_snapshot)
                        AND position > greatest($5, $7)
                      ORDER BY position LIMIT $6)
                    UNION ALL
                    (SELECT * FROM pawl_event
                      WHERE $2 < $7 AND position > $5 AND position <= $7
                        AND NOT pg_visible_in_snapshot(xid, $8::text::pg_snapshot)
                      ORDER BY position LIMIT $6)) e
              JOIN pawl_instance n ON n.ref = e.instance
             ORDER BY e.position LIMIT $6)"},
    .snapshots = {.set = R"(
            INSERT INTO pawl_snapshot (instance, sequence, version, encoding, payload)
            SELECT DISTINCT ON (instance) instance, sequence, version, encoding, payload
              FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::smallint[], $5::bytea[])
                   WITH ORDINALITY AS k (instance, sequence, version, encoding, payload, ord)
             ORDER BY instance, ord DESC
            ON CONFLICT (instance) DO UPDATE
               SET sequence = excluded.sequence, version = excluded.version,
                   encoding = excluded.encoding, payload = excluded.payload)",
                  .load = R"(
            SELECT k.ord, s.sequence, s.version, s.encoding, s.payload
              FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) WITH ORDINALITY
                   AS k (instance, version, up_to, ord)
              JOIN pawl_snapshot s ON s.instance = k.instance AND s.version = k.version
                   AND s.sequence <= k.up_to)",
                  .remove = "DELETE FROM pawl_snapshot WHERE instance = ANY ($1::bigint[])"},
    .inputs = {.find = R"(
            SELECT k.ord, p.version FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY
                   AS k (instance, input_id, ord)
              JOIN pawl_input p ON p.instance = k.instance AND p.input_id = k.input_id)",
               .add = R"(
            INSERT INTO pawl_input (instance, input_id, version, at)
            SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]))",
               // Only the oldest rows are looked at, so that a pass is always short; those that
               // another process removes are left to it.
               .vacuum = R"(
            DELETE FROM pawl_input WHERE number = ANY (ARRAY(
                   SELECT number FROM (SELECT number, at FROM pawl_input ORDER BY number
                                        LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS oldest
                    WHERE at < $1::bigint)))",
               .remove = "DELETE FROM pawl_input WHERE instance = ANY ($1::bigint[])"},
    .unique_keys = {.find = R"(
            SELECT k.ord, u.instance, n.id
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, key, ord)
              JOIN pawl_unique_key u ON u.type = k.type AND u.key = k.key
              JOIN pawl_instance n ON n.ref = u.instance)",
                    .lock = R"(
            SELECT k.ord, u.instance, n.id
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, key, ord)
              JOIN pawl_unique_key u ON u.type = k.type AND u.key = k.key
              JOIN pawl_instance n ON n.ref = u.instance
             ORDER BY u.type, u.key FOR UPDATE OF u)",
                    .add = R"(
            INSERT INTO pawl_unique_key (type, key, instance)
            SELECT type, key, instance
              FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS k (type, key, instance)
             ORDER BY type, key)",
                    .remove = R"(
            DELETE FROM pawl_unique_key u USING unnest($1::bigint[], $2::bytea[]) AS k (type, key)
             WHERE u.type = k.type AND u.key = k.key)"},
    .items = item_statements,
    .failures = failure_statements,
    .dead_letters = dead_letter_statements,
    .endings = {.add = R"(
            INSERT INTO pawl_ending (item, line, instance, ending, at, key, reason)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::smallint[],
                   $5::bigint[], $6::bytea[], $7::text[]))",
                .page = R"(
            SELECT e.item, e.line, n.id, e.key, e.ending, e.reason, e.at
              FROM pawl_ending e JOIN pawl_line l ON l.ref = e.line
              JOIN pawl_instance n ON n.ref = e.instance
             WHERE e.item > $1::bigint AND ($2::integer IS NULL OR l.kind = $2)
               AND ($3::bigint IS NULL OR l.type = $3) AND ($4::text IS NULL OR l.name = $4)
               AND ($6::bytea IS NULL OR n.id = $6)
             ORDER BY e.item LIMIT $5::bigint)",
                .vacuum = R"(
            DELETE FROM pawl_ending WHERE item = ANY (ARRAY(
                   SELECT item FROM pawl_ending WHERE at < $1::bigint ORDER BY at
                    LIMIT $2::bigint FOR UPDATE SKIP LOCKED)))",
                .remove = "DELETE FROM pawl_ending WHERE instance = ANY ($1::bigint[])"},
    .inbox =
        {// The server gives the positions, in the order of the rows; $1 is not used. The rows of
         // the runs are locked by an earlier statement, with guards presumed or read: so the
         // mail of a run has positions in the order of the commits.
         .add = R"(
            INSERT INTO pawl_inbox (type, id, shard, at, encoding, name, input_id, causation,
                   correlation, conversation, tenant, trace, payload)
            SELECT * FROM unnest($2::bigint[], $3::bytea[], $4::integer[], $5::bigint[],
                   $6::smallint[], $7::text[], $8::bytea[], $9::bytea[], $10::text[], $11::text[],
                   $12::text[], $13::text[], $14::bytea[]))",
         .page = "SELECT position, at, encoding, name, input_id, causation, correlation, "
                 "conversation, tenant, trace, payload FROM pawl_inbox "
                 "WHERE type = $1::bigint AND id = $2::bytea ORDER BY position "
                 "LIMIT $3::bigint",
         .take = R"(
            DELETE FROM pawl_inbox b
             USING unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS k (position, type, id)
             WHERE b.position = k.position AND b.type = k.type AND b.id = k.id)",
         .clear = R"(
            DELETE FROM pawl_inbox b USING unnest($1::bigint[], $2::bytea[]) AS k (type, id)
             WHERE b.type = k.type AND b.id = k.id)"},
    .channels = channels,
    .partitions = partitions,
    .subscribers = subscribers,
    .messages = messages,
    .dead_messages = dead_messages,
    .once = once,
    .receipts = receipts,
    .presumed = presumed_statements,
    .replicate = Statement{"SELECT pg_logical_emit_message(true, 'pawl', '')"},
    .sessions =
        {.add = "INSERT INTO pawl_session (id, until, owner, lease) "
                "VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint)",
         .find = "SELECT until FROM pawl_session WHERE id = $1::bigint",
         // Lets renewals pass, but no reaping.
         .hold = R"(
            SELECT k.ord, s.until FROM unnest($1::bigint[]) WITH ORDINALITY AS k (id, ord)
              JOIN pawl_session s ON s.id = k.id ORDER BY s.id FOR KEY SHARE OF s)",
         .lock = "SELECT until FROM pawl_session WHERE id = $1::bigint FOR UPDATE",
         .renew = "UPDATE pawl_session SET until = $2::bigint, lease = $3::bigint "
                  "WHERE id = $1::bigint",
         .ahead = "SELECT id FROM pawl_session WHERE until - lease > $1::bigint",
         .expired = "SELECT id FROM pawl_session WHERE until <= $1::bigint "
                    "OR until - lease > $2::bigint",
         // Whoever holds it is alive, reaps it already or renews it: none of them is waited for.
         .lock_expired = "SELECT id, until, lease FROM pawl_session WHERE until <= $1::bigint "
                         "OR until - lease > $2::bigint ORDER BY id FOR UPDATE SKIP LOCKED",
         .remove = "DELETE FROM pawl_session WHERE id = $1::bigint",
         .count = "SELECT count(*) FROM pawl_session WHERE until > $1::bigint"},
};

inline constexpr Statement begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
inline constexpr Statement begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
inline constexpr Statement commit = "COMMIT";
inline constexpr Statement rollback = "ROLLBACK";
inline constexpr Statement set_savepoint = "SAVEPOINT pawl";
inline constexpr Statement release_savepoint = "RELEASE pawl";
inline constexpr Statement rollback_to_savepoint = "ROLLBACK TO pawl";

// Plans are made once for each connection and must be right for every size of table: all of pawl's
// statements are meant to go by an index, and a plan made while a table was empty must not read the
// whole of it when it is large. A bitmap would lock rows in the order of the disk. The last two are
// for transactions that nothing begins but their first statement.
inline constexpr Statement settings =
    "SELECT set_config('statement_timeout', $1::text, $3::text::boolean), "
    "set_config('idle_in_transaction_session_timeout', $2::text, $3::text::boolean), "
    "set_config('plan_cache_mode', 'force_generic_plan', $3::text::boolean), "
    "set_config('enable_seqscan', 'off', $3::text::boolean), "
    "set_config('enable_hashjoin', 'off', $3::text::boolean), "
    "set_config('enable_mergejoin', 'off', $3::text::boolean), "
    "set_config('enable_bitmapscan', 'off', $3::text::boolean), "
    "set_config('jit', 'off', $3::text::boolean), "
    "set_config('default_transaction_isolation', 'read committed', $3::text::boolean), "
    "set_config('default_transaction_read_only', 'off', $3::text::boolean)";

/// Statements with arrays take and free some hundred KiB. A session that has once freed a much
/// larger piece keeps that memory for the next one, instead of giving it back to the system and
/// having it cleared again for every group.
inline constexpr Statement warm_memory = "SELECT octet_length(repeat(' ', 4 * 1024 * 1024))";

/// (statement timeout, idle timeout): of a transaction of the user's own, on a connection whose
/// other settings are the server's. Times and bytes are read in these forms.
inline constexpr Statement users_settings =
    "SELECT set_config('statement_timeout', $1::text, true), "
    "set_config('idle_in_transaction_session_timeout', $2::text, true), "
    "set_config('DateStyle', 'ISO, YMD', true), set_config('TimeZone', 'UTC', true), "
    "set_config('bytea_output', 'hex', true)";

/// (milliseconds, schema): ends the transactions that have written here and have since waited for
/// their process, in the middle of what it sends, for that long. The server's own limits do not see
/// them: between two statements that come without waiting, a session is neither idle nor running
/// one. Whoever only reads (a backup), or fills tables by COPY, is left alone.
inline constexpr Statement end_stalled =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a "
    "WHERE a.datname = current_database() AND a.usename = current_user AND a.state = 'active' "
    "AND a.wait_event IN ('ClientRead', 'ClientWrite') AND a.query NOT ILIKE 'copy%' "
    "AND a.state_change < clock_timestamp() - $1::bigint * interval '1 millisecond' "
    "AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE l.pid = a.pid AND l.granted "
    "AND l.mode = 'RowExclusiveLock' AND n.nspname = $2::text)";

inline constexpr Statement clock =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
/// (name of the sequence, how many blocks)
inline constexpr Statement next_block = "SELECT nextval($1::text::regclass)";
inline constexpr std::int64_t block_size = 1024;  // what the sequences of the migrations count by

/// (name of the table): the last position that was given.
inline constexpr Statement last_position =
    "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1::text, 'position')"
    "::regclass), 0)";
/// Epoch, last restored position, and whether this is the cluster that they are of.
inline constexpr Statement epoch =
    "SELECT m.epoch, m.rebased_at, (m.system_identifier = c.system_identifier)::integer "
    "FROM pawl_meta m CROSS JOIN pg_control_system() c";
/// (name of the table of events): a dump was restored into another cluster.
inline constexpr Statement rebase =
    "UPDATE pawl_meta m SET epoch = m.epoch + 1, system_identifier = c.system_identifier, "
    "rebased_at = coalesce(pg_sequence_last_value(pg_get_serial_sequence($1::text, 'position')"
    "::regclass), 0) FROM pg_control_system() c WHERE m.system_identifier <> c.system_identifier";

/// (name of the schema): taken for the length of a transaction.
inline constexpr Statement lock_schema =
    "SELECT pg_advisory_xact_lock(7061776, hashtext($1::text))";
/// (name of the schema): whether it is there, its tables, and pawl's columns in `meta`.
inline constexpr Statement contents =
    "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = $1::text), "
    "(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')), "
    "(SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta' "
    "AND a.attname IN ('application', 'schema_version', 'minimum_reader'))";
inline constexpr Statement meta =
    "SELECT application, schema_version, minimum_reader FROM pawl_meta";
inline constexpr const char* create_schema = "CREATE SCHEMA IF NOT EXISTS ";

/// The cluster, and the database in it.
inline constexpr Statement identity =
    "SELECT m.system_identifier::text || '/' || d.oid::text FROM pawl_meta m "
    "JOIN pg_catalog.pg_database d ON d.datname = current_database()";
/// (name): until the end of the transaction.
inline constexpr Statement set_encoding = "SELECT set_config('client_encoding', $1::text, true)";

inline constexpr Statement alive = "SELECT 1";
inline constexpr Statement ring = "SELECT pg_notify($1::text, '')";
inline constexpr const char* listen = "LISTEN ";

}  // namespace pawl::store::sql::postgres
