package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/message"
)

const (
	// Lists name their messages first; this reads what is known of the named ones.
	sqlStandings = `
SELECT p.msg_id, p.state, COALESCE(p.kind, ''), COALESCE(p.error_class, ''), COALESCE(p.last_error, p.skip_reason, ''), p.attempts,
    p.next_attempt_at, p.first_failed_at, p.enqueued_at, p.updated_at, COALESCE(p.identity_key, ''),
    p.owes_mark, p.backfill_next_at, p.backfill_attempts, p.backfill_first_failed_at, COALESCE(p.backfill_last_error, ''), p.backfill_at,
    p.backfill_abandoned_at, COALESCE(p.backfill_abandoned_reason, ''), p.backfill_reconciled_at, COALESCE(p.backfill_reconciled_by, '')
FROM proc_state p
WHERE p.msg_id = ANY ($1::bigint[])
ORDER BY p.msg_id`

	// What is EXHAUSTED begins its text with the class of its last failure, and is found by either. Since
	// goes by the first failure; a replay begins anew.
	sqlDead = `
SELECT p.msg_id FROM proc_state p
WHERE p.state = 'DEAD' AND p.msg_id > $1
    AND ($2::text IS NULL OR p.error_class = $2 OR (p.error_class = 'EXHAUSTED' AND starts_with(p.last_error, $2 || ': ')))
    AND ($3::text IS NULL OR p.kind = $3)
    AND ($4::timestamptz IS NULL OR p.first_failed_at >= $4 OR (p.first_failed_at IS NULL AND p.updated_at >= $4))
ORDER BY p.msg_id
LIMIT $5`

	sqlWithin = `
SELECT p.msg_id FROM proc_state p
WHERE p.msg_id BETWEEN $1 AND $2 AND p.state = ANY ($3::text[])
ORDER BY p.msg_id
LIMIT $4`

	sqlStatesWithin = `
SELECT p.state, count(*) FROM proc_state p WHERE p.msg_id BETWEEN $1 AND $2 GROUP BY p.state`

	// A mark that is owed, longest tried last, as the back-fill takes them; overdue when $2 is given.
	sqlOwedMarks = `
SELECT p.msg_id FROM proc_state p
WHERE p.state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND p.backfill_at IS NULL AND p.backfill_abandoned_at IS NULL AND p.owes_mark
    AND ($1::timestamptz IS NULL OR p.enqueued_at < $1)
ORDER BY p.backfill_attempts, p.msg_id
LIMIT $2`

	sqlAbandonedMarks = `
SELECT p.msg_id FROM proc_state p
WHERE p.backfill_abandoned_at IS NOT NULL AND ($1::boolean OR p.backfill_reconciled_at IS NULL)
ORDER BY p.msg_id
LIMIT $2`
)

// Standings tells where messages stand, ascending; those that are not there are left out.
func (s *Store) Standings(ctx context.Context, ids []int64) ([]message.Standing, error) {
	return list(ctx, s, "read where messages stand", sqlStandings, scanStanding, ids)
}

func scanStanding(row pgx.CollectableRow) (m message.Standing, err error) {
	var next, failed *time.Time
	var markNext, markFailed, confirmed, abandoned, reconciled *time.Time
	err = row.Scan(&m.MsgID, &m.State, &m.Kind, &m.Class, &m.Text, &m.Attempts, &next, &failed, &m.EnqueuedAt, &m.UpdatedAt, &m.Identity,
		&m.Mark.Owes, &markNext, &m.Mark.Attempts, &markFailed, &m.Mark.LastError, &confirmed,
		&abandoned, &m.Mark.AbandonedReason, &reconciled, &m.Mark.ReconciledBy)
	m.NextAttemptAt, m.FirstFailedAt, m.EnqueuedAt, m.UpdatedAt = moment(next), moment(failed), m.EnqueuedAt.UTC(), m.UpdatedAt.UTC()
	m.Mark.NextAt, m.Mark.FirstFailedAt, m.Mark.ConfirmedAt = moment(markNext), moment(markFailed), moment(confirmed)
	m.Mark.AbandonedAt, m.Mark.ReconciledAt = moment(abandoned), moment(reconciled)
	return m, err
}

// DeadFilter says which dead messages are wanted; what is zero does not matter.
type DeadFilter struct {
	Class message.ErrorClass // its own, or that of the last failure of what is EXHAUSTED
	Kind  string
	Since time.Time // when its failures began
	After int64     // ids above this one
}

// Dead lists dead messages, ascending.
func (s *Store) Dead(ctx context.Context, f DeadFilter, limit int) ([]message.Standing, error) {
	return s.standingsOf(ctx, "list dead messages", sqlDead, f.After, optional(string(f.Class)), optional(f.Kind), instant(f.Since), limit)
}

// Within lists the messages of a range of ids that are in one of the states, ascending.
func (s *Store) Within(ctx context.Context, first, last int64, states []message.State, limit int) ([]message.Standing, error) {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = string(state)
	}
	return s.standingsOf(ctx, fmt.Sprintf("list messages %d to %d", first, last), sqlWithin, first, last, names, limit)
}

// StatesWithin counts the messages of a range of ids by state.
func (s *Store) StatesWithin(ctx context.Context, first, last int64) (map[message.State]int64, error) {
	out := map[message.State]int64{}
	err := s.read(ctx, fmt.Sprintf("count messages %d to %d", first, last), func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sqlStatesWithin, first, last)
		if err != nil {
			return err
		}
		var state message.State
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { out[state] = n; return nil })
		return err
	})
	return out, err
}

// OwedMarks lists the messages whose mark is still owed, the least tried first; only those
// enqueued before the given time unless that is zero.
func (s *Store) OwedMarks(ctx context.Context, enqueuedBefore time.Time, limit int) ([]message.Standing, error) {
	return s.standingsOf(ctx, "list marks that are owed", sqlOwedMarks, instant(enqueuedBefore), limit)
}

// AbandonedMarks lists the messages whose mark was given up, with or without those that
// somebody has reconciled with the mailbox.
func (s *Store) AbandonedMarks(ctx context.Context, reconciledToo bool, limit int) ([]message.Standing, error) {
	return s.standingsOf(ctx, "list marks that were given up", sqlAbandonedMarks, reconciledToo, limit)
}

// standingsOf reads the messages that a statement names, in its order.
func (s *Store) standingsOf(ctx context.Context, op, sql string, args ...any) ([]message.Standing, error) {
	ids, err := list(ctx, s, op, sql, pgx.RowTo[int64], args...)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := s.Standings(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]message.Standing, len(found))
	for _, m := range found {
		byID[m.MsgID] = m
	}
	out := make([]message.Standing, 0, len(ids))
	for _, id := range ids {
		if m, ok := byID[id]; ok {
			out = append(out, m)
		}
	}
	return out, nil
}
