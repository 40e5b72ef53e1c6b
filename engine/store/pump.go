package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"msgx/engine/decision"
	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/message"
)

const (
	sqlWatermark = `SELECT watermark FROM inbox_cursor`

	// What is unfinished below the message that was decided last is out of turn: that one was the smallest. So only the
	// end of the index of the unfinished is read, which keeps all that was finished while a long reader holds back vacuum.
	// A range that is open above is cheaper by that index than by the primary key, whose range would be all of history
	// when the last decision was a replay.
	sqlHeads = `
WITH bounds AS (
    SELECT COALESCE((SELECT watermark FROM inbox_cursor), 0) AS high,
        COALESCE((SELECT d.msg_id FROM proc_state d WHERE d.decision_no IS NOT NULL ORDER BY d.decision_no DESC LIMIT 1), 0) AS low
)
SELECT h.msg_id, h.state, h.attempts, h.next_attempt_at, h.identity_key, h.enqueued_at, h.error_class, h.last_error FROM (
    (SELECT p.msg_id, p.state, p.attempts, p.next_attempt_at, p.identity_key, p.enqueued_at, p.error_class, p.last_error
     FROM proc_state p
     WHERE p.state IN ('PENDING', 'FAILED') AND p.out_of_turn AND p.msg_id < (SELECT low FROM bounds)
     ORDER BY p.msg_id LIMIT $1)
    UNION ALL
    (SELECT p.msg_id, p.state, p.attempts, p.next_attempt_at, p.identity_key, p.enqueued_at, p.error_class, p.last_error
     FROM proc_state p
     WHERE p.state IN ('PENDING', 'FAILED') AND p.msg_id >= (SELECT low FROM bounds)
     ORDER BY p.msg_id LIMIT $1)) h
WHERE h.msg_id <= (SELECT high FROM bounds)
ORDER BY h.msg_id
LIMIT $1`

	sqlBeyond = `
SELECT p.msg_id FROM proc_state p
WHERE p.state IN ('PENDING', 'FAILED') AND p.msg_id > COALESCE((SELECT watermark FROM inbox_cursor), 0)
ORDER BY p.msg_id
LIMIT 1`

	sqlRawCopy = `SELECT body, characters FROM raw_message WHERE msg_id = $1`

	// Both locks in one statement: the epoch shared, then the pipeline exclusively.
	sqlClaimPipeline = `
SELECT p.decision_no
FROM instance_lease l CROSS JOIN pipeline_lock p
WHERE l.epoch = $1
FOR SHARE OF l FOR UPDATE OF p`

	// Runs after the pipeline lock is held, so that it sees what its last holder committed.
	sqlClaimHead = `
SELECT p.state, p.attempts, p.next_attempt_at, p.identity_key, p.enqueued_at, p.error_class, p.last_error,
    p.msg_id <= c.watermark AND NOT EXISTS (SELECT FROM proc_state e WHERE e.state IN ('PENDING', 'FAILED') AND e.out_of_turn AND e.msg_id < p.msg_id)
        AND p.msg_id <= COALESCE((SELECT e.msg_id FROM proc_state e WHERE e.state IN ('PENDING', 'FAILED') AND e.msg_id >= COALESCE(
            (SELECT d.msg_id FROM proc_state d WHERE d.decision_no IS NOT NULL ORDER BY d.decision_no DESC LIMIT 1), 0)
            ORDER BY e.msg_id LIMIT 1), p.msg_id),
    h.msg_id, h.state, h.body_sha256, h.enqueued_at
FROM proc_state p
CROSS JOIN inbox_cursor c
LEFT JOIN proc_state h ON h.identity_key = $2 AND h.msg_id <> p.msg_id
WHERE p.msg_id = $1 AND p.state IN ('PENDING', 'FAILED')
FOR UPDATE OF p`

	sqlLockPipeline = `SELECT decision_no FROM pipeline_lock FOR UPDATE`

	sqlState = `SELECT state FROM proc_state WHERE msg_id = $1`

	sqlReferences = `SELECT rtype, rkey, value::text FROM ref_master WHERE rtype = ANY ($1)`
)

