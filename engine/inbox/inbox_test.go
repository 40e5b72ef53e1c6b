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
}

func (d *database) set(fn func(*database)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn(d)
}

func (d *database) Cursor(context.Context) (watermark.Cursor, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cursor == nil {
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

func (d *database) Paused(context.Context) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return map[string]bool{inbox.Stage: d.paused}, d.err
}

func (d *database) Seed(_ context.Context, mark int64, how string, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cursor != nil {
		return fmt.Errorf("%w: seeded already", fault.ErrRefused)
	}
	d.seeds = append(d.seeds, fmt.Sprintf("%s %d", how, mark))
	d.cursor = &watermark.Cursor{Watermark: mark, SeededAt: at}
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

func TestFullBatchesFollowAtOnce(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 2, 3, 4, 5, 6, 7, 8)
		stop := b.start()
		b.store.check(b.T, "without time passing", 1, 2, 3, 4, 5, 6, 7, 8)
		b.mailbox.put(9)
		b.pass(900 * time.Millisecond)
		b.store.check(b.T, "before the next poll", 1, 2, 3, 4, 5, 6, 7, 8)
		b.pass(200 * time.Millisecond)
		b.store.check(b.T, "after it", 1, 2, 3, 4, 5, 6, 7, 8, 9)
		b.mailbox.put(10)
		b.inbox.Poke()
		synctest.Wait()
		b.store.check(b.T, "poked", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		b.metric("msgx_inbox_rows_enqueued_total", 10)
		b.metric("msgx_inbox_watermark_id", 10)
		b.metric("msgx_inbox_highest_id", 10)
		b.metric("msgx_inbox_mailbox_up", 1)
		b.ends(stop, nil)
	})
}

func TestAHoleHoldsBackAndIsReleasedOverARestart(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 2, 4, 5, 7)
		stop := b.start()
		b.store.check(b.T, "missing 3", 1, 2)
		b.pass(5 * time.Second)
		b.metric("msgx_inbox_hole_age_seconds", 5)
		b.ends(stop, nil)
		stop = b.start() // with the collectors of the first run
		b.pass(4 * time.Second)
		b.store.check(b.T, "9 s", 1, 2)
		b.pass(2 * time.Second)
		b.store.check(b.T, "11 s: 3 is released, 6 begins its own age", 1, 2, 4, 5)
		b.metric("msgx_inbox_permanent_holes_total", 1)
		b.mailbox.put(6)
		b.pass(time.Second)
		b.store.check(b.T, "6 turned up", 1, 2, 4, 5, 6, 7)
		b.metric("msgx_inbox_hole_age_seconds", 0)
		b.metric("msgx_inbox_permanent_holes_total", 1)
		var outcomes []string
		for _, h := range b.store.ledger {
			outcomes = append(outcomes, fmt.Sprintf("%d-%d %s", h.First, h.Last, h.Outcome))
		}
		if diff := cmp.Diff([]string{"3-3 aged", "6-6 filled"}, outcomes); diff != "" {
			b.Errorf("ledger (-want +got):\n%s", diff)
		}
		b.logged("permanent hole", 1)
		b.ends(stop, nil)
	})
}

func TestAMailboxThatIsAway(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 3)
		stop := b.start()
		gone := fmt.Errorf("read: %w", fault.ErrUnavailable)
		b.mailbox.set(func(m *table) { m.err, m.reads = gone, 0 })
		before := *b.store.cursor
		b.pass(time.Hour)
		if diff := cmp.Diff(before, *b.store.cursor); diff != "" {
			b.Errorf("the cursor moved (-want +got):\n%s", diff)
		}
		if b.mailbox.reads < 100 || b.mailbox.reads > 130 {
			b.Errorf("%d reads in an hour, want about one in 30 s", b.mailbox.reads)
		}
		b.metric("msgx_inbox_mailbox_up", 0)
		b.mailbox.set(func(m *table) { m.err = nil; m.rows = []int64{1, 2, 3} })
		b.pass(time.Minute)
		b.store.check(b.T, "back", 1, 2, 3)
		b.logged("the mailbox fails", 1)
		b.logged("the mailbox is back", 1)
		b.metric("msgx_inbox_mailbox_up", 1)
		b.ends(stop, nil)
	})
}

