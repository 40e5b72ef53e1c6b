package pump_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"msgx/engine/message"
	"msgx/engine/pump"
)

func TestPauseTakesEffectBetweenMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripts := map[int64]script{}
		for id := range int64(5000) {
			scripts[id+1] = script{fates: []fate{succeed}}
		}
		m := newModel(5000, scripts)
		r := start(t, m, pump.Options{})
		after(500 * time.Millisecond)
		m.do(func() { m.paused = now() })
		after(time.Minute)
		done := len(r.order)
		if done == 0 || done == 5000 {
			t.Fatalf("decided %d of 5000, want some when paused", done)
		}
		m.do(func() { m.paused = time.Time{} })
		after(time.Minute)
		if len(r.order) != 5000 || !slices.IsSorted(r.order) {
			t.Errorf("decided %d of 5000 after resuming, sorted %v", len(r.order), slices.IsSorted(r.order))
		}
		text := r.log.String()
		if strings.Count(text, "pump paused") != 1 || strings.Count(text, "pump resumed") != 1 {
			t.Error("want one line when paused and one when resumed")
		}
		r.check(t, func() map[int64]row {
			want := map[int64]row{}
			for id := range scripts {
				want[id] = succeeded
			}
			return want
		}())
		r.stop()
	})
}

func TestShutdownBeforeTheDecisionRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1, map[int64]script{1: {fates: []fate{succeed}}})
		r := start(t, m, pump.Options{})
		after(1500 * time.Microsecond) // the body is read; locks are being taken
		err := r.stop()
		if err != nil || len(m.order) != 0 || m.calls["decide"] != 0 {
			t.Errorf("Run = %v, committed %v, transactions that were decided %d; want nil and none", err, m.order, m.calls["decide"])
		}
		r.check(t, map[int64]row{1: {State: message.Pending}})
	})
}

func TestShutdownDuringCommit(t *testing.T) {
	tests := []struct {
		name    string
		commits time.Duration
		want    row
		within  time.Duration
	}{
		{"ends within the grace", 4 * time.Second, succeeded, 4 * time.Second},
		{"does not end", time.Hour, row{State: message.Pending}, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(1, map[int64]script{1: {fates: []fate{succeed}}})
				m.commitTime = tt.commits
				r := start(t, m, pump.Options{Grace: 5 * time.Second})
				after(3 * time.Millisecond)
				began := now()
				if err := r.stop(); err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
				if took := now().Sub(began); took > tt.within {
					t.Errorf("shutdown took %v, want at most %v", took, tt.within)
				}
				m.commitTime = 0
				r.check(t, map[int64]row{1: tt.want})
			})
		})
	}
}

func TestReplayedMessageBecomesTheHeadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripts := map[int64]script{}
		for id := range int64(100) {
			scripts[id+1] = script{fates: []fate{succeed}}
		}
		m := newModel(100, scripts)
		n := 0
		m.onJudged = func() {
			if n++; n == 50 {
				m.rows[3].State, m.rows[3].applied = message.Pending, 0
			}
		}
		r := start(t, m, pump.Options{})
		after(5 * time.Second)
		if len(r.order) != 101 || r.order[50] != 3 {
			t.Errorf("order %v, want 3 again right after the 50th", r.order)
		}
		r.stop()
	})
}

func TestBodiesReadAheadAreBounded(t *testing.T) {
	const size, budget = 1000, 10_000
	tests := []struct {
		name  string
		bytes int64
		ahead int
		most  int // decoded before the first is decided
	}{
		{"by bytes", budget, 1000, budget / size},
		{"by count", 1 << 30, 8, 8},
		{"a message larger than the budget passes alone", size / 2, 1000, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scripts := map[int64]script{}
				want := map[int64]row{}
				for id := range int64(50) {
					scripts[id+1], want[id+1] = script{fates: []fate{succeed}}, succeeded
				}
				m := newModel(50, scripts)
				m.bodySize = size
				m.commitTime = time.Minute
				r := start(t, m, pump.Options{Ahead: tt.ahead, AheadBytes: tt.bytes})
				after(30 * time.Second)
				if n := m.decodes(); n < 1 || n > tt.most {
					t.Errorf("decoded %d before the first was decided, want 1 to %d", n, tt.most)
				}
				after(time.Hour)
				r.check(t, want)
				r.stop()
			})
		})
	}
}

func TestLargeBodyWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripts := map[int64]script{}
		for id := range int64(8) {
			scripts[id+1] = script{fates: []fate{succeed}}
		}
		m := newModel(8, scripts)
		m.bodySize, m.bodySizes = 1000, map[int64]int{5: 20_000}
		m.commitTime = time.Minute
		r := start(t, m, pump.Options{AheadBytes: 10_000})
		after(30 * time.Second)
		if n := m.decodes(); n != 4 {
			t.Errorf("decoded %d before the first was decided, want the 4 before the large one", n)
		}
		after(time.Hour)
		if len(m.order) != 8 {
			t.Errorf("decided %v, want all 8", m.order)
		}
		r.stop()
	})
}

// The count of failures is the one that the transaction reads: an operator may
// have started the message afresh since it was read ahead.
func TestAttemptsAreThoseOfTheTransaction(t *testing.T) {
	for _, f := range []fate{ruleError, infra} {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(1, map[int64]script{1: {fates: []fate{f}}})
			*m.rows[1] = row{State: message.Failed, Attempts: 3}
			m.onClaim = func() { *m.rows[1] = row{State: message.Pending} }
			r := start(t, m, pump.Options{})
			after(100 * time.Millisecond)
			if got := r.snapshot()[1]; got.State != message.Failed || got.Attempts != 1 {
				t.Errorf("%s: %+v, want FAILED after 1 attempt", f, got)
			}
			r.stop()
		})
	}
}

func TestShutdownWhileTheJudgeWorksRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1, map[int64]script{1: {fates: []fate{succeed}}})
		cancel := make(chan context.CancelFunc, 1)
		m.onJudging = func() { (<-cancel)(); synctest.Wait() }
		r := start(t, m, pump.Options{})
		cancel <- r.cancel
		if err := <-r.done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if m.calls["decide"] != 1 {
			t.Errorf("decided %d times, want once", m.calls["decide"])
		}
		r.check(t, map[int64]row{1: {State: message.Pending}})
	})
}

func TestStoreThatKeepsRefusingIsNotAskedInATightLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1, map[int64]script{1: {fates: []fate{succeed}, hiccups: slices.Repeat([]hiccup{moved}, 1_000)}})
		r := start(t, m, pump.Options{})
		after(10 * time.Second)
		if n := m.calls["decide"]; n < 10 || n > 50 {
			t.Errorf("asked %d times in 10 s, want about 4 a second", n)
		}
		r.stop()
	})
}

// A retry must find its own identity, or it would be its own duplicate.
func TestFailureBindsTheIdentity(t *testing.T) {
	for f, want := range map[fate]string{infra: "id|1", ruleError: "id|1", judgePanic: "id|1", codecError: ""} {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(1, map[int64]script{1: {fates: []fate{f}}})
			r := start(t, m, pump.Options{})
			after(100 * time.Millisecond)
			if got := r.snapshot()[1]; got.identity != want || got.State != message.Failed {
				t.Errorf("%s: %s with identity %q, want FAILED with %q", f, got.State, got.identity, want)
			}
			r.stop()
		})
	}
}
