package audit

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
	"msgx/engine/watermark"
	"msgx/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBitsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(0, 1<<20)
		in, out := rapid.SliceOf(number).Draw(t, "in"), rapid.SliceOf(number).Draw(t, "out")
		x, y := bits{}, bits{}
		want := map[int64]bool{}
		for _, n := range in {
			x.add(n)
			want[n] = true
		}
		for _, n := range out {
			y.add(n)
			delete(want, n)
			if !y.has(n) {
				t.Fatalf("%d was added and is not there", n)
			}
		}
		got := map[int64]bool{}
		x.without(y, func(n int64) { got[n] = true })
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("x without y (-want +got):\n%s", d)
		}
	})
}

// A scan gives every row once, in order, whatever the size of a page.
func TestScanGivesEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfDistinct(rapid.Int64Range(1, 1000), rapid.ID[int64]).Draw(t, "rows")
		slices.Sort(rows)
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		s := newScan(0, func(_ context.Context, after int64) ([]int64, error) {
			at, _ := slices.BinarySearch(rows, after+1)
			return rows[at:min(at+limit, len(rows))], nil
		}, func(n *int64) int64 { return *n })
		var got []int64
		for {
			n, err := s.peek(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n == nil {
				break
			}
			got = append(got, *n)
			s.pass()
		}
		if !slices.Equal(got, rows) {
			t.Fatalf("got %v, want %v", got, rows)
		}
	})
}

// A run of ids without records is cut where released holes begin and end.
func TestGapsAreCutByReleasedHoles(t *testing.T) {
	holes := []watermark.Hole{{First: 3, Last: 4}, {First: 8, Last: 12}, {First: 20, Last: 30}}
	tests := []struct {
		first, last int64
		want        []span
	}{
		{3, 4, []span{{first: 3, last: 4, aged: true}}},
		{5, 7, []span{{first: 5, last: 7}}},
		{5, 14, []span{{first: 5, last: 7}, {first: 8, last: 12, aged: true}, {first: 13, last: 14}}},
		{9, 10, []span{{first: 9, last: 10, aged: true}}},
		{31, 40, []span{{first: 31, last: 40}}},
	}
	for _, tt := range tests {
		w := &walk{holes: newScan(0, func(_ context.Context, after int64) ([]watermark.Hole, error) {
			at := slices.IndexFunc(holes, func(h watermark.Hole) bool { return h.First > after })
			if at < 0 {
				return nil, nil
			}
			return holes[at : at+1], nil
		}, func(h *watermark.Hole) int64 { return h.First })}
		got, err := w.spans(t.Context(), tt.first, tt.last)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(span{})); d != "" {
			t.Errorf("ids %d to %d (-want +got):\n%s", tt.first, tt.last, d)
		}
	}
}

// Taking a change back gives the state that there was, lists and nested lists too.
func TestUndoTakesAChangeBack(t *testing.T) {
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	before := &flight.State{ID: 1, Status: flight.Active, Version: 1, OperationDay: "2026-03-01",
		Fields: flight.Fields{"STND": "11", "MAXP": "180", "FDIV.DDES": "NKG", "MAID": "7"},
		Lists: map[string][]flight.Record{
			"GTDT": {{Fields: flight.Fields{"GATE": "5"}}},
			"VIPF": {{Fields: flight.Fields{"VPCD": "x"}, Lists: map[string][]flight.Record{"VIPT": {{Fields: flight.Fields{"VSCD": "A", "VTQY": "2"}}}}}},
		},
		Members: []flight.Member{{FLID: 2, FLNO: "CA2"}},
	}
	parts, err := stateParts(cat, before)
	if err != nil {
		t.Fatal(err)
	}
	after := &flight.State{ID: 1, Version: 2, Status: flight.Deleted, Fields: flight.Fields{"STND": "12", "REMC": "new"}, Lists: map[string][]flight.Record{"GTDT": {{Fields: flight.Fields{"GATE": "6"}}}}}
	now, err := stateParts(cat, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range differing(parts, now) {
		if err := undo(cat, after, decision.FieldChange{Path: path, Before: parts[path], After: now[path]}); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	after.Version = 1
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("taken back (-want +got):\n%s", d)
	}
}

// Membership is read out of histories as it was after each decision.
func TestSharesFollowHistory(t *testing.T) {
	change := func(path, after string) decision.FieldChange {
		return decision.FieldChange{Path: path, After: json.RawMessage(after)}
	}
	versions := []evidence.Version{
		{Version: 1, DecisionNo: 3, Changed: []decision.FieldChange{change("STATE", `"ACTIVE"`), change("FLNO", `"CA1"`)}},
		{Version: 2, DecisionNo: 5, Changed: []decision.FieldChange{change("STND", `"1"`)}},
		{Version: 3, DecisionNo: 9, Changed: []decision.FieldChange{change("MAID", `"7"`)}},
	}
	shares, ok := follow(versions)
	want := []share{{3, true, "", "CA1"}, {9, true, "7", "CA1"}}
	if d := cmp.Diff(want, shares, cmp.AllowUnexported(share{})); d != "" || !ok {
		t.Fatalf("complete: %t (-want +got):\n%s", ok, d)
	}
	for no, at := range map[int64]share{2: {}, 3: want[0], 8: want[0], 9: want[1], 99: want[1]} {
		if got := asOf(shares, no); got != at {
			t.Errorf("after decision %d: got %v, want %v", no, got, at)
		}
	}
	if _, ok := follow(versions[1:]); ok {
		t.Error("a history that begins with version 2 counts as complete")
	}
	versions[1].DecisionNo = 0
	if _, ok := follow(versions); ok {
		t.Error("a history with a decision that is not on record counts as complete")
	}
}

// removed is a topic whose first records retention has removed.
type removed struct{ first int64 }

func (r removed) Read(_ context.Context, begin func([]evidence.Extent), _ func(evidence.Record) error) error {
	begin([]evidence.Extent{{First: r.first, End: r.first}})
	return nil
}

type outbox []evidence.Event

func (o outbox) EventsByID(context.Context, []int64) ([]evidence.Event, error) { return o, nil }

// What a topic's retention has removed is not missed; what should still be there is.
func TestTopicRetentionIsAHorizon(t *testing.T) {
	sent := func(id, offset int64) evidence.Event {
		return evidence.Event{Event: event.Event{ID: id, FLID: 1, Version: id}, State: event.Sent, Landing: event.Landing{Topic: "t", Offset: offset}}
	}
	a := &Audit{n: Needs{Msg: removed{10}, Schd: removed{}, Outbox: outbox{sent(1, 9), sent(2, 10)}}, report: newReport(0), sent: bits{}, states: map[flight.ID]expectation{}}
	a.sent.add(1)
	a.sent.add(2)
	if err := a.topics(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.report.close()
	want := []Finding{{"flight 1 version 2", "event 2 is not in the topic", "its record, acknowledged at t[0]@10"}}
	if d := cmp.Diff(want, a.report.Line(Delivery).Findings); d != "" || a.report.Counts["events whose record the topic has removed"] != 1 {
		t.Errorf("%v (-want +got):\n%s", a.report.Counts, d)
	}
}
