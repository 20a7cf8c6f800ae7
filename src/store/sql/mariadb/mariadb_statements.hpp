/// The statements of MariaDB: most are spelled or planned differently than elsewhere.
#pragma once

#include "store/sql/standard_statements.hpp"

namespace pawl::store::sql::mariadb {

// Bulk. A statement that changes rows runs on an array of parameters in one round trip. One that
// looks for many keys gets them as one JSON parameter, $0: [[0, key...], [1, key...]], sorted by
// the keys, bytes and texts in hexadecimal; its result begins with the number of the key. With
// STRAIGHT_JOIN the keys are visited, and rows locked, in that order. (Measured with 256 keys: 1.2
// ms; as VALUES in the text 2.2 ms; a statement for each 9 ms.)
//
// Locks, in this order, so that nobody waits in a circle:
//   group: instances by ref; unique keys by (type, key); the hold on sessions; items by id;
//          pawl_counter as the last, before the first write. It is held until the commit, so
//          positions become visible in their order. New names and lines come after it.
//   claim: the hold on its own session; expired sessions that nobody else is at (SKIP LOCKED), and
//          what they held; then due items (SKIP LOCKED), which waits for nobody.
//   close: its session; what it held.
//   dead letters: instances by ref, each with its letter.
// What still collides (a deadlock by way of another index, two processes that create one instance)
// is rolled back and run again as a whole. READ COMMITTED locks no gaps, so producers never wait
// for claimants.
//
// A subquery reads without locks what was committed when the statement began.

inline constexpr CounterStatements counters{
    .lock =
        "SELECT instance, position, item, inbox, message FROM pawl_counter WHERE one = 1 "
        "FOR UPDATE",
    .set =
        "UPDATE pawl_counter SET instance = $1, position = $2, item = $3, inbox = $4, "
        "message = $5 WHERE one = 1",
    // There is no UPDATE ... RETURNING. This keeps one row and gives it the next number.
    .next_session = "REPLACE INTO pawl_session_number (one) VALUES (1) RETURNING number"};

constexpr void set_words(Statements& s) {
    s.names.add = "INSERT INTO pawl_name (name) VALUES ($1) ON DUPLICATE KEY UPDATE ref = ref";
    s.lines.add =
        "INSERT INTO pawl_line (kind, type, name) SELECT $1, n.ref, $3 FROM pawl_name n "
        "WHERE n.name = $2 ON DUPLICATE KEY UPDATE ref = pawl_line.ref";
}

constexpr void set_journal(Statements& s) {
    s.instances.find = R"(
        SELECT STRAIGHT_JOIN k.n, i.ref, i.version, i.finished_at, i.unique_key
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_instance i ON i.type = k.type AND i.id = UNHEX(k.id))";
    // First which they are, then the locks by number, as where the numbers are known.
    s.instances.lock = R"(
        SELECT d.n, i.ref, i.version, i.finished_at, i.unique_key
          FROM (SELECT k.n, f.ref
                  FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                      id VARCHAR(510) PATH '$[2]')) k
                       STRAIGHT_JOIN pawl_instance f ON f.type = k.type AND f.id = UNHEX(k.id)
                 ORDER BY f.ref LIMIT 9223372036854775807) d
               STRAIGHT_JOIN pawl_instance i ON i.ref = d.ref FOR UPDATE)";
    s.instances.rows = R"(
        SELECT STRAIGHT_JOIN k.n, i.ref, i.type, i.id, i.version, i.tenant, i.unique_key,
               i.created_at, i.updated_at, i.finished_at
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_instance i ON i.type = k.type AND i.id = UNHEX(k.id))";
    s.instances.page_of_prefix = R"(
        SELECT ref, type, id, version, tenant, unique_key, created_at, updated_at, finished_at
          FROM pawl_instance FORCE INDEX (pawl_instance_by_name)
         WHERE ref > $1 AND type = $2 AND id >= $3 AND id < $9
           AND ($4 IS NULL OR tenant = $4)
           AND ($5 IS NULL OR (finished_at IS NOT NULL) = $5)
           AND ($6 IS NULL OR created_at >= $6) AND ($7 IS NULL OR created_at < $7)
         ORDER BY ref LIMIT $8)";

    s.instances.expired = R"(
        SELECT ref FROM pawl_instance n FORCE INDEX (pawl_instance_finished)
         WHERE finished_at < $1
           AND NOT EXISTS (SELECT 1 FROM pawl_item i WHERE i.instance = n.ref)
           AND NOT EXISTS (SELECT 1 FROM pawl_dead_letter d WHERE d.instance = n.ref)
         ORDER BY finished_at, ref LIMIT $2 FOR UPDATE SKIP LOCKED)";
    s.removed.events = R"(
        DELETE e FROM (SELECT v.position FROM pawl_removed r
                              STRAIGHT_JOIN pawl_event v FORCE INDEX (pawl_event_of_instance)
                                 ON v.instance = r.instance LIMIT $1) d
                      STRAIGHT_JOIN pawl_event e ON e.position = d.position)";

    s.events.load = R"(
        SELECT STRAIGHT_JOIN k.n, e.name, e.kind, e.encoding, e.id, e.payload
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 after BIGINT PATH '$[2]',
                                                 up_to BIGINT PATH '$[3]')) k
          JOIN pawl_event e FORCE INDEX (pawl_event_of_instance)
            ON e.instance = k.instance AND e.sequence > k.after AND e.sequence <= k.up_to
         ORDER BY k.n, e.sequence)";
    s.events.ids = R"(
        SELECT STRAIGHT_JOIN k.n, e.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 sequence BIGINT PATH '$[2]')) k
          JOIN pawl_event e ON e.instance = k.instance AND e.sequence = k.sequence)";

    s.snapshots.set =
        "INSERT INTO pawl_snapshot (instance, sequence, version, encoding, payload) "
        "VALUES ($1, $2, $3, $4, $5) ON DUPLICATE KEY UPDATE sequence = VALUES(sequence), "
        "version = VALUES(version), encoding = VALUES(encoding), payload = VALUES(payload)";
    s.snapshots.load = R"(
        SELECT STRAIGHT_JOIN k.n, s.sequence, s.version, s.encoding, s.payload
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 version INT PATH '$[2]',
                                                 up_to BIGINT PATH '$[3]')) k
          JOIN pawl_snapshot s ON s.instance = k.instance AND s.version = k.version
                              AND s.sequence <= k.up_to)";

    s.inputs.find = R"(
        SELECT STRAIGHT_JOIN k.n, i.version
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 input_id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_input i ON i.instance = k.instance AND i.input_id = UNHEX(k.input_id))";
    // Not WHERE number IN (...): a DELETE with a subquery would look at, and lock, every row.
    s.inputs.vacuum = R"(
        DELETE i FROM (SELECT number FROM pawl_input ORDER BY number LIMIT $2) oldest
               STRAIGHT_JOIN pawl_input i ON i.number = oldest.number WHERE i.at < $1)";

    s.unique_keys.find = R"(
        SELECT STRAIGHT_JOIN k.n, u.instance, i.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                              id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_unique_key u ON u.type = k.type AND u.`key` = UNHEX(k.id)
          JOIN pawl_instance i ON i.ref = u.instance)";
    // The holder is read as it is now, and not as it was when the statement began: it may just have
    // been waited for. LOCK IN SHARE MODE asks for that.
    s.unique_keys.lock = R"(
        SELECT STRAIGHT_JOIN k.n, u.instance,
               (SELECT i.id FROM pawl_instance i WHERE i.ref = u.instance LOCK IN SHARE MODE)
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_unique_key u ON u.type = k.type AND u.`key` = UNHEX(k.id) FOR UPDATE)";
    s.unique_keys.add = "INSERT INTO pawl_unique_key (type, `key`, instance) VALUES ($1, $2, $3)";
    s.unique_keys.remove = "DELETE FROM pawl_unique_key WHERE type = $1 AND `key` = $2";
}

