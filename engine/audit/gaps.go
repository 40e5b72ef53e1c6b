package audit

import (
	"context"
	"fmt"
	"strconv"
)

// floor is the id below which nothing is asked for: the seed, or what retention has left.
func (a *Audit) floor() int64 {
	lowest := max(a.limits.LowestID-1, 0)
	floor := lowest
	switch seeded, err := strconv.ParseInt(a.limits.SeededHow, 10, 64); {
	case a.limits.Archived:
		a.report.limit(Watermark, "ids below %d: their records may have been removed after they were archived", a.limits.LowestID)
	case err == nil:
		floor = seeded
	case a.limits.SeededHow == "zero":
		floor = 0
	case lowest > 0:
		a.report.limit(Watermark, "ids below %d, the first that was enqueued, lie below the seed", a.limits.LowestID)
	}
	return max(floor, a.o.From-1)
}

// span is a run of ids without records.
type span struct {
	first, last int64
	aged        bool    // released: nothing came in time
	rows        []int64 // of the mailbox, the first few
	count       int
}

// gap looks at a run of ids without records: holes that were released, or something lost.
func (w *walk) gap(ctx context.Context, first, last int64) error {
	spans, err := w.spans(ctx, first, last)
	if err != nil {
		return err
	}
	for i := range spans {
		s := &spans[i]
		if err := w.rowsOf(ctx, s); err != nil {
			return err
		}
		narrow := last-first+1 < w.o.IDStride
		switch {
		case s.aged || narrow && s.count == 0:
			w.report.count("ids of released holes", int(s.last-s.first+1))
		case s.count > 0:
			w.report.broken(Watermark, ids(s.first, s.last), fmt.Sprintf("%d rows in the mailbox (%v …) and no record", s.count, s.rows), "a record for each")
		default:
			w.report.broken(Watermark, ids(s.first, s.last), "no record and no released hole", "one of them for each id up to the watermark")
		}
	}
	w.report.compared(Watermark, int(last-first+1))
	return nil
}

func ids(first, last int64) string {
	if first == last {
		return fmt.Sprintf("id %d", first)
	}
	return fmt.Sprintf("ids %d to %d", first, last)
}

// spans cuts a run of ids into what was released and what was not.
func (w *walk) spans(ctx context.Context, first, last int64) (spans []span, err error) {
	for at := first; at <= last; {
		hole, err := w.holes.peek(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case hole != nil && hole.Last < at:
			w.holes.pass()
		case hole == nil || hole.First > last:
			spans = append(spans, span{first: at, last: last})
			at = last + 1
		case hole.First > at:
			spans = append(spans, span{first: at, last: hole.First - 1})
			at = hole.First
		default:
			end := min(hole.Last, last)
			spans = append(spans, span{first: at, last: end, aged: true})
			at = end + 1
		}
	}
	return spans, nil
}

// rowsOf finds the rows that the mailbox has in a span. In a released hole they are late, and on record as such.
func (w *walk) rowsOf(ctx context.Context, s *span) error {
	const few = 5
	for w.arrivals != nil {
		row, err := w.arrivals.peek(ctx)
		if err != nil {
			return err
		}
		if row == nil || row.ID > s.last {
			return nil
		}
		switch {
		case row.ID < s.first: // passed already
		case s.aged:
			w.doubts = append(w.doubts, doubt{id: row.ID, invariant: Watermark, found: "a row in a hole that was released, without a record",
				expected: "to be on record as late"})
		default:
			if s.count++; s.count <= few {
				s.rows = append(s.rows, row.ID)
			}
		}
		w.arrivals.pass()
	}
	return nil
}
