/// The statements of the ordered outbox, of MariaDB.
#pragma once

#include "store/sql/statements.hpp"

namespace pawl::store::sql::mariadb {

inline constexpr Statements::Channels channels{.add = R"(
            INSERT INTO pawl_channel (ref, partitions) VALUES ($1, $2) ON DUPLICATE KEY UPDATE
            ref = ref)",
                                               .lock = R"(
            SELECT partitions FROM pawl_channel WHERE ref = $1 FOR UPDATE)",
                                               .set = R"(
            UPDATE pawl_channel SET partitions = $2 WHERE ref = $1)",
                                               .quiesce = std::nullopt};

inline constexpr Statements::Partitions partitions{.add = R"(
            INSERT INTO pawl_partition (channel, part) VALUES ($1, $2) ON DUPLICATE KEY UPDATE
            part = part)",
                                                   .lock = R"(
            SELECT part FROM pawl_partition WHERE channel = $1 ORDER BY part FOR UPDATE)",
                                                   .remove = R"(
            DELETE FROM pawl_partition WHERE channel = $1)",
                                                   .owners = R"(
            SELECT p.part, p.session, CASE WHEN s.until > $2 THEN 1 ELSE 0 END
              FROM pawl_partition p LEFT JOIN pawl_session s ON s.id = p.session
             WHERE p.channel = $1 ORDER BY p.part)",
                                                   .free = R"(
            SELECT p.part FROM pawl_partition p WHERE p.channel = $1 AND (p.session IS NULL OR
            NOT EXISTS (SELECT 1 FROM pawl_session s WHERE s.id = p.session AND s.until > $2))
            ORDER BY p.part LIMIT $3 FOR UPDATE)",
                                                   .take = R"(
            UPDATE pawl_partition SET session = $3, fence = $4 WHERE channel = $1 AND part = $2)",
                                                   .rows = R"(
            SELECT sequence, attempts, retry_at, stopped, error, batch FROM pawl_partition WHERE
            channel = $1 AND part = $2)",
                                                   .hold = R"(
            SELECT 1 FROM pawl_partition WHERE channel = $1 AND part = $2 AND fence = $3 FOR
            UPDATE)",
                                                   .advance = R"(
            UPDATE pawl_partition SET sequence = $3, attempts = $4, retry_at = $5, stopped = $6,
            error = $7, batch = $8 WHERE channel = $1 AND part = $2)",
                                                   .give_back = R"(
            UPDATE pawl_partition SET session = NULL, fence = NULL WHERE channel = $1 AND part =
            $2 AND fence = $3)",
                                                   .depths = R"(
            SELECT part, sequence, attempts, stopped, error, session FROM pawl_partition WHERE
            channel = $1 ORDER BY part)",
                                                   .resume = R"(
            UPDATE pawl_partition SET stopped = 0, retry_at = NULL, attempts = 0,
            session = NULL, fence = NULL WHERE channel =
            $1 AND stopped = 1)"};

inline constexpr Statements::Subscribers subscribers{.add = R"(
            INSERT INTO pawl_subscriber (channel, session) VALUES ($1, $2) ON DUPLICATE KEY
            UPDATE session = session)",
                                                     .live = R"(
            SELECT u.session FROM pawl_subscriber u JOIN pawl_session s ON s.id = u.session
             WHERE u.channel = $1 AND s.until > $2)",
                                                     .forget = R"(
            DELETE FROM pawl_subscriber WHERE channel = $1 AND session NOT IN (SELECT id FROM
            pawl_session))"};