constexpr void set_items(Statements& s) {
    // First which they are, then the locks by id. Whoever adds a timer holds the instance's lock,
    // as this transaction does.
    s.items.lock_together = Statement{R"(
        WITH k AS (SELECT how, ref, hex
                     FROM JSON_TABLE($0, '$[*]' COLUMNS (how INT PATH '$[1]',
                                     ref BIGINT PATH '$[2]', hex VARCHAR(510) PATH '$[3]')) j),
             ids AS (SELECT ref AS id FROM k WHERE how = 0
                     UNION SELECT t.id FROM k JOIN pawl_item t ON t.instance = k.ref
                            WHERE k.how = 1 AND t.timer = 1
                     UNION SELECT t.id FROM k JOIN pawl_item t
                                    ON t.instance = k.ref AND t.`key` = UNHEX(k.hex)
                            WHERE k.how = 2 AND t.timer = 1)
        SELECT 0, i.id, i.instance, i.line, i.timer, i.attempts, i.failures, i.session, i.fence,
               i.`key`
          FROM (SELECT id FROM ids ORDER BY id LIMIT 9223372036854775807) d
               STRAIGHT_JOIN pawl_item i ON i.id = d.id FOR UPDATE)"};
    s.items.add =
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, timer, shard, attempts, "
        "created_at, due_at, session, fence, encoding, `key`, causation, correlation, "
        "conversation, tenant, trace, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
        "$11, $12, $13, $14, $15, $16, $17, $18, $19, $20)";
    s.items.ready =
        "SELECT id, due_at FROM pawl_item FORCE INDEX (pawl_item_waiting) WHERE line = $1 "
        "AND alone = $2 AND session IS NULL AND due_at <= $3 ORDER BY due_at, id LIMIT $4 "
        "FOR UPDATE SKIP LOCKED";
    s.items.first_due = R"(
        SELECT k.n, (SELECT i.due_at FROM pawl_item i FORCE INDEX (pawl_item_waiting)
                      WHERE i.line = k.line AND i.alone = k.alone AND i.session IS NULL
                      ORDER BY i.due_at LIMIT 1) AS due
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', line BIGINT PATH '$[1]',
                                                 alone INT PATH '$[2]')) k
        HAVING due IS NOT NULL)";
}