// Heads are the unfinished messages at or below the watermark, ascending. beyond is the
// smallest unfinished one above it, 0 if there is none: such a row was enqueued by an entry of its own and waits for the watermark.
func (s *Store) Heads(ctx context.Context, limit int) (heads []message.Head, watermark, beyond int64, err error) {
	err = s.read(ctx, "read the head", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlWatermark).Query(atMostOne(&watermark))
		b.Queue(sqlHeads, limit).Query(func(rows pgx.Rows) (err error) {
			heads, err = pgx.CollectRows(rows, scanHead)
			return err
		})
		b.Queue(sqlBeyond).Query(atMostOne(&beyond))
		return s.pool.SendBatch(ctx, &b).Close()
	})
	return heads, watermark, beyond, err
}

// atMostOne reads a single value that may not be there.
func atMostOne[T any](into *T) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		v, err := pgx.CollectOneRow(rows, pgx.RowTo[T])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			*into = v
		}
		return err
	}
}

// countInto keeps the number of affected rows.
func countInto(n *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error { *n = int(tag.RowsAffected()); return nil }
}

func scanHead(row pgx.CollectableRow) (h message.Head, err error) {
	var next *time.Time
	var identity, class, text *string
	err = row.Scan(&h.MsgID, &h.State, &h.Attempts, &next, &identity, &h.EnqueuedAt, &class, &text)
	h.NextAttemptAt, h.Identity, h.EnqueuedAt, h.LastError = moment(next), plain(identity), h.EnqueuedAt.UTC(), plain(text)
	h.Class = message.ErrorClass(plain(class))
	return h, err
}

// RawCopy is our own copy of a body; false when there is none.
func (s *Store) RawCopy(ctx context.Context, msgID int64) (raw message.Raw, found bool, err error) {
	raw.MsgID = msgID
	err = s.read(ctx, fmt.Sprintf("read the copy of message %d", msgID), func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, sqlRawCopy, msgID).Scan(&raw.Body, &raw.Characters)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	return raw, found, err
}

// Decide is the business transaction of one message, in two round trips. The first takes
// the locks and reads all that the decision needs; judge, which is pure and called at
// most once, decides; the second stores the whole settlement and commits.
//
// fault.ErrMoved: the message is not the head. fault.ErrFenced: another instance leads.
// fault.ErrCommitInDoubt: ask Resolve. In every other error nothing was written.
func (w *Writer) Decide(ctx context.Context, c decision.Claim, judge func(decision.Claimed) (decision.Settlement, error)) error {
	err := w.store.InTx(ctx, failpoint.Decide, func(tx *Tx) error {
		claimed, expired, err := w.claim(ctx, tx, c)
		if err != nil {
			return err
		}
		var s decision.Settlement
		err = tx.awake(ctx, func() (err error) {
			s, err = judge(claimed)
			return err
		})
		if err != nil {
			return err
		}
		if s.MsgID != c.MsgID {
			return fmt.Errorf("the settlement is of message %d", s.MsgID)
		}
		if expired {
			tx.Finally(sqlForgetIdentity, c.Identity, c.MsgID, c.IdentitySince)
		}
		return w.settleWithin(tx, s, claimed.DecisionNo)
	})
	if err != nil {
		return fmt.Errorf("store: decide message %d: %w", c.MsgID, err)
	}
	return nil
}

