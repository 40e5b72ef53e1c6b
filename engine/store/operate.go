package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/message"
)

const (
	sqlLockMessages = `SELECT p.msg_id FROM proc_state p WHERE p.msg_id = ANY ($1::bigint[]) ORDER BY p.msg_id FOR UPDATE`

	// Identity and back-fill facts stay. decided_up_to tells how far the line had come: a message below
	// it is decided out of the mailbox's order, which is what a replay is for.
	sqlReplay = `
WITH before AS (
    SELECT p.msg_id, p.state, p.error_class, p.last_error, p.attempts, p.first_failed_at, p.next_attempt_at
    FROM proc_state p WHERE p.msg_id = ANY ($1::bigint[]) AND p.state IN ('DEAD', 'FAILED')
), changed AS (
    UPDATE proc_state p SET state = 'PENDING', attempts = 0, next_attempt_at = NULL, error_class = NULL, last_error = NULL,
        first_failed_at = NULL, notes = NULL, updated_at = $2, out_of_turn = true
    FROM before b WHERE p.msg_id = b.msg_id
    RETURNING p.msg_id
), line AS (
    SELECT d.msg_id AS decided FROM proc_state d WHERE d.state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') ORDER BY d.msg_id DESC LIMIT 1
)
INSERT INTO operator_log (at, who, action, subject, reason, approver, ticket, details)
SELECT $2, $3, 'replay', 'message ' || b.msg_id, $4, $5, $6, json_build_object(
    'before', json_build_object('state', b.state, 'class', b.error_class, 'text', b.last_error, 'attempts', b.attempts,
        'first_failed_at', b.first_failed_at, 'next_attempt_at', b.next_attempt_at),
    'after', json_build_object('state', 'PENDING', 'attempts', 0),
    'decided_up_to', l.decided, 'out_of_order', b.msg_id < l.decided)
FROM before b JOIN changed c ON c.msg_id = b.msg_id LEFT JOIN line l ON true
ORDER BY b.msg_id`

	sqlRetryNow = `
WITH before AS (
    SELECT p.msg_id, p.next_attempt_at, p.attempts FROM proc_state p WHERE p.msg_id = ANY ($1::bigint[]) AND p.state = 'FAILED'
), changed AS (
    UPDATE proc_state p SET next_attempt_at = $2, updated_at = $2 FROM before b WHERE p.msg_id = b.msg_id
    RETURNING p.msg_id
)
INSERT INTO operator_log (at, who, action, subject, reason, approver, ticket, details)
SELECT $2, $3, 'head retry', 'message ' || b.msg_id, $4, $5, $6, json_build_object(
    'before', json_build_object('next_attempt_at', b.next_attempt_at, 'attempts', b.attempts),
    'after', json_build_object('next_attempt_at', $2::timestamptz, 'attempts', b.attempts))
FROM before b JOIN changed c ON c.msg_id = b.msg_id
ORDER BY b.msg_id`

	// The mark is owed as for any other terminal state, in the same statement.
	sqlSkip = `
WITH before AS (
    SELECT p.msg_id, p.state, p.error_class, p.last_error, p.attempts, p.first_failed_at
    FROM proc_state p WHERE p.msg_id = ANY ($1::bigint[]) AND p.state IN ('PENDING', 'FAILED')
), changed AS (
    UPDATE proc_state p SET state = 'SKIPPED', skip_reason = $7, error_class = NULL, last_error = NULL, next_attempt_at = NULL, updated_at = $2,
        backfill_next_at = CASE
            WHEN p.owes_mark AND p.backfill_at IS NULL AND p.backfill_abandoned_at IS NULL THEN $2
            ELSE p.backfill_next_at END
    FROM before b WHERE p.msg_id = b.msg_id
    RETURNING p.msg_id
)
INSERT INTO operator_log (at, who, action, subject, reason, approver, ticket, details)
SELECT $2, $3, 'skip', 'message ' || b.msg_id, $4, $5, $6, json_build_object(
    'before', json_build_object('state', b.state, 'class', b.error_class, 'text', b.last_error, 'attempts', b.attempts,
        'first_failed_at', b.first_failed_at),
    'after', json_build_object('state', 'SKIPPED', 'reason', $7::text))
FROM before b JOIN changed c ON c.msg_id = b.msg_id
ORDER BY b.msg_id`

	// R begins anew with the next failure.
	sqlReopen = `
WITH before AS (
    SELECT p.msg_id, p.backfill_abandoned_at, p.backfill_abandoned_reason, p.backfill_attempts, p.backfill_first_failed_at, p.backfill_last_error
    FROM proc_state p
    WHERE p.msg_id = ANY ($1::bigint[]) AND p.backfill_abandoned_at IS NOT NULL AND p.backfill_reconciled_at IS NULL AND p.state <> 'ARCHIVED'
), changed AS (
    UPDATE proc_state p SET backfill_abandoned_at = NULL, backfill_abandoned_reason = NULL, backfill_attempts = 0,
        backfill_first_failed_at = NULL, backfill_next_at = $2, updated_at = $2
    FROM before b WHERE p.msg_id = b.msg_id
    RETURNING p.msg_id
)
INSERT INTO operator_log (at, who, action, subject, reason, approver, ticket, details)
SELECT $2, $3, 'backfill reopen', 'message ' || b.msg_id, $4, $5, $6, json_build_object(
    'before', json_build_object('abandoned_at', b.backfill_abandoned_at, 'abandoned_reason', b.backfill_abandoned_reason,
        'attempts', b.backfill_attempts, 'first_failed_at', b.backfill_first_failed_at, 'last_error', b.backfill_last_error),
    'after', json_build_object('next_at', $2::timestamptz, 'attempts', 0))
FROM before b JOIN changed c ON c.msg_id = b.msg_id
ORDER BY b.msg_id`

	sqlReconcile = `
WITH before AS (
    SELECT p.msg_id, p.backfill_abandoned_at, p.backfill_abandoned_reason FROM proc_state p
    WHERE p.msg_id = ANY ($1::bigint[]) AND p.backfill_abandoned_at IS NOT NULL AND p.backfill_reconciled_at IS NULL AND p.state <> 'ARCHIVED'
), changed AS (
    UPDATE proc_state p SET backfill_reconciled_at = $2, backfill_reconciled_by = $3, updated_at = $2
    FROM before b WHERE p.msg_id = b.msg_id
    RETURNING p.msg_id
)
INSERT INTO operator_log (at, who, action, subject, reason, approver, ticket, details)
SELECT $2, $3, 'backfill reconcile', 'message ' || b.msg_id, $4, $5, $6, json_build_object(
    'before', json_build_object('abandoned_at', b.backfill_abandoned_at, 'abandoned_reason', b.backfill_abandoned_reason, 'reconciled_at', NULL),
    'after', json_build_object('reconciled_at', $2::timestamptz, 'reconciled_by', $3::text))
FROM before b JOIN changed c ON c.msg_id = b.msg_id
ORDER BY b.msg_id`

	sqlActions = `
SELECT l.at, l.who, l.action, l.subject, l.reason, COALESCE(l.approver, ''), COALESCE(l.ticket, ''), l.details::text
FROM operator_log l WHERE l.subject = $1 ORDER BY l.log_id`
)

