CREATE TABLE pawl_channel (
    ref        INTEGER PRIMARY KEY,          -- pawl_name
    partitions INTEGER NOT NULL
);
CREATE TABLE pawl_counter (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    instance INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL DEFAULT 0,
    item     INTEGER NOT NULL DEFAULT 0,
    inbox    INTEGER NOT NULL DEFAULT 0,
    session  INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE pawl_dead_letter (
    id           INTEGER PRIMARY KEY,        -- of the item
    line         INTEGER NOT NULL,
    instance     INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    shard        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    losses       INTEGER NOT NULL,
    losses_alone INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    died_at      INTEGER NOT NULL,
    encoding     INTEGER NOT NULL,
    key          BLOB,
    causation    BLOB,
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    last_error   TEXT,
    reason       TEXT NOT NULL,
    payload      BLOB NOT NULL
);
CREATE INDEX pawl_dead_letter_by_time ON pawl_dead_letter (died_at);
CREATE INDEX pawl_dead_letter_of_instance ON pawl_dead_letter (instance);
CREATE TABLE pawl_dead_message (
    position     INTEGER PRIMARY KEY,        -- that it had in pawl_message
    channel      INTEGER NOT NULL,
    part         INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    status       INTEGER NOT NULL DEFAULT 0, -- 1 reprocessing, 2 resolved, 3 discarded, 4 rejected
    until        INTEGER,                    -- of status 1
    died_at      INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    encoding     INTEGER NOT NULL,
    id           BLOB NOT NULL,
    message_key  BLOB,
    type         TEXT,
    recipient    TEXT,
    schema_url   TEXT,
    causation    BLOB,
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    reason       TEXT NOT NULL,
    payload      BLOB NOT NULL
);
CREATE INDEX pawl_dead_message_by_id ON pawl_dead_message (id);
CREATE INDEX pawl_dead_message_of_channel ON pawl_dead_message (channel);
CREATE TABLE pawl_dictionary (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    token TEXT NOT NULL
);
CREATE TABLE pawl_ending (
    item     INTEGER PRIMARY KEY,
    line     INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    ending   INTEGER NOT NULL,               -- 1 rejected, 2 finished
    at       INTEGER NOT NULL,
    key      BLOB,
    reason   TEXT
);
CREATE INDEX pawl_ending_by_time ON pawl_ending (at);
CREATE INDEX pawl_ending_of_instance ON pawl_ending (instance);
CREATE TABLE pawl_event (
    position     INTEGER PRIMARY KEY,
    instance     INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    name         INTEGER NOT NULL,    -- pawl_name
    kind         INTEGER NOT NULL,    -- 0 the user's, 1 pawl's own
    encoding     INTEGER NOT NULL,
    id           BLOB NOT NULL,       -- UUID
    causation    BLOB,                -- UUID of the event that caused this one
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    payload      BLOB NOT NULL
);
CREATE UNIQUE INDEX pawl_event_of_instance ON pawl_event (instance, sequence);
CREATE TABLE pawl_failure (
    number  INTEGER PRIMARY KEY,
    item    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    error   TEXT NOT NULL
);
CREATE INDEX pawl_failure_of_item ON pawl_failure (item);
CREATE TABLE pawl_inbox (
    position     INTEGER PRIMARY KEY,
    type         INTEGER NOT NULL,           -- pawl_name; the instance need not exist yet
    id           BLOB NOT NULL,
    shard        INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    encoding     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    input_id     BLOB,
    causation    BLOB,
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    payload      BLOB NOT NULL
);
CREATE INDEX pawl_inbox_of_instance ON pawl_inbox (type, id);
CREATE TABLE pawl_input (
    number   INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    input_id BLOB NOT NULL,
    version  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    UNIQUE (instance, input_id)
);
CREATE TABLE pawl_instance (
    ref         INTEGER PRIMARY KEY,
    type        INTEGER NOT NULL,     -- pawl_name
    id          BLOB NOT NULL,
    version     INTEGER NOT NULL,     -- sequence of the last event
    head        INTEGER NOT NULL,     -- the last eight bytes of its id, which are random
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER,
    status      INTEGER NOT NULL DEFAULT 0, -- a number that the engine gives it; 0: none
    tenant      TEXT,
    unique_key  BLOB,
    UNIQUE (type, id)
);
CREATE INDEX pawl_instance_finished ON pawl_instance (finished_at) WHERE finished_at IS NOT NULL;
CREATE TABLE pawl_item (
    id           INTEGER PRIMARY KEY,
    line         INTEGER NOT NULL,
    instance     INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    kind         INTEGER NOT NULL,           -- that of its line
    shard        INTEGER NOT NULL,           -- hash of (type, id) of the instance
    alone        INTEGER NOT NULL DEFAULT 0, -- 1: lost with a process twice, offer it alone
    attempts     INTEGER NOT NULL DEFAULT 0,
    losses       INTEGER NOT NULL DEFAULT 0,
    losses_alone INTEGER NOT NULL DEFAULT 0,
    failures     INTEGER NOT NULL DEFAULT 0, -- rows in pawl_failure
    created_at   INTEGER NOT NULL,
    due_at       INTEGER,                    -- NULL while it is claimed
    session      INTEGER,
    fence        INTEGER,
    mail         INTEGER NOT NULL DEFAULT 0, -- of a run: what came since it was suspended
    wakes_at_mail INTEGER NOT NULL DEFAULT 0, -- so much of it makes it due
    encoding     INTEGER NOT NULL,
    key          BLOB,
    causation    BLOB,
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    last_error   TEXT,
    payload      BLOB NOT NULL
);
CREATE INDEX pawl_item_claimed ON pawl_item (session) WHERE session IS NOT NULL;
CREATE INDEX pawl_item_of_instance ON pawl_item (instance, key);
CREATE INDEX pawl_item_waiting ON pawl_item (line, alone, due_at) WHERE due_at IS NOT NULL;
CREATE TABLE pawl_line (
    ref  INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,            -- 1 effect, 2 timer, 3 run
    type INTEGER NOT NULL,            -- pawl_name: the workflow
    name TEXT NOT NULL,               -- tag of the effect or of the timer's input, or version
    UNIQUE (kind, type, name)
);
CREATE TABLE pawl_message (
    position     INTEGER PRIMARY KEY AUTOINCREMENT,
    channel      INTEGER NOT NULL,           -- pawl_channel
    part         INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,           -- 0: at once
    encoding     INTEGER NOT NULL,
    id           BLOB NOT NULL,
    message_key  BLOB,
    type         TEXT,
    recipient    TEXT,
    schema_url   TEXT,
    causation    BLOB,
    correlation  TEXT,
    conversation TEXT,
    tenant       TEXT,
    trace        TEXT,
    payload      BLOB NOT NULL
);
CREATE UNIQUE INDEX pawl_message_by_id ON pawl_message (id);
CREATE INDEX pawl_message_of_partition ON pawl_message (channel, part, due_at);
CREATE TABLE pawl_meta (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    application    TEXT NOT NULL,     -- 'pawl'
    schema_version INTEGER NOT NULL,
    minimum_reader INTEGER NOT NULL   -- a program that knows fewer schemas must not open this file
);
CREATE TABLE pawl_name (
    ref  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE pawl_once (
    scope INTEGER NOT NULL,                  -- pawl_name: the channel or the consumer
    id    BLOB NOT NULL,
    at    INTEGER NOT NULL,
    until INTEGER NOT NULL,
    token BLOB NOT NULL,                     -- of whoever was first
    PRIMARY KEY (scope, id)
) WITHOUT ROWID;
CREATE INDEX pawl_once_until ON pawl_once (until);
CREATE TABLE pawl_partition (
    channel  INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    sequence INTEGER NOT NULL DEFAULT 0,     -- of the last message that is done
    attempts INTEGER NOT NULL DEFAULT 0,     -- begun at the first of the batch
    losses   INTEGER NOT NULL DEFAULT 0,     -- of those: ended with their process
    losses_alone INTEGER NOT NULL DEFAULT 0, -- of those: nothing else ran in the process
    begun    INTEGER NOT NULL DEFAULT 0,     -- the first of the batch: 1 beside others, 2 alone
    session  INTEGER,
    fence    INTEGER,
    retry_at INTEGER,
    stopped  INTEGER NOT NULL DEFAULT 0,
    error    TEXT,
    batch    BLOB,                           -- positions that have the next numbers, eight bytes each
    PRIMARY KEY (channel, part)
) WITHOUT ROWID;
CREATE TABLE pawl_removed (
    instance INTEGER PRIMARY KEY
);
CREATE TABLE pawl_session (
    id    INTEGER PRIMARY KEY,
    until INTEGER NOT NULL,
    lease INTEGER NOT NULL,  -- until - lease: when it was renewed last
    owner TEXT
);
CREATE TABLE pawl_snapshot (
    instance INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    version  INTEGER NOT NULL,        -- of the workflow's code
    encoding INTEGER NOT NULL,
    payload  BLOB NOT NULL
);
CREATE TABLE pawl_subscriber (
    channel INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (channel, session)
) WITHOUT ROWID;
CREATE TABLE pawl_unique_key (
    type     INTEGER NOT NULL,
    key      BLOB NOT NULL,
    instance INTEGER NOT NULL,
    PRIMARY KEY (type, key)
) WITHOUT ROWID;
CREATE TABLE sqlite_sequence(name,seq);
