package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/fault"
)

func fates(script map[string][]event.Fate) func(string, int) event.Receipt {
	return func(id string, n int) event.Receipt {
		if list := script[id]; n <= len(list) {
			return receipt(list[n-1])
		}
		return event.Receipt{}
	}
}

func receipt(f event.Fate) event.Receipt {
	r := event.Receipt{Fate: f}
	if f != event.Landed && f != event.Untried {
		r.Reason, r.Err = "scripted", errors.New("scripted")
	}
	return r
}

// down is what a broker that cannot be reached gives.
func down() event.Receipt {
	return event.Receipt{Fate: event.NotStored, Reason: "unreachable", Err: fmt.Errorf("%w: refused", fault.ErrUnavailable)}
}

func TestLanes(t *testing.T) {
	cases := []struct {
		name   string
		events []string // key or key/flid
		script map[string][]event.Fate
		sends  []string
		states string
	}{
		{"independent flights go together", []string{"1", "2", "3"}, nil,
			[]string{"0s: 1 2 3"}, "1:SENT 2:SENT 3:SENT"},
		{"one key follows itself in one request", []string{"1", "1", "1"}, nil,
			[]string{"0s: 1 2 3"}, "1:SENT 2:SENT 3:SENT"},
		{"a flight under another key waits for the answer", []string{"9/1", "1/1", "2"}, nil,
			[]string{"0s: 1 3", "0s: 2"}, "1:SENT 2:SENT 3:SENT"},
		{"what follows a waiting event waits too", []string{"9/1", "1/1", "1/5", "5/5"}, nil,
			[]string{"0s: 1", "0s: 2 3", "0s: 4"}, "1:SENT 2:SENT 3:SENT 4:SENT"},
		{"a refused record stops its lanes only", []string{"1", "2", "1", "2"},
			map[string][]event.Fate{"1": {event.Refused}, "3": {event.Untried}},
			[]string{"0s: 1 2 3 4", "1s: 1 3"}, "1:SENT 2:SENT 3:SENT 4:SENT"},
		{"refused for good is dead and frees the lane", []string{"1", "1", "2"},
			map[string][]event.Fate{"1": {event.RefusedForGood}, "2": {event.Untried}},
			[]string{"0s: 1 2 3", "0s: 2"}, "1:DEAD 2:SENT 3:SENT"},
		{"refused five times is dead", []string{"1", "1"},
			map[string][]event.Fate{"1": {event.Refused, event.Refused, event.Refused, event.Refused, event.Refused},
				"2": {event.Untried, event.Untried, event.Untried, event.Untried, event.Untried}},
			[]string{"0s: 1 2", "1s: 1 2", "3s: 1 2", "7s: 1 2", "15s: 1 2", "15s: 2"}, "1:DEAD 2:SENT"},
		{"suspects go one by one, in order", []string{"1", "2", "1"},
			map[string][]event.Fate{"1": {event.Suspect, event.Landed}, "2": {event.Suspect, event.RefusedForGood}, "3": {event.Suspect}},
			[]string{"0s: 1 2 3", "0s: 1", "0s: 2", "0s: 3"}, "1:SENT 2:DEAD 3:SENT"},
		{"a suspect alone is the culprit", []string{"1", "2"},
			map[string][]event.Fate{"1": {event.Suspect, event.Suspect}, "2": {event.Suspect}},
			[]string{"0s: 1 2", "0s: 1", "0s: 2", "1s: 1"}, "1:SENT 2:SENT"},
		{"a suspect that waits again holds what follows", []string{"1", "1", "2"},
			map[string][]event.Fate{"1": {event.Suspect, event.Refused}, "2": {event.Suspect}, "3": {event.Suspect}},
			[]string{"0s: 1 2 3", "0s: 1", "0s: 3", "1s: 1 2"}, "1:SENT 2:SENT 3:SENT"},
		{"not stored: its lane is put off, others go on", []string{"1", "2", "9/1"},
			map[string][]event.Fate{"1": {event.NotStored, event.NotStored}},
			[]string{"0s: 1 2", "1s: 1", "3s: 1", "3s: 3"}, "1:SENT 2:SENT 3:SENT"},
		{"unknown outcome: nothing in the lane until the quarantine is over", []string{"1", "2", "1", "9/1"},
			map[string][]event.Fate{"1": {event.Unknown}, "3": {event.Unknown}},
			[]string{"0s: 1 2 3", "5s: 1 3", "5s: 4"}, "1:SENT 2:SENT 3:SENT 4:SENT"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Defaults(event.Msg), events(c.events...))
			b.broker.fate = fates(c.script)
			b.rounds(60)
			if diff := cmp.Diff(c.sends, b.broker.log); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if got := b.table.states(); got != c.states {
				t.Errorf("states: got %s, want %s", got, c.states)
			}
		})
	}
}