func TestADatabaseThatIsAwayOrLosesItsReply(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 2)
		b.store.writeErr = fmt.Errorf("advance: %w", fault.ErrUnavailable)
		stop := b.start()
		b.pass(10 * time.Minute)
		b.store.check(b.T, "no write")
		b.logged("the database fails", 1)
		b.store.set(func(d *database) { d.writeErr, d.lostErr = nil, fmt.Errorf("advance: %w", fault.ErrCommitInDoubt) })
		b.pass(time.Minute)
		b.store.set(func(d *database) { d.lostErr = nil })
		b.mailbox.put(3)
		b.pass(time.Minute)
		b.store.check(b.T, "after the lost reply", 1, 2, 3)
		b.ends(stop, nil)
	})
}

func TestACursorThatSomebodyMovedIsReadAgain(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1)
		stop := b.start()
		b.store.set(func(d *database) { d.cursor = &watermark.Cursor{Watermark: 5} })
		b.mailbox.put(2, 6)
		b.pass(time.Minute)
		b.store.check(b.T, "goes on from where it is", 1, 6)
		b.ends(stop, nil)
	})
}

// Our database keeps microseconds: what it cuts off must not make a hole older.
func TestAHoleIsNotAgedEarlyByRounding(t *testing.T) {
	in(t, func(b *bench) {
		b.options.MaxCommitDelay = 10*time.Second + 500*time.Nanosecond
		b.mailbox.put(1, 3)
		b.pass(999 * time.Nanosecond)
		b.ends(b.start(), nil)
		stop := b.start()
		b.pass(10*time.Second + time.Nanosecond)
		b.store.check(b.T, "at the age of 10 s", 1)
		b.pass(time.Second)
		b.store.check(b.T, "at the age of 11 s", 1, 3)
		b.ends(stop, nil)
	})
}

func TestALostLeaseEndsTheRun(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1)
		b.store.writeErr = fmt.Errorf("advance: %w", fault.ErrFenced)
		b.ends(b.start(), fault.ErrFenced)
		b.logged("fails", 0)
	})
}

func TestPausing(t *testing.T) {
	in(t, func(b *bench) {
		b.store.paused = true
		b.mailbox.put(1)
		stop := b.start()
		b.pass(time.Minute)
		b.store.check(b.T, "paused")
		if b.mailbox.reads != 0 {
			b.Errorf("the mailbox was read %d times while paused", b.mailbox.reads)
		}
		b.metric("msgx_inbox_paused", 1)
		b.store.set(func(d *database) { d.paused = false; d.cursor = &watermark.Cursor{Watermark: 1} }) // moved by an operator
		b.mailbox.put(2)
		b.pass(2 * time.Second)
		b.store.check(b.T, "resumed", 2)
		b.metric("msgx_inbox_paused", 0)
		b.ends(stop, nil)
	})
}

func TestIDsInUseAgainStopTheInbox(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 2, 3)
		stop := b.start()
		b.mailbox.set(func(m *table) { m.rows, m.next = nil, 4 }) // a purge is normal
		b.pass(time.Minute)
		b.metric("msgx_inbox_ids_reused", 0)
		b.mailbox.set(func(m *table) { m.next = 3 })
		b.pass(time.Minute)
		b.metric("msgx_inbox_ids_reused", 1)
		b.logged("hands out ids again", 1)
		b.mailbox.put(3, 4, 5) // even when they have grown past the watermark again
		b.pass(time.Minute)
		b.store.check(b.T, "stopped", 1, 2, 3)
		b.mailbox.set(func(m *table) { m.rows, m.next = []int64{10}, 11 })
		b.store.set(func(d *database) { d.paused = true })
		b.pass(2 * time.Second)
		b.store.set(func(d *database) { d.paused = false; d.cursor = &watermark.Cursor{Watermark: 9} })
		b.pass(2 * time.Second)
		b.store.check(b.T, "mended and resumed", 1, 2, 3, 10)
		b.metric("msgx_inbox_ids_reused", 0)
		b.ends(stop, nil)
	})
}

