/// The statements of the ordered outbox, in plain SQL.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql {

inline constexpr Statements::Channels standard_channels{
    .find =
        "SELECT c.ref, c.partitions FROM pawl_name n JOIN pawl_channel c ON c.ref = n.ref "
        "WHERE n.name = $1",
    .names = "SELECT n.name FROM pawl_channel c JOIN pawl_name n ON n.ref = c.ref ORDER BY n.name",
    .add = "INSERT INTO pawl_channel (ref, partitions) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    .hold = "SELECT partitions FROM pawl_channel WHERE ref = $1",
    .lock = "SELECT partitions FROM pawl_channel WHERE ref = $1",
    .set = "UPDATE pawl_channel SET partitions = $2 WHERE ref = $1",
    .quiesce = std::nullopt,
    .hurry = std::nullopt,
};

inline constexpr Statements::Partitions standard_partitions{
    .add = "INSERT INTO pawl_partition (channel, part) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    .lock = "SELECT part FROM pawl_partition WHERE channel = $1 ORDER BY part",
    .remove = "DELETE FROM pawl_partition WHERE channel = $1",
    .owners =
        "SELECT p.part, p.session, CASE WHEN s.until > $2 THEN 1 ELSE 0 END "
        "FROM pawl_partition p LEFT JOIN pawl_session s ON s.id = p.session "
        "WHERE p.channel = $1 ORDER BY p.part",
    .free =
        "SELECT p.part FROM pawl_partition p LEFT JOIN pawl_session s ON s.id = p.session "
        "WHERE p.channel = $1 AND (s.id IS NULL OR s.until <= $2) ORDER BY p.part LIMIT $3",
    .take = "UPDATE pawl_partition SET session = $3, fence = $4 WHERE channel = $1 AND part = $2",
    .rows =
        "SELECT sequence, attempts, losses, losses_alone, begun, retry_at, stopped, error, batch "
        "FROM pawl_partition "
        "WHERE channel = $1 AND part = $2",
    .hold = "SELECT 1 FROM pawl_partition WHERE channel = $1 AND part = $2 AND fence = $3",
    .advance =
        "UPDATE pawl_partition "
        "SET sequence = $3, attempts = $4, losses = $5, losses_alone = $6, begun = $7, "
        "retry_at = $8, stopped = $9, error = $10, batch = $11 WHERE channel = $1 AND part = $2",
    .accompany =
        "UPDATE pawl_partition SET begun = 1 WHERE channel = $1 AND part = $2 AND fence = $3 "
        "AND begun = 2",
    .give_back =
        "UPDATE pawl_partition SET session = NULL, fence = NULL, begun = 0 WHERE channel = $1 "
        "AND part = $2 AND fence = $3",
    .depths =
        "SELECT part, sequence, attempts, stopped, error, session FROM pawl_partition "
        "WHERE channel = $1 ORDER BY part",
    .resume =
        "UPDATE pawl_partition "
        "SET stopped = 0, retry_at = NULL, attempts = 0, losses = 0, losses_alone = 0, begun = 0, "
        "session = NULL, fence = NULL "
        "WHERE channel = $1 AND stopped = 1",
};

inline constexpr Statements::Subscribers standard_subscribers{
    .add =
        "INSERT INTO pawl_subscriber (channel, session) VALUES ($1, $2) "
        "ON CONFLICT DO NOTHING",
    .live =
        "SELECT u.session FROM pawl_subscriber u JOIN pawl_session s ON s.id = u.session "
        "WHERE u.channel = $1 AND s.until > $2",
    .forget =
        "DELETE FROM pawl_subscriber WHERE channel = $1 AND session NOT IN (SELECT id "
        "FROM pawl_session)",
};

