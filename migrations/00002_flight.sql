-- +goose Up
-- The state of flights, as the catalogue describes it. A test compares every column, type and
-- length with the catalogue, in both directions. Airport-local times are stored as instants.
-- Details carry no foreign key: they are written with their flight, under the pipeline lock, and nowhere else.

CREATE TABLE flight_schd (
    flid          bigint      PRIMARY KEY CHECK (flid BETWEEN 0 AND 999999999999999999),
    state         text        NOT NULL CHECK (state IN ('ACTIVE', 'DELETED')),
    state_version bigint      NOT NULL CHECK (state_version > 0),
    operation_day date,
    last_msg_id   bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,

    ffid         text        CHECK (char_length(ffid) BETWEEN 1 AND 40),
    alcd         text        CHECK (char_length(alcd) BETWEEN 1 AND 20),
    alsc         text        CHECK (char_length(alsc) BETWEEN 1 AND 20),
    flno         text        CHECK (char_length(flno) BETWEEN 1 AND 12),
    mvin         text        CHECK (mvin IN ('A', 'D')),
    sodt         timestamptz,
    flty         text        CHECK (char_length(flty) BETWEEN 1 AND 3),
    flin         text        CHECK (flin IN ('D', 'I', 'M')),
    acft         text        CHECK (char_length(acft) BETWEEN 1 AND 20),
    reno         text        CHECK (char_length(reno) BETWEEN 1 AND 20),
    taop         text        CHECK (char_length(taop) BETWEEN 1 AND 20),
    tafl         text        CHECK (char_length(tafl) BETWEEN 1 AND 20),
    taid         bigint      CHECK (taid BETWEEN 0 AND 999999999999999999),
    trml         text        CHECK (char_length(trml) BETWEEN 1 AND 5),
    maxp         integer,
    csop         text        CHECK (char_length(csop) BETWEEN 1 AND 20),
    csft         text        CHECK (char_length(csft) BETWEEN 1 AND 20),
    maid         bigint      CHECK (maid BETWEEN 0 AND 999999999999999999),
    estt         timestamptz,
    actt         timestamptz,
    stnd         text        CHECK (char_length(stnd) BETWEEN 1 AND 8),
    phag         text        CHECK (char_length(phag) BETWEEN 1 AND 12),
    fhag         text        CHECK (char_length(fhag) BETWEEN 1 AND 12),
    mhag         text        CHECK (char_length(mhag) BETWEEN 1 AND 12),
    cncl         timestamptz,
    remc         text        CHECK (char_length(remc) BETWEEN 1 AND 80),
    botm         timestamptz,
    lacl         timestamptz,
    fint         timestamptz,
    appt         timestamptz,
    egsr         timestamptz,
    egst         timestamptz,
    vipp         integer,
    vipr         integer,
    lbno         integer,
    lbwt         numeric,
    paxc         integer,
    exsc         text        CHECK (char_length(exsc) BETWEEN 1 AND 8),
    exsr         text        CHECK (char_length(exsr) BETWEEN 1 AND 256),
    ftss         text        CHECK (char_length(ftss) BETWEEN 1 AND 8),
    pedt         timestamptz,
    neat         timestamptz,
    padt         timestamptz,
    naat         timestamptz,
    cobt         timestamptz,
    tobt         timestamptz,
    eobt         timestamptz,
    ctot         timestamptz,
    iest         timestamptz,
    runw         text        CHECK (char_length(runw) BETWEEN 1 AND 8),
    fdiv_ddes    text        CHECK (char_length(fdiv_ddes) BETWEEN 1 AND 20),
    fdiv_ddir    text        CHECK (fdiv_ddir IN ('TO', 'FROM')),
    fdiv_text    text        CHECK (char_length(fdiv_text) BETWEEN 1 AND 256),
    fret_reid    text        CHECK (fret_reid IN ('G', 'A')),
    fret_text    text        CHECK (char_length(fret_text) BETWEEN 1 AND 256),
    flab_ares    text        CHECK (flab_ares IN ('O', 'G')),
    flab_text    text        CHECK (char_length(flab_text) BETWEEN 1 AND 256)
);
-- Room on the page, so that most updates touch no index.
ALTER TABLE flight_schd SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX flight_schd_maid ON flight_schd (maid) WHERE maid IS NOT NULL;
CREATE INDEX flight_schd_day ON flight_schd (operation_day);