func TestLateRowsAreRecordedOnceAndNotEnqueued(t *testing.T) {
	in(t, func(b *bench) {
		b.mailbox.put(1, 9)
		b.options.LateWindow = time.Hour
		stop := b.start()
		b.pass(30 * time.Second)
		b.store.check(b.T, "released", 1, 9)
		b.mailbox.put(3, 4, 5, 7)
		b.pass(10 * time.Minute)
		b.store.check(b.T, "late rows stay out", 1, 9)
		if diff := cmp.Diff([]int64{3, 4, 5, 7}, b.store.late); diff != "" {
			b.Errorf("late (-want +got):\n%s", diff)
		}
		b.metric("msgx_inbox_late_rows_total", 4)
		b.logged("later than the promised commit delay", 4)
		b.pass(time.Hour)
		b.mailbox.put(6)
		b.pass(time.Hour)
		b.metric("msgx_inbox_late_rows_total", 4) // the window is over
		b.ends(stop, nil)
	})
}

func TestSeeding(t *testing.T) {
	cases := map[string]struct {
		cutover string
		rows    []int64
		next    int64
		seed    string
		want    []int64
		refused string
	}{
		"not configured":      {rows: []int64{1}, refused: "set msgx.pipeline.cutover-watermark to min"},
		"rubbish":             {cutover: "first", refused: `is "first", expected min, zero, max or an id`},
		"min":                 {cutover: "min", rows: []int64{7, 8, 9}, seed: "min 6", want: []int64{7, 8, 9}},
		"min of nothing":      {cutover: "min", next: 5, seed: "min 0"},
		"zero waits as usual": {cutover: "zero", rows: []int64{7, 8}, seed: "zero 0"},
		"max":                 {cutover: "max", rows: []int64{7, 8}, seed: "max 8"},
		"max of nothing":      {cutover: "max", next: 5, seed: "max 0"},
		"an id":               {cutover: "7", rows: []int64{6, 7, 8}, seed: "7 7", want: []int64{8}},
		"an id beyond":        {cutover: "9", rows: []int64{7, 8}, refused: "less than the next id of the mailbox, 9"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in(t, func(b *bench) {
				b.store.cursor, b.options.Cutover = nil, c.cutover
				if len(c.rows) > 0 {
					b.mailbox.put(c.rows...)
				}
				b.mailbox.next = max(b.mailbox.next, c.next)
				err := b.start()()
				if c.refused != "" {
					if !errors.Is(err, fault.ErrRefused) || !strings.Contains(err.Error(), c.refused) {
						b.Errorf("Run: %v, want a refusal with %q", err, c.refused)
					}
					return
				}
				if err != nil {
					b.Errorf("Run: %v", err)
				}
				if diff := cmp.Diff([]string{c.seed}, b.store.seeds); diff != "" {
					b.Errorf("seeds (-want +got):\n%s", diff)
				}
				b.store.check(b.T, "after seeding", c.want...)
			})
		})
	}
}

func TestRowsBelowASeedThatTurnUpLater(t *testing.T) {
	in(t, func(b *bench) {
		b.store.cursor, b.options.Cutover = nil, "max"
		b.mailbox.put(95, 97, 100)
		b.mailbox.err = fault.ErrUnavailable // is waited for
		stop := b.start()
		b.mailbox.set(func(m *table) { m.err = nil })
		b.pass(3 * time.Second)
		b.mailbox.put(98, 101) // 98 was not committed yet when the seed was taken
		b.pass(2 * time.Minute)
		b.store.check(b.T, "seeded", 101)
		if diff := cmp.Diff([]int64{98}, b.store.late); diff != "" {
			b.Errorf("late (-want +got):\n%s", diff)
		}
		b.ends(stop, nil)
	})
}

func TestACommitDelayHasToBeGiven(t *testing.T) {
	if _, err := inbox.New(inbox.Needs{}, inbox.Options{}); err == nil || !strings.Contains(err.Error(), "msgx.pipeline.max-commit-delay") {
		t.Errorf("New: %v, want it to ask for the commit delay", err)
	}
}