inline constexpr Statements::Messages messages{.add = R"(
            INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, `key`, type,
            recipient, `schema`, causation, correlation, conversation, tenant, trace, payload)
            VALUES ($1, (SELECT CASE WHEN $2 IS NULL THEN $3 % c.partitions WHEN $2 BETWEEN 0
            AND c.partitions - 1 THEN $2 END FROM pawl_channel c WHERE c.ref = $1
            LOCK IN SHARE MODE), $4, $5, $6,
            $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17))",
                                               .page = R"(
            SELECT m.position, m.at, m.due_at, m.encoding, m.`key`, m.type, m.recipient,
            m.`schema`, m.causation, m.correlation, m.conversation, m.tenant, m.trace,
            m.payload, m.id, m.part FROM pawl_message m WHERE m.channel = $1 AND m.position > $2
            ORDER BY m.position LIMIT $3)",
                                               .next = R"(
            SELECT m.position, m.at, m.due_at, m.encoding, m.`key`, m.type, m.recipient,
            m.`schema`, m.causation, m.correlation, m.conversation, m.tenant, m.trace,
            m.payload, m.id, m.part FROM pawl_message m WHERE m.channel = $1 AND m.part = $2 AND
            m.due_at = 0 ORDER BY m.position LIMIT $3)",
                                               .rows = R"(
            SELECT m.position, m.at, m.due_at, m.encoding, m.`key`, m.type, m.recipient,
            m.`schema`, m.causation, m.correlation, m.conversation, m.tenant, m.trace,
            m.payload, m.id, m.part FROM pawl_message m WHERE m.position = $1)",
                                               .remove = R"(
            DELETE FROM pawl_message WHERE position = $1)",
                                               .ripen = R"(
            UPDATE pawl_message SET due_at = 0 WHERE channel = $1 AND part = $2 AND due_at > 0
            AND due_at <= $3)",
                                               .first_due = R"(
            SELECT due_at FROM pawl_message WHERE channel = $1 AND part = $2
             ORDER BY due_at LIMIT 1)",
                                               .waiting = R"(
            SELECT part, count(*), min(at) FROM pawl_message WHERE channel = $1 GROUP BY part)",
                                               .any = R"(
            SELECT 1 FROM pawl_message WHERE channel = $1 LIMIT 1)",
                                               .find = R"(
            SELECT 1 FROM pawl_message WHERE id = $1)"};

inline constexpr Statements::DeadMessages dead_messages{.bury = R"(
            INSERT INTO pawl_dead_message (position, channel, part, at, encoding, id, `key`,
            type, recipient, `schema`, causation, correlation, conversation, tenant, trace,
            payload, sequence, attempts, reason, died_at) SELECT m.position, m.channel, m.part,
            m.at, m.encoding, m.id, m.`key`, m.type, m.recipient, m.`schema`, m.causation,
            m.correlation, m.conversation, m.tenant, m.trace, m.payload, $2, $3, $4, $5 FROM
            pawl_message m WHERE m.position = $1)",
                                                        .page = R"(
            SELECT m.position, m.at, 0, m.encoding, m.`key`, m.type, m.recipient, m.`schema`,
            m.causation, m.correlation, m.conversation, m.tenant, m.trace, m.payload, m.id,
            m.part, m.sequence, m.attempts, m.reason, m.died_at, CASE WHEN m.status = 1 AND
            m.until <= $2 THEN 0 ELSE m.status END, m.until, m.channel FROM pawl_dead_message m
            WHERE m.position > $1 AND ($3 IS NULL OR m.channel = $3) AND ($4 IS NULL OR m.part =
            $4) AND ($5 IS NULL OR m.type = $5) AND ($6 IS NULL OR instr(m.reason, $6) > 0) AND
            ($7 IS NULL OR m.died_at >= $7) AND ($8 IS NULL OR m.died_at < $8) AND ($9 IS NULL
            OR (CASE WHEN m.status = 1 AND m.until <= $2 THEN 0 ELSE m.status END) = $9) ORDER
            BY m.position LIMIT $10)",
                                                        .lock = R"(
            SELECT status, until FROM pawl_dead_message WHERE position = $1 FOR UPDATE)",
                                                        .reprocess = R"(
            UPDATE pawl_dead_message SET status = 1, until = $2 WHERE position = $1)",
                                                        .settle = R"(
            UPDATE pawl_dead_message SET status = $2, until = NULL, reason = coalesce($3,
            reason) WHERE position = $1 AND status < 2)",
                                                        .count = R"(
            SELECT count(*) FROM pawl_dead_message m WHERE $2 IS NOT NULL AND m.position > $1
            AND ($3 IS NULL OR m.channel = $3) AND ($4 IS NULL OR m.part = $4) AND ($5 IS NULL
            OR m.type = $5) AND ($6 IS NULL OR instr(m.reason, $6) > 0) AND ($7 IS NULL OR
            m.died_at >= $7) AND ($8 IS NULL OR m.died_at < $8) AND ($9 IS NULL OR (CASE WHEN
            m.status = 1 AND m.until <= $2 THEN 0 ELSE m.status END) = $9))",
                                                        .clean_up = R"(
            DELETE FROM pawl_dead_message WHERE status >= 2 AND died_at < $1 ORDER BY position
            LIMIT $2)",
                                                        .find = R"(
            SELECT 1 FROM pawl_dead_message WHERE id = $1)"};

}  // namespace pawl::store::sql::mariadb
