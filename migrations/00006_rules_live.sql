-- +goose Up
-- Rule sets that change while messages flow, and one that decides beside the live one.

-- How each rule set came to be live. judged counts the messages it was asked about while it was
-- live; NULL when that is not known, because it went on over a change of leader.
ALTER TABLE ruleset_live
    ADD COLUMN how    text    NOT NULL DEFAULT 'start' CHECK (how IN ('start', 'watch', 'signal', 'activate', 'rollback')),
    ADD COLUMN who    text    NOT NULL DEFAULT '',
    ADD COLUMN why    text    NOT NULL DEFAULT '',
    ADD COLUMN origin text    NOT NULL DEFAULT '', -- the place that the leader's configuration names
    ADD COLUMN seen   text    NOT NULL DEFAULT '', -- digest of what lay there; only something else there is tried
    ADD COLUMN pinned boolean NOT NULL DEFAULT false, -- by a rollback
    ADD COLUMN judged bigint  CHECK (judged >= 0);
CREATE INDEX ruleset_live_from ON ruleset_live (live_from);

-- Rule sets that were to go live and did not.
CREATE TABLE ruleset_refusal (
    refusal_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    hash       text        NOT NULL, -- '' when it could not even be loaded
    origin     text        NOT NULL,
    seen       text        NOT NULL,
    how        text        NOT NULL CHECK (how IN ('start', 'watch', 'signal', 'activate', 'rollback')),
    who        text        NOT NULL,
    why        text        NOT NULL,
    reasons    json        NOT NULL
);

-- What operators have asked of the leader, and its answer.
CREATE TABLE ruleset_request (
    request_id  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action      text        NOT NULL CHECK (action IN ('activate', 'rollback')),
    hash        text        NOT NULL, -- what to go back to, '' for an activation
    who         text        NOT NULL CHECK (who <> ''),
    why         text        NOT NULL CHECK (why <> ''),
    asked_at    timestamptz NOT NULL,
    answered_at timestamptz,
    live        boolean,              -- whether it went live
    answer      text        NOT NULL DEFAULT '', -- the hash of what was tried
    reasons     json,
    CHECK ((action = 'rollback') = (hash <> '')),
    CHECK ((answered_at IS NULL) = (live IS NULL))
);
CREATE INDEX ruleset_request_open ON ruleset_request (request_id) WHERE answered_at IS NULL;

-- The shadow: one run for each pair of a shadow and the rule set that was live.
DROP TABLE shadow_difference; -- nothing has ever written to it
CREATE TABLE shadow_run (
    hash      text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    live      text        NOT NULL CHECK (live ~ '^[0-9a-f]{64}$'),
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    same      bigint      NOT NULL DEFAULT 0,
    different bigint      NOT NULL DEFAULT 0,
    unread    bigint      NOT NULL DEFAULT 0, -- the shadow reads reference data that the live one did not read
    late      bigint      NOT NULL DEFAULT 0, -- it used up its time
    dropped   bigint      NOT NULL DEFAULT 0, -- it could not keep up
    PRIMARY KEY (hash, live)
);
CREATE INDEX shadow_run_last ON shadow_run (last_at);
CREATE TABLE shadow_count (
    hash     text   NOT NULL,
    live     text   NOT NULL,
    kind     text   NOT NULL,
    place    text   NOT NULL, -- a field by path, or outcome, operation, references, outbound, notes
    messages bigint NOT NULL,
    PRIMARY KEY (hash, live, kind, place),
    FOREIGN KEY (hash, live) REFERENCES shadow_run (hash, live) ON DELETE CASCADE
);
CREATE TABLE shadow_difference (
    difference_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash          text        NOT NULL,
    live          text        NOT NULL,
    msg_id        bigint      NOT NULL,
    kind          text        NOT NULL,
    place         text        NOT NULL,
    flid          text        NOT NULL, -- '' when it concerns no single flight
    live_said     text        NOT NULL,
    shadow_said   text        NOT NULL,
    at            timestamptz NOT NULL,
    FOREIGN KEY (hash, live) REFERENCES shadow_run (hash, live) ON DELETE CASCADE
);
CREATE INDEX shadow_difference_run ON shadow_difference (hash, live, difference_id);
-- What the shadow of the leader is now; no row before there was one.
CREATE TABLE shadow_now (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    origin   text        NOT NULL,
    hash     text        NOT NULL, -- '' while none is loaded
    fault    text        NOT NULL, -- why what lies there is not loaded, '' when it is
    at       timestamptz NOT NULL
);
