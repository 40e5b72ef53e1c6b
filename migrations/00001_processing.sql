-- +goose Up
-- What became of every mailbox message, and how far the mailbox has been read.

-- One row per enqueued mailbox row. The state machine is
--   PENDING/FAILED -> SUCCEEDED | SKIPPED | DEAD, FAILED -> FAILED, DEAD/FAILED -> PENDING (replay), terminal -> ARCHIVED.
CREATE TABLE proc_state (
    msg_id                    bigint      PRIMARY KEY CHECK (msg_id >= 0),
    state                     text        NOT NULL DEFAULT 'PENDING'
        CHECK (state IN ('PENDING', 'FAILED', 'SUCCEEDED', 'SKIPPED', 'DEAD', 'ARCHIVED')),
    identity_key              text        UNIQUE,
    kind                      text,
    body_sha256               text        CHECK (body_sha256 ~ '^[0-9a-f]{64}$'),
    -- Gap-free over applied decisions: the order in which state can be computed again.
    decision_no               bigint      CHECK (decision_no > 0),
    ruleset                   text,
    script                    text,
    notes                     json,       -- what the decision left out, and why
    error_class               text
        CHECK (error_class IN ('MALFORMED', 'PROTOCOL', 'CODEC_ERROR', 'UNSUPPORTED', 'RULE_ERROR', 'INFRA', 'EXHAUSTED')),
    last_error                text,
    skip_reason               text,
    attempts                  integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at           timestamptz,
    received_at               timestamptz, -- the mailbox owner's clock: for display only
    enqueued_at               timestamptz NOT NULL,
    processing_started_at     timestamptz,
    updated_at                timestamptz NOT NULL,
    -- The back-fill facts. A shadow instance decides without owing a mark.
    owes_mark                 boolean     NOT NULL DEFAULT true,
    backfill_next_at          timestamptz,
    backfill_attempts         integer     NOT NULL DEFAULT 0 CHECK (backfill_attempts >= 0),
    backfill_first_failed_at  timestamptz,
    backfill_last_error       text,
    backfill_at               timestamptz,
    backfill_abandoned_at     timestamptz,
    backfill_abandoned_reason text,
    backfill_reconciled_at    timestamptz,
    backfill_reconciled_by    text,
    CONSTRAINT proc_state_succeeded CHECK (state <> 'SUCCEEDED' OR decision_no IS NOT NULL),
    CONSTRAINT proc_state_skipped CHECK (state <> 'SKIPPED' OR skip_reason IS NOT NULL),
    CONSTRAINT proc_state_dead CHECK (state <> 'DEAD' OR error_class IS NOT NULL),
    CONSTRAINT proc_state_failed CHECK (state <> 'FAILED' OR error_class IN ('CODEC_ERROR', 'UNSUPPORTED', 'RULE_ERROR', 'INFRA')),
    CONSTRAINT proc_state_abandoned CHECK ((backfill_abandoned_at IS NULL) = (backfill_abandoned_reason IS NULL)),
    CONSTRAINT proc_state_mark_once CHECK (backfill_at IS NULL OR backfill_abandoned_at IS NULL),
    CONSTRAINT proc_state_reconciled CHECK ((backfill_reconciled_at IS NULL) = (backfill_reconciled_by IS NULL))
);
-- Rows enter and leave the partial indexes all the time; vacuum has to keep pace so that the head stays cheap to find.
ALTER TABLE proc_state SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000,
                            autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX proc_state_decision_no ON proc_state (decision_no) WHERE decision_no IS NOT NULL;
CREATE INDEX proc_state_unfinished ON proc_state (msg_id) WHERE state IN ('PENDING', 'FAILED');
CREATE INDEX proc_state_unmarked ON proc_state (backfill_attempts, msg_id)
    WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND backfill_at IS NULL AND backfill_abandoned_at IS NULL AND owes_mark;
CREATE INDEX proc_state_abandoned_list ON proc_state (msg_id) WHERE backfill_abandoned_at IS NOT NULL;
CREATE INDEX proc_state_dead_list ON proc_state (msg_id) WHERE state = 'DEAD';
CREATE INDEX proc_state_skipped_list ON proc_state (msg_id) WHERE state = 'SKIPPED';
CREATE INDEX proc_state_updated_at ON proc_state USING brin (updated_at);
CREATE INDEX proc_state_enqueued_at ON proc_state USING brin (enqueued_at);

