-- +goose Up
-- Rule sets, operators, jobs.

-- Every rule set that ever led, with all that is needed to decide with it again.
CREATE TABLE ruleset (
    hash       text        PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
    settings   json        NOT NULL, -- the settings that reach rules
    build      text        NOT NULL, -- the host that first recorded it
    first_seen timestamptz NOT NULL
);
CREATE TABLE ruleset_file (
    hash    text  NOT NULL REFERENCES ruleset (hash),
    path    text  NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (hash, path)
);
-- When which rule set was live; at most one is.
CREATE TABLE ruleset_live (
    hash      text        NOT NULL REFERENCES ruleset (hash),
    live_from timestamptz NOT NULL,
    live_to   timestamptz,
    build     text        NOT NULL,
    PRIMARY KEY (hash, live_from)
);
CREATE UNIQUE INDEX ruleset_live_now ON ruleset_live ((live_to IS NULL)) WHERE live_to IS NULL;

-- What operators have set: a paused stage ('pause' of 'pump'), the mode.
CREATE TABLE operator_control (
    control    text        NOT NULL CHECK (control IN ('pause', 'mode')),
    subject    text        NOT NULL,
    value      text        NOT NULL,
    changed_by text        NOT NULL,
    reason     text        NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (control, subject),
    CHECK (control <> 'pause' OR value IN ('paused', 'running')),
    CHECK (control <> 'mode' OR value IN ('live', 'shadow'))
);

-- Every manual action: who, when, why, what.
CREATE TABLE operator_log (
    log_id   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    who      text        NOT NULL CHECK (who <> ''),
    action   text        NOT NULL,
    subject  text        NOT NULL,
    reason   text        NOT NULL CHECK (reason <> ''),
    approver text,
    ticket   text,
    details  json
);
CREATE INDEX operator_log_at ON operator_log (at);

CREATE TABLE job_run (
    run_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job        text        NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    outcome    text        CHECK (outcome IN ('done', 'failed', 'cancelled')),
    affected   bigint,
    error      text,
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX job_run_job ON job_run (job, started_at);

-- What a candidate rule set would have decided otherwise.
CREATE TABLE shadow_difference (
    diff_id    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    msg_id     bigint      NOT NULL,
    kind       text        NOT NULL,
    live       text        NOT NULL,
    candidate  text        NOT NULL,
    difference json        NOT NULL,
    at         timestamptz NOT NULL
);
CREATE INDEX shadow_difference_candidate ON shadow_difference (candidate, msg_id);

-- Settings that must not change once data depend on them, such as how identities are made.
CREATE TABLE instance_fact (
    name   text        PRIMARY KEY,
    value  text        NOT NULL,
    set_at timestamptz NOT NULL
);
