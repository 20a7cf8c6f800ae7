/// The statements of the ordered outbox, of PostgreSQL.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::postgres {

inline constexpr Statements::Channels channels{
    .find =
        "SELECT c.ref, c.partitions FROM pawl_name n JOIN pawl_channel c ON c.ref = n.ref "
        "WHERE n.name = $1::text",
    .names = "SELECT n.name FROM pawl_channel c JOIN pawl_name n ON n.ref = c.ref ORDER BY n.name",
    .add =
        "INSERT INTO pawl_channel (ref, partitions) VALUES ($1::bigint, $2::integer) "
        "ON CONFLICT DO NOTHING",
    // One at a time: of those who take partitions, too.
    .hold = "SELECT partitions FROM pawl_channel WHERE ref = $1::bigint FOR NO KEY UPDATE",
    .lock = "SELECT partitions FROM pawl_channel WHERE ref = $1::bigint FOR UPDATE",
    // Another row: whoever publishes by an older one is told so.
    .set =
        "WITH old AS (DELETE FROM pawl_channel WHERE ref = $1::bigint RETURNING ref) "
        "INSERT INTO pawl_channel (ref, partitions) SELECT ref, $2::integer FROM old",
    .quiesce = Statement{"LOCK TABLE pawl_message IN SHARE ROW EXCLUSIVE MODE"},
    .hurry = Statement{"SELECT set_config('lock_timeout', $1::text, true)"},
};

inline constexpr Statements::Partitions partitions{
    .add =
        "INSERT INTO pawl_partition (channel, part) SELECT * "
        "FROM unnest($1::bigint[], $2::integer[]) AS k (channel, part) ON CONFLICT DO NOTHING",
    .lock = "SELECT part FROM pawl_partition WHERE channel = $1::bigint ORDER BY part FOR UPDATE",
    .remove = "DELETE FROM pawl_partition WHERE channel = $1::bigint",
    .owners =
        "SELECT p.part, p.session, CASE WHEN s.until > $2::bigint THEN 1 ELSE 0 END "
        "FROM pawl_partition p LEFT JOIN pawl_session s ON s.id = p.session "
        "WHERE p.channel = $1::bigint ORDER BY p.part",
    .free =
        "SELECT p.part FROM pawl_partition p LEFT JOIN pawl_session s ON s.id = p.session "
        "WHERE p.channel = $1::bigint AND (s.id IS NULL OR s.until <= $2::bigint) "
        "ORDER BY p.part LIMIT $3::bigint FOR UPDATE OF p SKIP LOCKED",
    .take =
        "UPDATE pawl_partition p SET session = k.session, fence = k.fence "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[]) AS k (channel, "
        "part, session, fence) WHERE p.channel = k.channel AND p.part = k.part",
    .rows =
        "SELECT k.ord, p.sequence, p.attempts, p.losses, p.losses_alone, p.begun, p.retry_at, "
        "p.stopped, p.error, p.batch "
        "FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS k (channel, part, ord) "
        "CROSS JOIN LATERAL (SELECT * FROM pawl_partition WHERE channel = k.channel "
        "AND part = k.part OFFSET 0) AS p",
    .hold =
        "SELECT k.ord FROM (SELECT * "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) WITH ORDINALITY AS k "
        "(channel, part, fence, ord) ORDER BY channel, part) AS k CROSS JOIN LATERAL "
        "(SELECT FROM pawl_partition p WHERE p.channel = k.channel AND p.part = k.part "
        "AND p.fence = k.fence FOR UPDATE) AS p",
    .advance =
        "UPDATE pawl_partition p "
        "SET sequence = k.sequence, attempts = k.attempts, losses = k.losses, losses_alone = "
        "k.losses_alone, begun = k.begun, retry_at = k.retry_at, stopped = k.stopped, error = "
        "k.error, batch = k.batch "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::integer[], $5::integer[], "
        "$6::integer[], $7::smallint[], $8::bigint[], $9::smallint[], $10::text[], $11::bytea[]) "
        "AS k (channel, part, sequence, attempts, losses, losses_alone, begun, retry_at, stopped, "
        "error, batch) WHERE p.channel = k.channel AND p.part = k.part",
    .accompany =
        "UPDATE pawl_partition SET begun = 1 WHERE channel = $1::bigint AND part = $2::integer "
        "AND fence = $3::bigint AND begun = 2",
    .give_back =
        "UPDATE pawl_partition p SET session = NULL, fence = NULL, begun = 0 "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS k (channel, part, fence) "
        "WHERE p.channel = k.channel AND p.part = k.part AND p.fence = k.fence",
    .depths =
        "SELECT part, sequence, attempts, stopped, error, session FROM pawl_partition "
        "WHERE channel = $1::bigint ORDER BY part",
    .resume =
        "UPDATE pawl_partition "
        "SET stopped = 0, retry_at = NULL, attempts = 0, losses = 0, losses_alone = 0, begun = 0, "
        "session = NULL, fence = NULL "
        "WHERE channel = $1::bigint AND stopped = 1",
};

