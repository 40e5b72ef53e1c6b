package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"msgx/engine/evidence"
	"msgx/engine/message"
	"msgx/engine/watermark"
)

const (
	sqlAuditBegin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

	// Nothing waits for a snapshot, so it need not end within the lease: a page of bodies takes its time,
	// and between two statements the mailbox is read.
	sqlAuditStatement = `SET LOCAL statement_timeout = '60s'`
	sqlAuditIdle      = `SET LOCAL idle_in_transaction_session_timeout = '120s'`

	sqlAuditLimits = `
SELECT COALESCE(c.watermark, 0), COALESCE(c.seeded_how, ''),
    COALESCE(least((SELECT min(msg_id) FROM proc_state), (SELECT min(msg_id) FROM proc_state_hst)), 0),
    p.decision_no,
    EXISTS (SELECT FROM proc_state_hst) OR EXISTS (SELECT FROM job_run WHERE outcome = 'done' AND affected > 0),
    l.epoch, b.epoch
FROM pipeline_lock p CROSS JOIN instance_lease l CROSS JOIN instance_heartbeat b LEFT JOIN inbox_cursor c ON true`

	// Records by id: those at work, those archived, and shadows whose archive is gone.
	sqlAuditMessages = `
WITH ids AS (
    (SELECT p.msg_id FROM proc_state p WHERE p.msg_id > $1 AND p.msg_id <= $2 ORDER BY p.msg_id LIMIT $3)
    UNION
    (SELECT h.msg_id FROM proc_state_hst h WHERE h.msg_id > $1 AND h.msg_id <= $2 ORDER BY h.msg_id LIMIT $3)
    ORDER BY msg_id LIMIT $3
), facts AS (
    SELECT p.msg_id, p.state, false AS archived, p.identity_key, p.kind, p.ruleset, p.error_class, p.decision_no, p.attempts,
        p.enqueued_at, p.updated_at, p.owes_mark, p.backfill_next_at, p.backfill_at, p.backfill_abandoned_reason, p.backfill_reconciled_at, p.body_sha256
    FROM ids i JOIN proc_state p ON p.msg_id = i.msg_id
    WHERE p.state <> 'ARCHIVED' OR NOT EXISTS (SELECT FROM proc_state_hst h WHERE h.msg_id = p.msg_id)
    UNION ALL
    SELECT h.msg_id, h.state, true, h.identity_key, h.kind, h.ruleset, h.error_class, h.decision_no, h.attempts,
        h.enqueued_at, h.updated_at, h.owes_mark, h.backfill_next_at, h.backfill_at, h.backfill_abandoned_reason, h.backfill_reconciled_at, h.body_sha256
    FROM ids i JOIN proc_state_hst h ON h.msg_id = i.msg_id
)
SELECT f.msg_id, f.state, f.archived, COALESCE(f.identity_key, ''), COALESCE(f.kind, ''), COALESCE(f.ruleset, ''), COALESCE(f.error_class, ''),
    COALESCE(f.decision_no, 0), f.attempts, f.enqueued_at, f.updated_at,
    COALESCE(o.msg_id, 0), o.enqueued_at,
    f.owes_mark, f.backfill_next_at IS NOT NULL, f.backfill_at, COALESCE(f.backfill_abandoned_reason, ''), f.backfill_reconciled_at IS NOT NULL,
    COALESCE(f.body_sha256, ''), COALESCE(encode(sha256(r.body), 'hex'), '')
FROM facts f
LEFT JOIN raw_message r ON r.msg_id = f.msg_id
LEFT JOIN LATERAL (
    SELECT p.msg_id, p.enqueued_at FROM proc_state p WHERE p.identity_key = f.identity_key AND p.msg_id <> f.msg_id LIMIT 1) o ON true
ORDER BY f.msg_id, f.archived`

	// The ledger of what was waited for in vain.
	sqlAuditHoles = `
SELECT h.first_id, h.last_id, h.first_seen, h.outcome, h.outcome_at FROM inbox_hole h
WHERE h.outcome = 'aged' AND h.first_id > $1 ORDER BY h.first_id, h.first_seen LIMIT $2`

	// Who was let in out of turn: rows that turned up late, and messages sent through again by an operator.
	sqlAuditExceptions = `
SELECT i.msg_id, CASE WHEN h.first_id IS NOT NULL THEN 'late' ELSE 'replayed' END
FROM unnest($1::bigint[]) AS i (msg_id)
LEFT JOIN inbox_hole h ON h.outcome = 'late' AND h.first_id = i.msg_id
WHERE h.first_id IS NOT NULL OR EXISTS (
    SELECT FROM operator_log l
    WHERE (l.action LIKE '%replay%' OR l.action LIKE '%enqueue%')
        AND l.subject IN (i.msg_id::text, 'message ' || i.msg_id))`

	sqlAuditDecisions = `
SELECT d.decision_no, d.msg_id, COALESCE(d.kind, ''), COALESCE(d.ruleset, ''), COALESCE(d.body_sha256, ''), COALESCE(d.identity_key, '')
FROM (
    (SELECT p.decision_no, p.msg_id, p.kind, p.ruleset, p.body_sha256, p.identity_key FROM proc_state p
     WHERE p.decision_no > $1 AND p.state <> 'ARCHIVED' ORDER BY p.decision_no LIMIT $2)
    UNION ALL
    (SELECT h.decision_no, h.msg_id, h.kind, h.ruleset, h.body_sha256, h.identity_key FROM proc_state_hst h
     WHERE h.decision_no > $1 ORDER BY h.decision_no LIMIT $2)) d
ORDER BY d.decision_no LIMIT $2`

	sqlAuditSchedules = `
SELECT s.snap_id, s.msg_id, s.outcome, s.carried,
    (SELECT count(*) FROM flight_change c WHERE c.msg_id = s.msg_id
        AND EXISTS (SELECT FROM json_array_elements(c.changed) AS f (change) WHERE f.change ->> 'path' <> 'MAFL')),
    (SELECT count(*) FROM flight_change c WHERE c.msg_id = s.msg_id AND c.op = 'delete')
FROM schd_snap_log s
WHERE s.snap_id > $1 AND s.msg_id BETWEEN $2 AND $3 ORDER BY s.snap_id LIMIT $4`

	sqlAuditReferences = `
SELECT r.rtype, r.rkey, r.value::text, r.msg_id, COALESCE(p.state, '')
FROM ref_master r LEFT JOIN proc_state p ON p.msg_id = r.msg_id
WHERE (r.rtype, r.rkey) > ($1, $2) ORDER BY r.rtype, r.rkey LIMIT $3`

	sqlAuditCopies = `SELECT msg_id, body, characters FROM raw_message WHERE msg_id = ANY ($1::bigint[]) ORDER BY msg_id`
)

