/// The statements of the ordered outbox that MariaDB spells differently.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::mariadb {

constexpr void set_outbox(Statements& s) {
    s.channels.add =
        "INSERT INTO pawl_channel (ref, partitions) VALUES ($1, $2) "
        "ON DUPLICATE KEY UPDATE ref = ref";
    // Shared with those who publish: their transaction may be the user's own and last. Of those who
    // take partitions, adding them lets one in at a time.
    s.channels.hold = "SELECT partitions FROM pawl_channel WHERE ref = $1 LOCK IN SHARE MODE";
    // The lock is had at once or not at all: behind somebody who waits for it, everybody who
    // publishes would wait.
    s.channels.lock = "SELECT partitions FROM pawl_channel WHERE ref = $1 FOR UPDATE NOWAIT";
    s.partitions.add =
        "INSERT INTO pawl_partition (channel, part) VALUES ($1, $2) "
        "ON DUPLICATE KEY UPDATE part = part";
    s.partitions.lock =
        "SELECT part FROM pawl_partition WHERE channel = $1 ORDER BY part FOR UPDATE NOWAIT";
    s.partitions.free =
        "SELECT p.part FROM pawl_partition p WHERE p.channel = $1 "
        "AND (p.session IS NULL OR NOT EXISTS (SELECT 1 FROM pawl_session s "
        "WHERE s.id = p.session AND s.until > $2)) ORDER BY p.part LIMIT $3 FOR UPDATE";
    s.partitions.hold =
        "SELECT 1 FROM pawl_partition WHERE channel = $1 AND part = $2 AND fence = $3 FOR "
        "UPDATE";
    s.subscribers.add =
        "INSERT INTO pawl_subscriber (channel, session) VALUES ($1, $2) "
        "ON DUPLICATE KEY UPDATE session = session";
    // Rows with a subquery are not inserted in bulk (measured: 10,000 in a second, without it
    // 100,000).
    s.messages.add_placed = Statement{
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, type, "
        "recipient, schema_url, causation, correlation, conversation, tenant, trace, payload) "
        "VALUES ($1, COALESCE($2, $3), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, "
        "$17)"};
    s.messages.add =
        "INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, "
        "type, recipient, schema_url, causation, correlation, conversation, tenant, trace, "
        "payload) VALUES ($1, "
        "(SELECT CASE WHEN $2 IS NULL THEN $3 % c.partitions WHEN $2 BETWEEN 0 AND "
        "c.partitions - 1 THEN $2 END FROM pawl_channel c "
        "WHERE c.ref = $1 LOCK IN SHARE MODE), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
        "$14, $15, $16, $17)";
    // Assigned from left to right: the token by the time as it was.
    s.once.take =
        "INSERT INTO pawl_once (scope, id, at, until, token) VALUES ($1, $2, $3, $4, $5) "
        "ON DUPLICATE KEY UPDATE token = IF(until <= VALUES(at), VALUES(token), token), "
        "until = IF(until <= VALUES(at), VALUES(until), until) RETURNING token";
    s.once.vacuum = "DELETE FROM pawl_once WHERE until <= $1 ORDER BY until LIMIT $2";
    s.receipts = Statements::Receipts{
        .add = "INSERT INTO pawl_receipt (at, token, try) VALUES ($1, $2, $3)",
        .find = "SELECT try FROM pawl_receipt WHERE at = $1 AND token = $2",
        .vacuum = "DELETE FROM pawl_receipt WHERE at < $1 ORDER BY at LIMIT $2"};
    s.dead_messages.lock =
        "SELECT status, until FROM pawl_dead_message WHERE position = $1 FOR UPDATE";
    s.dead_messages.clean_up =
        "DELETE FROM pawl_dead_message WHERE status >= 2 AND died_at < $1 ORDER BY position "
        "LIMIT $2";
}

}  // namespace pawl::store::sql::mariadb