inline constexpr Statements::Subscribers subscribers{
    .add =
        "INSERT INTO pawl_subscriber (channel, session) VALUES ($1::bigint, $2::bigint) "
        "ON CONFLICT DO NOTHING",
    .live =
        "SELECT u.session FROM pawl_subscriber u JOIN pawl_session s ON s.id = u.session "
        "WHERE u.channel = $1::bigint AND s.until > $2::bigint",
    .forget =
        "DELETE FROM pawl_subscriber WHERE channel = $1::bigint AND session NOT IN (SELECT id "
        "FROM pawl_session)",
};

/// What is committed, and the number that the next transaction will have. A snapshot ends at the
/// last one that has ended; those after it may be running. `age` tells the low half of the next
/// number.
inline constexpr Statement snapshot = R"(
    SELECT s::text,
           (x + ((age('3'::xid)::bigint + 3 - x % 4294967296) % 4294967296 + 4294967296)
                % 4294967296)::text
      FROM (SELECT s, pg_snapshot_xmax(s)::text::bigint AS x
              FROM (SELECT pg_current_snapshot() AS s OFFSET 0) s) s)";

// Searches begin at a mark, or behind the floor of a transaction that has ended since (`first`).
// Marks rest on it that a transaction has its number before its first position, as with events, and
// that nothing comes to stand before them. So what was for later and is due stands apart. Rows are
// compared with (due_at, position), which no other index has: the primary key would lead through
// the messages of all partitions.
//
// In a transaction of the user's that sees an older moment than its statement, the number of
// partitions may have changed since: the lock fails then. The others see it as it is, and need
// none.
inline constexpr Statements::Messages messages{
    .add =
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, "
        "type, recipient, schema_url, causation, correlation, conversation, tenant, trace, "
        "payload) "
        "SELECT k.channel, CASE WHEN k.part IS NULL THEN k.hash % c.partitions WHEN k.part "
        "BETWEEN 0 AND c.partitions - 1 THEN k.part END, k.at, k.due_at, k.encoding, k.id, "
        "k.message_key, k.type, k.recipient, k.schema_url, k.causation, k.correlation, "
        "k.conversation, k.tenant, k.trace, k.payload "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], "
        "$6::smallint[], $7::bytea[], $8::bytea[], $9::text[], $10::text[], $11::text[], "
        "$12::bytea[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bytea[]) "
        "WITH ORDINALITY AS k (channel, part, hash, at, due_at, encoding, id, message_key, "
        "type, recipient, schema_url, causation, correlation, conversation, tenant, trace, "
        "payload, ord) LEFT JOIN pawl_channel c ON c.ref = k.channel "
        "WHERE (SELECT count(*) FROM (SELECT FROM pawl_channel WHERE ref = ANY ($1) "
        "AND current_setting('transaction_isolation') <> 'read committed' FOR KEY SHARE) AS l) "
        ">= 0 AND pg_current_xact_id() IS NOT NULL ORDER BY k.ord",
    .add_placed = std::nullopt,
    .page =
        "SELECT m.position, m.at, greatest(m.due_at, 0), m.encoding, m.message_key, m.type, "
        "m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part FROM pawl_message m WHERE m.channel = $1::bigint "
        "AND m.position > $2::bigint ORDER BY m.position LIMIT $3::bigint",
    .next =
        "SELECT k.ord, m.position, m.at, greatest(m.due_at, 0), m.encoding, m.message_key, m.type, "
        "m.recipient, m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, "
        "m.trace, m.payload, m.id, m.part, m.first "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], "
        "$6::text[], $7::text[]) WITH ORDINALITY "
        "AS k (channel, part, most, bytes, mark, transactions, floors, ord) "
        "CROSS JOIN LATERAL (SELECT least(k.mark, (SELECT min(r.floor) + 1 "
        "FROM unnest(k.transactions::xid8[], k.floors::bigint[]) AS r (id, floor) "
        "WHERE pg_visible_in_snapshot(r.id, pg_current_snapshot()))) AS first OFFSET 0) AS s "
        "CROSS JOIN LATERAL (SELECT * FROM (SELECT *, "
        "sum(octet_length(payload)) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - "
        "octet_length(payload) AS earlier FROM (SELECT *, "
        "min(position) FILTER (WHERE due_at = 0) OVER () AS first FROM ("
        "(SELECT * FROM pawl_message m WHERE m.channel = k.channel AND m.part = k.part "
        "AND m.due_at < 0 ORDER BY m.due_at, m.position LIMIT k.most) UNION ALL "
        "(SELECT * FROM pawl_message m WHERE m.channel = k.channel AND m.part = k.part "
        "AND (m.due_at, m.position) >= (0, s.first) AND m.due_at < 1 "
        "ORDER BY m.due_at, m.position LIMIT k.most)) AS m "
        "ORDER BY position LIMIT k.most) AS m) AS m WHERE earlier < k.bytes) AS m "
        "ORDER BY k.ord, m.position",
    .rows =
        "SELECT k.ord, m.position, m.at, greatest(m.due_at, 0), m.encoding, m.message_key, m.type, "
        "m.recipient, m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, "
        "m.trace, m.payload, m.id, m.part "
        "FROM unnest($1::bigint[]) WITH ORDINALITY AS k (position, ord) "
        "JOIN pawl_message m ON m.position = k.position",
    .remove = "DELETE FROM pawl_message WHERE position = ANY ($1::bigint[])",
    .ripen =
        "UPDATE pawl_message m SET at = m.due_at, due_at = -1 "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS k (channel, part, now) "
        "WHERE m.channel = k.channel AND m.part = k.part AND m.due_at > 0 "
        "AND m.due_at <= k.now",
    .first_due =
        "SELECT k.ord, least((SELECT greatest(m.due_at, 0) FROM pawl_message m "
        "WHERE m.channel = k.channel AND m.part = k.part AND m.due_at < 0 LIMIT 1), "
        "CASE WHEN f.position IS NULL THEN (SELECT m.due_at FROM pawl_message m "
        "WHERE m.channel = k.channel AND m.part = k.part AND m.due_at > 0 ORDER BY m.due_at "
        "LIMIT 1) ELSE 0 END), f.position "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::text[]) "
        "WITH ORDINALITY AS k (channel, part, mark, transactions, floors, ord) "
        "CROSS JOIN LATERAL (SELECT least(k.mark, (SELECT min(r.floor) + 1 "
        "FROM unnest(k.transactions::xid8[], k.floors::bigint[]) AS r (id, floor) "
        "WHERE pg_visible_in_snapshot(r.id, pg_current_snapshot()))) AS first OFFSET 0) AS s "
        "CROSS JOIN LATERAL (SELECT (SELECT m.position FROM pawl_message m "
        "WHERE m.channel = k.channel AND m.part = k.part AND (m.due_at, m.position) >= "
        "(0, s.first) AND m.due_at < 1 ORDER BY m.due_at, m.position LIMIT 1) AS position "
        "OFFSET 0) AS f",
    .waiting =
        "SELECT k.ord, m.waiting, m.oldest, m.first "
        "FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::text[]) "
        "WITH ORDINALITY AS k (channel, part, mark, transactions, floors, ord) "
        "CROSS JOIN LATERAL (SELECT least(k.mark, (SELECT min(r.floor) + 1 "
        "FROM unnest(k.transactions::xid8[], k.floors::bigint[]) AS r (id, floor) "
        "WHERE pg_visible_in_snapshot(r.id, pg_current_snapshot()))) AS first OFFSET 0) AS s "
        "CROSS JOIN LATERAL (SELECT count(*) AS waiting, min(at) AS oldest, min(first) AS first "
        "FROM (SELECT at, position AS first FROM pawl_message m WHERE m.channel = k.channel "
        "AND m.part = k.part AND (m.due_at, m.position) >= (0, s.first) AND m.due_at < 1 "
        "UNION ALL SELECT at, NULL FROM pawl_message m WHERE m.channel = k.channel "
        "AND m.part = k.part AND m.due_at < 0 "
        "UNION ALL SELECT at, NULL FROM pawl_message m WHERE m.channel = k.channel "
        "AND m.part = k.part AND m.due_at > 0) AS m) AS m WHERE m.waiting > 0",
    .marks =
        Statements::Messages::Marks{.position =
                                        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END "
                                        "FROM pawl_message_position_seq",
                                    .snapshot = snapshot},
    .any = "SELECT 1 FROM pawl_message WHERE channel = $1::bigint LIMIT 1",
    .find =
        "SELECT k.ord FROM unnest($1::bytea[]) WITH ORDINALITY AS k (id, ord) "
        "JOIN pawl_message m ON m.id = k.id",
};

