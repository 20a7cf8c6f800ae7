-- pawl's tables. Everything is an append to the journal of one instance, in one transaction with
-- the work that the append releases.
--
--   pawl_instance     one row per workflow instance: who it is, its version, whether it is finished
--   pawl_event        the journal: instance, sequence (1, 2, ...) and a global position
--   pawl_snapshot     the state after some event, so that loading need not read from the start
--   pawl_input        input ids that were applied, each with the version it led to
--   pawl_unique_key   keys held by active instances
--   pawl_removed      instances that are gone, while their events are being removed
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
--   pawl_counter      the last number given out of each sort: numbers are never used twice
--   pawl_meta         which schema this is, and the oldest program that may use it
--
-- Times are microseconds since 1970 in UTC. Ids and keys are bytes (VARBINARY) and compare as
-- bytes; texts that people read are utf8mb4 and compare as bytes too, without the padding by which
-- MariaDB otherwise takes 'a' and 'a ' for one. What was not given is NULL. Other tables refer to
-- an instance by `ref`, a number.
--
-- DDL commits by itself, so every step here can be repeated: a run that was killed in the middle is
-- finished by the next. The row of pawl_meta comes last and says that all of it is there.

CREATE TABLE IF NOT EXISTS pawl_meta (
    one            INT PRIMARY KEY,
    application    VARCHAR(16) NOT NULL,     -- 'pawl'
    schema_version INT NOT NULL,
    minimum_reader INT NOT NULL,             -- a program that knows fewer schemas must not use it
    CHECK (one = 1)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- One row, read and written once per group. It is the last row that a group locks, and the lock
-- holds until the commit: positions become visible in their order, and a follower skips none.
CREATE TABLE IF NOT EXISTS pawl_counter (
    one      INT PRIMARY KEY,
    instance BIGINT NOT NULL DEFAULT 0,
    position BIGINT NOT NULL DEFAULT 0,
    item     BIGINT NOT NULL DEFAULT 0,
    inbox    BIGINT NOT NULL DEFAULT 0,
    message  BIGINT NOT NULL DEFAULT 0,
    CHECK (one = 1)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO pawl_counter (one) VALUES (1) ON DUPLICATE KEY UPDATE one = one;

-- One row: whoever adds a name, a line or a channel sets another token, so that nobody trusts what he
-- remembers of a history that was lost.
CREATE TABLE IF NOT EXISTS pawl_dictionary (
    one   INT PRIMARY KEY,
    token VARCHAR(64) NOT NULL,
    CHECK (one = 1)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_name (
    ref  BIGINT AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    UNIQUE KEY pawl_name_by_text (name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_line (
    ref  BIGINT AUTO_INCREMENT PRIMARY KEY,
    kind INT NOT NULL,                -- 1 effect, 2 timer, 3 run
    type BIGINT NOT NULL,             -- pawl_name: the workflow
    name VARCHAR(255) NOT NULL,       -- tag of the effect or of the timer's input, or version
    UNIQUE KEY pawl_line_by_text (kind, type, name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_instance (
    ref         BIGINT PRIMARY KEY,
    type        BIGINT NOT NULL,      -- pawl_name
    id          VARBINARY(255) NOT NULL,
    version     BIGINT NOT NULL,      -- sequence of the last event
    head        BIGINT NOT NULL,      -- the last eight bytes of its id, which are random
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    finished_at BIGINT,
    status      SMALLINT NOT NULL DEFAULT 0, -- a number that the engine gives it; 0: none
    tenant      VARCHAR(255),
    unique_key  VARBINARY(255),
    UNIQUE KEY pawl_instance_by_name (type, id),
    KEY pawl_instance_finished (finished_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Instances that vacuum has removed, until their events are removed too.
CREATE TABLE IF NOT EXISTS pawl_removed (
    instance BIGINT PRIMARY KEY
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_event (
    position     BIGINT PRIMARY KEY,
    instance     BIGINT NOT NULL,
    sequence     BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    name         BIGINT NOT NULL,     -- pawl_name
    kind         TINYINT NOT NULL,    -- 0 the user's, 1 pawl's own
    encoding     TINYINT NOT NULL,
    id           BINARY(16) NOT NULL, -- UUID
    causation    BINARY(16),          -- UUID of the event that caused this one
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    payload      LONGBLOB NOT NULL,
    UNIQUE KEY pawl_event_of_instance (instance, sequence)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_snapshot (
    instance BIGINT PRIMARY KEY,
    sequence BIGINT NOT NULL,
    version  INT NOT NULL,            -- of the workflow's code
    encoding TINYINT NOT NULL,
    payload  LONGBLOB NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Rows stand in the order of time, so that vacuum looks only at the oldest.
CREATE TABLE IF NOT EXISTS pawl_input (
    number   BIGINT AUTO_INCREMENT PRIMARY KEY,
    instance BIGINT NOT NULL,
    input_id VARBINARY(255) NOT NULL,
    version  BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    UNIQUE KEY pawl_input_of_instance (instance, input_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_unique_key (
    type     BIGINT NOT NULL,
    `key`    VARBINARY(255) NOT NULL,
    instance BIGINT NOT NULL,
    PRIMARY KEY (type, `key`)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_item (
    id           BIGINT PRIMARY KEY,
    line         BIGINT NOT NULL,
    instance     BIGINT NOT NULL,
    sequence     BIGINT NOT NULL,
    idx          INT NOT NULL,
    kind         TINYINT NOT NULL,           -- that of its line
    shard        SMALLINT NOT NULL,          -- hash of (type, id) of the instance
    alone        TINYINT NOT NULL DEFAULT 0, -- 1: it was lost with a process, offer it alone
    attempts     INT NOT NULL DEFAULT 0,
    losses       INT NOT NULL DEFAULT 0,
    losses_alone INT NOT NULL DEFAULT 0,
    failures     INT NOT NULL DEFAULT 0,     -- rows in pawl_failure
    created_at   BIGINT NOT NULL,
    due_at       BIGINT,                     -- NULL while it is claimed
    session      BIGINT,
    fence        BIGINT,
    mail         BIGINT NOT NULL DEFAULT 0,  -- of a run: what came since it was suspended
    wakes_at_mail BIGINT NOT NULL DEFAULT 0, -- so much of it makes it due
    encoding     TINYINT NOT NULL,
    `key`        VARBINARY(255),
    causation    BINARY(16),
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    last_error   LONGTEXT,
    payload      LONGBLOB NOT NULL,
    -- There are no partial indexes. What waits has no session and stands in the order of due_at;
    -- what is claimed stands apart, by session. Neither is looked at by who wants the other, and
    -- one index serves both.
    KEY pawl_item_waiting (line, alone, session, due_at),
    KEY pawl_item_of_instance (instance, `key`)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- A lock on an entry of the second index keeps a session from being reaped, and does not hinder the
-- renewal of its lease, which locks and changes the row alone.
CREATE TABLE IF NOT EXISTS pawl_session (
    id    BIGINT PRIMARY KEY,
    until BIGINT NOT NULL,
    lease BIGINT NOT NULL,  -- until - lease: when it was renewed last
    owner VARCHAR(255),
    KEY pawl_session_hold (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- The last number of a session. Apart from pawl_counter, so that opening one waits for no group.
CREATE TABLE IF NOT EXISTS pawl_session_number (
    number BIGINT AUTO_INCREMENT PRIMARY KEY,
    one    INT NOT NULL,
    UNIQUE KEY pawl_session_number_one (one)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_failure (
    number  BIGINT AUTO_INCREMENT PRIMARY KEY,
    item    BIGINT NOT NULL,
    attempt INT NOT NULL,
    at      BIGINT NOT NULL,
    error   LONGTEXT NOT NULL,
    KEY pawl_failure_of_item (item)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_dead_letter (
    id           BIGINT PRIMARY KEY,         -- of the item
    line         BIGINT NOT NULL,
    instance     BIGINT NOT NULL,
    sequence     BIGINT NOT NULL,
    idx          INT NOT NULL,
    kind         TINYINT NOT NULL,
    shard        SMALLINT NOT NULL,
    attempts     INT NOT NULL,
    losses       INT NOT NULL,
    losses_alone INT NOT NULL,
    failures     INT NOT NULL,
    created_at   BIGINT NOT NULL,
    died_at      BIGINT NOT NULL,
    encoding     TINYINT NOT NULL,
    `key`        VARBINARY(255),
    causation    BINARY(16),
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    last_error   LONGTEXT,
    reason       LONGTEXT NOT NULL,
    payload      LONGBLOB NOT NULL,
    KEY pawl_dead_letter_of_instance (instance),
    KEY pawl_dead_letter_by_time (died_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_ending (
    item     BIGINT PRIMARY KEY,
    line     BIGINT NOT NULL,
    instance BIGINT NOT NULL,
    ending   TINYINT NOT NULL,               -- 1 rejected, 2 finished
    at       BIGINT NOT NULL,
    `key`    VARBINARY(255),
    reason   LONGTEXT,
    KEY pawl_ending_by_time (at),
    KEY pawl_ending_of_instance (instance)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_inbox (
    position     BIGINT PRIMARY KEY,
    type         BIGINT NOT NULL,            -- pawl_name; the instance need not exist yet
    id           VARBINARY(255) NOT NULL,
    shard        SMALLINT NOT NULL,
    at           BIGINT NOT NULL,
    encoding     TINYINT NOT NULL,
    name         VARCHAR(255) NOT NULL,
    input_id     VARBINARY(255),
    causation    BINARY(16),
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    payload      LONGBLOB NOT NULL,
    KEY pawl_inbox_of_instance (type, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_channel (
    ref        BIGINT PRIMARY KEY,           -- pawl_name
    partitions INT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Positions are given when a row is added: whoever publishes after another's commit gets the higher
-- one.
CREATE TABLE IF NOT EXISTS pawl_message (
    position     BIGINT AUTO_INCREMENT PRIMARY KEY,
    channel      BIGINT NOT NULL,            -- pawl_channel
    part         INT NOT NULL,
    at           BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,            -- 0: at once
    encoding     TINYINT NOT NULL,
    id           BINARY(16) NOT NULL,
    message_key  VARBINARY(255),
    type         VARCHAR(255),
    recipient    VARCHAR(255),
    schema_url   VARCHAR(255),
    causation    BINARY(16),
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    payload      LONGBLOB NOT NULL,
    KEY pawl_message_of_partition (channel, part, due_at),
    UNIQUE KEY pawl_message_by_id (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_partition (
    channel  BIGINT NOT NULL,
    part     INT NOT NULL,
    sequence BIGINT NOT NULL DEFAULT 0,      -- of the last message that is done
    attempts INT NOT NULL DEFAULT 0,         -- begun at the first of the batch
    losses   INT NOT NULL DEFAULT 0,         -- of those: ended with their process
    losses_alone INT NOT NULL DEFAULT 0,     -- of those: nothing else ran in the process
    begun    TINYINT NOT NULL DEFAULT 0,     -- the first of the batch: 1 beside others, 2 alone
    session  BIGINT,
    fence    BIGINT,
    retry_at BIGINT,
    stopped  TINYINT NOT NULL DEFAULT 0,
    error    LONGTEXT,
    batch    LONGBLOB,                       -- positions that have the next numbers, eight bytes each
    PRIMARY KEY (channel, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_subscriber (
    channel BIGINT NOT NULL,
    session BIGINT NOT NULL,
    PRIMARY KEY (channel, session)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pawl_dead_message (
    position     BIGINT PRIMARY KEY,         -- that it had in pawl_message
    channel      BIGINT NOT NULL,
    part         INT NOT NULL,
    sequence     BIGINT NOT NULL,
    attempts     INT NOT NULL,
    status       TINYINT NOT NULL DEFAULT 0, -- 1 reprocessing, 2 resolved, 3 discarded, 4 rejected
    until        BIGINT,                     -- of status 1
    died_at      BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    encoding     TINYINT NOT NULL,
    id           BINARY(16) NOT NULL,
    message_key  VARBINARY(255),
    type         VARCHAR(255),
    recipient    VARCHAR(255),
    schema_url   VARCHAR(255),
    causation    BINARY(16),
    correlation  VARCHAR(255),
    conversation VARCHAR(255),
    tenant       VARCHAR(255),
    trace        VARCHAR(255),
    reason       LONGTEXT NOT NULL,
    payload      LONGBLOB NOT NULL,
    KEY pawl_dead_message_of_channel (channel),
    KEY pawl_dead_message_by_id (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- What must not happen twice while its time lasts: a message of a channel, or what a consumer does
-- about somebody else's.
CREATE TABLE IF NOT EXISTS pawl_once (
    scope BIGINT NOT NULL,                   -- pawl_name: the channel or the consumer
    id    VARBINARY(255) NOT NULL,
    at    BIGINT NOT NULL,
    until BIGINT NOT NULL,
    token BINARY(16) NOT NULL,               -- of whoever was first
    PRIMARY KEY (scope, id),
    KEY pawl_once_until (until)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- What a transaction leaves whose effects do not show by themselves that it was committed. If the
-- answer to its commit is lost, its process looks for it here.
CREATE TABLE IF NOT EXISTS pawl_receipt (
    at    BIGINT NOT NULL,                   -- when its first try began
    token BIGINT NOT NULL,
    try   INT NOT NULL,                      -- that was committed, counted from 0
    PRIMARY KEY (at, token)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

INSERT IGNORE INTO pawl_dictionary (one, token) VALUES (1, 'empty');
INSERT INTO pawl_meta (one, application, schema_version, minimum_reader) VALUES (1, 'pawl', 1, 1)
    ON DUPLICATE KEY UPDATE schema_version = 1, minimum_reader = 1;