-- A flight goes from one version to the next, and keeps the operation day it once had.
CREATE TRIGGER flight_schd_version BEFORE UPDATE ON flight_schd FOR EACH ROW
    WHEN (NEW.state_version <> OLD.state_version + 1)
    EXECUTE FUNCTION refuse('a flight advances by one version at a time');
CREATE TRIGGER flight_schd_operation_day BEFORE UPDATE ON flight_schd FOR EACH ROW
    WHEN (OLD.operation_day IS NOT NULL AND NEW.operation_day IS DISTINCT FROM OLD.operation_day)
    EXECUTE FUNCTION refuse('an operation day never changes once set');
-- ROUT and ERUT: planned and estimated route. SADC and SDDC belong to ERUT alone.
CREATE TABLE flight_route_point (
    flid         bigint      NOT NULL,
    route_kind   text        NOT NULL CHECK (route_kind IN ('ROUT', 'ERUT')),
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    apcd         text        CHECK (char_length(apcd) BETWEEN 1 AND 20),
    scat         timestamptz,
    sadc         text        CHECK (char_length(sadc) BETWEEN 1 AND 8),
    scdt         timestamptz,
    sddc         text        CHECK (char_length(sddc) BETWEEN 1 AND 8),
    PRIMARY KEY (flid, route_kind, ordinal)
);