inline constexpr Statements::DeadMessages dead_messages{
    .bury =
        "INSERT INTO pawl_dead_message (position, channel, part, at, encoding, id, "
        "message_key, type, recipient, schema_url, causation, correlation, conversation, "
        "tenant, trace, payload, sequence, attempts, reason, died_at, status) "
        "SELECT m.position, m.channel, m.part, m.at, m.encoding, m.id, m.message_key, "
        "m.type, m.recipient, m.schema_url, m.causation, m.correlation, m.conversation, "
        "m.tenant, m.trace, m.payload, k.sequence, k.attempts, k.reason, k.now, k.status "
        "FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::bigint[], "
        "$6::smallint[]) AS k (position, sequence, attempts, reason, now, status) "
        "JOIN pawl_message m ON m.position = k.position",
    .page =
        "SELECT m.position, m.at, 0, m.encoding, m.message_key, m.type, m.recipient, "
        "m.schema_url, m.causation, m.correlation, m.conversation, m.tenant, m.trace, "
        "m.payload, m.id, m.part, m.sequence, m.attempts, m.reason, m.died_at, CASE WHEN "
        "m.status = 1 AND m.until <= $2::bigint THEN 0 ELSE m.status END, m.until, m.channel "
        "FROM pawl_dead_message m WHERE m.position > $1::bigint "
        "AND ($3::bigint IS NULL OR m.channel = $3) AND ($4::integer IS NULL OR m.part = $4) "
        "AND ($5::text IS NULL OR m.type = $5) "
        "AND ($6::text IS NULL OR strpos(m.reason, $6) > 0) "
        "AND ($7::bigint IS NULL OR m.died_at >= $7) "
        "AND ($8::bigint IS NULL OR m.died_at < $8) "
        "AND ($9::smallint IS NULL OR (CASE WHEN m.status = 1 "
        "AND m.until <= $2 THEN 0 ELSE m.status END) = $9) ORDER BY m.position "
        "LIMIT $10::bigint",
    .lock =
        "SELECT k.ord, m.status, m.until "
        "FROM unnest($1::bigint[]) WITH ORDINALITY AS k (position, ord) "
        "JOIN pawl_dead_message m ON m.position = k.position ORDER BY m.position "
        "FOR UPDATE OF m",
    .reprocess =
        "UPDATE pawl_dead_message m SET status = 1, until = k.until "
        "FROM unnest($1::bigint[], $2::bigint[]) AS k (position, until) "
        "WHERE m.position = k.position",
    .settle =
        "UPDATE pawl_dead_message m "
        "SET status = k.status, until = NULL, reason = coalesce(k.reason, m.reason) "
        "FROM unnest($1::bigint[], $2::smallint[], $3::text[]) AS k (position, status, "
        "reason) WHERE m.position = k.position AND m.status < 2",
    .count =
        "SELECT count(*) FROM pawl_dead_message m WHERE $10::bigint <> 0 "
        "AND m.position > $1::bigint AND ($3::bigint IS NULL OR m.channel = $3) "
        "AND ($4::integer IS NULL OR m.part = $4) AND ($5::text IS NULL OR m.type = $5) "
        "AND ($6::text IS NULL OR strpos(m.reason, $6) > 0) "
        "AND ($7::bigint IS NULL OR m.died_at >= $7) "
        "AND ($8::bigint IS NULL OR m.died_at < $8) "
        "AND ($9::smallint IS NULL OR (CASE WHEN m.status = 1 "
        "AND m.until <= $2::bigint THEN 0 ELSE m.status END) = $9)",
    .clean_up =
        "DELETE FROM pawl_dead_message WHERE position = ANY (ARRAY(SELECT position "
        "FROM pawl_dead_message WHERE status >= 2 AND died_at < $1::bigint ORDER BY position "
        "LIMIT $2::bigint FOR UPDATE SKIP LOCKED))",
    .find =
        "SELECT k.ord FROM unnest($1::bytea[]) WITH ORDINALITY AS k (id, ord) "
        "JOIN pawl_dead_message m ON m.id = k.id AND m.status <> 2",
};

