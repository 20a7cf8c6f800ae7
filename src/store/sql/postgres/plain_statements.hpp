/// Statements that add rows, for rows without what is rarely given in an envelope.
#pragma once

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {

/// The server sets arrays beside each other through a table of its own for each of them, which
/// costs it more than the rows of a small group. Numbers are taken from their arrays in place;
/// where an array has nulls, or values of any length, that would be a search for each row. The
/// parameters are the same; those that a plain one does not use must be NULL in all rows.
struct PlainForm {
    Statement of;
    Statement plain;
};

inline constexpr PlainForm plain_forms[] = {
    {statements.events.add.text, R"(
            INSERT INTO pawl_event (instance, sequence, at, name, kind, encoding, id, causation,
                   payload)
            SELECT ($2::bigint[])[i], ($3::bigint[])[i], ($4::bigint[])[i], ($5::bigint[])[i],
                   ($6::smallint[])[i], ($7::smallint[])[i], id, causation, payload
              FROM unnest($8::bytea[], $9::bytea[], $14::bytea[]) WITH ORDINALITY
                   AS k (id, causation, payload, i)
             WHERE pg_current_xact_id() IS NOT NULL)"},
    {statements.items.add.text, R"(
            INSERT INTO pawl_item (id, line, instance, sequence, idx, kind, shard, attempts,
                   created_at, due_at, session, fence, encoding, key, causation, payload)
            SELECT ($1::bigint[])[i], ($2::bigint[])[i], ($3::bigint[])[i], ($4::bigint[])[i],
                   ($5::integer[])[i], ($6::smallint[])[i], ($7::integer[])[i], ($8::integer[])[i],
                   ($9::bigint[])[i], due_at, session, fence, ($13::smallint[])[i], key, causation,
                   payload
              FROM unnest($10::bigint[], $11::bigint[], $12::bigint[], $14::bytea[], $15::bytea[],
                          $20::bytea[]) WITH ORDINALITY
                   AS k (due_at, session, fence, key, causation, payload, i))"},
    {statements.messages.add.text, R"(
            INSERT INTO pawl_message (channel, part, at, due_at, encoding, id, message_key, type,
                   payload)
            SELECT ($1::bigint[])[i], CASE WHEN k.part IS NULL
                                           THEN ($3::bigint[])[i] % c.partitions
                                           WHEN k.part BETWEEN 0 AND c.partitions - 1
                                           THEN k.part END,
                   ($4::bigint[])[i], ($5::bigint[])[i], ($6::smallint[])[i], id, message_key, type,
                   payload
              FROM unnest($2::integer[], $7::bytea[], $8::bytea[], $9::text[], $17::bytea[])
                   WITH ORDINALITY AS k (part, id, message_key, type, payload, i)
              LEFT JOIN pawl_channel c ON c.ref = ($1)[i]
             WHERE (SELECT count(*)
                      FROM (SELECT FROM pawl_channel
                             WHERE ref = ANY ($1)
                               AND current_setting('transaction_isolation') <> 'read committed'
                               FOR KEY SHARE) AS l) >= 0
               AND pg_current_xact_id() IS NOT NULL
             ORDER BY i)"},
};

}  // namespace pawl::store::sql::postgres
