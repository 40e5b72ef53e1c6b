package watermark_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"msgx/engine/watermark"
)

// slowAdvance says the same as Advance, id by id and without a clever thought.
func slowAdvance(c watermark.Cursor, round watermark.Round, p watermark.Policy) watermark.Step {
	exists := map[int64]watermark.Row{}
	var highest int64
	for _, row := range round.Rows {
		exists[row.MsgID] = row
		highest = max(highest, row.MsgID)
	}
	step := watermark.Step{Cursor: c}
	at := c.Watermark
	for {
		found := false
		for id := at + 1; id <= at+p.Stride; id++ {
			if row, ok := exists[id]; ok {
				step.Enqueue, at, found = append(step.Enqueue, row), id, true
				break
			}
		}
		if !found {
			break
		}
	}
	step.Cursor.Watermark = at
	since, sinceLast := c.HoleSince, c.HoleLast
	if at > c.Watermark && !since.IsZero() {
		first := c.Watermark + 1
		last := first
		for id := first; id <= at && id <= sinceLast; id++ {
			last = id
		}
		step.Holes = append(step.Holes, watermark.Hole{First: first, Last: last, Since: since, Outcome: watermark.HoleFilled, At: round.After})
		since, sinceLast = time.Time{}, 0
	}
	if highest > at { // a row behind the gap: the id after at is a hole
		next := at + 1
		for exists[next].MsgID == 0 {
			next++
		}
		first := since.IsZero()
		aged := !first && !round.Before.Before(since.Add(p.MaxCommitDelay))
		switch {
		case first:
			since, sinceLast = round.After, next-1
			step.Holes = append(step.Holes, watermark.Hole{First: at + 1, Last: next - 1, Since: since, Outcome: watermark.HoleOpen})
		case aged:
			end := at
			for id := at + 1; id < next && (sinceLast == 0 || id <= sinceLast); id++ {
				end = id
			}
			step.Holes = append(step.Holes, watermark.Hole{First: at + 1, Last: end, Since: since, Outcome: watermark.HoleAged, At: round.After})
			step.Cursor.Watermark = end
			since, sinceLast = time.Time{}, 0
		}
	}
	step.Cursor.HoleSince, step.Cursor.HoleLast = since, sinceLast
	return step
}

func TestAdvanceIsTheSlowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursor(rapid.Int64Range(0, 50).Draw(t, "watermark"))
		if rapid.Bool().Draw(t, "missing") {
			c.HoleSince = at(rapid.IntRange(0, 100).Draw(t, "since"))
			if rapid.Bool().Draw(t, "extent known") {
				c.HoleLast = c.Watermark + rapid.Int64Range(1, 20).Draw(t, "extent")
			}
		}
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(c.Watermark+1, c.Watermark+30), 0, 20, rapid.ID[int64]).Draw(t, "ids")
		slices.Sort(ids)
		before := rapid.IntRange(0, 200).Draw(t, "before")
		round := watermark.Round{Before: at(before), After: at(before + rapid.IntRange(0, 5).Draw(t, "reading")), Rows: rows(ids...)}
		p := watermark.Policy{
			MaxCommitDelay: time.Duration(rapid.IntRange(0, 100).Draw(t, "delay")) * time.Second,
			Stride:         rapid.Int64Range(1, 4).Draw(t, "stride"),
		}
		want, got := slowAdvance(c, round, p), watermark.Advance(c, round, p)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("cursor %+v round %+v policy %+v (-want +got):\n%s", c, round, p, diff)
		}
	})
}

// A mailbox for the life of one property run: ids are handed out in order, a
// transaction makes its row visible within the promised delay or rolls back.
type mailboxRow struct {
	id        int64
	visible   int // second; rolled back when negative
	removed   int // second at which its owner removes it, or never when negative
	enqueued  bool
	wasRolled bool
}

func drawMailbox(t *rapid.T, delay int, stride int64) []mailboxRow {
	count := rapid.IntRange(1, 40).Draw(t, "rows")
	list := make([]mailboxRow, 0, count)
	id, now := rapid.Int64Range(0, 3).Draw(t, "first")*stride, 0
	for range count {
		id += stride * int64(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 5}).Draw(t, "id step"))
		now += rapid.IntRange(0, 6).Draw(t, "pause")
		row := mailboxRow{id: id, visible: now + rapid.SampledFrom([]int{0, delay / 2, delay, delay}).Draw(t, "commit delay"), removed: -1}
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0:
			row.visible, row.wasRolled = -1, true
		case 1:
			row.removed = row.visible + rapid.IntRange(1, 3*delay+3).Draw(t, "removed after")
		}
		list = append(list, row)
	}
	return list
}

func (r mailboxRow) visibleAt(second int) bool {
	return !r.wasRolled && r.visible <= second && (r.removed < 0 || r.removed > second)
}

// existsAfter tells whether the row is still to be seen at or after a second.
func (r mailboxRow) existsAfter(second int) bool {
	return !r.wasRolled && (r.removed < 0 || r.removed > second)
}

