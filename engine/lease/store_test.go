package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/lease"
	"msgx/engine/message"
	"msgx/engine/store"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

// TestTakeoverOnPostgres: one of two instances on a real database is cut off as
// by kill -9; the other leads within the lease and a second, the first one's
// writes are fenced, and a clean stop hands over without waiting for the lease.
func TestTakeoverOnPostgres(t *testing.T) {
	const term = 2 * time.Second
	url := stacktest.Postgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := store.Migrate(ctx, url); err != nil {
		t.Fatal(err)
	}
	type leader struct {
		name  string
		epoch int64
		at    time.Time
	}
	led := make(chan leader, 10)
	begin := func(name string) (s *store.Store, l *lease.Lease, stop context.CancelFunc, done chan error) {
		cat, err := schemas.Load()
		if err != nil {
			t.Fatal(err)
		}
		s, err = store.Open(ctx, store.Config{URL: url, StatementTimeout: time.Second, IdleInTxTimeout: time.Second}, cat, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		l = lease.New(s, lease.Options{Holder: name, Lease: term})
		runCtx, stop := context.WithCancel(ctx)
		done = make(chan error, 1)
		go func() {
			done <- l.Run(runCtx, func(ctx context.Context, epoch int64) error {
				led <- leader{name, epoch, clock.System{}.Now()}
				<-ctx.Done()
				return nil
			})
		}()
		return s, l, stop, done
	}
	next := func(within time.Duration) leader {
		t.Helper()
		timer := clock.System{}.NewTimer(within)
		defer timer.Stop()
		select {
		case l := <-led:
			return l
		case <-timer.C():
			t.Fatalf("nobody leads within %v", within)
		}
		return leader{}
	}

	sa, la, stopA, doneA := begin("a")
	first := next(5 * time.Second)
	if !la.Valid() {
		t.Errorf("a leads and says %v", la.Held())
	}
	sb, _, stopB, doneB := begin("b")
	// Longer than the lease: b would lead by now if beats did not hold it off.
	if clock.Sleep(ctx, clock.System{}, term+term/2) != nil || len(led) != 0 {
		t.Fatal("a second leader beside a living one")
	}

	killed := clock.System{}.Now()
	sa.Close() // neither beats nor a release get through
	second := next(term + time.Second)
	if second.name != "b" || second.epoch != first.epoch+1 {
		t.Errorf("%+v leads, want b in epoch %d", second, first.epoch+1)
	}
	t.Logf("takeover %v after the kill, lease %v", second.at.Sub(killed), term)
	if la.Valid() {
		t.Error("a still believes that it leads")
	}
	stale := decision.Settlement{MsgID: 1, Outcome: message.Outcome{State: message.Dead, Class: message.Malformed}, At: killed}
	if err := sb.Writer(first.epoch).Settle(ctx, stale); !errors.Is(err, fault.ErrFenced) {
		t.Errorf("a write of the old epoch: %v, want ErrFenced", err)
	}
	stopA()
	if err := <-doneA; err != nil {
		t.Errorf("Run of a = %v", err)
	}

	_, _, stopC, doneC := begin("c")
	stopped := clock.System{}.Now()
	stopB()
	third := next(term + time.Second)
	if took := third.at.Sub(stopped); third.name != "c" || took > term/2 {
		t.Errorf("%s leads %v after a clean stop, want c well within the lease", third.name, took)
	}
	if err := <-doneB; err != nil {
		t.Errorf("Run of b = %v", err)
	}
	stopC()
	<-doneC
}