// One look for each line, and none at what waits.
constexpr void set_items_by_session(Statements& s) {
    s.items.release_session = R"(
        UPDATE (SELECT i.id FROM pawl_line l JOIN (SELECT 0 AS alone UNION ALL SELECT 1) a
                  JOIN pawl_item i FORCE INDEX (pawl_item_waiting)
                    ON i.line = l.ref AND i.alone = a.alone AND i.session = $1) h
               STRAIGHT_JOIN pawl_item t ON t.id = h.id AND t.session = $1
           SET t.due_at = $2, t.session = NULL, t.fence = NULL, t.attempts = t.attempts - 1)";
    s.items.release_claim = R"(
        UPDATE (SELECT i.id FROM pawl_line l JOIN (SELECT 0 AS alone UNION ALL SELECT 1) a
                  JOIN pawl_item i FORCE INDEX (pawl_item_waiting)
                    ON i.line = l.ref AND i.alone = a.alone AND i.session = $1) h
               STRAIGHT_JOIN pawl_item t ON t.id = h.id AND t.session = $1 AND t.fence = $2
           SET t.due_at = $3, t.session = NULL, t.fence = NULL, t.attempts = t.attempts - 1)";
    s.items.of_claim = R"(
        SELECT i.id FROM pawl_line l JOIN (SELECT 0 AS alone UNION ALL SELECT 1) a
          JOIN pawl_item i FORCE INDEX (pawl_item_waiting)
            ON i.line = l.ref AND i.alone = a.alone AND i.session = $1
         WHERE i.fence = $2)";
    s.items.held = R"(
        SELECT count(*), CAST(coalesce(sum(i.alone), 0) AS SIGNED)
          FROM pawl_line l JOIN (SELECT 0 AS alone UNION ALL SELECT 1) a
          JOIN pawl_item i FORCE INDEX (pawl_item_waiting)
            ON i.line = l.ref AND i.alone = a.alone AND i.session = $1)";
    s.items.lose = R"(
        UPDATE (SELECT i.id FROM pawl_line l JOIN (SELECT 0 AS alone UNION ALL SELECT 1) a
                  JOIN pawl_item i FORCE INDEX (pawl_item_waiting)
                    ON i.line = l.ref AND i.alone = a.alone AND i.session = $1) h
               STRAIGHT_JOIN pawl_item t ON t.id = h.id AND t.session = $1
           SET t.due_at = $2, t.session = NULL, t.fence = NULL,
               t.alone = CASE WHEN t.losses > 0 THEN 1 ELSE 0 END,
               t.losses = t.losses + 1, t.losses_alone = t.losses_alone + $3)";
}

