package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/fault"
	"msgx/engine/inbox"
	"msgx/engine/watermark"
)

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

func TestThePumpIsWokenByWhatIsEnqueuedOnly(t *testing.T) {
	in(t, func(b *bench) {
		woken := 0
		b.options.WakePump = func() { woken++ }
		b.mailbox.put(1, 2, 3, 4, 6)
		stop := b.start()
		if woken != 2 {
			b.Errorf("woken %d times by two batches, want 2", woken)
		}
		b.pass(5 * time.Second) // polls that find 6 waiting behind the hole
		if woken != 2 {
			b.Errorf("woken %d times after polls that enqueued nothing, want 2", woken)
		}
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
		b.logged(`server is away, waiting for it" stage=inbox server=mailbox`, 1)
		b.logged(`server is back" stage=inbox server=mailbox`, 1)
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
		b.logged(`server is away, waiting for it" stage=inbox server=postgres`, 1)
		b.store.set(func(d *database) { d.writeErr, d.lostErr = nil, fmt.Errorf("advance: %w", fault.ErrCommitInDoubt) })
		b.pass(time.Minute)
		b.store.set(func(d *database) { d.lostErr = nil })
		b.mailbox.put(3)
		b.pass(time.Minute)
		b.store.check(b.T, "after the lost reply", 1, 2, 3)
		b.ends(stop, nil)
	})
}

// A call that a stop or a lost lease broke off says nothing of the server.
func TestAStopIsNoOutage(t *testing.T) {
	in(t, func(b *bench) {
		stop := b.start()
		b.store.set(func(d *database) { d.hangs = true })
		b.pass(time.Minute)
		b.ends(stop, nil)
		b.logged("away", 0)
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

// The reply to a seed is lost while the database is still at it: the cursor is not there yet, and a second seed is refused.
func TestASeedWhoseReplyIsLost(t *testing.T) {
	in(t, func(b *bench) {
		b.store.cursor, b.options.Cutover = nil, "max"
		b.store.seedErr, b.store.blind = fmt.Errorf("seed: %w", fault.ErrCommitInDoubt), 2
		b.mailbox.put(95, 97, 100)
		stop := b.start()
		b.pass(3 * time.Second)
		b.mailbox.put(98, 101)
		b.pass(2 * time.Minute)
		b.store.check(b.T, "seeded once", 101)
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
