package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/inbox"
	"msgx/engine/watermark"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a mailbox in memory.
type table struct {
	mu    sync.Mutex
	rows  []int64
	next  int64
	err   error
	reads int
}

func (m *table) put(ids ...int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, ids...)
	slices.Sort(m.rows)
	m.next = max(m.next, m.rows[len(m.rows)-1]+1)
}

func (m *table) set(fn func(*table)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn(m)
}

func (m *table) After(_ context.Context, after int64, limit int) ([]watermark.Row, error) {
	m.mu.Lock()
	m.reads++
	m.mu.Unlock()
	return m.Existing(context.Background(), after+1, 1<<62, limit)
}

func (m *table) Existing(_ context.Context, first, last int64, limit int) ([]watermark.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []watermark.Row
	for _, id := range m.rows {
		if id >= first && id <= last && len(found) < limit {
			found = append(found, watermark.Row{MsgID: id})
		}
	}
	return found, m.err
}

func (m *table) Bounds(context.Context) (lowest, highest, next int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rows) > 0 {
		lowest, highest = m.rows[0], m.rows[len(m.rows)-1]
	}
	return lowest, highest, m.next, m.err
}

// database is our own database in memory. It keeps what the real one keeps.
type database struct {
	mu       sync.Mutex
	cursor   *watermark.Cursor
	seeds    []string
	enqueued []int64
	at       map[int64]time.Time
	ledger   []watermark.Hole
	late     []int64
	paused   bool
	err      error // of reads
	writeErr error // of Advance, which is then not done
	lostErr  error // of Advance, which is done all the same
	seedErr  error // of Seed, once, which is done all the same
	blind    int   // so many readings of the cursor see what was before
	hangs    bool  // reads what is paused for ever
}

func (d *database) set(fn func(*database)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn(d)
}

func (d *database) Cursor(context.Context) (watermark.Cursor, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blind--; d.cursor == nil || d.blind >= 0 {
		return watermark.Cursor{}, false, d.err
	}
	c := *d.cursor
	c.HoleSince = c.HoleSince.Truncate(time.Microsecond)
	return c, true, d.err
}

func (d *database) AgedHoles(_ context.Context, since time.Time) ([]watermark.Hole, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []watermark.Hole
	for _, h := range d.ledger {
		if h.Outcome == watermark.HoleAged && !h.At.Before(since) {
			found = append(found, h)
		}
	}
	return found, d.err
}

func (d *database) Paused(ctx context.Context) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return map[string]bool{inbox.Stage: d.paused}, d.err
}

func (d *database) Seed(_ context.Context, mark int64, how string, missing []watermark.Hole, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cursor != nil {
		return fmt.Errorf("%w: seeded already", fault.ErrRefused)
	}
	d.seeds = append(d.seeds, fmt.Sprintf("%s %d", how, mark))
	d.cursor = &watermark.Cursor{Watermark: mark, SeededAt: at}
	d.ledger = append(d.ledger, missing...)
	if d.seedErr != nil {
		err := d.seedErr
		d.seedErr = nil
		return err
	}
	return nil
}

func (d *database) Advance(_ context.Context, step watermark.Step, at time.Time) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writeErr != nil {
		return 0, d.writeErr
	}
	if step.Cursor.Watermark < d.cursor.Watermark {
		return 0, fmt.Errorf("advance: %w", fault.ErrMoved)
	}
	enqueued := 0
	for _, row := range step.Enqueue {
		if !slices.Contains(d.enqueued, row.MsgID) {
			d.enqueued = append(d.enqueued, row.MsgID)
			if d.at == nil {
				d.at = map[int64]time.Time{}
			}
			d.at[row.MsgID] = at
			enqueued++
		}
	}
	d.cursor = &step.Cursor
	for _, h := range step.Holes {
		d.ledger = slices.DeleteFunc(d.ledger, func(known watermark.Hole) bool {
			return known.First == h.First && known.Outcome == watermark.HoleOpen
		})
		d.ledger = append(d.ledger, h)
	}
	return enqueued, d.lostErr
}

func (d *database) RecordLate(_ context.Context, rows []watermark.Row, _ time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range rows {
		d.late = append(d.late, row.MsgID)
	}
	return nil
}

func (d *database) check(t *testing.T, what string, want ...int64) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.enqueued, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: enqueued (-want +got):\n%s", what, diff)
	}
}

// bench is an inbox with everything around it, in a bubble where time stands
// still while it works.
type bench struct {
	*testing.T
	mailbox  *table
	store    *database
	options  inbox.Options
	log      *bytes.Buffer
	registry *prometheus.Registry
	inbox    *inbox.Inbox
}

func in(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(&bench{
			T: t, mailbox: &table{next: 1}, store: &database{cursor: &watermark.Cursor{}}, log: &bytes.Buffer{}, registry: prometheus.NewRegistry(),
			options: inbox.Options{PollInterval: time.Second, ClaimBatch: 3, MaxCommitDelay: 10 * time.Second},
		})
	})
}

// start runs an inbox until the returned function is called, which returns Run's error.
func (b *bench) start() (stop func() error) {
	b.Helper()
	made, err := inbox.New(inbox.Needs{
		Mailbox: b.mailbox, Store: b.store, Writer: b.store, Clock: clock.System{}, Registry: b.registry,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}, b.options)
	if err != nil {
		b.Fatal(err)
	}
	b.inbox = made
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

func (b *bench) logged(text string, times int) {
	b.Helper()
	if got := strings.Count(b.log.String(), text); got != times {
		b.Errorf("%q was logged %d times, want %d; the log:\n%s", text, got, times, b.log)
	}
}

func (b *bench) metric(name string, want float64) {
	b.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			if got := m.GetCounter().GetValue() + m.GetGauge().GetValue(); got != want {
				b.Errorf("%s is %v, want %v", name, got, want)
			}
			return
		}
	}
	b.Errorf("there is no metric %s", name)
}

func (b *bench) ends(stop func() error, want error) {
	b.Helper()
	if err := stop(); !errors.Is(err, want) {
		b.Errorf("Run: %v, want %v", err, want)
	}
}
