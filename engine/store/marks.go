package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/message"
)

const (
	// A terminal message owes its mark until the mark is confirmed or given up. It is due when its
	// back-off is over, when it has none, or when it has waited since before $2 (now - R), which overrides the
	// back-off. The least tried come first, so that what fails for ever does not fill the batch.
	sqlDueMarks = `
SELECT p.msg_id, p.enqueued_at, p.backfill_attempts, p.backfill_first_failed_at
FROM proc_state p
WHERE p.state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND p.backfill_at IS NULL AND p.backfill_abandoned_at IS NULL AND p.owes_mark
    AND (p.backfill_next_at IS NULL OR p.backfill_next_at <= $1 OR p.enqueued_at < $2)
ORDER BY p.backfill_attempts, p.msg_id
LIMIT $3`

	sqlHoldMarks = `
SELECT p.msg_id, p.enqueued_at, p.backfill_attempts, p.backfill_first_failed_at
FROM proc_state p
WHERE p.msg_id = ANY ($1::bigint[])
    AND p.state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND p.backfill_at IS NULL AND p.backfill_abandoned_at IS NULL AND p.owes_mark
ORDER BY p.msg_id
FOR UPDATE OF p SKIP LOCKED`

	// Confirmed, given up, or tried again: the three ends of one attempt. The database's clock tells when it ended.
	sqlSaveMarks = `
UPDATE proc_state p SET
    backfill_attempts = p.backfill_attempts + 1,
    backfill_at = CASE WHEN o.confirmed THEN clock_timestamp() END,
    backfill_abandoned_at = CASE WHEN o.reason IS NOT NULL THEN clock_timestamp() END,
    backfill_abandoned_reason = o.reason,
    backfill_next_at = CASE WHEN NOT o.confirmed AND o.reason IS NULL THEN o.next_at END,
    backfill_first_failed_at = CASE WHEN o.confirmed THEN p.backfill_first_failed_at ELSE COALESCE(o.first_failed_at, p.backfill_first_failed_at) END,
    backfill_last_error = o.error,
    updated_at = clock_timestamp()
FROM unnest($1::bigint[], $2::boolean[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[])
    AS o (msg_id, confirmed, reason, next_at, first_failed_at, error)
WHERE p.msg_id = o.msg_id`
)

// DueMarks are the terminal messages that owe the mailbox a mark and may be tried now,
// fairly: the least tried first. What was enqueued longer than r ago is due whatever its back-off.
func (s *Store) DueMarks(ctx context.Context, now time.Time, r time.Duration, limit int) ([]message.MarkDue, error) {
	return list(ctx, s, "read due marks", sqlDueMarks, scanMark, now, now.Add(-r), limit)
}

func scanMark(row pgx.CollectableRow) (m message.MarkDue, err error) {
	var failed *time.Time
	err = row.Scan(&m.MsgID, &m.EnqueuedAt, &m.Attempts, &failed)
	m.EnqueuedAt, m.FirstFailedAt = m.EnqueuedAt.UTC(), moment(failed)
	return m, err
}

// HoldMarks locks those of the messages that still owe a mark and that nobody else holds, has
// mark write them in one bounded call, and stores the outcomes before it lets go. So
// a replay and a back-fill, here or elsewhere, never work on the same message at once.
// mark is not called when there is nothing to hold.
func (w *Writer) HoldMarks(ctx context.Context, ids []int64, mark func(ctx context.Context, held []message.MarkDue) ([]message.MarkOutcome, error)) error {
	var held []message.MarkDue
	first := func(b *pgx.Batch) {
		b.Queue(sqlHoldMarks, ids).Query(func(rows pgx.Rows) (err error) {
			held, err = pgx.CollectRows(rows, scanMark)
			return err
		})
	}
	return w.inTx(ctx, failpoint.HoldMarks, "hold marks", first, func(tx *Tx) error {
		if len(held) == 0 {
			return nil
		}
		var outcomes []message.MarkOutcome
		err := tx.awake(ctx, func() (err error) {
			outcomes, err = mark(ctx, held)
			return err
		})
		if err != nil {
			return err
		}
		return queueMarks(tx, held, outcomes)
	})
}

// queueMarks stores outcomes; one for a message that is not held is a mistake of the caller.
func queueMarks(tx *Tx, held []message.MarkDue, outcomes []message.MarkOutcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	holds := make(map[int64]bool, len(held))
	for _, h := range held {
		holds[h.MsgID] = true
	}
	n := len(outcomes)
	ids, confirmed, reasons := make([]int64, n), make([]bool, n), make([]*string, n)
	next, failed, texts := make([]*time.Time, n), make([]*time.Time, n), make([]*string, n)
	for i, o := range outcomes {
		if !holds[o.MsgID] {
			return fmt.Errorf("%w: an outcome for message %d, which is not held", fault.ErrRefused, o.MsgID)
		}
		if o.Confirmed && o.AbandonReason != "" {
			return fmt.Errorf("%w: the mark of message %d is both confirmed and given up", fault.ErrRefused, o.MsgID)
		}
		ids[i], confirmed[i], reasons[i] = o.MsgID, o.Confirmed, optional(o.AbandonReason)
		next[i], failed[i], texts[i] = instant(o.NextAt), instant(o.FirstFailedAt), optional(safe(o.Error, reasonLimit))
	}
	tx.Finally(sqlSaveMarks, ids, confirmed, reasons, next, failed, texts)
	return nil
}