// auditPatience bounds one round trip of a snapshot: more than a statement may take.
const auditPatience = 65 * time.Second

// Snapshot is our own database as it stood at one moment, for reading at length. It
// holds no lock that a writer waits for. It is for one goroutine.
type Snapshot struct {
	store *Store
	conn  *pgxpool.Conn
}

// Snapshot runs fn on the database as it stands now. The moment is taken by the first thing that fn reads.
func (s *Store) Snapshot(ctx context.Context, fn func(*Snapshot) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("store: take a snapshot: %w", classify(ctx, err))
	}
	defer conn.Release()
	defer func() { // the pool discards a connection that cannot be rolled back
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		_, _ = conn.Exec(end, "ROLLBACK")
	}()
	err = s.read(ctx, "take a snapshot", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlAuditBegin)
		b.Queue(sqlAuditStatement)
		b.Queue(sqlAuditIdle)
		return conn.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return err
	}
	patient := *s
	patient.patience = auditPatience
	return fn(&Snapshot{store: &patient, conn: conn})
}

// rowsOf reads all rows of a statement within a snapshot.
func rowsOf[T any](ctx context.Context, s *Snapshot, op, sql string, scan func(pgx.CollectableRow) (T, error), args ...any) (out []T, err error) {
	err = s.store.read(ctx, op, func(ctx context.Context) error {
		rows, err := s.conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scan)
		return err
	})
	return out, err
}

