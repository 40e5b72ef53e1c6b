package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/ruleset"
	"msgx/engine/watermark"
)

func TestSeedOnlyOnce(t *testing.T) {
	s, w := fresh(t)
	if _, found, err := s.Cursor(t.Context()); err != nil || found {
		t.Fatalf("cursor of a new database: found %v, %v", found, err)
	}
	if err := w.Seed(t.Context(), 0, "zero", nil, noon); err != nil {
		t.Fatalf("seed: %v", err)
	}
	got, found, err := s.Cursor(t.Context())
	got = got.In(noon)
	if diff := cmp.Diff(watermark.Cursor{SeededAt: noon}, got); err != nil || !found || diff != "" {
		t.Errorf("cursor: found %v, %v (-want +got):\n%s", found, err, diff)
	}
	if err := w.Seed(t.Context(), 5, "max", nil, noon); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("seed again: got %v, want ErrRefused", err)
	}

	_, w = fresh(t)
	enqueue(t, w, 1, 1)
	if err := w.Seed(t.Context(), 5, "max", nil, noon); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("seed after consuming: got %v, want ErrRefused", err)
	}

	s, w = fresh(t)
	if _, err := s.pool.Exec(t.Context(), "INSERT INTO proc_state (msg_id, enqueued_at, updated_at) VALUES (9, now(), now())"); err != nil {
		t.Fatal(err)
	}
	if err := w.Seed(t.Context(), 5, "max", nil, noon); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("seed beside records: got %v, want ErrRefused", err)
	}
}

func TestAdvance(t *testing.T) {
	s, w := fresh(t)
	rows := []watermark.Row{{MsgID: 1, ReceivedAt: noon}, {MsgID: 2}}
	since := noon.Add(-time.Hour + 1500*time.Nanosecond)
	stored := since.Truncate(time.Microsecond)
	step := watermark.Step{
		Enqueue: rows, Cursor: watermark.Cursor{Watermark: 2, HoleSince: since, HoleLast: 4},
		Holes: []watermark.Hole{{First: 3, Last: 4, Since: since, Outcome: watermark.HoleOpen}},
	}
	for round, want := range []int{2, 0} { // the second time they are there already
		n, err := w.Advance(t.Context(), step, noon)
		if err != nil || n != want {
			t.Errorf("round %d: %d enqueued, %v, want %d", round, n, err, want)
		}
	}
	got, _, err := s.Cursor(t.Context())
	// By any clock, the hole is as old as it was when it was stored, or a little older, and never older than it is.
	age := got.ReadAt.Sub(got.HoleSince)
	if err != nil || age < time.Hour-time.Second || age > time.Hour+time.Minute {
		t.Errorf("cursor: %v, a hole of %s, want about an hour", err, age)
	}
	if want := (watermark.Cursor{Watermark: 2, HoleSince: since.Add(-age), HoleLast: 4}); got.In(since) != want {
		t.Errorf("cursor: got %+v, want %+v", got.In(since), want)
	}
	open, err := s.OpenHoles(t.Context())
	if diff := cmp.Diff([]watermark.Hole{{First: 3, Last: 4, Since: stored, Outcome: watermark.HoleOpen}}, open); err != nil || diff != "" {
		t.Errorf("open holes: %v (-want +got):\n%s", err, diff)
	}
	if _, err := w.Advance(t.Context(), watermark.Step{Cursor: watermark.Cursor{Watermark: 1}}, noon); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("a cursor that goes back: got %v, want ErrMoved", err)
	}

	// The hole ages; then its id turns up.
	at := noon.Add(time.Minute)
	step = watermark.Step{Cursor: watermark.Cursor{Watermark: 4}, Holes: []watermark.Hole{{First: 3, Last: 4, Since: since, Outcome: watermark.HoleAged, At: at}}}
	if _, err := w.Advance(t.Context(), step, at); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.RecordLate(t.Context(), []watermark.Row{{MsgID: 3, ReceivedAt: noon}}, at.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	aged, err := s.AgedHoles(t.Context(), at)
	if diff := cmp.Diff([]watermark.Hole{{First: 3, Last: 4, Since: stored, Outcome: watermark.HoleAged, At: at}}, aged); err != nil || diff != "" {
		t.Errorf("aged holes: %v (-want +got):\n%s", err, diff)
	}
	late, err := s.LateRows(t.Context())
	if diff := cmp.Diff([]watermark.Hole{{First: 3, Last: 3, Since: at.Add(time.Second), Outcome: watermark.HoleLate, At: at.Add(time.Second)}}, late); err != nil || diff != "" {
		t.Errorf("late rows: %v (-want +got):\n%s", err, diff)
	}
	for what, holes := range map[string]func() ([]watermark.Hole, error){
		"open":          func() ([]watermark.Hole, error) { return s.OpenHoles(t.Context()) },
		"aged too long": func() ([]watermark.Hole, error) { return s.AgedHoles(t.Context(), at.Add(time.Second)) },
	} {
		if got, err := holes(); err != nil || len(got) != 0 {
			t.Errorf("%s: got %v, %v, want none", what, got, err)
		}
	}
	if c, err := s.Counts(t.Context()); err != nil || c.LateRows != 1 || c.OpenHoles != 0 || c.Messages[message.Pending] != 2 || c.Watermark != 4 || c.OldestUnfinished != noon {
		t.Errorf("counts: %+v, %v", c, err)
	}
}

