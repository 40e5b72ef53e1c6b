package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/watermark"
)

const (
	sqlCursor = `
SELECT c.watermark, c.hole_since, c.seeded_at, clock_timestamp(),
    (SELECT h.last_id FROM inbox_hole h WHERE h.outcome = 'open' AND h.first_id = c.watermark + 1)
FROM inbox_cursor c`

	sqlCursorLocked = `SELECT watermark, seeded_at FROM inbox_cursor FOR UPDATE`

	sqlAnyRecord = `SELECT EXISTS (SELECT FROM proc_state)`

	sqlSeed = `
INSERT INTO inbox_cursor (watermark, seeded_at, seeded_how, updated_at) VALUES ($1, $2, $3, $2)
ON CONFLICT (one) DO UPDATE SET
    watermark = excluded.watermark, hole_since = NULL, seeded_at = excluded.seeded_at,
    seeded_how = excluded.seeded_how, updated_at = excluded.updated_at`

	// What is above the watermark, whose row is held, comes in its turn.
	sqlEnqueue = `
INSERT INTO proc_state (msg_id, received_at, enqueued_at, updated_at, out_of_turn)
SELECT r.msg_id, r.received_at, $3, $3, r.msg_id <= COALESCE((SELECT c.watermark FROM inbox_cursor c), 0)
FROM unnest($1::bigint[], $2::timestamptz[]) AS r (msg_id, received_at)
ORDER BY r.msg_id
ON CONFLICT (msg_id) DO NOTHING`

	sqlCursorShared = `SELECT watermark FROM inbox_cursor FOR SHARE`

	// After the cursor is held: it sees what a round of the inbox that was under way has committed.
	sqlIsRecord = `SELECT EXISTS (SELECT FROM proc_state WHERE msg_id = $1)`

	sqlEnqueueBeyond = `
INSERT INTO proc_state (msg_id, received_at, enqueued_at, updated_at, out_of_turn) VALUES ($1, $2, $3, $3, false)
ON CONFLICT (msg_id) DO NOTHING`

	sqlSaveCursor = `
INSERT INTO inbox_cursor (watermark, hole_since, updated_at) VALUES ($1, clock_timestamp() - make_interval(secs => $2), $3)
ON CONFLICT (one) DO UPDATE SET
    watermark = excluded.watermark, hole_since = excluded.hole_since, updated_at = excluded.updated_at`

	// An entry is known by its first id as long as it is open.
	sqlSaveHole = `
WITH known AS (
    UPDATE inbox_hole SET last_id = $2, outcome = $4, outcome_at = $5
    WHERE first_id = $1 AND outcome = 'open'
    RETURNING first_id
)
INSERT INTO inbox_hole (first_id, last_id, first_seen, outcome, outcome_at)
SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM known)
ON CONFLICT (first_id, first_seen) DO NOTHING`

	sqlRecordLate = `
INSERT INTO inbox_hole (first_id, last_id, first_seen, outcome, outcome_at, received_at)
SELECT r.msg_id, r.msg_id, $3, 'late', $3, r.received_at
FROM unnest($1::bigint[], $2::timestamptz[]) AS r (msg_id, received_at)
ON CONFLICT (first_id) WHERE outcome = 'late' DO NOTHING`

	sqlOpenHoles = `
SELECT first_id, last_id, first_seen, outcome, outcome_at FROM inbox_hole WHERE outcome = 'open' ORDER BY first_id`

	sqlAgedHoles = `
SELECT first_id, last_id, first_seen, outcome, outcome_at FROM inbox_hole
WHERE outcome = 'aged' AND outcome_at >= $1 ORDER BY first_id, first_seen`

	sqlLateRows = `
SELECT first_id, last_id, first_seen, outcome, outcome_at FROM inbox_hole
WHERE outcome = 'late' ORDER BY first_id`
)

// Cursor reads the reading progress, in terms of the database's clock; false when there is none yet: never seeded,
// nothing consumed.
func (s *Store) Cursor(ctx context.Context) (c watermark.Cursor, found bool, err error) {
	err = s.read(ctx, "read the cursor", func(ctx context.Context) error {
		var hole, seeded *time.Time
		var last *int64
		err := s.pool.QueryRow(ctx, sqlCursor).Scan(&c.Watermark, &hole, &seeded, &c.ReadAt, &last)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		c.HoleSince, c.SeededAt, found = moment(hole), moment(seeded), err == nil
		c.ReadAt = c.ReadAt.UTC()
		if last != nil && hole != nil {
			c.HoleLast = *last
		}
		return err
	})
	return c, found, err
}

// Seed sets where reading begins, once: it returns fault.ErrRefused on a database that has
// a watermark, a seeding, or processing records. The ids that are missing at or below it go into the ledger with it.
func (w *Writer) Seed(ctx context.Context, mark int64, how string, missing []watermark.Hole, at time.Time) error {
	var current int64
	var seeded *time.Time
	var records bool
	first := func(b *pgx.Batch) {
		b.Queue(sqlCursorLocked).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&current, &seeded)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		b.Queue(sqlAnyRecord).QueryRow(func(row pgx.Row) error { return row.Scan(&records) })
	}
	return w.inTx(ctx, failpoint.Seed, fmt.Sprintf("seed the watermark with %d", mark), first, func(tx *Tx) error {
		switch {
		case seeded != nil:
			return fmt.Errorf("%w: the watermark was seeded at %s and is %d", fault.ErrRefused, seeded.UTC().Format(time.RFC3339), current)
		case current > 0:
			return fmt.Errorf("%w: there is a watermark already, %d", fault.ErrRefused, current)
		case records:
			return fmt.Errorf("%w: there are processing records already", fault.ErrRefused)
		}
		tx.Finally(sqlSeed, mark, at, how)
		for _, h := range missing {
			tx.Finally(sqlSaveHole, h.First, h.Last, h.Since, h.Outcome, holeEnd(h, at))
		}
		return nil
	})
}

