package backfill_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"msgx/engine/fault"
	"msgx/engine/message"
)

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
		b.logged(`server is away, waiting for it" stage=backfill server=mailbox`, 0)
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
		b.logged(`server is away, waiting for it" stage=backfill server=mailbox`, 1)
		b.logged(`server is back" stage=backfill server=mailbox`, 1)
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
		b.logged(`server is away, waiting for it" stage=backfill server=mailbox`, 1)
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
		b.logged(`server is away, waiting for it" stage=backfill server=postgres`, 1)
		b.logged(`server is back" stage=backfill server=postgres`, 1)
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