constexpr void set_item_rows(Statements& s) {
    s.items.of_append = R"(
        SELECT STRAIGHT_JOIN k.n, i.idx, i.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 sequence BIGINT PATH '$[2]')) k
          JOIN pawl_item i FORCE INDEX (pawl_item_of_instance)
            ON i.instance = k.instance AND i.sequence = k.sequence)";
    s.items.rows = R"(
        SELECT STRAIGHT_JOIN k.n, i.id, i.line, i.sequence, i.idx, i.attempts, i.losses,
               i.losses_alone, i.created_at, i.due_at, i.session, i.fence, i.encoding, i.`key`,
               i.causation, i.correlation, i.conversation, i.tenant, i.trace, i.last_error,
               i.payload, n.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]')) k
          JOIN pawl_item i ON i.id = k.id JOIN pawl_instance n ON n.ref = i.instance
         ORDER BY k.n)";
    s.items.page = R"(
        SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, i.due_at, i.session, i.fence, i.encoding, i.`key`, i.causation,
               i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id
          FROM pawl_item i JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) ORDER BY i.id LIMIT $5)";
    s.items.page_of_instance = R"(
        SELECT STRAIGHT_JOIN i.id, i.line, i.sequence, i.idx, i.attempts, i.losses,
               i.losses_alone, i.created_at, i.due_at, i.session, i.fence, i.encoding, i.`key`,
               i.causation, i.correlation, i.conversation, i.tenant, i.trace, i.last_error,
               i.payload, n.id
          FROM pawl_instance n JOIN pawl_item i FORCE INDEX (pawl_item_of_instance)
                                 ON i.instance = n.ref
          JOIN pawl_line l ON l.ref = i.line
         WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND n.type = $3
           AND ($4 IS NULL OR l.name = $4) AND n.id = $6 ORDER BY i.id LIMIT $5)";
    s.items.waiting =
        "SELECT line, CAST(sum(due_at <= $1) AS SIGNED), CAST(sum(due_at > $1) AS SIGNED), "
        "min(due_at) FROM pawl_item WHERE session IS NULL GROUP BY line";
    s.items.claimed =
        "SELECT line, count(*) FROM pawl_item WHERE session IS NOT NULL GROUP BY line";
}

