package backfill_test

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

	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/fault"
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

func TestBatchesFollowAtOnceAndAPokeGathers(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2, 3, 4, 5, 6, 7)
		stop := b.start()
		b.called([]int64{1, 2, 3}, []int64{4, 5, 6}, []int64{7})
		b.owe(8)
		b.pass(5 * time.Second)
		b.called()
		b.stage.Poke()
		b.owe(9) // within the gathering time
		b.pass(200 * time.Millisecond)
		b.called([]int64{8, 9})
		b.metric("msgx_backfill_marks_total", "WRITTEN", 9)
		b.owe(10)
		b.pass(11 * time.Second)
		b.called([]int64{10})
		b.ends(stop, nil)
	})
}

func TestFourResults(t *testing.T) {
	in(t, func(b *bench) {
		b.options.Batch = 10
		b.owe(1, 2, 3)
		b.mailbox.marked[2] = true
		delete(b.mailbox.marked, 3)
		stop := b.start()
		b.is("at once", map[int64]string{1: "confirmed", 2: "confirmed", 3: message.AbandonMissingRow})
		b.logged("a mark is given up", 1)
		b.metric("msgx_backfill_abandoned_total", message.AbandonMissingRow, 1)
		b.ends(stop, nil)
	})
}

func TestOneBadRowDoesNotHoldTheOthers(t *testing.T) {
	in(t, func(b *bench) {
		b.options.AlarmAttempts = 5
		b.owe(1, 2, 3, 4)
		b.mailbox.bad[2] = errors.New("lock wait timeout")
		stop := b.start()
		b.called([]int64{1, 2, 3}, []int64{1}, []int64{2}, []int64{3}, []int64{4})
		b.is("the others", map[int64]string{1: "confirmed", 2: "", 3: "confirmed", 4: "confirmed"})
		b.attempts(map[int64]int{1: 0, 2: 1, 3: 0, 4: 0})
		b.pass(30 * time.Minute)
		b.is("before R", map[int64]string{1: "confirmed", 2: "", 3: "confirmed", 4: "confirmed"})
		b.metric("msgx_backfill_attempts_alarms_total", "", 1)
		b.pass(40 * time.Minute)
		b.is("after R", map[int64]string{1: "confirmed", 2: message.AbandonTransientDeadline, 3: "confirmed", 4: "confirmed"})
		b.logged("a mark could not be written", 1)
		b.logged("the mailbox fails", 0)
		b.ends(stop, nil)
	})
}

func TestAnOutageCostsABatchAnAttemptPerRound(t *testing.T) {
	in(t, func(b *bench) {
		b.options.Batch = 2
		b.options.Waits = []time.Duration{time.Minute}
		b.owe(1, 2, 3)
		b.mailbox.err = fmt.Errorf("mark: %w", fault.ErrUnavailable)
		stop := b.start()
		b.called([]int64{1, 2})
		b.attempts(map[int64]int{1: 1, 2: 1, 3: 0})
		b.stage.Poke()
		b.pass(30 * time.Second) // a poke does not shorten a back-off
		b.called()
		b.pass(31 * time.Second)
		b.called([]int64{3, 1})
		b.attempts(map[int64]int{1: 2, 2: 1, 3: 1})
		b.metric("msgx_backfill_mailbox_up", "", 0)
		b.mailbox.set(func(m *post) { m.err = nil })
		b.pass(5 * time.Minute)
		b.is("back", map[int64]string{1: "confirmed", 2: "confirmed", 3: "confirmed"})
		b.logged("the mailbox fails", 1)
		b.logged("the mailbox is back", 1)
		b.logged("a mark could not be written", 0)
		b.metric("msgx_backfill_mailbox_up", "", 1)
		b.ends(stop, nil)
	})
}

func TestAnOutageOfRGivesUpAfterALastAttempt(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1)
		b.mailbox.err = fmt.Errorf("mark: %w", fault.ErrUnavailable)
		stop := b.start()
		b.pass(59 * time.Minute)
		b.is("before R", map[int64]string{1: ""})
		b.pass(2 * time.Minute)
		b.is("after R", map[int64]string{1: message.AbandonTransientDeadline})
		b.logged("a mark is given up", 1)
		b.ends(stop, nil)
	})
}