func read(list []mailboxRow, above int64, second, limit int) []watermark.Row {
	var found []watermark.Row
	for _, row := range list {
		if row.id > above && row.visibleAt(second) && len(found) < limit {
			found = append(found, watermark.Row{MsgID: row.id})
		}
	}
	return found
}

// The promise that everything else rests on: with commits out of order but
// within the promised delay, rollbacks, rows removed by their owner, restarts that
// keep only what was stored, and rounds at any pace and size, no existing row is ever
// passed, and rows are enqueued once each and in id order.
func TestTheWatermarkNeverPassesAnExistingRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := rapid.IntRange(0, 20).Draw(t, "max commit delay")
		stride := rapid.Int64Range(1, 3).Draw(t, "stride")
		list := drawMailbox(t, delay, stride)
		policy := watermark.Policy{MaxCommitDelay: time.Duration(delay) * time.Second, Stride: rapid.Int64Range(1, stride).Draw(t, "configured stride")}
		s := simulation{t: t, rows: list, policy: policy, ledger: map[int64]watermark.Hole{}}
		horizon := 20 * delay
		for _, row := range list {
			horizon = max(horizon, row.visible+20*delay)
		}
		for now := rapid.IntRange(0, 10).Draw(t, "start"); now <= horizon; now = s.now {
			s.round(now, rapid.IntRange(0, 3).Draw(t, "until read"), rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "after read"), rapid.IntRange(1, 8).Draw(t, "batch"))
			s.now += max(1, rapid.SampledFrom([]int{1, delay / 2, delay - 2, delay - 1, delay, delay + 1, 2 * delay}).Draw(t, "pause"))
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				s.restart()
			}
		}
		s.now = max(s.now, horizon)
		for range 4*len(list) + 4 { // quiet: whatever is left is settled
			s.round(s.now, 0, 0, 8)
			s.now += delay + 1
		}
		for _, row := range s.rows {
			if row.visibleAt(s.now) && !row.enqueued {
				t.Fatalf("row %d exists and was never enqueued; cursor %+v", row.id, s.cursor)
			}
		}
	})
}

type simulation struct {
	t      *rapid.T
	rows   []mailboxRow
	policy watermark.Policy
	cursor watermark.Cursor
	ledger map[int64]watermark.Hole
	last   int64 // highest id enqueued so far
	now    int
}

// restart keeps what a store keeps: the cursor row and the ledger.
func (s *simulation) restart() {
	s.cursor = watermark.Cursor{Watermark: s.cursor.Watermark, HoleSince: s.cursor.HoleSince}
	if h, ok := s.ledger[s.cursor.Watermark+1]; ok && h.Outcome == watermark.HoleOpen {
		s.cursor.HoleLast = h.Last
	}
}

func (s *simulation) round(before, untilRead, afterRead, limit int) {
	snapshot := before + untilRead
	s.now = snapshot + afterRead
	round := watermark.Round{Before: at(before), After: at(s.now), Rows: read(s.rows, s.cursor.Watermark, snapshot, limit)}
	step := watermark.Advance(s.cursor, round, s.policy)
	for _, row := range step.Enqueue {
		s.enqueue(row.MsgID)
	}
	s.checkHoles(step, before)
	for _, row := range s.rows {
		if row.id <= step.Cursor.Watermark && !row.enqueued && row.existsAfter(snapshot) {
			s.t.Fatalf("watermark %d passed row %d (visible at second %d, removed at %d) at second %d; cursor before %+v",
				step.Cursor.Watermark, row.id, row.visible, row.removed, snapshot, s.cursor)
		}
	}
	s.cursor = step.Cursor
}

func (s *simulation) enqueue(id int64) {
	if id <= s.last {
		s.t.Fatalf("row %d enqueued after row %d", id, s.last)
	}
	s.last = id
	for i := range s.rows {
		if s.rows[i].id == id {
			s.rows[i].enqueued = true
		}
	}
}

func (s *simulation) checkHoles(step watermark.Step, before int) {
	for _, h := range step.Holes {
		if h.Last < h.First {
			s.t.Fatalf("hole %+v ends before it begins", h)
		}
		if h.Outcome == watermark.HoleAged {
			if age := at(before).Sub(h.Since); age < s.policy.MaxCommitDelay {
				s.t.Fatalf("hole %+v was released at the age of %v, want at least %v", h, age, s.policy.MaxCommitDelay)
			}
			if len(step.Enqueue) > 0 {
				s.t.Fatalf("the round that released %+v enqueued %v", h, step.Enqueue)
			}
		}
		if prior, ok := s.ledger[h.First]; ok && h.Outcome == watermark.HoleOpen && prior.Outcome == watermark.HoleOpen {
			s.t.Fatalf("hole %+v opened twice, first as %+v", h, prior)
		}
		s.ledger[h.First] = h
	}
}