// Limits is how far the database has come.
func (s *Snapshot) Limits(ctx context.Context) (l evidence.Limits, err error) {
	err = s.store.read(ctx, "read how far it has come", func(ctx context.Context) error {
		return s.conn.QueryRow(ctx, sqlAuditLimits).Scan(&l.Watermark, &l.SeededHow, &l.LowestID, &l.DecisionNo, &l.Archived, &l.Epoch, &l.BeatEpoch)
	})
	return l, err
}

// Messages are the processing records with an id above after and up to last, ascending. A
// message that has both a record at work and one in the archive comes twice.
func (s *Snapshot) Messages(ctx context.Context, after, last int64, limit int) ([]evidence.Message, error) {
	return rowsOf(ctx, s, fmt.Sprintf("read records after id %d", after), sqlAuditMessages, scanEvidence, after, last, limit)
}

func scanEvidence(row pgx.CollectableRow) (m evidence.Message, err error) {
	var twin, marked *time.Time
	err = row.Scan(&m.ID, &m.State, &m.Archived, &m.Identity, &m.Kind, &m.Ruleset, &m.Class, &m.DecisionNo, &m.Attempts,
		&m.EnqueuedAt, &m.UpdatedAt, &m.Twin, &twin, &m.OwesMark, &m.MarkDue, &marked, &m.Abandoned, &m.Reconciled, &m.SHA256, &m.CopySHA256)
	m.TwinEnqueued, m.Marked = moment(twin), moment(marked)
	return m, err
}

// AgedHoles are released holes whose first id is above after, ascending.
func (s *Snapshot) AgedHoles(ctx context.Context, after int64, limit int) ([]watermark.Hole, error) {
	return rowsOf(ctx, s, fmt.Sprintf("read holes after id %d", after), sqlAuditHoles, scanHole, after, limit)
}

// Exceptions tells which of the messages were let in out of turn, and why: "late" or "replayed".
func (s *Snapshot) Exceptions(ctx context.Context, ids []int64) (map[int64]string, error) {
	type exception struct {
		id  int64
		why string
	}
	found, err := rowsOf(ctx, s, "read who was let in out of turn", sqlAuditExceptions, func(row pgx.CollectableRow) (e exception, err error) {
		err = row.Scan(&e.id, &e.why)
		return e, err
	}, ids)
	out := make(map[int64]string, len(found))
	for _, e := range found {
		out[e.id] = e.why
	}
	return out, err
}

// Decisions are applied decisions numbered above after, ascending.
func (s *Snapshot) Decisions(ctx context.Context, after int64, limit int) ([]evidence.Decision, error) {
	return rowsOf(ctx, s, fmt.Sprintf("read decisions after %d", after), sqlAuditDecisions, func(row pgx.CollectableRow) (d evidence.Decision, err error) {
		err = row.Scan(&d.No, &d.MsgID, &d.Kind, &d.Ruleset, &d.SHA256, &d.Identity)
		return d, err
	}, after, limit)
}

// Schedules are the entries of the schedule log above after whose message lies from first to last, ascending.
func (s *Snapshot) Schedules(ctx context.Context, after, first, last int64, limit int) ([]evidence.Schedule, error) {
	return rowsOf(ctx, s, "read the schedule log", sqlAuditSchedules, func(row pgx.CollectableRow) (e evidence.Schedule, err error) {
		err = row.Scan(&e.SnapID, &e.MsgID, &e.Outcome, &e.Carried, &e.Changed, &e.Deleted)
		return e, err
	}, after, first, last, limit)
}

// References are records of reference data after the given one, by type and key.
func (s *Snapshot) References(ctx context.Context, typ, key string, limit int) ([]evidence.Reference, error) {
	return rowsOf(ctx, s, "read reference data", sqlAuditReferences, func(row pgx.CollectableRow) (r evidence.Reference, err error) {
		err = row.Scan(&r.Type, &r.Key, &r.Value, &r.MsgID, &r.MsgState)
		return r, err
	}, typ, key, limit)
}

// Copies are our own copies of the given bodies, as far as there are any, ascending.
func (s *Snapshot) Copies(ctx context.Context, ids []int64) ([]message.Raw, error) {
	return rowsOf(ctx, s, "read copies of bodies", sqlAuditCopies, func(row pgx.CollectableRow) (r message.Raw, err error) {
		err = row.Scan(&r.MsgID, &r.Body, &r.Characters)
		return r, err
	}, ids)
}