// A database that has been down for long finds rows enqueued long before R: they are
// tried, not given up, and a full batch of failing ones does not spin.
func TestOldRowsAreTriedEveryRoundWithoutSpinning(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2, 3)
		for _, rec := range b.store.records {
			rec.due.EnqueuedAt = time.Now().Add(-100 * time.Hour)
		}
		for id := range b.mailbox.marked {
			b.mailbox.bad[id] = errors.New("refused")
		}
		stop := b.start()
		b.pass(25 * time.Second)
		if scans := b.store.scans; scans < 3 || scans > 6 {
			b.Errorf("%d scans in 25 s, want one per back-off step", scans)
		}
		b.is("still owed", map[int64]string{1: "", 2: "", 3: ""})
		b.ends(stop, nil)
	})
}

func TestTheHoldIsBounded(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2, 3)
		b.options.HoldLimit = 4 * time.Second
		for _, id := range []int64{1, 2} {
			b.mailbox.bad[id] = errors.New("lock wait timeout")
			b.mailbox.slow[id] = 1900 * time.Millisecond
		}
		stop := b.start()
		b.pass(4 * time.Second)
		// The batch and row 1 took 3.8 s, row 2 ran out of time, row 3 had no turn.
		b.called([]int64{1, 2, 3}, []int64{1}, []int64{2})
		b.attempts(map[int64]int{1: 1, 2: 0, 3: 0})
		b.pass(time.Minute)
		b.is("row 3 had its turn", map[int64]string{1: "", 2: "", 3: "confirmed"})
		b.ends(stop, nil)
	})
}

func TestAMailboxThatDoesNotAnswerIsAway(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2)
		b.mailbox.slow[1] = time.Hour
		stop := b.start()
		b.pass(5 * time.Second)
		b.attempts(map[int64]int{1: 1, 2: 1})
		b.logged("the mailbox fails", 1)
		b.ends(stop, nil)
	})
}

func TestShutdownInARoundStoresNothing(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2)
		b.mailbox.slow[1] = 2 * time.Second
		b.ends(b.start(), nil)
		b.attempts(map[int64]int{1: 0, 2: 0})
	})
}

func TestALostReplyIsConfirmedNextTime(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1)
		b.store.holdErr = fmt.Errorf("hold: %w", fault.ErrCommitInDoubt)
		stop := b.start()
		b.is("not stored", map[int64]string{1: ""})
		b.metric("msgx_backfill_marks_total", "", 0)
		b.store.set(func(d *database) { d.holdErr = nil })
		b.pass(time.Minute)
		b.is("found to be there", map[int64]string{1: "confirmed"})
		b.metric("msgx_backfill_marks_total", "ALREADY_MARKED", 1)
		b.logged("the database fails", 1)
		b.logged("the database is back", 1)
		b.ends(stop, nil)
	})
}

func TestALostLeaseEndsTheRun(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1)
		b.store.holdErr = fmt.Errorf("hold: %w", fault.ErrFenced)
		b.ends(b.start(), fault.ErrFenced)
	})
}

func TestRowsThatSomebodyElseHoldsAreLeftAlone(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1, 2, 3)
		for _, rec := range b.store.records {
			rec.locked = true
		}
		stop := b.start()
		b.called()
		b.store.set(func(d *database) { d.records[2].locked = false })
		b.pass(11 * time.Second)
		b.called([]int64{2})
		b.ends(stop, nil)
	})
}

func TestPausedAndShadow(t *testing.T) {
	in(t, func(b *bench) {
		b.owe(1)
		b.options.Shadow = true
		stop := b.start()
		b.pass(time.Hour)
		if b.store.scans != 0 {
			b.Errorf("%d scans in shadow mode", b.store.scans)
		}
		b.ends(stop, nil)
		b.options.Shadow, b.store.paused = false, true
		stop = b.start() // with the collectors of the first run
		b.pass(time.Hour)
		b.called()
		b.metric("msgx_backfill_paused", "", 1)
		b.store.set(func(d *database) { d.paused = false })
		b.pass(11 * time.Second)
		b.is("resumed", map[int64]string{1: "confirmed"})
		b.metric("msgx_backfill_paused", "", 0)
		b.ends(stop, nil)
	})
}
