/// The statements of MariaDB about items, their failures and dead letters.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::mariadb {

// How they are spelled, and the order of locks, is said in mariadb_statements.hpp.

constexpr void set_items(Statements& s) {
    // First which they are, then the locks by id. Whoever adds a timer holds the instance's lock,
    // as this transaction does.
    s.items.lock_together = Statement{R"(
        WITH k AS (SELECT how, ref, hex
                     FROM JSON_TABLE($0, '$[*]' COLUMNS (how INT PATH '$[1]',
                                     ref BIGINT PATH '$[2]', hex VARCHAR(510) PATH '$[3]')) j),
             ids AS (SELECT ref AS id FROM k WHERE how = 0
                     UNION SELECT t.id FROM k JOIN pawl_item t ON t.instance = k.ref
                            WHERE k.how = 1 AND t.kind = 2
                     UNION SELECT t.id FROM k JOIN pawl_item t
                                    ON t.instance = k.ref AND t.`key` = UNHEX(k.hex)
                            WHERE k.how = 2 AND t.kind = 2)
        SELECT 0, i.id, i.instance, i.line, i.kind, i.attempts, i.failures, i.session, i.fence,
               i.`key`, i.mail
          FROM (SELECT id FROM ids ORDER BY id LIMIT 9223372036854775807) d
               STRAIGHT_JOIN pawl_item i ON i.id = d.id FOR UPDATE)"};
    s.items.runs = R"(
        SELECT STRAIGHT_JOIN k.n, i.id
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', type BIGINT PATH '$[1]',
                                                 id VARCHAR(510) PATH '$[2]')) k
          JOIN pawl_instance n ON n.type = k.type AND n.id = UNHEX(k.id)
          JOIN pawl_item i FORCE INDEX (pawl_item_of_instance)
            ON i.instance = n.ref AND i.kind = 3)";
    s.items.add =
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
        "created_at, due_at, session, fence, encoding, `key`, causation, correlation, "
        "conversation, tenant, trace, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
        "$11, $12, $13, $14, $15, $16, $17, $18, $19, $20)";
    s.items.add_later =
        "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
        "created_at, due_at, session, fence, encoding, `key`, causation, correlation, "
        "conversation, tenant, trace, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
        "coalesce($9, greatest($11, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))), "
        "coalesce($9, greatest($11, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))) + $10, "
        "NULL, $12, $13, $14, $15, $16, $17, $18, $19, $20)";
    s.items.retry =
        "UPDATE pawl_item SET due_at = coalesce($2, greatest($5, "
        "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))) + $3, last_error = $4, failures = "
        "failures + 1, alone = 0, session = NULL, "
        "fence = NULL WHERE id = $1";
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
               i.payload, n.id, i.mail, i.wakes_at_mail
          FROM JSON_TABLE($0, '$[*]' COLUMNS (n INT PATH '$[0]', id BIGINT PATH '$[1]')) k
          JOIN pawl_item i ON i.id = k.id JOIN pawl_instance n ON n.ref = i.instance
         ORDER BY k.n)";
    // In the order of the key: with few lines the planner would begin at those, read every item
    // and sort them, for one of them.
    s.items.page = R"(
        SELECT STRAIGHT_JOIN i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, i.due_at, i.session, i.fence, i.encoding, i.`key`, i.causation,
               i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
               i.mail, i.wakes_at_mail
          FROM pawl_item i FORCE INDEX (PRIMARY) JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) ORDER BY i.id LIMIT $5)";
    s.items.page_of_instance = R"(
        SELECT STRAIGHT_JOIN i.id, i.line, i.sequence, i.idx, i.attempts, i.losses,
               i.losses_alone, i.created_at, i.due_at, i.session, i.fence, i.encoding, i.`key`,
               i.causation, i.correlation, i.conversation, i.tenant, i.trace, i.last_error,
               i.payload, n.id, i.mail, i.wakes_at_mail
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
        INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, attempts,
               losses, losses_alone, failures, created_at, died_at, encoding, `key`, causation,
               correlation, conversation, tenant, trace, last_error, reason, payload)
        SELECT id, line, instance, sequence, idx, kind, shard, attempts, losses, losses_alone,
               failures + 1, created_at, $3, encoding, `key`, causation, correlation,
               conversation, tenant, trace, $2, $2, payload
          FROM pawl_item WHERE id = $1)";
    s.dead_letters.revive = R"(
        INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, failures,
               created_at, due_at, encoding, `key`, causation, correlation, conversation, tenant,
               trace, last_error, payload, mail)
        SELECT id, line, instance, sequence, idx, kind, shard, failures, $2, $2,
               encoding, `key`, causation, correlation, conversation, tenant, trace, last_error,
               payload, CASE WHEN kind = 3 THEN 1 ELSE 0 END
          FROM pawl_dead_letter d
         WHERE id = $1 AND NOT (kind = 2 AND `key` IS NOT NULL AND EXISTS (
               SELECT 1 FROM pawl_item i
                WHERE i.instance = d.instance AND i.`key` = d.`key` AND i.kind = 2))
           AND NOT (kind = 3 AND EXISTS (
               SELECT 1 FROM pawl_item i WHERE i.instance = d.instance AND i.kind = 3)))";
    s.dead_letters.page = R"(
        SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, NULL, NULL, NULL, i.encoding, i.`key`, i.causation, i.correlation,
               i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, 0, 0,
               i.reason, i.died_at
          FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
           AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
           AND ($8 IS NULL OR n.id = $8) ORDER BY i.id LIMIT $9)";
    s.dead_letters.rows = R"(
        SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
               i.created_at, NULL, NULL, NULL, i.encoding, i.`key`, i.causation, i.correlation,
               i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, 0, 0,
               i.reason, i.died_at
          FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
          JOIN pawl_instance n ON n.ref = i.instance
         WHERE i.id = $9 AND i.id > $1 AND ($2 IS NULL OR l.kind = $2)
           AND ($3 IS NULL OR l.type = $3)
           AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
           AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
           AND ($8 IS NULL OR n.id = $8))";
}

}  // namespace pawl::store::sql::mariadb