inline constexpr Statements::Messages standard_messages{
    .add =
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, "
        "type, recipient, schema_url, causation, correlation, conversation, tenant, trace, "
        "payload) VALUES ($1, "
        "(SELECT CASE WHEN $2 IS NULL THEN $3 % c.partitions WHEN $2 BETWEEN 0 AND "
        "c.partitions - 1 THEN $2 END FROM pawl_channel c "
        "WHERE c.ref = $1), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    .add_placed = std::nullopt,
    .page =
        "SELECT m.position, m.at, m.due_at, m.encoding, m.message_key, m.type, m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part FROM pawl_message m WHERE m.channel = $1 AND m.position > $2 "
        "ORDER BY m.position LIMIT $3",
    .next =
        "SELECT m.position, m.at, m.due_at, m.encoding, m.message_key, m.type, m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part FROM pawl_message m WHERE m.channel = $1 AND m.part = $2 "
        "AND m.due_at = 0 AND $4 > 0 ORDER BY m.position LIMIT $3",
    .rows =
        "SELECT m.position, m.at, m.due_at, m.encoding, m.message_key, m.type, m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part FROM pawl_message m WHERE m.position = $1",
    .remove = "DELETE FROM pawl_message WHERE position = $1",
    .ripen =
        "UPDATE pawl_message SET at = due_at, due_at = 0 WHERE channel = $1 AND part = $2 AND "
        "due_at > 0 "
        "AND due_at <= $3",
    .first_due =
        "SELECT due_at FROM pawl_message WHERE channel = $1 AND part = $2 ORDER BY due_at "
        "LIMIT 1",
    .waiting = "SELECT part, count(*), min(at) FROM pawl_message WHERE channel = $1 GROUP BY part",
    .marks = std::nullopt,
    .any = "SELECT 1 FROM pawl_message WHERE channel = $1 LIMIT 1",
    .find = "SELECT 1 FROM pawl_message WHERE id = $1",
};

inline constexpr Statements::DeadMessages standard_dead_messages{
    .bury =
        "INSERT INTO pawl_dead_message (position, channel, part, at, encoding, id, "
        "message_key, type, recipient, schema_url, causation, correlation, conversation, "
        "tenant, trace, payload, sequence, attempts, reason, died_at, status) "
        "SELECT m.position, m.channel, m.part, m.at, m.encoding, m.id, m.message_key, "
        "m.type, m.recipient, m.schema_url, m.causation, m.correlation, m.conversation, "
        "m.tenant, m.trace, m.payload, $2, $3, $4, $5, $6 FROM pawl_message m "
        "WHERE m.position = $1",
    .page =
        "SELECT m.position, m.at, 0, m.encoding, m.message_key, m.type, m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part, m.sequence, m.attempts, m.reason, m.died_at, CASE WHEN "
        "m.status = 1 AND m.until <= $2 THEN 0 ELSE m.status END, m.until, m.channel "
        "FROM pawl_dead_message m WHERE m.position > $1 AND ($3 IS NULL OR m.channel = $3) "
        "AND ($4 IS NULL OR m.part = $4) AND ($5 IS NULL OR m.type = $5) "
        "AND ($6 IS NULL OR instr(m.reason, $6) > 0) AND ($7 IS NULL OR m.died_at >= $7) "
        "AND ($8 IS NULL OR m.died_at < $8) AND ($9 IS NULL OR (CASE WHEN m.status = 1 "
        "AND m.until <= $2 THEN 0 ELSE m.status END) = $9) ORDER BY m.position LIMIT $10",
    .lock = "SELECT status, until FROM pawl_dead_message WHERE position = $1",
    .reprocess = "UPDATE pawl_dead_message SET status = 1, until = $2 WHERE position = $1",
    .settle =
        "UPDATE pawl_dead_message "
        "SET status = $2, until = NULL, reason = coalesce($3, reason) WHERE position = $1 "
        "AND status < 2",
    .count =
        "SELECT count(*) FROM pawl_dead_message m WHERE $10 <> 0 AND m.position > $1 "
        "AND ($3 IS NULL OR m.channel = $3) AND ($4 IS NULL OR m.part = $4) "
        "AND ($5 IS NULL OR m.type = $5) AND ($6 IS NULL OR instr(m.reason, $6) > 0) "
        "AND ($7 IS NULL OR m.died_at >= $7) AND ($8 IS NULL OR m.died_at < $8) "
        "AND ($9 IS NULL OR (CASE WHEN m.status = 1 "
        "AND m.until <= $2 THEN 0 ELSE m.status END) = $9)",
    .clean_up =
        "DELETE FROM pawl_dead_message WHERE position IN (SELECT position "
        "FROM pawl_dead_message WHERE status >= 2 AND died_at < $1 ORDER BY position "
        "LIMIT $2)",
    .find = "SELECT 1 FROM pawl_dead_message WHERE id = $1 AND status <> 2",
};

inline constexpr Statements::Once standard_once{
    .take =
        "INSERT INTO pawl_once AS o (scope, id, at, until, token) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (scope, id) DO UPDATE "
        "SET token = CASE WHEN o.until <= excluded.at THEN excluded.token ELSE o.token END, "
        "until = CASE WHEN o.until <= excluded.at THEN excluded.until ELSE o.until END "
        "RETURNING token",
    .vacuum =
        "DELETE FROM pawl_once WHERE (scope, id) IN (SELECT scope, id FROM pawl_once "
        "WHERE until <= $1 ORDER BY until LIMIT $2)",
};

}  // namespace pawl::store::sql
