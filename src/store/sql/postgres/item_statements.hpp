/// The statements of PostgreSQL about items, their failures and dead letters.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::postgres {

inline constexpr Statements::Items item_statements{
    .lock = R"(
            SELECT k.ord, i.id, i.instance, i.line, i.kind, i.attempts, i.failures, i.session,
                   i.fence, i.key, i.mail
              FROM (SELECT id, ord FROM unnest($1::bigint[]) WITH ORDINALITY AS k (id, ord)
                     ORDER BY id) AS k
             CROSS JOIN LATERAL (SELECT * FROM pawl_item WHERE id = k.id FOR UPDATE) AS i)",
    .lock_keyed = R"(
            SELECT k.ord, i.id, i.instance, i.line, i.kind, i.attempts, i.failures, i.session,
                   i.fence, i.key, i.mail
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (instance, key, ord)
              JOIN pawl_item i ON i.instance = k.instance AND i.key = k.key AND i.kind = 2
             ORDER BY i.id FOR UPDATE OF i)",
    .lock_timers = R"(
            SELECT k.ord, i.id, i.instance, i.line, i.kind, i.attempts, i.failures, i.session,
                   i.fence, i.key, i.mail
              FROM unnest($1::bigint[]) WITH ORDINALITY AS k (instance, ord)
              JOIN pawl_item i ON i.instance = k.instance AND i.kind = 2
             ORDER BY i.id FOR UPDATE OF i)",
    .lock_together = Statement{R"(
              WITH k AS (SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bytea[])
                                  AS k (how, number, key))
            SELECT 1::bigint, i.id, i.instance, i.line, i.kind, i.attempts, i.failures, i.session,
                   i.fence, i.key, i.mail
              FROM pawl_item i
             WHERE i.id IN (SELECT number FROM k WHERE how = 0
                            UNION
                            SELECT t.id FROM k JOIN pawl_item t ON t.instance = k.number
                               AND t.kind = 2 WHERE k.how = 1
                            UNION
                            SELECT t.id FROM k JOIN pawl_item t ON t.instance = k.number
                               AND t.key = k.key AND t.kind = 2 WHERE k.how = 2)
             ORDER BY i.id FOR UPDATE OF i)"},
    .runs = R"(
            SELECT k.ord, i.id
              FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS k (type, id, ord)
              JOIN pawl_instance n ON n.type = k.type AND n.id = k.id
              JOIN pawl_item i ON i.instance = n.ref AND i.kind = 3)",
    .add = R"(
            INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts,
                   created_at, due_at, session, fence, encoding, key, causation, correlation,
                   conversation, tenant, trace, payload)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
                   $5::integer[], $6::smallint[], $7::integer[], $8::integer[], $9::bigint[],
                   $10::bigint[], $11::bigint[], $12::bigint[], $13::smallint[], $14::bytea[],
                   $15::bytea[], $16::text[], $17::text[], $18::text[], $19::text[],
                   $20::bytea[]))",
    .add_later = R"(
            INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts,
                   created_at, due_at, session, fence, encoding, key, causation, correlation,
                   conversation, tenant, trace, payload)
            SELECT id, line, instance, sequence, idx, kind, shard, attempts,
                   coalesce(at, greatest(group_at, clock.now)),
                   coalesce(at, greatest(group_at, clock.now)) + after, NULL::bigint, fence,
                   encoding, key, causation, correlation, conversation, tenant, trace, payload
              FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[],
                   $6::smallint[], $7::integer[], $8::integer[], $9::bigint[], $10::bigint[],
                   $11::bigint[], $12::bigint[], $13::smallint[], $14::bytea[], $15::bytea[],
                   $16::text[], $17::text[], $18::text[], $19::text[], $20::bytea[])
                   AS k (id, line, instance, sequence, idx, kind, shard, attempts, at, after,
                   group_at, fence, encoding, key, causation, correlation, conversation, tenant,
                   trace, payload)
             CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                   AS clock (now))",
    .remove = "DELETE FROM pawl_item WHERE id = ANY ($1::bigint[])",
    .retry = R"(
            UPDATE pawl_item
               SET due_at = coalesce(($2::bigint[])[width_bucket(id, $1::bigint[])],
                                     greatest(($5::bigint[])[width_bucket(id, $1)],
                                     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
                            + ($3::bigint[])[width_bucket(id, $1)],
                   last_error = ($4::text[])[width_bucket(id, $1)],
                   failures = failures + 1, alone = 0, session = NULL, fence = NULL
             WHERE id = ANY ($1))",
    .forget_losses =
        "UPDATE pawl_item SET losses = 0, losses_alone = 0, alone = 0 "
        "WHERE id = ANY ($1::bigint[])",
    .suspend = R"(
            UPDATE pawl_item
               SET due_at = ($2::bigint[])[width_bucket(id, $1::bigint[])],
                   wakes_at_mail = ($3::bigint[])[width_bucket(id, $1)], mail = 0, attempts = 0,
                   losses = 0, losses_alone = 0, alone = 0, last_error = NULL, session = NULL,
                   fence = NULL
             WHERE id = ANY ($1))",
    // What is claimed has no due_at, and keeps none.
    .mail = R"(
            UPDATE pawl_item i
               SET mail = i.mail + k.mail,
                   due_at = CASE WHEN i.due_at > k.now
                                  AND (k.urgent = 1 OR i.mail + k.mail >= i.wakes_at_mail)
                                 THEN k.now ELSE i.due_at END
              FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
                   AS k (id, mail, urgent, now)
             WHERE i.id = k.id)",
    // Items that somebody else is about to take are passed over.
    .ready = R"(
            SELECT k.ord, i.id, i.due_at
              FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
                   AS k (line, alone, now, most, ord)
             CROSS JOIN LATERAL (SELECT id, due_at FROM pawl_item
                                  WHERE line = k.line AND alone = k.alone AND due_at <= k.now
                                  ORDER BY due_at, id LIMIT k.most FOR UPDATE SKIP LOCKED) i)",
    .first_due = R"(
            SELECT k.ord, i.due_at
              FROM unnest($1::bigint[], $2::smallint[]) WITH ORDINALITY AS k (line, alone, ord)
             CROSS JOIN LATERAL (SELECT due_at FROM pawl_item
                                  WHERE line = k.line AND alone = k.alone AND due_at IS NOT NULL
                                  ORDER BY due_at, id LIMIT 1) i)",
    .from_mark = Statements::Items::FromMark{.ready = R"(
            SELECT k.ord, i.id, i.due_at
              FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[])
                   WITH ORDINALITY AS k (line, alone, now, most, mark, ord)
             CROSS JOIN LATERAL (SELECT id, due_at FROM pawl_item
                                  WHERE line = k.line AND alone = k.alone AND due_at >= k.mark
                                    AND due_at <= k.now
                                  ORDER BY due_at, id LIMIT k.most FOR UPDATE SKIP LOCKED) i)",
                                             .first_due = R"(
            SELECT k.ord, i.due_at
              FROM unnest($1::bigint[], $2::smallint[], $3::bigint[]) WITH ORDINALITY
                   AS k (line, alone, mark, ord)
             CROSS JOIN LATERAL (SELECT due_at FROM pawl_item
                                  WHERE line = k.line AND alone = k.alone AND due_at >= k.mark
                                  ORDER BY due_at, id LIMIT 1) i)"},
    // All of them by one session, with one fence.
    .claim = R"(
            UPDATE pawl_item SET due_at = NULL, session = ($2::bigint[])[1],
                   fence = ($3::bigint[])[1], attempts = attempts + 1
             WHERE id = ANY ($1::bigint[]))",
    .release = R"(
            UPDATE pawl_item i SET due_at = k.now, session = NULL, fence = NULL,
                   attempts = i.attempts - 1
              FROM (SELECT i.id, k.now
                      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS k (id, fence, now)
                      JOIN pawl_item i ON i.id = k.id AND i.fence = k.fence
                     ORDER BY i.id FOR UPDATE OF i) k
             WHERE i.id = k.id)",
    .release_session = R"(
            UPDATE pawl_item i SET due_at = $2::bigint, session = NULL, fence = NULL,
                   attempts = i.attempts - 1
              FROM (SELECT id FROM pawl_item WHERE session = $1::bigint ORDER BY id FOR UPDATE) k
             WHERE i.id = k.id)",
    .release_claim = R"(
            UPDATE pawl_item i SET due_at = $3::bigint, session = NULL, fence = NULL,
                   attempts = i.attempts - 1
              FROM (SELECT id FROM pawl_item WHERE session = $1::bigint AND fence = $2::bigint
                     ORDER BY id FOR UPDATE) k
             WHERE i.id = k.id)",
    .of_claim = "SELECT id FROM pawl_item WHERE session = $1::bigint AND fence = $2::bigint",
    .of_append = R"(
            SELECT k.ord, i.idx, i.id FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY
                   AS k (instance, sequence, ord)
              JOIN pawl_item i ON i.instance = k.instance AND i.sequence = k.sequence)",
    // Locks what it counts: what is settled while a session is reaped is not lost with it.
    .held =
        "SELECT count(*), coalesce(sum(alone), 0)::bigint FROM (SELECT alone FROM pawl_item "
        "WHERE session = $1::bigint ORDER BY id FOR UPDATE) AS held",
    .lose =
        "UPDATE pawl_item SET due_at = $2::bigint, session = NULL, fence = NULL, "
        "alone = CASE WHEN losses > 0 THEN 1 ELSE 0 END, losses = losses + 1, "
        "losses_alone = losses_alone + $3::integer WHERE session = $1::bigint",
    .mend =
        "UPDATE pawl_item SET due_at = $1::bigint WHERE due_at > $1::bigint "
        "AND ((kind <> 2 AND due_at <= $2::bigint) OR (kind = 2 AND created_at > $1::bigint "
        "AND (due_at <= created_at OR due_at <= $3::bigint)))",
    .last = "SELECT created_at FROM pawl_item ORDER BY id DESC LIMIT 1",
    .rows = R"(
            SELECT k.ord, i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM unnest($1::bigint[]) WITH ORDINALITY AS k (id, ord)
             CROSS JOIN LATERAL (SELECT * FROM pawl_item WHERE id = k.id OFFSET 0) AS i
              JOIN pawl_instance n ON n.ref = i.instance ORDER BY k.ord)",
    .page = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM pawl_item i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1::bigint AND ($2::integer IS NULL OR l.kind = $2)
               AND ($3::bigint IS NULL OR l.type = $3) AND ($4::text IS NULL OR l.name = $4)
             ORDER BY i.id LIMIT $5::bigint)",
    .page_of_instance = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM pawl_instance n JOIN pawl_item i ON i.instance = n.ref
              JOIN pawl_line l ON l.ref = i.line
             WHERE i.id + 0 > $1::bigint AND ($2::integer IS NULL OR l.kind = $2)
               AND n.type = $3::bigint AND ($4::text IS NULL OR l.name = $4) AND n.id = $6::bytea
             ORDER BY i.id + 0 LIMIT $5::bigint)",
    .waiting =
        "SELECT line, count(*) FILTER (WHERE due_at <= $1::bigint), "
        "count(*) FILTER (WHERE due_at > $1), min(due_at) "
        "FROM pawl_item WHERE due_at IS NOT NULL GROUP BY line",
    .claimed = "SELECT line, count(*) FROM pawl_item WHERE session IS NOT NULL GROUP BY line",
};