constexpr void set_dead_letters(Statements& s) {
    s.failures.of = R"(
        SELECT STRAIGHT_JOIN k.n, f.attempt, f.at, f.error
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', item BIGINT PATH '$[1]')) k
          JOIN pawl_failure f ON f.item = k.item ORDER BY f.number)";
    s.dead_letters.lock = Statement{R"(
        SELECT 0, d.id
          FROM (SELECT n.ref, l.id AS letter
                  FROM JSON_TABLE($0, '$[*]' COLUMNS (id BIGINT PATH '$[1]')) k
                  JOIN pawl_dead_letter l ON l.id = k.id JOIN pawl_instance n ON n.ref = l.instance
                 ORDER BY n.ref LIMIT 9223372036854775807) o
               STRAIGHT_JOIN pawl_instance i ON i.ref = o.ref
               STRAIGHT_JOIN pawl_dead_letter d ON d.id = o.letter FOR UPDATE)"};
    s.dead_letters.bury = R"(
        INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, timer, shard, attempts,
               losses, losses_alone, failures, created_at, died_at, encoding, `key`, causation,
               correlation, conversation, tenant, trace, last_error, reason, payload)
        SELECT id, line, instance, sequence, idx, timer, shard, attempts, losses, losses_alone,
               failures + 1, created_at, $3, encoding, `key`, causation, correlation,
               conversation, tenant, trace, $2, $2, payload
          FROM pawl_item WHERE id = $1)";
    s.dead_letters.revive = R"(
        INSERT INTO pawl_item (id, line, instance, sequence, idx, timer, shard, failures,
               created_at, due_at, encoding, `key`, causation, correlation, conversation, tenant,
               trace, last_error, payload)
        SELECT id, line, instance, sequence, idx, timer, shard, failures, $2, $2,
               encoding, `key`, causation, correlation, conversation, tenant, trace, last_error,
               payload
          FROM pawl_dead_letter d
         WHERE id = $1 AND NOT (timer = 1 AND `key` IS NOT NULL AND EXISTS (
               SELECT 1 FROM pawl_item i
                WHERE i.instance = d.instance AND i.`key` = d.`key` AND i.timer = 1)))";
    s.dead_letters.page = R"(
        SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, NULL, NULL, NULL, i.encoding, i.`key`, i.causation, i.correlation,
               i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, i.reason,
               i.died_at
          FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
           AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
           AND ($8 IS NULL OR n.id = $8) ORDER BY i.id LIMIT $9)";
    s.dead_letters.rows = R"(
        SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, NULL, NULL, NULL, i.encoding, i.`key`, i.causation, i.correlation,
               i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, i.reason,
               i.died_at
          FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id = $9 AND i.id > $1 AND ($2 IS NULL OR l.kind = $2)
           AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
           AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
           AND ($8 IS NULL OR n.id = $8))";
}

constexpr void set_mail(Statements& s) {
    s.endings.add =
        "INSERT INTO pawl_ending (item, line, instance, ending, at, `key`, reason) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7)";
    s.endings.page = R"(
        SELECT e.item, e.line, n.id, e.`key`, e.ending, e.reason, e.at
          FROM pawl_ending e JOIN pawl_line l ON l.ref = e.line
          JOIN pawl_instance n ON n.ref = e.instance
         WHERE e.item > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) AND ($6 IS NULL OR n.id = $6)
         ORDER BY e.item LIMIT $5)";
    s.endings.vacuum = "DELETE FROM pawl_ending WHERE at < $1 ORDER BY at LIMIT $2";
    s.messages.add =
        "INSERT INTO pawl_message (position, channel, at, deliver_after, encoding, `key`, type, "
        "recipient, `schema`, causation, correlation, conversation, tenant, trace, payload) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    s.messages.page =
        "SELECT position, at, deliver_after, encoding, `key`, type, recipient, `schema`, "
        "causation, correlation, conversation, tenant, trace, payload "
        "FROM pawl_message WHERE channel = $1 AND position > $2 ORDER BY position LIMIT $3";
}