-- Where archived terminal rows go; the row left in proc_state remembers the identity.
CREATE TABLE proc_state_hst (
    LIKE proc_state,
    archived_at timestamptz NOT NULL,
    PRIMARY KEY (msg_id)
);
CREATE UNIQUE INDEX proc_state_hst_decision_no ON proc_state_hst (decision_no) WHERE decision_no IS NOT NULL;
CREATE INDEX proc_state_hst_archived_at ON proc_state_hst USING brin (archived_at);

-- Our own copy of the bodies.
CREATE TABLE raw_message (
    msg_id     bigint      PRIMARY KEY,
    body       bytea       NOT NULL,
    characters boolean     NOT NULL, -- the mailbox column was a character type: the body is UTF-8 whatever it declares
    sha256     text        NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    kept_at    timestamptz NOT NULL
);
CREATE INDEX raw_message_kept_at ON raw_message USING brin (kept_at);

-- Reading progress. There is no row until the first round or the seeding.
CREATE TABLE inbox_cursor (
    one        boolean     PRIMARY KEY DEFAULT true CHECK (one),
    watermark  bigint      NOT NULL CHECK (watermark >= 0),
    hole_since timestamptz,
    seeded_at  timestamptz,
    seeded_how text,
    updated_at timestamptz NOT NULL
);

-- Every run of missing ids, and every row that turned up too late.
CREATE TABLE inbox_hole (
    first_id   bigint      NOT NULL,
    last_id    bigint      NOT NULL,
    first_seen timestamptz NOT NULL,
    outcome    text        NOT NULL CHECK (outcome IN ('open', 'filled', 'aged', 'late')),
    outcome_at timestamptz,
    received_at timestamptz, -- of a late row
    PRIMARY KEY (first_id, first_seen),
    CHECK (first_id <= last_id),
    CHECK ((outcome = 'open') = (outcome_at IS NULL))
);
CREATE UNIQUE INDEX inbox_hole_late ON inbox_hole (first_id) WHERE outcome = 'late';
CREATE UNIQUE INDEX inbox_hole_open ON inbox_hole (first_id) WHERE outcome = 'open';
CREATE INDEX inbox_hole_aged ON inbox_hole (outcome_at) WHERE outcome = 'aged';

-- The lock of everything that changes flights, and the number of the last applied decision.
CREATE TABLE pipeline_lock (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    decision_no bigint  NOT NULL DEFAULT 0 CHECK (decision_no >= 0)
);
INSERT INTO pipeline_lock (one) VALUES (true);

-- Who leads. Engine writes hold the epoch shared; a takeover changes it exclusively. The
-- heartbeat is another row, so that beating and writing never wait for each other.
CREATE TABLE instance_lease (
    one        boolean     PRIMARY KEY DEFAULT true CHECK (one),
    epoch      bigint      NOT NULL UNIQUE CHECK (epoch >= 0),
    holder     text        NOT NULL,
    claimed_at timestamptz NOT NULL
);
INSERT INTO instance_lease (epoch, holder, claimed_at) VALUES (0, '', now());

CREATE TABLE instance_heartbeat (
    one      boolean     PRIMARY KEY DEFAULT true CHECK (one),
    epoch    bigint      NOT NULL,
    holder   text        NOT NULL,
    beat_at  timestamptz NOT NULL,
    released boolean     NOT NULL
);
INSERT INTO instance_heartbeat (epoch, holder, beat_at, released) VALUES (0, '', now(), true);

-- +goose StatementBegin
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation',
        MESSAGE = TG_ARGV[0], DETAIL = format('was %s, becomes %s', to_json(OLD), to_json(NEW));
END
$$;
-- +goose StatementEnd

-- Terminal states change only by a replay or by archiving.
CREATE TRIGGER proc_state_terminal BEFORE UPDATE OF state ON proc_state FOR EACH ROW
    WHEN (OLD.state IN ('SUCCEEDED', 'SKIPPED', 'ARCHIVED') AND NEW.state <> OLD.state AND NEW.state <> 'ARCHIVED')
    EXECUTE FUNCTION refuse('a finished message does not change its state');
-- A confirmed mark stays confirmed.
CREATE TRIGGER proc_state_marked BEFORE UPDATE OF backfill_at ON proc_state FOR EACH ROW
    WHEN (OLD.backfill_at IS NOT NULL AND NEW.backfill_at IS DISTINCT FROM OLD.backfill_at AND NEW.state <> 'ARCHIVED')
    EXECUTE FUNCTION refuse('a confirmed mark stays confirmed');
