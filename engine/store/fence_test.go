package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/ruleset"
	"msgx/engine/watermark"
)

func TestLeaseIsTakenOverOnlyWhenItMay(t *testing.T) {
	s, _ := fresh(t) // the lease is held under epoch 1 by the name of this test
	holder := t.Name()
	if _, ok, err := s.ClaimLease(t.Context(), "other", time.Hour); err != nil || ok {
		t.Fatalf("a living holder: ok %v, %v, want false", ok, err)
	}
	if err := s.BeatLease(t.Context(), 1, holder); err != nil {
		t.Fatalf("beat: %v", err)
	}
	for name, err := range map[string]error{
		"another's name":  s.BeatLease(t.Context(), 1, "other"),
		"another epoch":   s.BeatLease(t.Context(), 2, holder),
		"release another": s.ReleaseLease(t.Context(), 2, holder),
	} {
		if !errors.Is(err, fault.ErrFenced) {
			t.Errorf("%s: got %v, want ErrFenced", name, err)
		}
	}
	if err := s.ReleaseLease(t.Context(), 1, holder); err != nil {
		t.Fatalf("release: %v", err)
	}
	epoch, ok, err := s.ClaimLease(t.Context(), "other", time.Hour)
	if err != nil || !ok || epoch != 2 {
		t.Fatalf("a released lease: epoch %d, ok %v, %v, want 2", epoch, ok, err)
	}
	if err := s.BeatLease(t.Context(), 1, holder); !errors.Is(err, fault.ErrFenced) {
		t.Errorf("beat of the old epoch: got %v, want ErrFenced", err)
	}
	l, err := s.Lease(t.Context())
	if err != nil || l.Epoch != 2 || l.Holder != "other" || l.Released || l.BeatAge < 0 || l.BeatAge > time.Minute {
		t.Errorf("lease: got %+v, %v", l, err)
	}
}

func TestOneOfManyClaimsWins(t *testing.T) {
	s, w := fresh(t)
	if err := s.ReleaseLease(t.Context(), w.Epoch(), t.Name()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := map[string]int64{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			epoch, ok, err := s.ClaimLease(context.Background(), name, time.Hour)
			if err != nil {
				t.Errorf("claim by %s: %v", name, err)
			}
			if ok {
				mu.Lock()
				winners[name] = epoch
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Errorf("winners: got %v, want exactly one", winners)
	}
}

// A takeover waits for the write that is under way, and after it the old epoch writes nothing.
func TestTakeoverWaitsForTheWriteUnderWay(t *testing.T) {
	s, old := fresh(t)
	enqueue(t, old, 1, 2)
	claimed := make(chan *Writer, 1)
	err := old.Decide(t.Context(), decision.Claim{MsgID: 1}, func(decision.Claimed) (decision.Settlement, error) {
		go func() {
			epoch, ok, err := s.ClaimLease(context.Background(), "new", 0)
			if err != nil || !ok {
				t.Errorf("claim: ok %v, %v", ok, err)
			}
			claimed <- s.Writer(epoch)
		}()
		waitFor(t, s, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%instance_lease FOR UPDATE%'")
		select {
		case <-claimed:
			t.Error("the lease was taken over in the middle of a write")
		default:
		}
		return succeed(1), nil
	})
	if err != nil {
		t.Errorf("the write under way: %v", err)
	}
	newer := <-claimed
	err = old.Decide(t.Context(), decision.Claim{MsgID: 2}, func(decision.Claimed) (decision.Settlement, error) {
		t.Error("the old epoch was asked to judge")
		return succeed(2), nil
	})
	if !errors.Is(err, fault.ErrFenced) {
		t.Errorf("the old epoch: got %v, want ErrFenced", err)
	}
	decide(t, newer, succeed(2))
}

// waitFor waits until a condition in the database holds.
func waitFor(t *testing.T, s *Store, condition string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		var holds bool
		if err := s.pool.QueryRow(ctx, condition).Scan(&holds); err != nil {
			t.Errorf("waiting for %s: %v", condition, err)
			return
		}
		if holds {
			return
		}
	}
}

func TestFencedWriterWritesNothing(t *testing.T) {
	s, old := fresh(t)
	enqueue(t, old, 1, 2)
	decide(t, old, succeed(1, created(1, flight.Fields{})))
	events, err := s.DueMsgEvents(t.Context(), noon, 10)
	if err != nil || len(events) != 1 {
		t.Fatalf("events: %v, %v", events, err)
	}
	lead(t, s)
	before := contents(t, s)
	ctx := t.Context()
	calls := map[string]func() error{
		"Seed": func() error { return old.Seed(ctx, 5, "max", nil, noon) },
		"Advance": func() error {
			_, err := old.Advance(ctx, watermark.Step{Enqueue: []watermark.Row{{MsgID: 3}}, Cursor: watermark.Cursor{Watermark: 3}}, noon)
			return err
		},
		"RecordLate": func() error { return old.RecordLate(ctx, []watermark.Row{{MsgID: 1}}, noon) },
		"Decide": func() error {
			return old.Decide(ctx, decision.Claim{MsgID: 2}, func(decision.Claimed) (decision.Settlement, error) { return succeed(2), nil })
		},
		"Settle": func() error {
			return old.Settle(ctx, settlementOf(2, message.Outcome{State: message.Skipped, Reason: "x"}))
		},
		"Resolve": func() error { _, err := old.Resolve(ctx, 1); return err },
		"HoldMarks": func() error {
			return old.HoldMarks(ctx, []int64{1}, func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error) {
				t.Error("a fenced back-fill was asked to write marks")
				return nil, nil
			})
		},
		"ConfirmEvents": func() error { return old.ConfirmEvents(ctx, []event.Delivery{{Event: events[0]}}, noon) },
		"DeferEvent":    func() error { return old.DeferEvent(ctx, events[0], 1, noon, "x") },
		"BuryEvent":     func() error { return old.BuryEvent(ctx, events[0], 1, "x", noon) },
		"GoLive": func() error {
			return old.GoLive(ctx, ruleset.Set{Hash: testRuleset}, ruleset.Live{Cause: ruleset.Cause{How: ruleset.ByStart}, From: noon}, nil, 0)
		},
		"Refuse": func() error {
			return old.Refuse(ctx, ruleset.Refusal{Cause: ruleset.Cause{How: ruleset.ByWatch}, At: noon}, 0)
		},
		"AddShadow": func() error {
			return old.AddShadow(ctx, ruleset.Findings{Run: ruleset.Run{Shadow: testRuleset, Live: testRuleset}, At: noon})
		},
		"SetShadowNow": func() error { return old.SetShadowNow(ctx, &ruleset.ShadowNow{Origin: "x", At: noon}) },
		"SetFact":      func() error { return old.SetFact(ctx, "x", "y", noon) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, fault.ErrFenced) {
			t.Errorf("%s: got %v, want ErrFenced", name, err)
		}
	}
	if diff := cmp.Diff(before, contents(t, s)); diff != "" {
		t.Errorf("the fenced writer changed rows (-before +after):\n%s", diff)
	}
}

// contents is a digest of every table.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range tableNames(t, s) {
		out[table] = query[string](t, s, "SELECT count(*) || ' rows, ' || md5(COALESCE(string_agg(r::text, E'\\n' ORDER BY r::text), '')) FROM "+table+" r")
	}
	return out
}
