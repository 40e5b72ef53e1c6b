package watermark

import (
	"fmt"
	"time"
)

// Round is one read of the mailbox: the rows above the watermark, ascending
// and complete up to the last one, and the clock on either side of the read. A read
// that ended in an error is no round: it proves nothing about what is absent.
type Round struct {
	Before, After time.Time
	Rows          []Row
}

// Policy is what the owner of the mailbox promises about its ids.
type Policy struct {
	// MaxCommitDelay bounds how long after a row has become visible a smaller
	// id can still become visible.
	MaxCommitDelay time.Duration
	// Stride is the distance of neighbouring ids, 1 unless the mailbox counts
	// in larger steps. Below 1 means 1.
	Stride int64
}

// Advance works out one round. What is enqueued is the run of rows that starts
// right after the watermark and has no gap larger than the stride; the watermark
// goes to its end. If rows follow behind a gap, the gap is a hole:
//
//   - a hole that is missed for the first time starts its age at round.After,
//     a moment when every smaller id than the visible one had been handed out;
//   - a hole that has been missed for MaxCommitDelay at round.Before, a moment
//     before the read that missed it again, can no longer be filled: the watermark goes to the
//     end of the hole, not beyond the next row and not beyond what was missing when the age
//     began. Nothing past it is enqueued in the same round, so that a round settles at most one hole.
//
// Advance panics if rows are not ascending above the watermark, because then
// whoever read them broke the order on which everything else rests.
func Advance(c Cursor, round Round, p Policy) Step {
	mustAscend(c.Watermark, round.Rows)
	run := contiguous(c.Watermark, round.Rows, max(p.Stride, 1))
	step := Step{Enqueue: round.Rows[:run], Cursor: c}
	if run > 0 {
		step.Cursor.Watermark = round.Rows[run-1].MsgID
		if !c.HoleSince.IsZero() {
			step.Holes = append(step.Holes, filled(c, step.Cursor.Watermark, round.After))
			step.Cursor.HoleSince, step.Cursor.HoleLast = time.Time{}, 0
		}
	}
	if run == len(round.Rows) {
		// Nothing is known to be missing; and if a hole is, the row that
		// proved it has gone and its age still stands.
		return step
	}
	next := round.Rows[run].MsgID
	switch {
	case step.Cursor.HoleSince.IsZero():
		step.Cursor.HoleSince, step.Cursor.HoleLast = round.After, next-1
		step.Holes = append(step.Holes, step.hole(HoleOpen, next-1, time.Time{}))
	case round.Before.Sub(c.HoleSince) >= p.MaxCommitDelay:
		last := next - 1
		if c.HoleLast != 0 {
			last = min(last, c.HoleLast)
		}
		step.Holes = append(step.Holes, step.hole(HoleAged, last, round.After))
		step.Cursor.Watermark = last
		step.Cursor.HoleSince, step.Cursor.HoleLast = time.Time{}, 0
	}
	return step
}

// hole is a ledger entry for the hole right after the watermark.
func (s Step) hole(outcome HoleOutcome, last int64, at time.Time) Hole {
	return Hole{First: s.Cursor.Watermark + 1, Last: last, Since: s.Cursor.HoleSince, Outcome: outcome, At: at}
}

// filled is the ledger entry of a hole whose first ids have turned up. What is
// still missing behind them is a hole of its own.
func filled(c Cursor, reached int64, at time.Time) Hole {
	first := c.Watermark + 1
	return Hole{First: first, Last: max(first, min(reached, c.HoleLast)), Since: c.HoleSince, Outcome: HoleFilled, At: at}
}

func contiguous(from int64, rows []Row, stride int64) int {
	for i, row := range rows {
		if row.MsgID-from > stride {
			return i
		}
		from = row.MsgID
	}
	return len(rows)
}

func mustAscend(from int64, rows []Row) {
	for i, row := range rows {
		if row.MsgID <= from {
			panic(fmt.Sprintf("watermark: row %d of %d has id %d, want it above %d", i+1, len(rows), row.MsgID, from))
		}
		from = row.MsgID
	}
}
