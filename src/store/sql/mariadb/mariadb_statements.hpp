/// The statements of MariaDB: most are spelled or planned differently than elsewhere.
#pragma once

#include "store/sql/mariadb/item_statements.hpp"
#include "store/sql/mariadb/outbox_statements.hpp"
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
//   outbox: the channel; its partitions; their messages. Who publishes shares the channel, after
//          the counter if he takes numbers: who only publishes does not.
// What still collides (a deadlock by way of another index, two processes that create one instance)
// is rolled back and run again as a whole. READ COMMITTED locks no gaps, so producers never wait
// for claimants.
//
// A subquery reads without locks what was committed when the statement began.

inline constexpr CounterStatements counters{
    .lock = "SELECT instance, position, item, inbox FROM pawl_counter WHERE one = 1 FOR UPDATE",
    .set =
        "UPDATE pawl_counter SET instance = $1, position = $2, item = $3, inbox = $4 "
        "WHERE one = 1",
    // There is no UPDATE ... RETURNING. This keeps one row and gives it the next number.
    .next_session = "REPLACE INTO pawl_session_number (one) VALUES (1) RETURNING number"};

/// For those who watch.
inline constexpr Statement take_number =
    "UPDATE pawl_counter SET message = message + 1 WHERE one = 1";

constexpr void set_words(Statements& s) {
    s.dictionary.renew = "UPDATE pawl_dictionary SET token = UUID()";
    s.names.add = "INSERT INTO pawl_name (name) VALUES ($1) ON DUPLICATE KEY UPDATE ref = ref";
    s.lines.add =
        "INSERT INTO pawl_line (kind, type, name) SELECT $1, n.ref, $3 FROM pawl_name n "
        "WHERE n.name = $2 ON DUPLICATE KEY UPDATE ref = pawl_line.ref";
}

constexpr void set_journal(Statements& s) {
    s.instances.find = R"(
        SELECT STRAIGHT_JOIN k.n, i.ref, i.version, i.finished_at, i.unique_key, i.head
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_instance i ON i.type = k.type AND i.id = UNHEX(k.id))";
    // First which they are, then the locks by number, as where the numbers are known.
    s.instances.lock = R"(
        SELECT d.n, i.ref, i.version, i.finished_at, i.unique_key, i.head
          FROM (SELECT k.n, f.ref
                  FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                      id VARCHAR(510) PATH '$[2]')) k
                       STRAIGHT_JOIN pawl_instance f ON f.type = k.type AND f.id = UNHEX(k.id)
                 ORDER BY f.ref LIMIT 9223372036854775807) d
               STRAIGHT_JOIN pawl_instance i ON i.ref = d.ref FOR UPDATE)";
    s.instances.rows = R"(
        SELECT STRAIGHT_JOIN k.n, i.ref, i.type, i.id, i.version, i.tenant, i.unique_key,
               i.created_at, i.updated_at, i.finished_at, i.status, i.head
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_instance i ON i.type = k.type AND i.id = UNHEX(k.id))";
    s.instances.page_of_prefix = R"(
        SELECT n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
               n.updated_at, n.finished_at, n.status, n.head,
               i.attempts, i.due_at, i.last_error, i.session, s.owner
          FROM pawl_instance n FORCE INDEX (pawl_instance_by_name)
               LEFT JOIN pawl_item i FORCE INDEX (pawl_item_of_instance)
                      ON i.instance = n.ref AND i.kind = 3
               LEFT JOIN pawl_session s ON s.id = i.session
         WHERE n.ref > $1 AND n.type = $2 AND n.id >= $3 AND n.id < $12
           AND ($4 IS NULL OR n.tenant = $4)
           AND ($5 IS NULL OR (n.finished_at IS NOT NULL) = $5)
           AND ($6 IS NULL OR n.created_at >= $6) AND ($7 IS NULL OR n.created_at < $7)
           AND ($9 IS NULL OR ((CASE WHEN i.session IS NOT NULL THEN $10
                                     WHEN i.last_error IS NOT NULL THEN $11
                                     ELSE $9 END >> n.status) & 1) = 1)
         ORDER BY n.ref LIMIT $8)";

    s.instances.finished_since =
        "SELECT finished_at, type, id FROM pawl_instance FORCE INDEX (pawl_instance_finished) "
        "WHERE finished_at >= $1 ORDER BY finished_at LIMIT $2";
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
    s.events.entries = R"(
        SELECT STRAIGHT_JOIN k.n, e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id,
               e.causation, e.correlation, e.conversation, e.tenant, e.trace, e.payload, i.type,
               i.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', instance BIGINT PATH '$[1]',
                                                 sequence BIGINT PATH '$[2]')) k
          JOIN pawl_event e ON e.instance = k.instance AND e.sequence = k.sequence
          JOIN pawl_instance i ON i.ref = k.instance)";

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
}

// Shared locks on the second index alone go together with the renewal of the lease, and keep away
// whoever would reap or close the session: that begins with the same index.
constexpr void set_sessions(Statements& s) {
    s.sessions.hold =
        "SELECT (SELECT s.until FROM pawl_session s WHERE s.id = h.id) "
        "FROM pawl_session h FORCE INDEX (pawl_session_hold) WHERE h.id = $1 LOCK IN SHARE MODE";
    s.sessions.renew =
        "UPDATE pawl_session FORCE INDEX (PRIMARY) SET until = $2, lease = $3 WHERE id = $1";
    s.sessions.lock =
        "SELECT until FROM pawl_session FORCE INDEX (pawl_session_hold) WHERE id = $1 FOR UPDATE";
    s.sessions.lock_expired =
        "SELECT id, until, lease FROM pawl_session FORCE INDEX (pawl_session_hold) WHERE id > 0 "
        "AND (until <= $1 OR until - lease > $2) FOR UPDATE SKIP LOCKED";
}

// Each finds those of its keys that are as presumed; the connection throws a Collision unless it is
// all of them.
constexpr void set_presumed(Statements& s) {
    s.presumed = Statements::Presumed{.instances = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', ref BIGINT PATH '$[1]',
                                              version BIGINT PATH '$[2]',
                                              head BIGINT PATH '$[3]')) k
          JOIN pawl_instance i ON i.ref = k.ref AND i.version = k.version
                              AND i.head = COALESCE(k.head, i.head)
           FOR UPDATE)",
                                      .sessions = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]')) k
          JOIN pawl_session h FORCE INDEX (pawl_session_hold) ON h.id = k.id LOCK IN SHARE MODE)",
                                      .items = R"(
        SELECT STRAIGHT_JOIN k.n
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]',
                                              fence BIGINT PATH '$[2]',
                                              mail BIGINT PATH '$[3]')) k
          JOIN pawl_item i ON i.id = k.id AND i.fence = k.fence AND i.mail = k.mail
           FOR UPDATE)"};
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
    set_outbox(s);
    set_sessions(s);
    s.replicate = take_number;
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

// So that the server tells whether a statement of the user's own has ended it.
inline constexpr Statement begin_users = "START TRANSACTION";
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
