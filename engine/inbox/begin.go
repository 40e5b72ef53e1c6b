package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"msgx/engine/fault"
	"msgx/engine/watermark"
)

// begin reads the cursor, and seeds it on a database that has none.
func (i *Inbox) begin(ctx context.Context) (rest, error) {
	cursor, found, err := i.n.Store.Cursor(ctx)
	if err != nil {
		return i.storeFailed(ctx, err)
	}
	if !found {
		again, refused := i.seed(ctx)
		if refused != nil && !errors.Is(refused, fault.ErrRefused) {
			return again, refused
		}
		// A refusal for a cursor that is there by now is none: the reply to a seed may have been lost
		// while the database was still at it.
		cursor, found, err = i.n.Store.Cursor(ctx)
		switch {
		case err != nil:
			return i.storeFailed(ctx, err)
		case refused != nil && !found:
			return again, refused
		case !found:
			return i.storeFailed(ctx, errors.New("the seeded cursor is not there"))
		}
	}
	now := i.n.Clock.Now()
	cursor = cursor.In(now)
	i.cursor = &cursor
	i.metrics.at(cursor, now)
	return rest{}, nil
}

func (i *Inbox) seed(ctx context.Context) (rest, error) {
	if i.o.Cutover == "" {
		return rest{}, fmt.Errorf("%w: this database has never read the mailbox and does not know where to begin: set msgx.pipeline.cutover-watermark to "+
			"min (read every row that is there), zero (begin at id 1), max (leave out what is there now) or the last id to leave out", fault.ErrRefused)
	}
	lowest, highest, next, err := i.n.Mailbox.Bounds(ctx)
	if err != nil {
		return i.mailboxFailed(ctx, err)
	}
	mark, err := place(i.o.Cutover, lowest, highest, next)
	if err != nil {
		return rest{}, err
	}
	// Read before the seed counts: what is missing now and turns up later is late.
	first := max(1, mark-i.o.SeedWindow+1)
	below, err := i.n.Mailbox.Existing(ctx, first, mark, int(i.o.SeedWindow))
	if err != nil {
		return i.mailboxFailed(ctx, err)
	}
	i.mailbox.Over()
	now := i.n.Clock.Now()
	if err := i.n.Writer.Seed(ctx, mark, i.o.Cutover, missing(below, first, mark, now), now); err != nil {
		return i.storeFailed(ctx, err)
	}
	i.n.Log.Info("watermark seeded", slog.String("cutover", i.o.Cutover), slog.Int64("watermark", mark))
	return rest{}, nil
}

// place says which watermark a cut-over setting means. An empty table has no
// row to leave out or to begin with: both mean zero, and ids that were used up before are
// waited for once, as any hole.
func place(cutover string, lowest, highest, next int64) (int64, error) {
	switch cutover {
	case "zero":
		return 0, nil
	case "min":
		return max(lowest-1, 0), nil
	case "max":
		return highest, nil
	}
	id, err := strconv.ParseInt(cutover, 10, 64)
	if err != nil || id < 0 {
		return 0, fmt.Errorf("%w: msgx.pipeline.cutover-watermark is %q, expected min, zero, max or an id", fault.ErrRefused, cutover)
	}
	if next != 0 && id >= next {
		return 0, fmt.Errorf("%w: msgx.pipeline.cutover-watermark is %d, expected less than the next id of the mailbox, %d: rows up to it would never be read", fault.ErrRefused, id, next)
	}
	return id, nil
}

// missing are the runs of ids from first to last that have no row, as holes that
// were given up at once.
func missing(rows []watermark.Row, first, last int64, at time.Time) []watermark.Hole {
	var gaps []watermark.Hole
	add := func(from, to int64) {
		if from <= to {
			gaps = append(gaps, watermark.Hole{First: from, Last: to, Since: at, Outcome: watermark.HoleAged, At: at})
		}
	}
	next := first
	for _, row := range rows {
		add(next, row.MsgID-1)
		next = row.MsgID + 1
	}
	add(next, last)
	return gaps
}
