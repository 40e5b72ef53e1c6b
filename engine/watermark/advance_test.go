package watermark_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"msgx/engine/watermark"
)

var epoch = time.Date(2021, 1, 23, 5, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func rows(ids ...int64) []watermark.Row {
	list := make([]watermark.Row, 0, len(ids))
	for _, id := range ids {
		list = append(list, watermark.Row{MsgID: id})
	}
	return list
}

func cursor(w int64) watermark.Cursor { return watermark.Cursor{Watermark: w} }

func missing(w int64, since int, last int64) watermark.Cursor {
	return watermark.Cursor{Watermark: w, HoleSince: at(since), HoleLast: last}
}

func hole(outcome watermark.HoleOutcome, first, last int64, since, when int) watermark.Hole {
	return watermark.Hole{First: first, Last: last, Since: at(since), Outcome: outcome, At: at(when)}
}

func open(first, last int64, since int) watermark.Hole {
	return watermark.Hole{First: first, Last: last, Since: at(since), Outcome: watermark.HoleOpen}
}

// Every round here reads from second 100 to second 102, and the commit delay is 60 s.
func TestAdvance(t *testing.T) {
	cases := map[string]struct {
		cursor watermark.Cursor
		rows   []watermark.Row
		stride int64
		want   watermark.Step
	}{
		"nothing new": {
			cursor: cursor(3), want: watermark.Step{Cursor: cursor(3)},
		},
		"a run without a gap": {
			cursor: cursor(3), rows: rows(4, 5, 6),
			want: watermark.Step{Enqueue: rows(4, 5, 6), Cursor: cursor(6)},
		},
		"a gap is missed for the first time: its age begins after the read": {
			cursor: cursor(2), rows: rows(3, 6, 7),
			want: watermark.Step{Enqueue: rows(3), Cursor: missing(3, 102, 5), Holes: []watermark.Hole{open(4, 5, 102)}},
		},
		"a gap at the start of an empty database counts from zero": {
			cursor: cursor(0), rows: rows(3),
			want: watermark.Step{Cursor: missing(0, 102, 2), Holes: []watermark.Hole{open(1, 2, 102)}},
		},
		"a young hole holds back everything behind it": {
			cursor: missing(3, 41, 5), rows: rows(6, 7),
			want: watermark.Step{Cursor: missing(3, 41, 5)},
		},
		"a hole is old enough only by the clock before the read": {
			cursor: missing(3, 41, 5), rows: rows(6, 7), // 102-41 would be old enough, 100-41 is not
			want: watermark.Step{Cursor: missing(3, 41, 5)},
		},
		"an old hole is released and nothing past it is enqueued": {
			cursor: missing(3, 40, 5), rows: rows(6, 7),
			want: watermark.Step{Cursor: cursor(5), Holes: []watermark.Hole{hole(watermark.HoleAged, 4, 5, 40, 102)}},
		},
		"an old hole that was filled in part is released up to the row in it": {
			cursor: missing(3, 40, 6), rows: rows(5, 7),
			want: watermark.Step{Cursor: cursor(4), Holes: []watermark.Hole{hole(watermark.HoleAged, 4, 4, 40, 102)}},
		},
		"ids that were handed out after the age began are not released with it": {
			cursor: missing(3, 40, 5), rows: rows(20), // row 6, which proved the hole, has been removed
			want: watermark.Step{Cursor: cursor(5), Holes: []watermark.Hole{hole(watermark.HoleAged, 4, 5, 40, 102)}},
		},
		"an age of which the extent is not known covers the hole as it is found": {
			cursor: missing(3, 40, 0), rows: rows(20),
			want: watermark.Step{Cursor: cursor(19), Holes: []watermark.Hole{hole(watermark.HoleAged, 4, 19, 40, 102)}},
		},
		"a hole without a row behind it keeps its age": {
			cursor: missing(3, 40, 5),
			want:   watermark.Step{Cursor: missing(3, 40, 5)},
		},
		"a filled hole is closed": {
			cursor: missing(3, 40, 5), rows: rows(4, 5, 6, 7),
			want: watermark.Step{Enqueue: rows(4, 5, 6, 7), Cursor: cursor(7), Holes: []watermark.Hole{hole(watermark.HoleFilled, 4, 5, 40, 102)}},
		},
		"what is left of a filled hole starts a new age": {
			cursor: missing(3, 40, 5), rows: rows(4, 6),
			want: watermark.Step{Enqueue: rows(4), Cursor: missing(4, 102, 5), Holes: []watermark.Hole{
				hole(watermark.HoleFilled, 4, 4, 40, 102), open(5, 5, 102),
			}},
		},
		"a filled hole does not lend its age to the next": {
			cursor: missing(3, 1, 5), rows: rows(4, 5, 6, 9),
			want: watermark.Step{Enqueue: rows(4, 5, 6), Cursor: missing(6, 102, 8), Holes: []watermark.Hole{
				hole(watermark.HoleFilled, 4, 5, 1, 102), open(7, 8, 102),
			}},
		},
		"only one of two gaps is settled": {
			cursor: missing(3, 1, 4), rows: rows(5, 9, 20),
			want: watermark.Step{Cursor: cursor(4), Holes: []watermark.Hole{hole(watermark.HoleAged, 4, 4, 1, 102)}},
		},
		"a stride is no gap": {
			cursor: cursor(3), rows: rows(5, 8, 11), stride: 3,
			want: watermark.Step{Enqueue: rows(5, 8, 11), Cursor: cursor(11)},
		},
		"more than a stride is": {
			cursor: cursor(3), rows: rows(5, 9), stride: 3,
			want: watermark.Step{Enqueue: rows(5), Cursor: missing(5, 102, 8), Holes: []watermark.Hole{open(6, 8, 102)}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			round := watermark.Round{Before: at(100), After: at(102), Rows: c.rows}
			got := watermark.Advance(c.cursor, round, watermark.Policy{MaxCommitDelay: time.Minute, Stride: c.stride})
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("cursor %+v, rows %v (-want +got):\n%s", c.cursor, c.rows, diff)
			}
		})
	}
}

func TestAdvanceKeepsTheSeed(t *testing.T) {
	c := watermark.Cursor{Watermark: 7, SeededAt: at(5)}
	got := watermark.Advance(c, watermark.Round{Before: at(100), After: at(102), Rows: rows(8)}, watermark.Policy{MaxCommitDelay: time.Minute})
	if !got.Cursor.SeededAt.Equal(at(5)) {
		t.Errorf("seeded at %v, want %v", got.Cursor.SeededAt, at(5))
	}
}

func TestAdvanceRefusesRowsOutOfOrder(t *testing.T) {
	for name, list := range map[string][]watermark.Row{
		"at the watermark": rows(3, 4),
		"twice":            rows(4, 4),
		"descending":       rows(5, 4),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("rows %v above watermark 3 were accepted", list)
				}
			}()
			watermark.Advance(cursor(3), watermark.Round{Before: at(1), After: at(1), Rows: list}, watermark.Policy{MaxCommitDelay: time.Minute})
		})
	}
}
