package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/outbox"
)

// memory is an outbox of one target that keeps what a dispatcher relies on.
type memory struct {
	mu     sync.Mutex
	events []event.Event
	state  map[int64]event.State
	next   map[int64]time.Time
	left   int
	done   chan struct{} // closed when nothing is unsent
}

func (m *memory) NextMsgEvents(_ context.Context, after int64, limit int) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var next []event.Event
	for _, e := range m.events {
		switch {
		case m.state[e.ID] != "":
		case !m.next[e.ID].IsZero():
			return nil, nil
		case e.ID > after && len(next) < limit:
			next = append(next, e)
		}
	}
	return next, nil
}

func (m *memory) DueMsgEvents(_ context.Context, now time.Time, limit int) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []event.Event
	waiting := map[string]bool{}
	for _, e := range m.events {
		key, flid := "k"+e.Key, "f"+e.FLID.String()
		switch {
		case m.state[e.ID] != "":
		case waiting[key] || waiting[flid] || m.next[e.ID].After(now):
			waiting[key], waiting[flid] = true, true
		case len(due) < limit:
			due = append(due, e)
		}
	}
	return due, nil
}

func (m *memory) DueSchdEvents(ctx context.Context, now time.Time, after int64, limit int) ([]event.Event, error) {
	due, err := m.DueMsgEvents(ctx, now, limit)
	return slices.DeleteFunc(due, func(e event.Event) bool { return e.ID <= after }), err
}

func (m *memory) settle(id int64, s event.State) {
	m.state[id] = s
	if m.left--; m.left == 0 {
		close(m.done)
	}
}

func (m *memory) ConfirmEvents(_ context.Context, sent []event.Delivery, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range sent {
		m.settle(d.Event.ID, event.Sent)
	}
	return nil
}

func (m *memory) DeferEvent(_ context.Context, e event.Event, attempts int, next time.Time, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next[e.ID] = next
	for i := range m.events {
		if m.events[i].ID == e.ID {
			m.events[i].Attempts = attempts
		}
	}
	return nil
}

func (m *memory) BuryEvent(_ context.Context, e event.Event, _ int, _ string, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(e.ID, event.Dead)
	return nil
}

// A dispatcher and a publisher, together, against a broker that has every
// sort of trouble: order per flight, nothing lost, one event dead, no attempt wasted.
func TestDispatcherOverABrokerWithTrouble(t *testing.T) {
	const partitions, flights, versions = 3, 20, 15
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	store := &memory{state: map[int64]event.State{}, next: map[int64]time.Time{}, done: make(chan struct{})}
	for v := range versions {
		for f := range flights {
			e := event.Event{ID: int64(len(store.events) + 1), Target: event.Msg, Key: strconv.Itoa(100 + f), FLID: flight.ID(100 + f),
				Type: event.Upsert, Version: int64(v + 1), Payload: []byte(`{}`)}
			if v%4 == 3 { // a code share, told under its master's key
				e.Key = strconv.Itoa(100 + (f+1)%flights)
			}
			store.events = append(store.events, e)
		}
	}
	store.left = len(store.events)
	tooLarge := store.events[len(store.events)/2].ID
	store.events[tooLarge-1].Payload = []byte(`"` + strings.Repeat("x", 2000) + `"`)

	const timeout = 200 * time.Millisecond
	produce := []kmsg.Key{kmsg.Produce}
	broker.Fault(
		kfake.Fault{Keys: produce, Err: kerr.NotEnoughReplicas, Partitions: []int32{1}, Count: 3},
		kfake.Fault{Keys: produce, Err: kerr.RequestTimedOut, Partitions: []int32{0}, Count: 2},
		kfake.Fault{Keys: produce, Err: kerr.NotLeaderForPartition, Partitions: []int32{2}, Count: 2},
		kfake.Fault{Keys: produce, Err: kerr.CorruptMessage, Partitions: []int32{1}, Count: 1},
	)
	p := newPublisher(t, Config{Brokers: broker.ListenAddrs(), RequestTimeout: timeout, MaxMessageBytes: 1500}, "t")
	o := outbox.Defaults(event.Msg)
	o.Every, o.Limit, o.Quarantine = 10*time.Millisecond, 50, timeout
	o.Waits = []time.Duration{20 * time.Millisecond}
	o.Retry = message.Retry{MaxAttempts: 3, Tiers: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}}
	d, err := outbox.New(o, outbox.Needs{Store: store, Publisher: p, Held: func() error { return nil }, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-store.done:
	case <-ctx.Done():
		t.Fatalf("not everything is settled after a minute: %d left", store.left)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	first := map[string]bool{}
	last := map[string]int64{}
	for _, s := range read(t, broker.ListenAddrs()[0], "t", partitions) {
		id := headerIn(t, s.Headers, "event_id")
		if first[id] {
			continue // sent again after a lost acknowledgement
		}
		first[id] = true
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if last[s.Key] > n {
			t.Errorf("key %s: event %d stands after event %d", s.Key, n, last[s.Key])
		}
		last[s.Key] = n
	}
	dead := 0
	for _, e := range store.events {
		landed := first[fmt.Sprint(e.ID)]
		switch store.state[e.ID] {
		case event.Dead:
			dead++
			if e.ID != tooLarge || landed {
				t.Errorf("event %d is dead, in the topic: %v", e.ID, landed)
			}
		default:
			if !landed {
				t.Errorf("event %d is confirmed but not in the topic", e.ID)
			}
		}
		if e.Attempts > 1 {
			t.Errorf("event %d: %d attempts used up", e.ID, e.Attempts)
		}
	}
	if dead != 1 {
		t.Errorf("dead events: got %d, want 1", dead)
	}
}

func headerIn(t *testing.T, headers, name string) string {
	t.Helper()
	for field := range strings.FieldsSeq(headers) {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			return value
		}
	}
	t.Fatalf("no header %s in %q", name, headers)
	return ""
}