-- GTDT: gate allocations.
CREATE TABLE flight_gtdt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    gate         text        CHECK (char_length(gate) BETWEEN 1 AND 20),
    pgot         timestamptz,
    pgct         timestamptz,
    gotm         timestamptz,
    gctm         timestamptz,
    gtyp         text        CHECK (char_length(gtyp) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- CKDT: check-in counters.
CREATE TABLE flight_ckdt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    chkc         text        CHECK (char_length(chkc) BETWEEN 1 AND 20),
    ccls         text        CHECK (char_length(ccls) BETWEEN 1 AND 20),
    pcot         timestamptz,
    pcct         timestamptz,
    cotm         timestamptz,
    cctm         timestamptz,
    ctyp         text        CHECK (char_length(ctyp) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- CLDT: baggage belts.
CREATE TABLE flight_cldt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    belt         text        CHECK (char_length(belt) BETWEEN 1 AND 20),
    bcls         text        CHECK (char_length(bcls) BETWEEN 1 AND 20),
    pcot         timestamptz,
    pcct         timestamptz,
    fbag         timestamptz,
    lbag         timestamptz,
    btyp         text        CHECK (char_length(btyp) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- PSDT: planned stands.
CREATE TABLE flight_psdt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    psst         text        CHECK (char_length(psst) BETWEEN 1 AND 20),
    stst         timestamptz,
    stet         timestamptz,
    PRIMARY KEY (flid, ordinal)
);

-- CHDT: baggage chutes.
CREATE TABLE flight_chdt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    chut         text        CHECK (char_length(chut) BETWEEN 1 AND 20),
    ccls         text        CHECK (char_length(ccls) BETWEEN 1 AND 20),
    pcbt         timestamptz,
    pcet         timestamptz,
    cbtm         timestamptz,
    cetm         timestamptz,
    ctyp         text        CHECK (char_length(ctyp) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- DELY: delays.
CREATE TABLE flight_dely (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    code         text        CHECK (char_length(code) BETWEEN 1 AND 20),
    strt         timestamptz,
    dura         integer,
    text         text        CHECK (char_length(text) BETWEEN 1 AND 256),
    PRIMARY KEY (flid, ordinal)
);

-- ABTM: air bridges.
CREATE TABLE flight_abtm (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    abdg         text        CHECK (char_length(abdg) BETWEEN 1 AND 20),
    abop         text        CHECK (abop IN ('A', 'D')),
    aotm         timestamptz,
    PRIMARY KEY (flid, ordinal)
);

-- CHOT: chocks.
CREATE TABLE flight_chot (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    chtm         timestamptz,
    chid         text        CHECK (chid IN ('ON', 'OFF')),
    chst         text        CHECK (char_length(chst) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- PORT: doors.
CREATE TABLE flight_port (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    potm         timestamptz,
    poid         text        CHECK (poid IN ('O', 'C')),
    PRIMARY KEY (flid, ordinal)
);

-- PSHT: push-backs.
CREATE TABLE flight_psht (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    source_seq   integer,
    pstm         timestamptz,
    psid         text        CHECK (psid IN ('IN', 'OUT')),
    pust         text        CHECK (char_length(pust) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- TIPT: taxi times.
CREATE TABLE flight_tipt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    trtm         timestamptz,
    trst         text        CHECK (char_length(trst) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- SRVT: services.
CREATE TABLE flight_srvt (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    srtc         text        CHECK (char_length(srtc) BETWEEN 1 AND 20),
    srqt         integer,
    srst         timestamptz,
    sret         timestamptz,
    srpr         text        CHECK (char_length(srpr) BETWEEN 1 AND 20),
    sanr         text        CHECK (char_length(sanr) BETWEEN 1 AND 20),
    sarr         text        CHECK (char_length(sarr) BETWEEN 1 AND 20),
    PRIMARY KEY (flid, ordinal)
);

-- VIPF: VIPs.
CREATE TABLE flight_vipf (
    flid         bigint      NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    vpcd         text        CHECK (char_length(vpcd) BETWEEN 1 AND 20),
    vfes         integer,
    PRIMARY KEY (flid, ordinal)
);

-- VIPT: services of a VIP.
CREATE TABLE flight_vipt (
    flid         bigint      NOT NULL,
    parent_ordinal integer   NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal > 0),
    vscd         text        CHECK (char_length(vscd) BETWEEN 1 AND 20),
    vtqy         integer,
    vtst         timestamptz,
    vtet         timestamptz,
    PRIMARY KEY (flid, parent_ordinal, ordinal)
);

-- One row for each version of each flight: what changed, through which message and rule.
CREATE TABLE flight_change (
    flid          bigint      NOT NULL,
    state_version bigint      NOT NULL CHECK (state_version > 0),
    msg_id        bigint      NOT NULL,
    kind          text        NOT NULL,
    op            text        NOT NULL CHECK (op IN ('create', 'update', 'revive', 'delete')),
    ruleset       text        NOT NULL,
    script        text        NOT NULL,
    changed_at    timestamptz NOT NULL,
    changed       json        NOT NULL, -- [{"path": "STND", "before": "11", "after": "12"}, ...]
    PRIMARY KEY (flid, state_version)
);
CREATE INDEX flight_change_msg_id ON flight_change (msg_id);
CREATE INDEX flight_change_changed_at ON flight_change USING brin (changed_at);

-- Flights that have been removed from the current state, as they last were.
CREATE TABLE flight_hst (
    flid          bigint      NOT NULL,
    state_version bigint      NOT NULL,
    state         text        NOT NULL CHECK (state IN ('ACTIVE', 'DELETED')),
    operation_day date,
    flno          text,
    mvin          text,
    sodt          timestamptz,
    last_msg_id   bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    document      json        NOT NULL, -- the complete state, details and members included
    evidence      text        NOT NULL, -- why its history was over
    archived_at   timestamptz NOT NULL,
    removed_at    timestamptz,          -- when it left the current state
    PRIMARY KEY (flid, state_version)
);
CREATE INDEX flight_hst_day ON flight_hst (operation_day);
CREATE INDEX flight_hst_archived_at ON flight_hst USING brin (archived_at);