// Advance stores one round of the inbox: new rows become PENDING, the cursor moves,
// the ledger notes its holes. Rows that are there already stay as they are and are
// not counted. A cursor never goes back: that is fault.ErrMoved.
func (w *Writer) Advance(ctx context.Context, step watermark.Step, at time.Time) (enqueued int, err error) {
	current := int64(-1)
	first := func(b *pgx.Batch) {
		b.Queue(sqlCursorLocked).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&current, new(*time.Time))
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		ids, received := columnsOf(step.Enqueue)
		b.Queue(sqlEnqueue, ids, received, at).Exec(countInto(&enqueued))
	}
	err = w.inTx(ctx, failpoint.Advance, fmt.Sprintf("advance the inbox to %d", step.Cursor.Watermark), first, func(tx *Tx) error {
		if current > step.Cursor.Watermark {
			return fmt.Errorf("%w: the watermark is %d", fault.ErrMoved, current)
		}
		tx.Finally(sqlSaveCursor, step.Cursor.Watermark, holeAge(step.Cursor, at), at)
		for _, h := range step.Holes {
			tx.Finally(sqlSaveHole, h.First, h.Last, h.Since, h.Outcome, holeEnd(h, at))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return enqueued, nil
}

// EnqueueBeyond makes a row of the mailbox a PENDING record before the inbox comes to it. It does not touch the watermark,
// so the message waits until everything before it has been read. What the inbox has enqueued already is well; what it
// has passed by, or may yet be passed by a seed, is fault.ErrRefused: nothing was written, and the inbox or an operator sees to the row.
func (w *Writer) EnqueueBeyond(ctx context.Context, msgID int64, received, at time.Time) error {
	mark, there := int64(-1), false
	first := func(b *pgx.Batch) {
		b.Queue(sqlCursorShared).Query(atMostOne(&mark))
		b.Queue(sqlIsRecord, msgID).Query(atMostOne(&there))
	}
	return w.inTx(ctx, failpoint.EntryEnqueue, fmt.Sprintf("enqueue message %d", msgID), first, func(tx *Tx) error {
		switch {
		case there:
			return nil
		case mark < 0:
			return fmt.Errorf("%w: it is not settled yet where reading begins", fault.ErrRefused)
		case mark >= msgID:
			return fmt.Errorf("%w: the mailbox was read up to %d without it, so it is out of turn", fault.ErrRefused, mark)
		}
		tx.Finally(sqlEnqueueBeyond, msgID, instant(received), at)
		return nil
	})
}

// holeAge is how old the hole above the cursor is at a moment, in seconds; nil when there is none. It is the age
// that is stored, by the clock of the database: the next reader may be another host.
func holeAge(c watermark.Cursor, at time.Time) *float64 {
	if c.HoleSince.IsZero() {
		return nil
	}
	age := max(0, at.Sub(c.HoleSince).Seconds())
	return &age
}

// holeEnd is when a hole reached its outcome, NULL while it is open.
func holeEnd(h watermark.Hole, at time.Time) *time.Time {
	if h.Outcome == watermark.HoleOpen {
		return nil
	}
	if h.At.IsZero() {
		return &at
	}
	return &h.At
}

// columnsOf turns rows into parallel columns, for unnest.
func columnsOf(rows []watermark.Row) (ids []int64, received []*time.Time) {
	ids, received = make([]int64, len(rows)), make([]*time.Time, len(rows))
	for i, r := range rows {
		ids[i], received[i] = r.MsgID, instant(r.ReceivedAt)
	}
	return ids, received
}

// RecordLate notes rows that turned up at or below the watermark, each once.
// They are not enqueued: that is an operator's decision.
func (w *Writer) RecordLate(ctx context.Context, rows []watermark.Row, at time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	ids, received := columnsOf(rows)
	return w.inTx(ctx, failpoint.RecordLate, "record late rows", nil, func(tx *Tx) error {
		tx.Finally(sqlRecordLate, ids, received, at)
		return nil
	})
}

// OpenHoles are the holes that are being waited for.
func (s *Store) OpenHoles(ctx context.Context) ([]watermark.Hole, error) {
	return list(ctx, s, "read open holes", sqlOpenHoles, scanHole)
}

// AgedHoles are the holes that were released at or after since: rows may still turn up in them.
func (s *Store) AgedHoles(ctx context.Context, since time.Time) ([]watermark.Hole, error) {
	return list(ctx, s, "read aged holes", sqlAgedHoles, scanHole, since)
}

// LateRows are the rows that turned up at or below the watermark.
func (s *Store) LateRows(ctx context.Context) ([]watermark.Hole, error) {
	return list(ctx, s, "read late rows", sqlLateRows, scanHole)
}

func scanHole(row pgx.CollectableRow) (h watermark.Hole, err error) {
	var end *time.Time
	err = row.Scan(&h.First, &h.Last, &h.Since, &h.Outcome, &end)
	h.Since, h.At = h.Since.UTC(), moment(end)
	return h, err
}
