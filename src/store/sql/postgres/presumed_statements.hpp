/// The statements of PostgreSQL by which a group is written without reading first.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::postgres {

// A division by zero is the shortest way to raise; nothing else of ours divides. After a wait for a
// lock the row is looked at again.
inline constexpr Statements::Presumed presumed_statements{
    .instances = R"(
            SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer
              FROM (SELECT FROM unnest($1, $2::bigint[]) AS k (ref, version)
                      JOIN pawl_instance n ON n.ref = k.ref AND n.version = k.version
                     ORDER BY n.ref FOR NO KEY UPDATE OF n) AS found)",
    .sessions = R"(
            SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer
              FROM (SELECT FROM unnest($1) AS k (id) JOIN pawl_session s ON s.id = k.id
                     ORDER BY s.id FOR KEY SHARE OF s) AS found)",
    .items = R"(
            SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer
              FROM (SELECT FROM unnest($1, $2::bigint[], $3::bigint[], $4::bigint[])
                           AS k (id, fence, mail, instance)
                      JOIN pawl_item i ON i.id = k.id AND i.fence = k.fence AND i.mail = k.mail
                       AND i.instance = coalesce(k.instance, i.instance)
                     ORDER BY i.id FOR UPDATE OF i) AS found)",
    .writing = Statements::Presumed::Writing{.instances = R"(
              WITH written AS (
            UPDATE pawl_instance n
               SET version = k.version, updated_at = k.at, finished_at = k.finished_at,
                   unique_key = k.unique_key,
                   status = CASE WHEN k.status = 0 THEN n.status ELSE k.status END
              FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                          $6::bytea[], $7::smallint[])
                   AS k (ref, before, version, at, finished_at, unique_key, status)
             WHERE n.ref = k.ref AND n.version = k.before RETURNING 1)
            SELECT 1 / (count(*) = cardinality($1))::integer FROM written)",
                                             .items = R"(
              WITH locked AS MATERIALIZED (
            SELECT i.id, k.removed
              FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[])
                   AS k (id, fence, mail, instance, removed)
              JOIN pawl_item i ON i.id = k.id AND i.fence = k.fence AND i.mail = k.mail
               AND i.instance = coalesce(k.instance, i.instance)
             ORDER BY i.id FOR UPDATE OF i),
                   gone AS (
            DELETE FROM pawl_item i USING locked l WHERE l.removed = 1 AND i.id = l.id)
            SELECT 1 / (count(*) = cardinality($1))::integer FROM locked)"},
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
              WITH gone AS (DELETE FROM pawl_item i USING unnest($1::bigint[]) AS k (instance)
                             WHERE i.instance = k.instance AND i.kind = 2 RETURNING i.id)
            DELETE FROM pawl_failure f USING gone WHERE f.item = gone.id)",
                                                      .remove_runs = R"(
              WITH gone AS (DELETE FROM pawl_item i USING unnest($1::bigint[]) AS k (instance)
                             WHERE i.instance = k.instance AND i.kind = 3 RETURNING i.id)
            DELETE FROM pawl_failure f USING gone WHERE f.item = gone.id)",
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
