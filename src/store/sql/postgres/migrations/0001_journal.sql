-- pawl's tables, in a schema of their own. Everything is an append to the journal of one instance, in
-- one transaction with the work that the append releases.
--
--   pawl_instance     one row per workflow instance: who it is, its version, whether it is finished
--   pawl_event        the journal: instance, sequence (1, 2, ...), a global position and the
--                     transaction that wrote it
--   pawl_snapshot     the state after some event, so that loading need not read from the start
--   pawl_removed      instances that were removed while their events are still there
--   pawl_input        input ids that were applied, each with the version it led to
--   pawl_unique_key   keys held by active instances
--
--   pawl_item         work to claim: effects, timers and runs of functions. An item waits (due_at), or
--                     is claimed by a session (session, fence; due_at is NULL), and is deleted when
--                     it is done
--   pawl_line         where items wait: (kind, workflow, tag); a worker claims from the lines it
--                     handles
--   pawl_session      a process that claims: its lease (until) covers everything it has claimed
--   pawl_failure      failed attempts of items and dead letters
--   pawl_dead_letter  items that will not be tried again, with the reason
--   pawl_ending       items whose input changed nothing: rejected, or the instance was finished
--
--   pawl_inbox        inputs that wait for their instance
--   pawl_message      the ordered outbox: what is published and not delivered yet
--   pawl_channel      how many partitions a channel has
--   pawl_partition    where a partition stands, and the session that delivers it
--   pawl_subscriber   sessions that take part in delivering a channel
--   pawl_once         what must not happen a second time
--   pawl_dead_message messages that will not be delivered, with the reason
--   pawl_receipt      transactions that were committed, for those that do not show it by themselves
--
--   pawl_name         workflow types, event names and channels, interned
--   pawl_dictionary   a token that changes with every new name, line or channel
--   pawl_meta         which schema this is, and the oldest program that may use it
--
-- In the database the prefix is the schema: pawl_event is pawl.event. Times are microseconds since
-- 1970 in UTC. Ids, keys and payloads are bytes and compare as bytes. What was not given is NULL.
-- Other tables refer to an instance by `ref`, a number. Numbers of instances, items and sessions are
-- taken from sequences a block at a time by each process, so that no row is a queue for all writers;
-- they leave gaps, and two processes give them in another order than that of time, within a second.
-- So nothing that is promised in an order rests on them: events, mail and messages have numbers that
-- the server gives when it writes the row.

CREATE TABLE pawl_meta (
    one               smallint PRIMARY KEY CHECK (one = 1),
    application       text NOT NULL,         -- 'pawl'
    schema_version    integer NOT NULL,
    minimum_reader    integer NOT NULL,      -- a program that knows fewer schemas must not use this
    system_identifier bigint NOT NULL,       -- of the cluster whose transaction numbers events have
    epoch             integer NOT NULL DEFAULT 1,  -- raised when that changes: a dump was restored
    rebased_at        bigint NOT NULL DEFAULT 0    -- the last position that was restored with it
);

CREATE SEQUENCE pawl_instance_block INCREMENT BY 1024;
CREATE SEQUENCE pawl_item_block INCREMENT BY 1024;
CREATE SEQUENCE pawl_session_block INCREMENT BY 1024;

-- One row: whoever adds a name, a line or a channel sets another token, so that nobody trusts what he
-- remembers of a history that was lost.
CREATE TABLE pawl_dictionary (
    one   smallint PRIMARY KEY CHECK (one = 1),
    token text COLLATE "C" NOT NULL
);