// claim takes the locks and reads. expired tells that a record holds the identity
// which is older than the identity memory and has to give it up.
func (w *Writer) claim(ctx context.Context, tx *Tx, c decision.Claim) (claimed decision.Claimed, expired bool, err error) {
	var b pgx.Batch
	var fenced, waiting, moved = true, true, true // waiting: the row is not locked yet
	var holder holderRow
	b.Queue(sqlClaimPipeline, w.epoch).Query(func(rows pgx.Rows) error {
		no, err := pgx.CollectOneRow(rows, pgx.RowTo[int64])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		fenced, claimed.DecisionNo = false, no
		return nil
	})
	b.Queue(sqlClaimHead, c.MsgID, optional(safeKey(c.Identity))).QueryRow(func(row pgx.Row) error {
		head, isHead, err := scanClaim(row, &holder)
		if errors.Is(err, pgx.ErrNoRows) {
			waiting = false
			return nil
		}
		waiting = err != nil
		head.MsgID = c.MsgID
		moved, claimed.Head = !isHead, head
		return err
	})
	w.store.flights.queueLoad(&b, c.Flights, c.Masters, &claimed.View)
	if len(c.RefTypes) > 0 {
		b.Queue(sqlReferences, c.RefTypes).Query(func(rows pgx.Rows) error { return scanReferences(rows, &claimed.View) })
	}
	err = tx.Send(ctx, &b)
	switch {
	case err != nil && (fenced || waiting) && heldTooLong(err):
		// Whoever holds the locks for so long, it is not this message.
		return claimed, false, fmt.Errorf("%w: the pipeline or the message is locked by another session: %w", fault.ErrUnavailable, err)
	case err != nil:
		return claimed, false, err
	case fenced:
		return claimed, false, fault.ErrFenced
	case moved:
		return claimed, false, fmt.Errorf("%w: it is not the smallest unfinished message within the watermark", fault.ErrMoved)
	}
	expired = holder.id != nil && holder.enqueued.Before(c.IdentitySince)
	if holder.id != nil && !expired {
		claimed.Holder = &message.Binding{
			MsgID: *holder.id, State: message.State(*holder.state), BodySHA256: plain(holder.sha256), EnqueuedAt: moment(holder.enqueued),
		}
	}
	return claimed, expired, nil
}

type holderRow struct {
	id            *int64
	state, sha256 *string
	enqueued      *time.Time
}

func scanClaim(row pgx.Row, holder *holderRow) (h message.Head, isHead bool, err error) {
	var next *time.Time
	var identity, class, text *string
	err = row.Scan(&h.State, &h.Attempts, &next, &identity, &h.EnqueuedAt, &class, &text, &isHead,
		&holder.id, &holder.state, &holder.sha256, &holder.enqueued)
	h.NextAttemptAt, h.Identity, h.EnqueuedAt, h.LastError = moment(next), plain(identity), h.EnqueuedAt.UTC(), plain(text)
	h.Class = message.ErrorClass(plain(class))
	return h, isHead, err
}

func scanReferences(rows pgx.Rows, view *decision.View) error {
	view.Refs = map[string]map[string]json.RawMessage{}
	var typ, key, value string
	_, err := pgx.ForEachRow(rows, []any{&typ, &key, &value}, func() error {
		if view.Refs[typ] == nil {
			view.Refs[typ] = map[string]json.RawMessage{}
		}
		view.Refs[typ][key] = json.RawMessage(value)
		return nil
	})
	return err
}

// Resolve finds out what became of a commit in doubt. It waits, under the pipeline lock,
// for the old transaction to end, and then reads: PENDING or FAILED means that it did not commit.
func (w *Writer) Resolve(ctx context.Context, msgID int64) (state message.State, err error) {
	op := fmt.Sprintf("resolve the commit of message %d", msgID)
	first := func(b *pgx.Batch) {
		b.Queue(sqlLockPipeline)
		b.Queue(sqlState, msgID).Query(atMostOne(&state))
	}
	err = w.inTx(ctx, failpoint.Resolve, op, first, func(*Tx) error {
		if state == "" {
			return fault.ErrNotFound
		}
		return nil
	})
	return state, err
}
