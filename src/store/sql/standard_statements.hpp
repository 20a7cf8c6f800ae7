/// The statements in plain SQL; a database overrides what it does better or spells differently.
#pragma once

#include "store/sql/outbox_statements.hpp"
#include "store/sql/statements.hpp"

namespace pawl::store::sql {

inline constexpr CounterStatements standard_counters{
    .lock = "SELECT instance, position, item, inbox FROM pawl_counter",
    .set = "UPDATE pawl_counter SET instance = $1, position = $2, item = $3, inbox = $4",
    .next_session =
        "UPDATE pawl_counter SET session = session + 1 "
        "RETURNING session"};

inline constexpr Statements standard_statements{
    .names = {.find = "SELECT ref FROM pawl_name WHERE name = $1",
              .add = "INSERT INTO pawl_name (name) VALUES ($1) ON CONFLICT DO NOTHING",
              .all = "SELECT ref, name FROM pawl_name"},
    .lines = {.find = "SELECT l.ref FROM pawl_line l JOIN pawl_name n ON n.ref = l.type "
                      "WHERE l.kind = $1 AND n.name = $2 AND l.name = $3",
              .add = "INSERT INTO pawl_line (kind, type, name) "
                     "SELECT $1, ref, $3 FROM pawl_name WHERE name = $2 ON CONFLICT DO NOTHING",
              .all = "SELECT l.ref, l.kind, n.name, l.name FROM pawl_line l "
                     "JOIN pawl_name n ON n.ref = l.type"},
    .dictionary = {.token = "SELECT token FROM pawl_dictionary",
                   .renew = "UPDATE pawl_dictionary SET token = hex(randomblob(16))"},
    .instances =
        {.find = "SELECT ref, version, finished_at, unique_key, head FROM pawl_instance "
                 "WHERE type = $1 AND id = $2",
         .lock = "SELECT ref, version, finished_at, unique_key, head FROM pawl_instance "
                 "WHERE type = $1 AND id = $2",
         .rows = "SELECT ref, type, id, version, tenant, unique_key, created_at, updated_at, "
                 "finished_at, status, head FROM pawl_instance WHERE type = $1 AND id = $2",
         .add = "INSERT INTO pawl_instance (ref, type, id, version, created_at, updated_at, "
                "finished_at, tenant, unique_key, status, head) "
                "VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10)",
         .update = "UPDATE pawl_instance SET version = $2, updated_at = $3, finished_at = $4, "
                   "unique_key = $5, status = CASE WHEN $6 = 0 THEN status ELSE $6 END, head = $7 "
                   "WHERE ref = $1",
         .page = R"(
            SELECT n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
                   n.updated_at, n.finished_at, n.status, n.head,
                   i.attempts, i.due_at, i.last_error, i.session, s.owner
              FROM pawl_instance n LEFT JOIN pawl_item i ON i.instance = n.ref AND i.kind = 3
                                   LEFT JOIN pawl_session s ON s.id = i.session
             WHERE n.ref > $1 AND ($2 IS NULL OR n.type = $2)
               AND ($3 IS NULL OR substr(n.id, 1, length($3)) = $3)
               AND ($4 IS NULL OR n.tenant = $4)
               AND ($5 IS NULL OR (n.finished_at IS NOT NULL) = $5)
               AND ($6 IS NULL OR n.created_at >= $6) AND ($7 IS NULL OR n.created_at < $7)
               AND ($9 IS NULL OR ((CASE WHEN i.session IS NOT NULL THEN $10
                                         WHEN i.last_error IS NOT NULL THEN $11
                                         ELSE $9 END >> n.status) & 1) = 1)
             ORDER BY n.ref LIMIT $8)",
         // With a type and a prefix, the index on (type, id) finds the few that match.
         .page_of_prefix = R"(
            SELECT n.ref, n.type, n.id, n.version, n.tenant, n.unique_key, n.created_at,
                   n.updated_at, n.finished_at, n.status, n.head,
                   i.attempts, i.due_at, i.last_error, i.session, s.owner
              FROM pawl_instance n LEFT JOIN pawl_item i ON i.instance = n.ref AND i.kind = 3
                                   LEFT JOIN pawl_session s ON s.id = i.session
             WHERE +n.ref > $1 AND n.type = $2 AND n.id >= $3 AND n.id < $12
               AND ($4 IS NULL OR n.tenant = $4)
               AND ($5 IS NULL OR (n.finished_at IS NOT NULL) = $5)
               AND ($6 IS NULL OR n.created_at >= $6) AND ($7 IS NULL OR n.created_at < $7)
               AND ($9 IS NULL OR ((CASE WHEN i.session IS NOT NULL THEN $10
                                         WHEN i.last_error IS NOT NULL THEN $11
                                         ELSE $9 END >> n.status) & 1) = 1)
             ORDER BY +n.ref LIMIT $8)",
         .finished_since = "SELECT finished_at, type, id FROM pawl_instance "
                           "WHERE finished_at >= $1 ORDER BY finished_at LIMIT $2",
         .expired = R"(
            SELECT ref FROM pawl_instance n
             WHERE finished_at < $1
               AND NOT EXISTS (SELECT 1 FROM pawl_item i WHERE i.instance = n.ref)
               AND NOT EXISTS (SELECT 1 FROM pawl_dead_letter d WHERE d.instance = n.ref)
             ORDER BY finished_at, ref LIMIT $2)",
         .remove = "DELETE FROM pawl_instance WHERE ref = $1"},
    .removed = {.add = "INSERT INTO pawl_removed (instance) VALUES ($1)",
                .events = "DELETE FROM pawl_event WHERE position IN (SELECT e.position "
                          "FROM pawl_removed r JOIN pawl_event e ON e.instance = r.instance "
                          "LIMIT $1)",
                .forget = "DELETE FROM pawl_removed WHERE NOT EXISTS (SELECT 1 FROM pawl_event e "
                          "WHERE e.instance = pawl_removed.instance)"},
    .events = {.add = "INSERT INTO pawl_event (position, instance, sequence, at, name, kind, "
                      "encoding, id, causation, correlation, conversation, tenant, trace, payload) "
                      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
               .load = "SELECT name, kind, encoding, id, payload FROM pawl_event "
                       "WHERE instance = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence",
               .ids = "SELECT id FROM pawl_event WHERE instance = $1 AND sequence = $2",
               .journal = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_instance n JOIN pawl_event e ON e.instance = n.ref
             WHERE n.type = $1 AND n.id = $2 AND e.sequence > $3 ORDER BY e.sequence LIMIT $4)",
               .journal_back = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_instance n JOIN pawl_event e ON e.instance = n.ref
             WHERE n.type = $1 AND n.id = $2 AND e.name = $3 AND e.sequence < $4
             ORDER BY e.sequence DESC LIMIT $5)",
               .entries = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_event e JOIN pawl_instance n ON n.ref = e.instance
             WHERE e.instance = $1 AND e.sequence = $2)",
               .follow = R"(
            SELECT e.position, e.sequence, e.at, e.name, e.kind, e.encoding, e.id, e.causation,
                   e.correlation, e.conversation, e.tenant, e.trace, e.payload, n.type, n.id
              FROM pawl_event e JOIN pawl_instance n ON n.ref = e.instance
             WHERE e.position > $1 ORDER BY e.position LIMIT $2)"},
    .snapshots = {.set = "INSERT INTO pawl_snapshot (instance, sequence, version, encoding, "
                         "payload) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (instance) DO UPDATE "
                         "SET sequence = excluded.sequence, version = excluded.version, "
                         "encoding = excluded.encoding, payload = excluded.payload",
                  .load = "SELECT sequence, version, encoding, payload FROM pawl_snapshot "
                          "WHERE instance = $1 AND version = $2 AND sequence <= $3",
                  .remove = "DELETE FROM pawl_snapshot WHERE instance = $1"},
    .inputs = {.find = "SELECT version FROM pawl_input WHERE instance = $1 AND input_id = $2",
               .add = "INSERT INTO pawl_input (instance, input_id, version, at) "
                      "VALUES ($1, $2, $3, $4)",
               // Only the oldest rows are looked at, so that a pass is always short.
               .vacuum = "DELETE FROM pawl_input WHERE number IN (SELECT number FROM (SELECT "
                         "number, at FROM pawl_input ORDER BY number LIMIT $2) AS oldest "
                         "WHERE at < $1)",
               .remove = "DELETE FROM pawl_input WHERE instance = $1"},
    .unique_keys = {.find = "SELECT k.instance, n.id FROM pawl_unique_key k "
                            "JOIN pawl_instance n ON n.ref = k.instance "
                            "WHERE k.type = $1 AND k.key = $2",
                    .lock = "SELECT k.instance, n.id FROM pawl_unique_key k "
                            "JOIN pawl_instance n ON n.ref = k.instance "
                            "WHERE k.type = $1 AND k.key = $2",
                    .add = "INSERT INTO pawl_unique_key (type, key, instance) VALUES ($1, $2, $3)",
                    .remove = "DELETE FROM pawl_unique_key WHERE type = $1 AND key = $2"},
    .items =
        {.lock = "SELECT id, instance, line, kind, attempts, failures, session, fence, key, mail "
                 "FROM pawl_item WHERE id = $1",
         .lock_keyed =
             "SELECT id, instance, line, kind, attempts, failures, session, fence, key, mail "
             "FROM pawl_item WHERE instance = $1 AND key = $2 AND kind = 2",
         .lock_timers = "SELECT id, instance, line, kind, attempts, failures, session, fence, "
                        "key, mail FROM pawl_item WHERE instance = $1 AND kind = 2",
         .runs = "SELECT i.id FROM pawl_instance n JOIN pawl_item i ON i.instance = n.ref "
                 "AND i.kind = 3 WHERE n.type = $1 AND n.id = $2",
         .add = "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
                "created_at, due_at, session, fence, encoding, key, causation, correlation, "
                "conversation, tenant, trace, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, "
                "$10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)",
         .add_later =
             "INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts, "
             "created_at, due_at, session, fence, encoding, key, causation, correlation, "
             "conversation, tenant, trace, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
             "coalesce($9, $11), coalesce($9, $11) + $10, NULL, $12, $13, $14, $15, $16, $17, "
             "$18, $19, $20)",
         .remove = "DELETE FROM pawl_item WHERE id = $1",
         .retry = "UPDATE pawl_item SET due_at = coalesce($2, $5) + $3, last_error = $4, "
                  "failures = failures + 1, alone = 0, session = NULL, fence = NULL WHERE id = $1",
         .forget_losses =
             "UPDATE pawl_item SET losses = 0, losses_alone = 0, alone = 0 WHERE id = $1",
         .suspend = "UPDATE pawl_item SET due_at = $2, wakes_at_mail = $3, mail = 0, "
                    "attempts = 0, losses = 0, losses_alone = 0, alone = 0, last_error = NULL, "
                    "session = NULL, fence = NULL WHERE id = $1",
         // What is claimed has no due_at, and keeps none.
         .mail = "UPDATE pawl_item SET mail = mail + $2, due_at = CASE WHEN due_at > $4 "
                 "AND ($3 = 1 OR mail + $2 >= wakes_at_mail) THEN $4 ELSE due_at END "
                 "WHERE id = $1",
         .ready = "SELECT id, due_at FROM pawl_item WHERE line = $1 AND alone = $2 "
                  "AND due_at <= $3 ORDER BY due_at, id LIMIT $4",
         .first_due = "SELECT due_at FROM pawl_item WHERE line = $1 AND alone = $2 "
                      "AND due_at IS NOT NULL ORDER BY due_at LIMIT 1",
         .claim = "UPDATE pawl_item SET due_at = NULL, session = $2, fence = $3, "
                  "attempts = attempts + 1 WHERE id = $1",
         .release = "UPDATE pawl_item SET due_at = $3, session = NULL, fence = NULL, "
                    "attempts = attempts - 1 WHERE id = $1 AND fence = $2",
         .release_session = "UPDATE pawl_item SET due_at = $2, session = NULL, fence = NULL, "
                            "attempts = attempts - 1 WHERE session = $1",
         .release_claim = "UPDATE pawl_item SET due_at = $3, session = NULL, fence = NULL, "
                          "attempts = attempts - 1 WHERE session = $1 AND fence = $2",
         .of_claim = "SELECT id FROM pawl_item WHERE session = $1 AND fence = $2",
         .of_append = "SELECT idx, id FROM pawl_item WHERE instance = $1 AND sequence = $2",
         .held = "SELECT count(*), coalesce(sum(alone), 0) FROM pawl_item WHERE session = $1",
         .lose = "UPDATE pawl_item SET due_at = $2, session = NULL, fence = NULL, "
                 "alone = CASE WHEN losses > 0 THEN 1 ELSE 0 END, losses = losses + 1, "
                 "losses_alone = losses_alone + $3 WHERE session = $1",
         .mend = "UPDATE pawl_item SET due_at = $1 WHERE due_at > $1 "
                 "AND ((kind <> 2 AND due_at <= $2) OR (kind = 2 AND created_at > $1 "
                 "AND (due_at <= created_at OR due_at <= $3)))",
         .last = "SELECT created_at FROM pawl_item ORDER BY id DESC LIMIT 1",
         .rows = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM pawl_item i JOIN pawl_instance n ON n.ref = i.instance WHERE i.id = $1)",
         .page = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM pawl_item i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
               AND ($4 IS NULL OR l.name = $4) ORDER BY i.id LIMIT $5)",
         .page_of_instance = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, i.due_at, i.session, i.fence, i.encoding, i.key, i.causation,
                   i.correlation, i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id,
                   i.mail, i.wakes_at_mail
              FROM pawl_instance n JOIN pawl_item i ON i.instance = n.ref
              JOIN pawl_line l ON l.ref = i.line
             WHERE +i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND n.type = $3
               AND ($4 IS NULL OR l.name = $4) AND n.id = $6 ORDER BY +i.id LIMIT $5)",
         .waiting = "SELECT line, sum(due_at <= $1), sum(due_at > $1), min(due_at) "
                    "FROM pawl_item WHERE due_at IS NOT NULL GROUP BY line",
         .claimed = "SELECT line, count(*) FROM pawl_item WHERE session IS NOT NULL "
                    "GROUP BY line"},
    .failures = {.add = "INSERT INTO pawl_failure (item, attempt, at, error) "
                        "VALUES ($1, $2, $3, $4)",
                 .remove = "DELETE FROM pawl_failure WHERE item = $1",
                 .of = "SELECT attempt, at, error FROM pawl_failure WHERE item = $1 "
                       "ORDER BY number"},
    .dead_letters = {.bury = R"(
            INSERT INTO pawl_dead_letter (id, line, instance, sequence, idx, kind, shard, attempts,
                   losses, losses_alone, failures, created_at, died_at, encoding, key, causation,
                   correlation, conversation, tenant, trace, last_error, reason, payload)
            SELECT id, line, instance, sequence, idx, kind, shard, attempts, losses, losses_alone,
                   failures + 1, created_at, $3, encoding, key, causation, correlation,
                   conversation, tenant, trace, $2, $2, payload
              FROM pawl_item WHERE id = $1)",
                     .revive = R"(
            INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, failures,
                   created_at, due_at, encoding, key, causation, correlation, conversation, tenant,
                   trace, last_error, payload, mail)
            SELECT id, line, instance, sequence, idx, kind, shard, failures, $2, $2,
                   encoding, key, causation, correlation, conversation, tenant, trace, last_error,
                   payload, CASE WHEN kind = 3 THEN 1 ELSE 0 END
              FROM pawl_dead_letter d
             WHERE id = $1 AND NOT (kind = 2 AND key IS NOT NULL AND EXISTS (
                   SELECT 1 FROM pawl_item i
                    WHERE i.instance = d.instance AND i.key = d.key AND i.kind = 2))
               AND NOT (kind = 3 AND EXISTS (
                   SELECT 1 FROM pawl_item i WHERE i.instance = d.instance AND i.kind = 3)))",
                     .remove = "DELETE FROM pawl_dead_letter WHERE id = $1",
                     .remove_revived = "DELETE FROM pawl_dead_letter WHERE id = $1 "
                                       "AND EXISTS (SELECT 1 FROM pawl_item i WHERE i.id = $1)",
                     .page = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, NULL, NULL, NULL, i.encoding, i.key, i.causation, i.correlation,
                   i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, 0, 0,
                   i.reason, i.died_at
              FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
               AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
               AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
               AND ($8 IS NULL OR n.id = $8) ORDER BY i.id LIMIT $9)",
                     .rows = R"(
            SELECT i.id, i.line, i.sequence, i.idx, i.attempts, i.losses, i.losses_alone,
                   i.created_at, NULL, NULL, NULL, i.encoding, i.key, i.causation, i.correlation,
                   i.conversation, i.tenant, i.trace, i.last_error, i.payload, n.id, 0, 0,
                   i.reason, i.died_at
              FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id = $9 AND i.id > $1 AND ($2 IS NULL OR l.kind = $2)
               AND ($3 IS NULL OR l.type = $3)
               AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
               AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
               AND ($8 IS NULL OR n.id = $8))",
                     .count = R"(
            SELECT count(*) FROM pawl_dead_letter i JOIN pawl_line l ON l.ref = i.line
              JOIN pawl_instance n ON n.ref = i.instance
             WHERE i.id > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
               AND ($4 IS NULL OR l.name = $4) AND ($5 IS NULL OR instr(i.reason, $5) > 0)
               AND ($6 IS NULL OR i.died_at >= $6) AND ($7 IS NULL OR i.died_at < $7)
               AND ($8 IS NULL OR n.id = $8))",
                     .expired = "SELECT i.id FROM pawl_dead_letter i JOIN pawl_instance n "
                                "ON n.ref = i.instance WHERE i.died_at < $1 AND (i.kind <> 3 OR "
                                "n.finished_at IS NOT NULL) ORDER BY i.died_at, i.id LIMIT $2"},
    .endings = {.add = "INSERT INTO pawl_ending (item, line, instance, ending, at, key, reason) "
                       "VALUES ($1, $2, $3, $4, $5, $6, $7)",
                .page = R"(
            SELECT e.item, e.line, n.id, e.key, e.ending, e.reason, e.at
              FROM pawl_ending e JOIN pawl_line l ON l.ref = e.line
              JOIN pawl_instance n ON n.ref = e.instance
             WHERE e.item > $1 AND ($2 IS NULL OR l.kind = $2) AND ($3 IS NULL OR l.type = $3)
               AND ($4 IS NULL OR l.name = $4) AND ($6 IS NULL OR n.id = $6)
             ORDER BY e.item LIMIT $5)",
                .vacuum = "DELETE FROM pawl_ending WHERE item IN (SELECT item FROM pawl_ending "
                          "WHERE at < $1 ORDER BY at LIMIT $2)",
                .remove = "DELETE FROM pawl_ending WHERE instance = $1"},
    .inbox = {.add = "INSERT INTO pawl_inbox (position, type, id, shard, at, encoding, name, "
                     "input_id, causation, correlation, conversation, tenant, trace, payload) "
                     "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
              .page = "SELECT position, at, encoding, name, input_id, causation, correlation, "
                      "conversation, tenant, trace, payload FROM pawl_inbox "
                      "WHERE type = $1 AND id = $2 ORDER BY position LIMIT $3",
              .take = "DELETE FROM pawl_inbox WHERE position = $1 AND type = $2 AND id = $3",
              .clear = "DELETE FROM pawl_inbox WHERE type = $1 AND id = $2"},
    .channels = standard_channels,
    .partitions = standard_partitions,
    .subscribers = standard_subscribers,
    .messages = standard_messages,
    .dead_messages = standard_dead_messages,
    .once = standard_once,
    .receipts = std::nullopt,
    .sessions = {.add = "INSERT INTO pawl_session (id, until, owner, lease) "
                        "VALUES ($1, $2, $3, $4)",
                 .find = "SELECT until FROM pawl_session WHERE id = $1",
                 .hold = "SELECT until FROM pawl_session WHERE id = $1",
                 .lock = "SELECT until FROM pawl_session WHERE id = $1",
                 .renew = "UPDATE pawl_session SET until = $2, lease = $3 WHERE id = $1",
                 .ahead = "SELECT id FROM pawl_session WHERE until - lease > $1",
                 .expired = "SELECT id FROM pawl_session WHERE until <= $1 OR until - lease > $2",
                 .lock_expired = "SELECT id, until, lease FROM pawl_session WHERE until <= $1 "
                                 "OR until - lease > $2",
                 .remove = "DELETE FROM pawl_session WHERE id = $1",
                 .count = "SELECT count(*) FROM pawl_session WHERE until > $1"},
};

}  // namespace pawl::store::sql