// Shared locks on the second index alone go together with the renewal of the lease, and keep away
// whoever would reap or close the session: that begins with the same index.
constexpr void set_sessions(Statements& s) {
    s.sessions.hold =
        "SELECT (SELECT s.until FROM pawl_session s WHERE s.id = h.id) "
        "FROM pawl_session h FORCE INDEX (pawl_session_hold) WHERE h.id = $1 LOCK IN SHARE MODE";
    s.sessions.renew = "UPDATE pawl_session FORCE INDEX (PRIMARY) SET until = $2 WHERE id = $1";
    s.sessions.lock =
        "SELECT until FROM pawl_session FORCE INDEX (pawl_session_hold) WHERE id = $1 FOR UPDATE";
    s.sessions.lock_expired =
        "SELECT id FROM pawl_session FORCE INDEX (pawl_session_hold) WHERE id > 0 AND until <= $1 "
        "FOR UPDATE SKIP LOCKED";
}

// Each finds those of its keys that are as presumed; the connection throws a Collision unless it is
// all of them.
constexpr void set_presumed(Statements& s) {
    s.presumed = Statements::Presumed{.instances = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', ref BIGINT PATH '$[1]',
                                              version BIGINT PATH '$[2]')) k
          JOIN pawl_instance i ON i.ref = k.ref AND i.version = k.version FOR UPDATE)",
                                      .sessions = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]')) k
          JOIN pawl_session h FORCE INDEX (pawl_session_hold) ON h.id = k.id LOCK IN SHARE MODE)",
                                      .items = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]',
                                              fence BIGINT PATH '$[2]')) k
          JOIN pawl_item i ON i.id = k.id AND i.fence = k.fence FOR UPDATE)"};
}

constexpr Statements make_statements() {
    Statements s = standard_statements;
    set_presumed(s);
    set_words(s);
    set_journal(s);
    set_items(s);
    set_items_by_session(s);
    set_item_rows(s);
    set_dead_letters(s);
    set_mail(s);
    set_sessions(s);
    return s;
}

inline constexpr Statements statements = make_statements();

// What a session of ours is like, whatever the server's own settings are. A reading transaction
// sees one moment; a writing one sees what is committed and locks no gaps.
inline constexpr Statement set_mode =
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,"
    "ERROR_FOR_DIVISION_BY_ZERO,SIMULTANEOUS_ASSIGNMENT', time_zone = '+00:00', autocommit = 0, "
    "in_predicate_conversion_threshold = 0, innodb_lock_wait_timeout = 2";
inline constexpr Statement read_one_moment =
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
inline constexpr Statement read_what_is_committed =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// ($1, $2 seconds): the server gives a statement up that takes longer, and ends a transaction
/// whose client has been silent for longer: it may be gone without a word, and hold locks that all
/// others wait for.
inline constexpr Statement limit_statements =
    "SET SESSION max_statement_time = $1, idle_transaction_timeout = $2";
inline constexpr Statement largest_packet = "SELECT @@max_allowed_packet";

inline constexpr Statement commit = "COMMIT";
inline constexpr Statement rollback = "ROLLBACK";

/// The real time, also inside a long transaction, in microseconds.
inline constexpr Statement time = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";

/// Every group that leaves something for others takes a number.
inline constexpr Statement numbers_taken =
    "SELECT position, item, inbox, message FROM pawl_counter WHERE one = 1";

// Of the schema. ($1 prefix) in these three. GET_LOCK's names are short and of the whole server.
inline constexpr Statement lock_schema =
    "SELECT GET_LOCK(CONCAT('pawl.', MD5(CONCAT(DATABASE(), '.', $1))), $2)";
inline constexpr Statement unlock_schema =
    "SELECT RELEASE_LOCK(CONCAT('pawl.', MD5(CONCAT(DATABASE(), '.', $1))))";
inline constexpr Statement count_tables =
    "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() "
    "AND LEFT(table_name, CHAR_LENGTH($1)) = $1";
/// ($1 name of the table).
inline constexpr Statement meta_columns =
    "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE() "
    "AND table_name = $1 AND column_name IN ('application', 'schema_version', 'minimum_reader')";
inline constexpr Statement meta =
    "SELECT application, schema_version, minimum_reader FROM pawl_meta";

}  // namespace pawl::store::sql::mariadb