func TestPassingTroubleUsesNoAttempts(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1", "2"))
	b.broker.fate = func(id string, n int) event.Receipt {
		switch {
		case id == "1" && n <= 20:
			return receipt(event.NotStored)
		case id == "2" && n <= 2:
			return receipt(event.Unknown)
		}
		return event.Receipt{}
	}
	b.rounds(2000)
	for _, r := range b.table.rows {
		if r.state != event.Sent || r.Attempts != 0 {
			t.Errorf("event %d: got %s with %d attempts, want SENT with 0", r.ID, r.state, r.Attempts)
		}
	}
	if got := strings.Count(b.log.String(), "broker has trouble"); got != 1 {
		t.Errorf("lines about trouble: got %d, want 1\n%s", got, b.log.String())
	}
	if got := strings.Count(b.log.String(), "broker is back"); got != 1 {
		t.Errorf("lines about being back: got %d, want 1\n%s", got, b.log.String())
	}
}

func TestBrokerAway(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1", "2", "1"))
	b.broker.fate = func(_ string, n int) event.Receipt {
		if n <= 4 {
			return down()
		}
		return event.Receipt{}
	}
	b.rounds(60)
	want := []string{"0s: 1 2 3", "1s: 1 2 3", "3s: 1 2 3", "7s: 1 2 3", "15s: 1 2 3"}
	if diff := cmp.Diff(want, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if b.table.defers != 0 {
		t.Errorf("writes while the broker is away: got %d, want 0", b.table.defers)
	}
	if log := b.log.String(); strings.Count(log, "broker has trouble") != 1 || strings.Count(log, "broker is back") != 1 {
		t.Errorf("want one line when the broker goes and one when it is back, got:\n%s", log)
	}
}

func TestDatabaseAwayAfterSendingConfirmsWithoutSendingAgain(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1", "2"))
	failures := 0
	b.table.fail = func(operation string) error {
		if operation == "confirm" && failures < 3 {
			failures++
			return fmt.Errorf("confirm: %w", fault.ErrUnavailable)
		}
		return nil
	}
	b.rounds(60)
	if diff := cmp.Diff([]string{"0s: 1 2"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got, want := b.table.states(), "1:SENT 2:SENT"; got != want {
		t.Errorf("states: got %s, want %s", got, want)
	}
	if log := b.log.String(); strings.Count(log, "server is away") != 1 || strings.Count(log, "server is back") != 1 {
		t.Errorf("want one line when the database goes and one when it is back, got:\n%s", log)
	}
}

func TestLeaseIsCheckedBeforeEachSend(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("9/1", "1/1")) // two requests
	checks := 0
	b.held = func() error {
		if checks++; checks == 2 {
			return fault.ErrFenced
		}
		return nil
	}
	err := b.d.Run(t.Context())
	if !errors.Is(err, fault.ErrFenced) {
		t.Fatalf("Run: got %v, want %v", err, fault.ErrFenced)
	}
	if diff := cmp.Diff([]string{"0s: 1"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFencedWhenConfirming(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1"))
	b.table.fail = func(operation string) error {
		if operation == "confirm" {
			return fault.ErrFenced
		}
		return nil
	}
	if err := b.d.Run(t.Context()); !errors.Is(err, fault.ErrFenced) {
		t.Fatalf("Run: got %v, want %v", err, fault.ErrFenced)
	}
}

func TestPausedSendsNothing(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1"))
	b.paused = map[string]bool{"KAFKA:msg": true, "KAFKA:schd": false}
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.d.n.Control = control(func() map[string]bool {
		switch asked++; asked {
		case 10:
			b.paused = nil
		case 11:
			cancel()
		}
		return b.paused
	})
	if err := b.d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"9s: 1"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if log := b.log.String(); strings.Count(log, "delivery paused") != 1 || strings.Count(log, "delivery resumed") != 1 {
		t.Errorf("want one line each about pausing and resuming, got:\n%s", log)
	}
}

func TestEndingFinishesAndRecordsTheSend(t *testing.T) {
	b := newBench(t, Defaults(event.Msg), events("1"))
	ctx, cancel := context.WithCancel(t.Context())
	b.broker.fate = func(string, int) event.Receipt { cancel(); return event.Receipt{} }
	if err := b.d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.table.states(); got != "1:SENT" {
		t.Errorf("states: got %s, want 1:SENT", got)
	}
}

func TestSchdVersionThatMovedOnStaysUnsent(t *testing.T) {
	rows := events("1")
	rows[0].Target = event.Schd
	b := newBench(t, Defaults(event.Schd), rows)
	b.broker.fate = func(_ string, n int) event.Receipt {
		if n == 1 { // a newer version takes the row while it is being sent
			rows[0].ID, rows[0].Version = 7, 2
		}
		return event.Receipt{}
	}
	b.rounds(60)
	if diff := cmp.Diff([]string{"0s: 1", "3s: 7"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := b.table.states(); got != "7:SENT" {
		t.Errorf("states: got %s, want 7:SENT", got)
	}
}

func TestFullReadingsFollowEachOther(t *testing.T) {
	o := Defaults(event.Schd)
	o.Limit = 2
	b := newBench(t, o, events("1", "2", "3", "4", "5"))
	b.rounds(60)
	if diff := cmp.Diff([]string{"0s: 1 2", "0s: 3 4", "0s: 5"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestPokeWakesMsgOnly(t *testing.T) {
	for target, want := range map[event.Target]time.Duration{event.Msg: 100 * time.Millisecond, event.Schd: 3 * time.Second} {
		t.Run(string(target), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Defaults(target), nil)
				b.d.n.Clock = clock.System{}
				begin := time.Now()
				var at time.Duration
				ctx, cancel := context.WithCancel(t.Context())
				b.broker.fate = func(string, int) event.Receipt { at = time.Since(begin); cancel(); return event.Receipt{} }
				done := make(chan error)
				go func() { done <- b.d.Run(ctx) }()
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				b.table.put(events("1"))
				b.d.Poke()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if at != want {
					t.Errorf("sent after %v, want %v", at, want)
				}
			})
		})
	}
}

// A pump that commits all the time must not cause a request for every event.
func TestPokesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Defaults(event.Msg), nil)
		b.d.n.Clock = clock.System{}
		begin := time.Now()
		var got []string
		b.broker.fate = func(id string, _ int) event.Receipt {
			got = append(got, fmt.Sprint(time.Since(begin).Milliseconds(), "ms: ", id))
			return event.Receipt{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.d.Run(ctx) }()
		all := events("1", "2", "3", "4", "5")
		for n := range all {
			time.Sleep(45 * time.Millisecond)
			synctest.Wait()
			b.table.put(all[:n+1])
			b.d.Poke()
		}
		time.Sleep(150 * time.Millisecond)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"100ms: 1", "100ms: 2", "200ms: 3", "200ms: 4", "300ms: 5"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}

func TestRecord(t *testing.T) {
	e := events("100/7")[0].Event
	got := Record(e, start.Add(time.Hour))
	want := event.Record{Key: "100", Value: []byte(`{"event_id":"1","schema_version":1}`), At: start.Add(time.Hour), Headers: []event.Header{
		{Key: "event_id", Value: "1"}, {Key: "flid", Value: "7"}, {Key: "state_version", Value: "1"}, {Key: "type", Value: "UPSERT"},
		{Key: "kind", Value: "FLOP-STND"}, {Key: "ruleset", Value: "abc"}, {Key: "msg_id", Value: "100"}, {Key: "created_at", Value: "2026-03-01T04:00:00Z"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	e.Type, e.Target, e.Resent = event.Tombstone, event.Schd, true
	got = Record(e, start)
	if got.Value != nil || headerOf(got, "resent") != "true" || headerOf(got, "type") != "TOMBSTONE" {
		t.Errorf("schd tombstone sent again: got value %q, headers %v; want a null value and resent", got.Value, got.Headers)
	}
	e.Target = event.Msg
	if got = Record(e, start); string(got.Value) != `{"event_id":"1","schema_version":1}` {
		t.Errorf("msg tombstone: got %q, want its JSON", got.Value)
	}
}

func TestMetricsSurviveASecondTerm(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, target := range []event.Target{event.Msg, event.Schd, event.Msg} {
		m, err := newMetrics(registry, target)
		if err != nil {
			t.Fatal(err)
		}
		m.sent.Inc()
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "msgx_outbox_sent_total" {
			for _, m := range f.GetMetric() {
				got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"KAFKA:msg": 2, "KAFKA:schd": 1}, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