inline constexpr Statements::Failures failure_statements{
    .add = R"(
            INSERT INTO pawl_failure (item, attempt, at, error)
            SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[]))",
    .remove = "DELETE FROM pawl_failure WHERE item = ANY ($1::bigint[])",
    .of = R"(
            SELECT k.ord, f.attempt, f.at, f.error
              FROM unnest($1::bigint[]) WITH ORDINALITY AS k (item, ord)
              JOIN pawl_failure f ON f.item = k.item ORDER BY k.ord, f.number)",
};

inline constexpr Statements::DeadLetters dead_letter_statements{
    // A timer that is set again while its dead letter is revived would be there twice, so the
    // instances come first. The count makes the second lock wait for the first.
    .lock = Statement{R"(
              WITH instances AS MATERIALIZED (
                   SELECT ref FROM pawl_instance
                    WHERE ref = ANY (ARRAY(SELECT instance FROM pawl_dead_letter
                                            WHERE id = ANY ($1::bigint[])))
                    ORDER BY ref FOR NO KEY UPDATE)
            SELECT 1::bigint, id FROM pawl_dead_letter
             WHERE id = ANY ($1) AND (SELECT count(*) FROM instances) >= 0
             ORDER BY id FOR UPDATE)"},
    .bury = R"(
            INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, attempts,
                   losses, losses_alone, failures, created_at, died_at, encoding, key, causation,
                   correlation, conversation, tenant, trace, last_error, reason, payload)
            SELECT i.id, i.line, i.instance, i.sequence, i.idx, i.kind, i.shard, i.attempts,
                   i.losses, i.losses_alone, i.failures + 1, i.created_at, k.at, i.encoding, i.key,
                   i.causation, i.correlation, i.conversation, i.tenant, i.trace, k.reason,
                   k.reason, i.payload
              FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS k (id, reason, at)
              JOIN pawl_item i ON i.id = k.id)",
    // Of several letters of one timer, or one run, the oldest is revived: ids of two processes are
    // not in the order of time, the events of the instance are.
    .revive = R"(
            INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, failures,
                   created_at, due_at, encoding, key, causation, correlation, conversation, tenant,
                   trace, last_error, payload, mail)
            SELECT id, line, instance, sequence, idx, kind, shard, failures, now, now, encoding,
                   key, causation, correlation, conversation, tenant, trace, last_error, payload,
                   CASE WHEN kind = 3 THEN 1 ELSE 0 END
              FROM (SELECT d.*, k.now, row_number() OVER (
                             PARTITION BY d.instance, d.kind,
                                          CASE WHEN d.kind = 3 THEN ''::bytea
                                               ELSE coalesce(d.key, d.id::text::bytea) END
                             ORDER BY d.sequence, d.idx, d.id) AS turn
                      FROM unnest($1::bigint[], $2::bigint[]) AS k (id, now)
                      JOIN pawl_dead_letter d ON d.id = k.id) d
             WHERE NOT (kind = 2 AND key IS NOT NULL AND (turn > 1 OR EXISTS (
                   SELECT 1 FROM pawl_item i
                    WHERE i.instance = d.instance AND i.key = d.key AND i.kind = 2)))
               AND NOT (kind = 3 AND (turn > 1 OR EXISTS (
                   SELECT 1 FROM pawl_item i WHERE i.instance = d.instance AND i.kind = 3))))",
    .remove =
        "DELETE FROM pawl_dead_letter d USING unnest($1::bigint[]) AS k (id) "
        "WHERE d.id = k.id",
    .remove_revived =
        "DELETE FROM pawl_dead_letter d USING unnest($1::bigint[]) AS k (id) "
        "WHERE d.id = k.id AND EXISTS (SELECT 1 FROM pawl_item i WHERE i.id = k.id)",
    .page = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, NULL::bigint, NULL::bigint, NULL::bigint, i.encoding, i.key,
                   i.causation, i.correlation, i.conversation, i.tenant, i.trace, i.last_error,
                   i.payload, n.id, 0::bigint, 0::bigint, i.reason, i.died_at
              FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1::bigint AND ($2::integer IS NULL OR l.kind = $2)
               AND ($3::bigint IS NULL OR l.type = $3) AND ($4::text IS NULL OR l.name = $4)
               AND ($5::text IS NULL OR strpos(i.reason, $5) > 0)
               AND ($6::bigint IS NULL OR i.died_at >= $6)
               AND ($7::bigint IS NULL OR i.died_at < $7)
               AND ($8::bytea IS NULL OR n.id = $8) ORDER BY i.id LIMIT $9::bigint)",
    .rows = R"(
            SELECT k.ord, i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, NULL::bigint, NULL::bigint, NULL::bigint, i.encoding, i.key,
                   i.causation, i.correlation, i.conversation, i.tenant, i.trace, i.last_error,
                   i.payload, n.id, 0::bigint, 0::bigint, i.reason, i.died_at
              FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::text[],
                          $6::bigint[], $7::bigint[], $8::bytea[], $9::bigint[]) WITH ORDINALITY
                   AS k (after, kind, type, name, reason, died_from, died_before, id, letter, ord)
              JOIN pawl_dead_letter i ON i.id = k.letter JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > k.after AND (k.kind IS NULL OR l.kind = k.kind)
               AND (k.type IS NULL OR l.type = k.type) AND (k.name IS NULL OR l.name = k.name)
               AND (k.reason IS NULL OR strpos(i.reason, k.reason) > 0)
               AND (k.died_from IS NULL OR i.died_at >= k.died_from)
               AND (k.died_before IS NULL OR i.died_at < k.died_before)
               AND (k.id IS NULL OR n.id = k.id) ORDER BY k.ord)",
    .count = R"(
            SELECT count(*) FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1::bigint AND ($2::integer IS NULL OR l.kind = $2)
               AND ($3::bigint IS NULL OR l.type = $3) AND ($4::text IS NULL OR l.name = $4)
               AND ($5::text IS NULL OR strpos(i.reason, $5) > 0)
               AND ($6::bigint IS NULL OR i.died_at >= $6)
               AND ($7::bigint IS NULL OR i.died_at < $7)
               AND ($8::bytea IS NULL OR n.id = $8))",
    .expired =
        "SELECT i.id FROM pawl_dead_letter i JOIN pawl_instance n ON n.ref = i.instance "
        "WHERE i.died_at < $1::bigint AND (i.kind <> 3 OR n.finished_at IS NOT NULL) "
        "ORDER BY i.died_at, i.id LIMIT $2::bigint",
};

}  // namespace pawl::store::sql::postgres
