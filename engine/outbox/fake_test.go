package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)

// leap is a clock for one goroutine: whoever waits is at once at the end of
// the wait. Nothing else moves it.
type leap struct{ now time.Time }

func (c *leap) Now() time.Time { return c.now }

func (c *leap) NewTimer(d time.Duration) clock.Timer {
	c.now = c.now.Add(d)
	fired := make(chan time.Time, 1)
	fired <- c.now
	return leapt(fired)
}

type leapt chan time.Time

func (l leapt) C() <-chan time.Time { return l }
func (l leapt) Stop() bool          { return true }

// row is an event in the fake outbox.
type row struct {
	event.Event
	state  event.State
	next   time.Time
	reason string
	sentAt time.Time
}

// table is an outbox in memory that keeps the promises of Store.
type table struct {
	mu                      sync.Mutex // for put
	rows                    []*row
	fail                    func(operation string) error // nil for a database that works
	confirms, defers, reads int
	afters                  []int64 // behind which event each reading began
}

// put replaces the rows while a dispatcher runs.
func (b *table) put(rows []*row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = rows
}

func (b *table) failing(operation string) error {
	if b.fail == nil {
		return nil
	}
	return b.fail(operation)
}

func (b *table) NextMsgEvents(_ context.Context, after int64, limit int) ([]event.Event, error) {
	if err := b.failing("next"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	b.afters = append(b.afters, after)
	var next []event.Event
	for _, r := range b.rows {
		switch {
		case r.state != event.Pending:
		case !r.next.IsZero():
			return nil, nil
		case r.ID > after && len(next) < limit:
			next = append(next, r.Event)
		}
	}
	return next, nil
}

func (b *table) DueMsgEvents(_ context.Context, now time.Time, limit int) ([]event.Event, error) {
	return b.due(now, 0, limit)
}

func (b *table) DueSchdEvents(_ context.Context, now time.Time, after int64, limit int) ([]event.Event, error) {
	b.mu.Lock()
	b.reads++
	b.afters = append(b.afters, after)
	b.mu.Unlock()
	return b.due(now, after, limit)
}

func (b *table) due(now time.Time, after int64, limit int) ([]event.Event, error) {
	if err := b.failing("due"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []event.Event
	waiting := newLanes()
	for _, r := range b.rows {
		switch {
		case r.state != event.Pending || r.ID <= after:
		case waiting.blocked(r.Event) || r.next.After(now):
			waiting.block(r.Event)
		case len(due) < limit:
			due = append(due, r.Event)
		}
	}
	return due, nil
}

func (b *table) find(e event.Event) *row {
	for _, r := range b.rows {
		if r.ID == e.ID && r.Version == e.Version && r.state == event.Pending {
			return r
		}
	}
	return nil
}

func (b *table) ConfirmEvents(ctx context.Context, sent []event.Delivery, at time.Time) error {
	if err := errors.Join(ctx.Err(), b.failing("confirm")); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.confirms++
	for _, d := range sent {
		if r := b.find(d.Event); r != nil {
			r.state, r.sentAt = event.Sent, at
		}
	}
	return nil
}

func (b *table) DeferEvent(_ context.Context, e event.Event, attempts int, next time.Time, reason string) error {
	b.defers++
	if err := b.failing("defer"); err != nil {
		return err
	}
	r := b.find(e)
	if r == nil {
		return fault.ErrMoved
	}
	r.Attempts, r.next, r.reason = attempts, next, reason
	return nil
}

func (b *table) BuryEvent(_ context.Context, e event.Event, attempts int, reason string, _ time.Time) error {
	if err := b.failing("bury"); err != nil {
		return err
	}
	r := b.find(e)
	if r == nil {
		return fault.ErrMoved
	}
	r.Attempts, r.state, r.reason = attempts, event.Dead, reason
	return nil
}

func (b *table) unfinished() bool {
	for _, r := range b.rows {
		if r.state == event.Pending {
			return true
		}
	}
	return false
}

// states is what became of the events: "1:SENT 2:DEAD".
func (b *table) states() string {
	var parts []string
	for _, r := range b.rows {
		parts = append(parts, fmt.Sprintf("%d:%s", r.ID, r.state))
	}
	return strings.Join(parts, " ")
}

// events makes rows from "key/flid" texts, ids from 1; a bare text is both.
func events(specs ...string) []*row {
	var rows []*row
	for i, spec := range specs {
		key, id, both := strings.Cut(spec, "/")
		if !both {
			id = key
		}
		flid, err := flight.ParseID(id)
		if err != nil {
			panic(err)
		}
		rows = append(rows, &row{state: event.Pending, Event: event.Event{
			ID: int64(i + 1), Target: event.Msg, Key: key, FLID: flid, Type: event.Upsert, Version: int64(i + 1),
			MsgID: 100 + int64(i), Kind: "FLOP-STND", Ruleset: "abc", Payload: []byte(`{"schema_version":1}`), CreatedAt: start,
		}})
	}
	return rows
}

// broker answers each record by a script: what is not scripted lands.
type broker struct {
	clock *leap
	// fate decides about one record; the n-th time it is sent is n, from 1.
	fate func(id string, n int) event.Receipt
	log  []string // "0s: 1 2" for each request
	sent map[string]int
}

func headerOf(r event.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

func (b *broker) Publish(ctx context.Context, records []event.Record) []event.Receipt {
	if b.sent == nil {
		b.sent = map[string]int{}
	}
	line := fmt.Sprintf("%v:", b.clock.now.Sub(start))
	receipts := make([]event.Receipt, len(records))
	for i, r := range records {
		id := headerOf(r, "event_id")
		line += " " + id
		b.sent[id]++
		receipts[i] = event.Receipt{Fate: event.Landed}
		if b.fate != nil {
			if got := b.fate(id, b.sent[id]); got.Fate != "" {
				receipts[i] = got
			}
		}
		if ctx.Err() != nil { // the request is broken off
			receipts[i] = receipt(event.Unknown)
		}
	}
	b.log = append(b.log, line)
	return receipts
}

// bench is a dispatcher with everything around it.
type bench struct {
	t      *testing.T
	clock  *leap
	table  *table
	broker *broker
	held   func() error
	paused map[string]bool
	log    strings.Builder
	d      *Dispatcher
	stop   func() // ends Run from within
}

func (b *bench) Paused(context.Context) (map[string]bool, error) { return b.paused, nil }

func newBench(t *testing.T, o Options, rows []*row) *bench {
	t.Helper()
	c := &leap{now: start}
	b := &bench{t: t, clock: c, table: &table{rows: rows}, broker: &broker{clock: c}, held: func() error { return nil }}
	d, err := New(o, Needs{
		Store: b.table, Control: b, Publisher: b.broker, Held: func() error { return b.held() }, Clock: c,
		Log: slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.beside = func(work func()) { work() } // the clock and the draws of a test are one goroutine's
	b.d = d
	return b
}

// rounds runs until nothing is unfinished, at most n rounds.
func (b *bench) rounds(n int) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	b.stop = cancel
	reads := b.table.reads
	b.d.n.Control = control(func() map[string]bool {
		if !b.table.unfinished() && len(b.d.unconfirmed) == 0 || b.table.reads-reads >= n {
			cancel()
		}
		return b.paused
	})
	if err := b.d.Run(ctx); err != nil {
		b.t.Fatalf("Run: %v", err)
	}
}

type control func() map[string]bool

func (c control) Paused(context.Context) (map[string]bool, error) { return c(), nil }
