-- +goose Up
-- What is announced: the outbox, requests upstream, reference data, traces.

-- Every allocator holds the pipeline lock, so ids are in commit order (hence CACHE 1); gaps mean nothing.
CREATE SEQUENCE msg_event_id AS bigint CACHE 1;

CREATE TABLE msg_event (
    event_id        bigint      PRIMARY KEY DEFAULT nextval('msg_event_id'),
    target          text        NOT NULL CHECK (target IN ('KAFKA:msg', 'KAFKA:schd')),
    partition_key   text        NOT NULL CHECK (partition_key <> ''),
    event_type      text        NOT NULL CHECK (event_type IN ('UPSERT', 'TOMBSTONE')),
    flid            bigint      NOT NULL,
    state_version   bigint      NOT NULL CHECK (state_version > 0),
    msg_id          bigint      NOT NULL,
    kind            text        NOT NULL,
    ruleset         text        NOT NULL,
    payload         json,       -- NULL is Kafka's null value
    state           text        NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'SENT', 'DEAD')),
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz, -- set while backing off, NULL is due at once
    last_error      text,
    resent          boolean     NOT NULL DEFAULT false, -- sent again by an operator
    created_at      timestamptz NOT NULL,
    sent_at         timestamptz,
    dead_at         timestamptz,
    topic           text,       -- where it landed
    topic_partition integer,
    topic_offset    bigint,
    CONSTRAINT msg_event_sent CHECK ((state = 'SENT') = (sent_at IS NOT NULL)),
    CONSTRAINT msg_event_payload CHECK (payload IS NOT NULL OR event_type = 'TOMBSTONE')
);
ALTER SEQUENCE msg_event_id OWNED BY msg_event.event_id;
ALTER TABLE msg_event SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000,
                           autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
-- The latest state of a flight is one row.
CREATE UNIQUE INDEX msg_event_schd ON msg_event (partition_key) WHERE target = 'KAFKA:schd';
CREATE INDEX msg_event_msg_unsent ON msg_event (event_id) WHERE target = 'KAFKA:msg' AND state = 'PENDING';
CREATE INDEX msg_event_schd_unsent ON msg_event (event_id) WHERE target = 'KAFKA:schd' AND state = 'PENDING';
-- What backs off blocks its lane; there is little of it.
CREATE INDEX msg_event_waiting_key ON msg_event (partition_key, event_id)
    WHERE target = 'KAFKA:msg' AND state = 'PENDING' AND next_attempt_at IS NOT NULL;
CREATE INDEX msg_event_waiting_flid ON msg_event (flid, event_id)
    WHERE target = 'KAFKA:msg' AND state = 'PENDING' AND next_attempt_at IS NOT NULL;
-- Events whose key is not their flight, through which a blocked lane blocks others. Today there are none.
CREATE INDEX msg_event_crossing ON msg_event (event_id)
    WHERE target = 'KAFKA:msg' AND state = 'PENDING' AND partition_key <> flid::text;
CREATE INDEX msg_event_dead ON msg_event (event_id) WHERE state = 'DEAD';
CREATE INDEX msg_event_flid ON msg_event (flid, state_version);
CREATE INDEX msg_event_msg_id ON msg_event (msg_id);
CREATE INDEX msg_event_sent_at ON msg_event USING brin (sent_at);

-- Requests upstream. Of the kinds that are answered, one of each kind, day and sender is open at a time.
CREATE TABLE req_track (
    req_id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request         text        NOT NULL,
    covered_day     date,
    sender          text        NOT NULL DEFAULT '',
    fields          json        NOT NULL,
    answered        boolean     NOT NULL, -- an answer is expected
    state           text        NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'SENT', 'DONE', 'EXPIRED')),
    msg_id          bigint,     -- the message whose decision asked for it, NULL for an operator's
    sequence_no     text,       -- the SEQN it was sent under, for matching the answer
    outbound_id     bigint,     -- the row in the outbound mailbox
    answer_msg_id   bigint,
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz,
    last_error      text,
    created_at      timestamptz NOT NULL,
    sent_at         timestamptz,
    expires_at      timestamptz,
    closed_at       timestamptz,
    CHECK ((state IN ('DONE', 'EXPIRED')) = (closed_at IS NOT NULL))
);
CREATE UNIQUE INDEX req_track_open ON req_track (request, covered_day, sender) NULLS NOT DISTINCT
    WHERE answered AND state IN ('PENDING', 'SENT');
CREATE INDEX req_track_unsent ON req_track (req_id) WHERE state = 'PENDING';
CREATE INDEX req_track_closed ON req_track (closed_at) WHERE state IN ('DONE', 'EXPIRED');

-- Reference data, the latest record of each key.
CREATE TABLE ref_master (
    rtype      text        NOT NULL CHECK (rtype <> ''),
    rkey       text        NOT NULL CHECK (rkey <> ''),
    value      json        NOT NULL,
    msg_id     bigint      NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (rtype, rkey)
);

-- A trace of every schedule that was decided; append only, decides nothing.
CREATE TABLE schd_snap_log (
    snap_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    msg_id      bigint      NOT NULL,
    kind        text        NOT NULL,
    scope_start date,
    scope_end   date,
    declared    integer     NOT NULL,
    carried     integer     NOT NULL,
    outcome     text        NOT NULL,
    reason      text,
    recv_at     timestamptz NOT NULL,
    logged_at   timestamptz NOT NULL
);
CREATE INDEX schd_snap_log_scope ON schd_snap_log (scope_end, recv_at);
CREATE INDEX schd_snap_log_msg_id ON schd_snap_log (msg_id);
