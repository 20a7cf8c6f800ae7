/// The statements of PostgreSQL by which a group is written without reading first.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::postgres {

// A division by zero is the shortest way to raise; nothing else of ours divides. After a wait for a
// lock the row is looked at again. Those that can be joined with others have the shape that
// `join_statements` asks for, and names of their own.
inline constexpr Statements::Presumed presumed_statements{
    .instances = R"(
              WITH unchanged AS (
            SELECT FROM pawl_instance n
             WHERE n.ref = ANY ($1::bigint[])
               AND n.version = ($2::bigint[])[width_bucket(n.ref, $1)]
               AND n.head = coalesce(($3::bigint[])[width_bucket(n.ref, $1)], n.head)
             ORDER BY n.ref FOR NO KEY UPDATE)
            SELECT 1 / ((SELECT count(*) FROM unchanged) = cardinality($1))::integer)",
    .sessions = R"(
              WITH alive AS (
            SELECT FROM pawl_session s WHERE s.id = ANY ($1::bigint[])
             ORDER BY s.id FOR KEY SHARE)
            SELECT 1 / ((SELECT count(*) FROM alive) = cardinality($1))::integer)",
    .items = R"(
              WITH held AS (
            SELECT FROM pawl_item i
             WHERE i.id = ANY ($1::bigint[]) AND i.fence = ($2::bigint[])[width_bucket(i.id, $1)]
               AND i.mail = ($3::bigint[])[width_bucket(i.id, $1)]
               AND i.instance = coalesce(($4::bigint[])[width_bucket(i.id, $1)], i.instance)
             ORDER BY i.id FOR UPDATE)
            SELECT 1 / ((SELECT count(*) FROM held) = cardinality($1))::integer)",
    .writing = Statements::Presumed::Writing{.dictionary = R"(
              WITH dictionary AS (
            SELECT FROM pawl_dictionary d WHERE d.token = ANY ($1::text[]))
            SELECT 1 / ((SELECT count(*) FROM dictionary) = cardinality($1))::integer)",
                                             .instances = R"(
              WITH written AS (
            UPDATE pawl_instance n
               SET version = ($3::bigint[])[width_bucket(n.ref, $1::bigint[])],
                   updated_at = ($4::bigint[])[width_bucket(n.ref, $1)],
                   finished_at = ($5::bigint[])[width_bucket(n.ref, $1)],
                   unique_key = ($6::bytea[])[width_bucket(n.ref, $1)],
                   status = coalesce(nullif(($7::smallint[])[width_bucket(n.ref, $1)], 0),
                                     n.status),
                   head = coalesce(($9::bigint[])[width_bucket(n.ref, $1)], n.head)
             WHERE n.ref = ANY ($1) AND n.version = ($2::bigint[])[width_bucket(n.ref, $1)]
               AND n.head = coalesce(($8::bigint[])[width_bucket(n.ref, $1)], n.head)
         RETURNING 1)
            SELECT 1 / ((SELECT count(*) FROM written) = cardinality($1))::integer)",
                                             .items = R"(
              WITH locked AS MATERIALIZED (
            SELECT i.id, ($5::integer[])[width_bucket(i.id, $1::bigint[])] AS removed
              FROM pawl_item i
             WHERE i.id = ANY ($1) AND i.fence = ($2::bigint[])[width_bucket(i.id, $1)]
               AND i.mail = ($3::bigint[])[width_bucket(i.id, $1)]
               AND i.instance = coalesce(($4::bigint[])[width_bucket(i.id, $1)], i.instance)
             ORDER BY i.id FOR UPDATE),
                   gone AS (
            DELETE FROM pawl_item
             WHERE id = ANY (ARRAY(SELECT id FROM locked WHERE removed = 1)))
            SELECT 1 / ((SELECT count(*) FROM locked) = cardinality($1))::integer)"},
    // An item may be found in two ways: as the one that is settled, and as what belongs to an
    // instance. Settled with or before its removal it is the same removal; after it, or where it is
    // also sent mail, the group has to be judged on what is there.
    .of_instances = Statements::Presumed::OfInstances{.lock = R"(
              WITH k AS MATERIALIZED (
                   SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[],
                                        $5::bytea[], $6::integer[])
                                 AS k (how, number, fence, mail, id, turn)),
                   wanted AS MATERIALIZED (
                   SELECT how, number AS item, fence, mail, turn FROM k WHERE how = 0
                   UNION ALL
                   SELECT k.how, t.id, NULL, NULL, k.turn
                     FROM k JOIN pawl_item t ON t.instance = k.number AND t.kind = k.how + 1
                    WHERE k.how IN (1, 2)
                   UNION ALL
                   SELECT k.how, t.id, NULL, NULL, k.turn
                     FROM k JOIN pawl_instance n ON n.type = k.number AND n.id = k.id
                     JOIN pawl_item t ON t.instance = n.ref AND t.kind = 3
                    WHERE k.how = 3)
            SELECT 1 / (coalesce(sum(settled), 0) = (SELECT count(*) FROM k WHERE how = 0)
                        AND coalesce(sum(mailed), 0) = (SELECT count(*) FROM k WHERE how = 3)
                        AND NOT coalesce(bool_or(settled_at > removed_at), false)
                        AND NOT coalesce(bool_or(settled > 0 AND mailed > 0), false))::integer
              FROM (SELECT count(*) FILTER (WHERE how = 0 AND held) AS settled,
                           count(*) FILTER (WHERE how = 3) AS mailed,
                           max(turn) FILTER (WHERE how = 0) AS settled_at,
                           min(turn) FILTER (WHERE how IN (1, 2)) AS removed_at
                      FROM (SELECT i.id, w.how, w.turn,
                                   i.fence = w.fence AND i.mail = w.mail AS held
                              FROM wanted w JOIN pawl_item i ON i.id = w.item
                             ORDER BY i.id FOR UPDATE OF i) AS found
                     GROUP BY id) AS by_item)",
                                                      .remove_timers = R"(
              WITH gone AS (DELETE FROM pawl_item WHERE instance = ANY ($1::bigint[])
                               AND kind = 2 RETURNING id)
            DELETE FROM pawl_failure WHERE item = ANY (ARRAY(SELECT id FROM gone)))",
                                                      .remove_runs = R"(
              WITH gone AS (DELETE FROM pawl_item WHERE instance = ANY ($1::bigint[])
                               AND kind = 3 RETURNING id)
            DELETE FROM pawl_failure WHERE item = ANY (ARRAY(SELECT id FROM gone)))",
                                                      .mail = R"(
            UPDATE pawl_item i
               SET mail = i.mail + k.mail,
                   due_at = CASE WHEN i.due_at > k.now
                                  AND (k.urgent = 1 OR i.mail + k.mail >= i.wakes_at_mail)
                                 THEN k.now ELSE i.due_at END
              FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::integer[], $5::bigint[])
                   AS k (type, id, mail, urgent, now)
              JOIN pawl_instance n ON n.type = k.type AND n.id = k.id
             WHERE i.instance = n.ref AND i.kind = 3)"}};

}  // namespace pawl::store::sql::postgres
