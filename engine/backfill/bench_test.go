package backfill_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is what our own database keeps of a mark.
type record struct {
	due    message.MarkDue
	next   time.Time
	done   string // "", "confirmed", or the reason it was given up for
	locked bool   // by somebody else
}

// database is our own database in memory.
type database struct {
	mu      sync.Mutex
	records map[int64]*record
	scans   int
	paused  bool
	err     error
	holdErr error // after the marks were tried: nothing is stored
}

func (d *database) set(fn func(*database)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn(d)
}

func (d *database) owe(ids ...int64) {
	d.set(func(d *database) {
		for _, id := range ids {
			d.records[id] = &record{due: message.MarkDue{MsgID: id, EnqueuedAt: time.Now()}}
		}
	})
}

func (d *database) DueMarks(_ context.Context, now time.Time, r time.Duration, limit int) ([]message.MarkDue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scans++
	var due []message.MarkDue
	for _, rec := range d.records {
		if rec.done == "" && (!rec.next.After(now) || rec.due.EnqueuedAt.Before(now.Add(-r))) {
			due = append(due, rec.due)
		}
	}
	slices.SortFunc(due, func(a, b message.MarkDue) int {
		if a.Attempts != b.Attempts {
			return a.Attempts - b.Attempts
		}
		return int(a.MsgID - b.MsgID)
	})
	return due[:min(limit, len(due))], d.err
}

func (d *database) Paused(context.Context) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return map[string]bool{backfill.Stage: d.paused}, d.err
}

func (d *database) HoldMarks(ctx context.Context, ids []int64, mark func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error)) error {
	d.mu.Lock()
	var held []message.MarkDue
	for _, id := range ids {
		if !d.records[id].locked {
			held = append(held, d.records[id].due)
		}
	}
	d.mu.Unlock()
	outcomes, err := mark(ctx, held)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := errors.Join(err, d.holdErr); err != nil {
		return err
	}
	for _, o := range outcomes {
		rec := d.records[o.MsgID]
		switch {
		case o.Confirmed:
			rec.done = "confirmed"
		case o.AbandonReason != "":
			rec.done = o.AbandonReason
		default:
			rec.due.Attempts++
			rec.due.FirstFailedAt, rec.next = o.FirstFailedAt, o.NextAt
		}
	}
	return nil
}

// post is a mailbox in memory.
type post struct {
	mu     sync.Mutex
	marked map[int64]bool // false: there without a mark
	bad    map[int64]error
	slow   map[int64]time.Duration // a bad row that takes its time
	err    error
	calls  [][]int64
}

func (m *post) set(fn func(*post)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn(m)
}

func (m *post) MarkAll(ctx context.Context, ids []int64, _ time.Time) (map[int64]message.MarkResult, error) {
	m.mu.Lock()
	m.calls = append(m.calls, slices.Clone(ids))
	err := m.err
	var slow time.Duration
	for _, id := range ids {
		if err == nil {
			err = m.bad[id]
		}
		slow = max(slow, m.slow[id])
	}
	m.mu.Unlock()
	if clock.Sleep(ctx, clock.System{}, slow) != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	results := map[int64]message.MarkResult{}
	for _, id := range ids {
		switch marked, exists := m.marked[id]; {
		case !exists:
			results[id] = message.MarkMissing
		case marked:
			results[id] = message.MarkAlready
		default:
			m.marked[id] = true
			results[id] = message.MarkWritten
		}
	}
	return results, nil
}

type bench struct {
	*testing.T
	mailbox  *post
	store    *database
	options  backfill.Options
	log      *bytes.Buffer
	registry *prometheus.Registry
	stage    *backfill.Backfill
}

func in(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(&bench{
			T: t, mailbox: &post{marked: map[int64]bool{}, bad: map[int64]error{}, slow: map[int64]time.Duration{}},
			store: &database{records: map[int64]*record{}}, log: &bytes.Buffer{}, registry: prometheus.NewRegistry(),
			options: backfill.Options{Batch: 3, Interval: 10 * time.Second, Policy: backfill.Policy{R: time.Hour}},
		})
	})
}

// owe makes messages that are finished and rows that have no mark yet.
func (b *bench) owe(ids ...int64) {
	b.store.owe(ids...)
	b.mailbox.set(func(m *post) {
		for _, id := range ids {
			m.marked[id] = false
		}
	})
}

func (b *bench) start() (stop func() error) {
	b.Helper()
	made, err := backfill.New(backfill.Needs{
		Mailbox: b.mailbox, Store: b.store, Writer: b.store, Clock: clock.System{}, Registry: b.registry,
		Log: slog.New(slog.NewTextHandler(b.log, nil)),
	}, b.options)
	if err != nil {
		b.Fatal(err)
	}
	b.stage = made
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	synctest.Wait()
	return func() error { cancel(); return <-done }
}

func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) ends(stop func() error, want error) {
	b.Helper()
	if err := stop(); !errors.Is(err, want) {
		b.Errorf("Run: %v, want %v", err, want)
	}
}

// is compares what became of every mark: "" owed, "confirmed", or a reason.
func (b *bench) is(what string, want map[int64]string) {
	b.Helper()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	got := map[int64]string{}
	for id, rec := range b.store.records {
		got[id] = rec.done
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bench) attempts(want map[int64]int) {
	b.Helper()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	got := map[int64]int{}
	for id, rec := range b.store.records {
		got[id] = rec.due.Attempts
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func (b *bench) called(want ...[]int64) {
	b.Helper()
	b.mailbox.mu.Lock()
	defer b.mailbox.mu.Unlock()
	if diff := cmp.Diff(want, b.mailbox.calls, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("calls of the mailbox (-want +got):\n%s", diff)
	}
	b.mailbox.calls = nil
}

func (b *bench) logged(text string, times int) {
	b.Helper()
	if got := strings.Count(b.log.String(), text); got != times {
		b.Errorf("%q was logged %d times, want %d; the log:\n%s", text, got, times, b.log)
	}
}

// metric compares the sum over the labels that hold the given value.
func (b *bench) metric(name, label string, want float64) {
	b.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	got := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || m.GetLabel()[0].GetValue() == label {
				got += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	if got != want {
		b.Errorf("%s %s is %v, want %v", name, label, got, want)
	}
}