// operation is a manual action on messages: it locks them, looks, and changes those that it may.
type operation struct {
	name string
	sql  string
	// pipeline holds the pump between two messages meanwhile.
	pipeline bool
	extra    []any
	// leave says why a message is left as it is, "" when it is changed. It sees the locked row.
	leave func(message.Standing) string
}

// Replay sends dead or failed messages through again: they are PENDING, without the failures of
// the past and with the identity they have, and the smallest is the head at once. The back-fill facts are not touched. leave
// is asked about each message while it is locked, and says why it is left out. Neither the back-fill nor
// another replay works on a message meanwhile: each waits for the row or passes it by.
func (s *Store) Replay(ctx context.Context, ids []int64, o message.Order, leave func(message.Standing) string) (done []message.Standing, left []message.Left, err error) {
	return s.operate(ctx, operation{name: "replay", sql: sqlReplay, leave: leave}, ids, o)
}

// RetryNow makes a failed message due at once. Its attempts stay counted.
func (s *Store) RetryNow(ctx context.Context, id int64, o message.Order) (done []message.Standing, left []message.Left, err error) {
	return s.operate(ctx, operation{name: "retry", sql: sqlRetryNow, leave: func(m message.Standing) string {
		if m.State != message.Failed {
			return "it is " + m.Label() + ", and nothing but a FAILED message waits for its next try"
		}
		return ""
	}}, []int64{id}, o)
}