func TestControls(t *testing.T) {
	s, w := fresh(t)
	if err := s.SetPaused(t.Context(), "pump", true, "ana", "rotation", noon); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPaused(t.Context(), "KAFKA:msg", true, "ana", "broker", noon); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPaused(t.Context(), "KAFKA:msg", false, "ana", "done", noon); err != nil {
		t.Fatal(err)
	}
	got, err := s.Paused(t.Context())
	if diff := cmp.Diff(map[string]bool{"pump": true, "KAFKA:msg": false}, got); err != nil || diff != "" {
		t.Errorf("paused: %v (-want +got):\n%s", err, diff)
	}
	if n := query[int](t, s, "SELECT count(*) FROM operator_log WHERE who = 'ana'"); n != 3 {
		t.Errorf("operator log: %d entries, want 3", n)
	}
	for name, err := range map[string]error{
		"no such stage": s.SetPaused(t.Context(), "pomp", true, "ana", "x", noon),
		"no reason":     s.SetPaused(t.Context(), "pump", true, "ana", "", noon),
	} {
		if !errors.Is(err, fault.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
		}
	}

	other := "00000000000000000000000000000000000000000000000000000000000000bb"
	files := map[string][]byte{"handlers.lua": []byte("return {}"), "rules/empty.lua": nil, "rules/x.lua": {0, 255}}
	for i, hash := range []string{testRuleset, testRuleset, other, testRuleset} {
		set := ruleset.Set{Hash: hash, Files: files, Settings: map[string]string{"absent_optional": "keep"}, Build: "v1"}
		live := ruleset.Live{From: noon.Add(time.Duration(i) * time.Hour), Cause: ruleset.Cause{How: ruleset.ByStart, Who: "a"}}
		if err := w.GoLive(t.Context(), set, live, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if live, err := s.LiveRuleset(t.Context()); err != nil || live != testRuleset {
		t.Errorf("live rule set: %q, %v, want %q", live, err, testRuleset)
	}
	if n := query[int](t, s, "SELECT count(*) FROM ruleset_live"); n != 3 {
		t.Errorf("%d periods, want 3", n)
	}
	if n := query[int](t, s, "SELECT count(*) FROM ruleset_file WHERE hash = $1", other); n != 3 {
		t.Errorf("%d files, want 3", n)
	}

	if _, found, err := s.Fact(t.Context(), "identity.day"); err != nil || found {
		t.Errorf("a fact that is not there: found %v, %v", found, err)
	}
	if err := w.SetFact(t.Context(), "identity.day", "true", noon); err != nil {
		t.Fatal(err)
	}
	if value, found, err := s.Fact(t.Context(), "identity.day"); err != nil || !found || value != "true" {
		t.Errorf("fact: %q, found %v, %v", value, found, err)
	}
}

func TestTally(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 3)
	decide(t, w, full(t, 1))
	got, err := s.Tally(t.Context())
	want := Tally{
		Messages: map[message.State]int64{message.Succeeded: 1, message.Pending: 2},
		Events:   map[event.Target]map[event.State]int64{event.Msg: {event.Pending: 1}, event.Schd: {event.Pending: 1}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("tally: %v (-want +got):\n%s", err, diff)
	}
}

func TestARowIsEnqueuedBeyondTheWatermarkOnly(t *testing.T) {
	s, w := fresh(t)
	add := func(id int64) error { return w.EnqueueBeyond(t.Context(), id, noon, noon) }
	if err := add(1); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("before it is settled where reading begins: got %v, want ErrRefused", err)
	}
	if err := w.Seed(t.Context(), 0, "zero", nil, noon); err != nil {
		t.Fatalf("a refused row must not be in the way of the seed: %v", err)
	}
	enqueue(t, w, 1, 2)
	for range 2 { // the second time it is there already
		if err := add(5); err != nil {
			t.Fatalf("beyond the watermark: %v", err)
		}
	}
	if err := add(2); err != nil {
		t.Errorf("enqueued by the inbox: got %v, want nothing to do", err)
	}
	heads, mark, beyond, err := s.Heads(t.Context(), 10)
	if err != nil || len(heads) != 2 || mark != 2 || beyond != 5 {
		t.Errorf("heads %v, watermark %d, beyond %d, %v: want 1 and 2, watermark 2, and 5 waiting beyond it", heads, mark, beyond, err)
	}
	// The inbox passes 3 as a hole that aged, and takes 4 and 5.
	n, err := w.Advance(t.Context(), watermark.Step{Enqueue: []watermark.Row{{MsgID: 4}, {MsgID: 5}}, Cursor: watermark.Cursor{Watermark: 5}}, noon)
	if err != nil || n != 1 {
		t.Errorf("inbox: %d enqueued, %v, want the one that was not there", n, err)
	}
	if err := add(3); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("passed by the inbox: got %v, want ErrRefused, it would be out of turn", err)
	}
	if got := query[int64](t, s, "SELECT count(*) FROM proc_state WHERE state = 'PENDING' AND NOT out_of_turn"); got != 4 {
		t.Errorf("%d records, want 1, 2, 4 and 5", got)
	}
	lead := s.Writer(w.Epoch() + 1)
	if err := lead.EnqueueBeyond(t.Context(), 9, noon, noon); !errors.Is(err, fault.ErrFenced) {
		t.Errorf("another epoch: got %v, want ErrFenced", err)
	}
}
