package feed

import (
	"fmt"
	"testing"
	"time"

	"msgx"
	"msgx/engine/codec"
	"msgx/engine/decision"
	state "msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

// rehearsal runs messages as the daemon would, in memory.
func rehearsal(t *testing.T, cutover time.Duration) *rehearse.Rehearsal {
	t.Helper()
	zone := time.FixedZone("UTC+8", 8*3600)
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := codec.New(cat, codec.Options{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rulebook.Load(msgx.Files, cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	judge := verdict.New(cat, rules, verdict.Options{Options: decision.Options{Zone: zone, DayCutover: cutover, CodeShareKey: decision.KeyMaster}})
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return rehearse.New(decoder, judge, func() time.Time { now = now.Add(time.Second); return now }, rehearse.World{})
}

// Every message of a day has the outcome that its generator expects, and the
// flights end as its model says.
func TestADayComesOutAsExpected(t *testing.T) {
	days := []struct {
		o       Options
		cutover time.Duration
	}{
		{Options{Seed: 1}, 0},
		{Options{Seed: 2, Flights: 200, Operations: 3000, BadPerMille: 150, Holding: 40, Form: Bytes}, 0},
		{Options{Seed: 3, Flights: 200, Operations: 3000, BadPerMille: 150, Holding: 40}, 6 * time.Hour},
		{Options{Seed: 4, Flights: 10, Operations: 400, BadPerMille: 300}, 0},
		{Options{Seed: 5, Flights: 300, Operations: 500, BadPerMille: 100, Form: Bytes}, 4 * time.Hour},
	}
	for _, c := range days {
		t.Run(fmt.Sprintf("seed %d, %s", c.o.Seed, c.o.Form), func(t *testing.T) {
			c.o.Date = someDay
			o, err := c.o.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			d := newDay(o)
			d.plan()
			messages := d.write()
			r := rehearsal(t, c.cutover)
			wrong := 0
			for _, m := range messages {
				result := r.Run(message.Raw{MsgID: int64(m.Seq), Body: m.Body, Characters: o.Form == Characters})
				if diff := m.Expect.Check(result.Settlement.Outcome); diff != "" {
					t.Errorf("message %d %s %q: %s\n%.400s", m.Seq, m.Kind, m.Bad, diff, m.Body)
					wrong++
				}
				if m.Bad == "" && result.Message != nil && len(result.Message.Unknowns)+len(result.Message.Dropped) > 0 {
					t.Errorf("message %d %s: has what the catalogue does not know: %v %v", m.Seq, m.Kind, result.Message.Unknowns, result.Message.Dropped)
					wrong++
				}
				if wrong > 10 {
					t.Fatal("giving up")
				}
			}
			compareFlights(t, d.model, r.Flights())
		})
	}
}

func compareFlights(t *testing.T, m *model, got []*state.State) {
	t.Helper()
	if len(got) != len(m.flights) {
		t.Errorf("got %d flights, want %d", len(got), len(m.flights))
	}
	deleted, children := 0, 0
	for _, s := range got {
		k := m.flights[int64(s.ID)]
		if k == nil {
			t.Errorf("flight %s is not in the model", s.ID)
			continue
		}
		master, _ := s.Master()
		if k.active != (s.Status == state.Active) || k.master != int64(master) {
			t.Errorf("flight %s: got %s with master %d, want active %v with master %d", s.ID, s.Status, master, k.active, k.master)
		}
		if !k.active {
			deleted++
		}
		children += len(s.Members)
	}
	if deleted == 0 || children == 0 {
		t.Errorf("got %d deleted flights and %d children under masters, want some of both", deleted, children)
	}
}