// In the order of their keys, so that nobody waits in a circle.
inline constexpr Statements::Once once{
    .take =
        "WITH k AS (SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], "
        "$5::bytea[]) WITH ORDINALITY AS k (scope, id, at, until, token, ord)), "
        "t AS (INSERT INTO pawl_once AS o (scope, id, at, until, token) "
        "SELECT scope, id, at, until, token FROM k ORDER BY scope, id "
        "ON CONFLICT (scope, id) DO UPDATE "
        "SET token = CASE WHEN o.until <= excluded.at THEN excluded.token ELSE o.token END, "
        "until = CASE WHEN o.until <= excluded.at THEN excluded.until ELSE o.until END "
        "RETURNING scope, id, token) "
        "SELECT k.ord, t.token FROM k JOIN t ON t.scope = k.scope AND t.id = k.id",
    // Locked when they are chosen: one that is taken again meanwhile is as good as new.
    .vacuum =
        "DELETE FROM pawl_once WHERE ctid = ANY (ARRAY(SELECT ctid FROM pawl_once "
        "WHERE until <= $1::bigint ORDER BY until LIMIT $2::bigint FOR UPDATE SKIP LOCKED))",
};

inline constexpr Statements::Receipts receipts{
    .add = "INSERT INTO pawl_receipt (at, token, try) VALUES ($1::bigint, $2::bigint, $3::integer)",
    .find = "SELECT try FROM pawl_receipt WHERE at = $1::bigint AND token = $2::bigint",
    .vacuum =
        "DELETE FROM pawl_receipt WHERE ctid = ANY (ARRAY(SELECT ctid FROM pawl_receipt "
        "WHERE at < $1::bigint ORDER BY at LIMIT $2::bigint FOR UPDATE SKIP LOCKED))",
};

}  // namespace pawl::store::sql::postgres