CREATE TABLE pawl_name (
    ref  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE pawl_line (
    ref  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind integer NOT NULL,                   -- 1 effect, 2 timer, 3 run
    type bigint NOT NULL,                    -- pawl_name: the workflow
    name text COLLATE "C" NOT NULL,          -- tag of the effect or of the timer's input, or version
    UNIQUE (kind, type, name)
);

-- What changes in it is not indexed, and there is room on the page: updates stay on it.
CREATE TABLE pawl_instance (
    ref         bigint PRIMARY KEY,
    type        bigint NOT NULL,             -- pawl_name
    version     bigint NOT NULL,             -- sequence of the last event
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    finished_at bigint,
    head        bigint NOT NULL,             -- the last eight bytes of its id, which are random
    status      smallint NOT NULL DEFAULT 0, -- a number that the engine gives it; 0: none
    id          bytea NOT NULL,
    tenant      text COLLATE "C",
    unique_key  bytea,
    UNIQUE (type, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX instance_finished ON pawl_instance (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE pawl_removed (
    instance bigint PRIMARY KEY
);

-- Positions are given in the order of inserts, not of commits: whoever follows the journal compares
-- the transactions with what was committed at two moments (`xid`).
CREATE TABLE pawl_event (
    position     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    instance     bigint NOT NULL,
    sequence     bigint NOT NULL,
    at           bigint NOT NULL,
    name         bigint NOT NULL,            -- pawl_name
    kind         smallint NOT NULL,          -- 0 the user's, 1 pawl's own
    encoding     smallint NOT NULL,
    id           bytea NOT NULL,             -- UUID
    causation    bytea,                      -- UUID of the event that caused this one
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    payload      bytea NOT NULL
);
CREATE UNIQUE INDEX event_of_instance ON pawl_event (instance, sequence);
CREATE INDEX event_of_transaction ON pawl_event (xid);

CREATE TABLE pawl_snapshot (
    instance bigint PRIMARY KEY,
    sequence bigint NOT NULL,
    version  integer NOT NULL,               -- of the workflow's code
    encoding smallint NOT NULL,
    payload  bytea NOT NULL
);

-- Rows stand in the order of time, so that vacuum looks only at the oldest.
CREATE TABLE pawl_input (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance bigint NOT NULL,
    version  bigint NOT NULL,
    at       bigint NOT NULL,
    input_id bytea NOT NULL,
    UNIQUE (instance, input_id)
);

CREATE TABLE pawl_unique_key (
    type     bigint NOT NULL,
    instance bigint NOT NULL,
    key      bytea NOT NULL,
    PRIMARY KEY (type, key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Rows are short-lived: dead ones are removed as soon as there are some, however many live.
CREATE TABLE pawl_item (
    id           bigint PRIMARY KEY,
    line         bigint NOT NULL,
    instance     bigint NOT NULL,
    sequence     bigint NOT NULL,
    created_at   bigint NOT NULL,
    due_at       bigint,                        -- NULL while it is claimed
    session      bigint,
    fence        bigint,
    mail         bigint NOT NULL DEFAULT 0,     -- of a run: what came since it was suspended
    wakes_at_mail bigint NOT NULL DEFAULT 0,    -- so much of it makes it due
    idx          integer NOT NULL,
    shard        integer NOT NULL,              -- hash of (type, id) of the instance
    attempts     integer NOT NULL DEFAULT 0,
    losses       integer NOT NULL DEFAULT 0,
    losses_alone integer NOT NULL DEFAULT 0,
    failures     integer NOT NULL DEFAULT 0,    -- rows in pawl_failure
    kind         smallint NOT NULL,             -- that of its line
    alone        smallint NOT NULL DEFAULT 0,   -- 1: lost with a process twice, offer it alone
    encoding     smallint NOT NULL,
    key          bytea,
    causation    bytea,
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    last_error   text COLLATE "C",
    payload      bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX item_waiting ON pawl_item (line, alone, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX item_claimed ON pawl_item (session) WHERE session IS NOT NULL;
CREATE INDEX item_of_instance ON pawl_item (instance, key);

CREATE TABLE pawl_session (
    id    bigint PRIMARY KEY,
    until bigint NOT NULL,
    lease bigint NOT NULL,  -- until - lease: when it was renewed last
    owner text COLLATE "C"
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE pawl_failure (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item    bigint NOT NULL,
    at      bigint NOT NULL,
    attempt integer NOT NULL,
    error   text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX failure_of_item ON pawl_failure (item);

CREATE TABLE pawl_dead_letter (
    id           bigint PRIMARY KEY,            -- of the item
    line         bigint NOT NULL,
    instance     bigint NOT NULL,
    sequence     bigint NOT NULL,
    created_at   bigint NOT NULL,
    died_at      bigint NOT NULL,
    idx          integer NOT NULL,
    shard        integer NOT NULL,
    attempts     integer NOT NULL,
    losses       integer NOT NULL,
    losses_alone integer NOT NULL,
    failures     integer NOT NULL,
    kind         smallint NOT NULL,
    encoding     smallint NOT NULL,
    key          bytea,
    causation    bytea,
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    last_error   text COLLATE "C",
    reason       text COLLATE "C" NOT NULL,
    payload      bytea NOT NULL
);
CREATE INDEX dead_letter_by_time ON pawl_dead_letter (died_at);
CREATE INDEX dead_letter_of_instance ON pawl_dead_letter (instance);

CREATE TABLE pawl_ending (
    item     bigint PRIMARY KEY,
    line     bigint NOT NULL,
    instance bigint NOT NULL,
    at       bigint NOT NULL,
    ending   smallint NOT NULL,                 -- 1 rejected, 2 finished
    key      bytea,
    reason   text COLLATE "C"
);
CREATE INDEX ending_by_time ON pawl_ending (at);
CREATE INDEX ending_of_instance ON pawl_ending (instance);

-- Positions are given by the server while the writer holds the row of the run: mail of a run has them
-- in the order of the commits, whichever processes send it.
CREATE TABLE pawl_inbox (
    position     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type         bigint NOT NULL,               -- pawl_name; the instance need not exist yet
    at           bigint NOT NULL,
    shard        integer NOT NULL,
    encoding     smallint NOT NULL,
    id           bytea NOT NULL,
    name         text COLLATE "C" NOT NULL,
    input_id     bytea,
    causation    bytea,
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    payload      bytea NOT NULL
);
CREATE INDEX inbox_of_instance ON pawl_inbox (type, id, position);

CREATE TABLE pawl_channel (
    ref        bigint PRIMARY KEY,              -- pawl_name
    partitions integer NOT NULL
);

-- Rows are short-lived, and positions are given by the server: whoever publishes after another's
-- commit gets the higher one.
CREATE TABLE pawl_message (
    position     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel      bigint NOT NULL,               -- pawl_channel
    at           bigint NOT NULL,
    due_at       bigint NOT NULL,               -- 0: at once; -1: it was for later, and is due
    part         integer NOT NULL,
    encoding     smallint NOT NULL,
    id           bytea NOT NULL,
    message_key  bytea,
    type         text COLLATE "C",
    recipient    text COLLATE "C",
    schema_url   text COLLATE "C",
    causation    bytea,
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    payload      bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX message_of_partition ON pawl_message (channel, part, due_at, position);
CREATE UNIQUE INDEX message_by_id ON pawl_message (id);

CREATE TABLE pawl_partition (
    channel  bigint NOT NULL,
    part     integer NOT NULL,
    attempts integer NOT NULL DEFAULT 0,        -- begun at the first of the batch
    losses   integer NOT NULL DEFAULT 0,        -- of those: ended with their process
    losses_alone integer NOT NULL DEFAULT 0,    -- of those: nothing else ran in the process
    sequence bigint NOT NULL DEFAULT 0,         -- of the last message that is done
    session  bigint,
    fence    bigint,
    retry_at bigint,
    begun    smallint NOT NULL DEFAULT 0,       -- the first of the batch: 1 beside others, 2 alone
    stopped  smallint NOT NULL DEFAULT 0,
    error    text COLLATE "C",
    batch    bytea,                             -- positions that have the next numbers, eight bytes each
    PRIMARY KEY (channel, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE pawl_subscriber (
    channel bigint NOT NULL,
    session bigint NOT NULL,
    PRIMARY KEY (channel, session)
);

CREATE TABLE pawl_dead_message (
    position     bigint PRIMARY KEY,            -- that it had in pawl_message
    channel      bigint NOT NULL,
    at           bigint NOT NULL,
    sequence     bigint NOT NULL,
    died_at      bigint NOT NULL,
    until        bigint,                        -- of status 1
    part         integer NOT NULL,
    attempts     integer NOT NULL,
    status       smallint NOT NULL DEFAULT 0,   -- 1 reprocessing, 2 resolved, 3 discarded, 4 rejected
    encoding     smallint NOT NULL,
    id           bytea NOT NULL,
    message_key  bytea,
    type         text COLLATE "C",
    recipient    text COLLATE "C",
    schema_url   text COLLATE "C",
    causation    bytea,
    correlation  text COLLATE "C",
    conversation text COLLATE "C",
    tenant       text COLLATE "C",
    trace        text COLLATE "C",
    reason       text COLLATE "C" NOT NULL,
    payload      bytea NOT NULL
);
CREATE INDEX dead_message_of_channel ON pawl_dead_message (channel, position);
CREATE INDEX dead_message_by_id ON pawl_dead_message (id);

-- What must not happen twice while its time lasts: a message of a channel, or what a consumer does
-- about somebody else's.
CREATE TABLE pawl_once (
    scope bigint NOT NULL,                      -- pawl_name: the channel or the consumer
    at    bigint NOT NULL,
    until bigint NOT NULL,
    id    bytea NOT NULL,
    token bytea NOT NULL,                       -- of whoever was first
    PRIMARY KEY (scope, id)
);
CREATE INDEX once_until ON pawl_once (until);

-- What a transaction leaves whose effects do not show by themselves that it was committed. If the
-- answer to its commit is lost, its process looks for it here.
CREATE TABLE pawl_receipt (
    at    bigint NOT NULL,                      -- when its first try began
    token bigint NOT NULL,
    try   integer NOT NULL,                     -- that was committed, counted from 0
    PRIMARY KEY (at, token)
);

INSERT INTO pawl_dictionary (one, token) VALUES (1, 'empty');
INSERT INTO pawl_meta (one, application, schema_version, minimum_reader, system_identifier)
SELECT 1, 'pawl', 1, 1, system_identifier FROM pg_control_system();