// Skip makes unfinished messages SKIPPED and owes their marks. It holds the pipeline, so that none
// of them is in the middle of its decision.
func (s *Store) Skip(ctx context.Context, ids []int64, o message.Order, leave func(message.Standing) string) (done []message.Standing, left []message.Left, err error) {
	reason := safe("operator:"+o.Reason, reasonLimit)
	return s.operate(ctx, operation{name: "skip", sql: sqlSkip, pipeline: true, extra: []any{reason}, leave: leave}, ids, o)
}

// Reopen takes marks that were given up back into the back-fill, due at once and with R before them.
func (s *Store) Reopen(ctx context.Context, ids []int64, o message.Order) (done []message.Standing, left []message.Left, err error) {
	return s.operate(ctx, operation{name: "reopen the marks", sql: sqlReopen, leave: message.Standing.NotSettleable}, ids, o)
}

// Reconcile records that somebody has compared marks that were given up with the mailbox, and that they
// may count as settled. The mark itself stays unconfirmed.
func (s *Store) Reconcile(ctx context.Context, ids []int64, o message.Order) (done []message.Standing, left []message.Left, err error) {
	return s.operate(ctx, operation{name: "reconcile the marks", sql: sqlReconcile, leave: message.Standing.NotSettleable}, ids, o)
}

// operate runs one manual action in one transaction: all of it, with its entries in operator_log, or nothing.
// Operators hold no lease epoch; what they rely on is the locked rows.
func (s *Store) operate(ctx context.Context, p operation, ids []int64, o message.Order) (done []message.Standing, left []message.Left, err error) {
	op := fmt.Sprintf("%s %s", p.name, counted(len(ids), "message"))
	who, why := safe(o.Who, nameLimit), safe(o.Reason, reasonLimit)
	if who == "" || why == "" {
		return nil, nil, fmt.Errorf("store: %s: %w: it needs a name and a reason", op, fault.ErrRefused)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	err = s.InTx(ctx, failpoint.Operate, func(tx *Tx) error {
		found, err := p.lock(ctx, tx, ids)
		if err != nil {
			return err
		}
		done, left = p.choose(ids, found)
		if len(done) == 0 {
			return nil
		}
		chosen := make([]int64, len(done))
		for i, m := range done {
			chosen[i] = m.MsgID
		}
		args := append([]any{chosen, o.At, who, why, optional(safe(o.Approver, nameLimit)), optional(safe(o.Ticket, nameLimit))}, p.extra...)
		tx.Finally(p.sql, args...)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("store: %s: %w", op, err)
	}
	return done, left, nil
}

// lock takes the rows, ascending, and reads them as their last holder left them.
func (p operation) lock(ctx context.Context, tx *Tx, ids []int64) (found []message.Standing, err error) {
	var b pgx.Batch
	if p.pipeline {
		b.Queue(sqlLockPipeline)
	}
	b.Queue(sqlLockMessages, ids)
	b.Queue(sqlStandings, ids).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanStanding)
		return err
	})
	err = tx.Send(ctx, &b)
	if heldTooLong(err) {
		return nil, fmt.Errorf("%w: one of the messages is being decided or marked just now, try again: %w", fault.ErrUnavailable, err)
	}
	return found, err
}

func (p operation) choose(ids []int64, found []message.Standing) (done []message.Standing, left []message.Left) {
	there := make(map[int64]message.Standing, len(found))
	for _, m := range found {
		there[m.MsgID] = m
	}
	for _, id := range ids {
		m, ok := there[id]
		reason := "it was never enqueued"
		if ok {
			reason = p.leave(m)
		}
		if reason != "" {
			left = append(left, message.Left{MsgID: id, Reason: reason})
			continue
		}
		done = append(done, m)
	}
	return done, left
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func scanAction(row pgx.CollectableRow) (a message.Action, err error) {
	var details *string
	err = row.Scan(&a.At, &a.Who, &a.Action, &a.Subject, &a.Reason, &a.Approver, &a.Ticket, &details)
	a.At = a.At.UTC()
	if details != nil {
		a.Details = []byte(*details)
	}
	return a, err
}

// subject names a message in operator_log.
func subject(msgID int64) string { return fmt.Sprintf("message %d", msgID) }
