package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/event"
	"msgx/engine/message"
)

const (
	// All of these count through partial indexes, whatever the size of the history.
	sqlCountUnfinished = `
SELECT p.state, count(*), min(p.enqueued_at)
FROM proc_state p WHERE p.state IN ('PENDING', 'FAILED') GROUP BY p.state`

	sqlCountSettled = `
SELECT (SELECT decision_no FROM pipeline_lock),
    (SELECT count(*) FROM proc_state WHERE state = 'SKIPPED'),
    (SELECT count(*) FROM proc_state WHERE state = 'DEAD')`

	sqlCountMarks = `
SELECT (SELECT count(*) FROM proc_state
        WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND backfill_at IS NULL AND backfill_abandoned_at IS NULL AND owes_mark),
    (SELECT count(*) FROM proc_state WHERE backfill_abandoned_at IS NOT NULL),
    (SELECT count(*) FROM proc_state WHERE backfill_abandoned_at IS NOT NULL AND backfill_reconciled_at IS NULL)`

	sqlCountEvents = `
SELECT (SELECT count(*) FROM msg_event WHERE target = 'KAFKA:msg' AND state = 'PENDING'),
    (SELECT min(created_at) FROM msg_event WHERE target = 'KAFKA:msg' AND state = 'PENDING'),
    (SELECT count(*) FROM msg_event WHERE target = 'KAFKA:schd' AND state = 'PENDING'),
    (SELECT min(created_at) FROM msg_event WHERE target = 'KAFKA:schd' AND state = 'PENDING'),
    (SELECT count(*) FROM msg_event WHERE state = 'DEAD' AND target = 'KAFKA:msg'),
    (SELECT count(*) FROM msg_event WHERE state = 'DEAD' AND target = 'KAFKA:schd')`

	sqlCountHoles = `SELECT count(*) FROM inbox_hole WHERE outcome = $1`

	sqlTallyMessages = `SELECT p.state, count(*) FROM proc_state p GROUP BY p.state`

	sqlTallyMarked = `SELECT count(*) FROM proc_state WHERE backfill_at IS NOT NULL`

	sqlTallyEvents = `SELECT e.target, e.state, count(*) FROM msg_event e GROUP BY e.target, e.state`
)

// Counts are the figures that are cheap at any time: what is going on, not what has been.
type Counts struct {
	Watermark        int64
	Messages         map[message.State]int64 // SUCCEEDED counts every applied decision, archived ones too
	OldestUnfinished time.Time               // by when it was enqueued; zero if nothing is unfinished
	MarksOwed        int64
	MarksAbandoned   int64
	MarksUnsettled   int64 // abandoned and not reconciled
	Unsent           map[event.Target]int64
	OldestUnsent     map[event.Target]time.Time
	DeadEvents       map[event.Target]int64
	OpenHoles        int64
	LateRows         int64
}

// Counts reads the cheap figures.
func (s *Store) Counts(ctx context.Context) (c Counts, err error) {
	c.Messages = map[message.State]int64{}
	c.Unsent, c.DeadEvents = map[event.Target]int64{}, map[event.Target]int64{}
	c.OldestUnsent = map[event.Target]time.Time{}
	var succeeded, skipped, dead, msg, schd, deadMsg, deadSchd int64
	var oldestMsg, oldestSchd *time.Time
	err = s.read(ctx, "count", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlWatermark).Query(atMostOne(&c.Watermark))
		b.Queue(sqlCountUnfinished).Query(func(rows pgx.Rows) error { return scanUnfinished(rows, &c) })
		b.Queue(sqlCountSettled).QueryRow(func(row pgx.Row) error { return row.Scan(&succeeded, &skipped, &dead) })
		b.Queue(sqlCountMarks).QueryRow(func(row pgx.Row) error {
			return row.Scan(&c.MarksOwed, &c.MarksAbandoned, &c.MarksUnsettled)
		})
		b.Queue(sqlCountEvents).QueryRow(func(row pgx.Row) error {
			return row.Scan(&msg, &oldestMsg, &schd, &oldestSchd, &deadMsg, &deadSchd)
		})
		b.Queue(sqlCountHoles, "open").QueryRow(func(row pgx.Row) error { return row.Scan(&c.OpenHoles) })
		b.Queue(sqlCountHoles, "late").QueryRow(func(row pgx.Row) error { return row.Scan(&c.LateRows) })
		return s.pool.SendBatch(ctx, &b).Close()
	})
	c.Messages[message.Succeeded], c.Messages[message.Skipped], c.Messages[message.Dead] = succeeded, skipped, dead
	c.Unsent[event.Msg], c.Unsent[event.Schd] = msg, schd
	c.OldestUnsent[event.Msg], c.OldestUnsent[event.Schd] = moment(oldestMsg), moment(oldestSchd)
	c.DeadEvents[event.Msg], c.DeadEvents[event.Schd] = deadMsg, deadSchd
	return c, err
}

func scanUnfinished(rows pgx.Rows, c *Counts) error {
	var state message.State
	var n int64
	var oldest *time.Time
	_, err := pgx.ForEachRow(rows, []any{&state, &n, &oldest}, func() error {
		c.Messages[state] = n
		if at := moment(oldest); c.OldestUnfinished.IsZero() || at.Before(c.OldestUnfinished) {
			c.OldestUnfinished = at
		}
		return nil
	})
	return err
}

// Tally counts everything, history included. It reads whole tables: for a summary, not for a gauge.
type Tally struct {
	Messages map[message.State]int64
	Marked   int64
	Events   map[event.Target]map[event.State]int64
}

// Tally counts everything.
func (s *Store) Tally(ctx context.Context) (t Tally, err error) {
	t.Messages, t.Events = map[message.State]int64{}, map[event.Target]map[event.State]int64{}
	err = s.read(ctx, "tally", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlTallyMessages).Query(func(rows pgx.Rows) error {
			var state message.State
			var n int64
			_, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { t.Messages[state] = n; return nil })
			return err
		})
		b.Queue(sqlTallyMarked).QueryRow(func(row pgx.Row) error { return row.Scan(&t.Marked) })
		b.Queue(sqlTallyEvents).Query(func(rows pgx.Rows) error {
			var target event.Target
			var state event.State
			var n int64
			_, err := pgx.ForEachRow(rows, []any{&target, &state, &n}, func() error {
				if t.Events[target] == nil {
					t.Events[target] = map[event.State]int64{}
				}
				t.Events[target][state] = n
				return nil
			})
			return err
		})
		return s.pool.SendBatch(ctx, &b).Close()
	})
	return t, err
}
