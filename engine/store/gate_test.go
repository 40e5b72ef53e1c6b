package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/tools/stack/stacktest"
)

// twoStores opens one database twice, as two instances do, and leads on the first.
func twoStores(t *testing.T) (s *Store, w *Writer, other *Store) {
	t.Helper()
	url := stacktest.Postgres(t)
	if _, _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s, other = openURL(t, url), openURL(t, url)
	return s, lead(t, s), other
}

// While the back-fill of one instance has a row in hand, a replay on another waits for it, and then
// leaves what it wrote alone.
func TestAReplayWaitsForTheBackfill(t *testing.T) {
	s, w, other := twoStores(t)
	exhausted(t, w, 2)
	replayed := make(chan error, 1)
	err := w.HoldMarks(t.Context(), []int64{1}, func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error) {
		go func() {
			done, _, err := other.Replay(context.Background(), []int64{1, 2}, ordered, deadOrFailed)
			if err == nil && len(done) != 2 {
				err = fmt.Errorf("replayed %v, want both", ids(done))
			}
			replayed <- err
		}()
		waitFor(t, s, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%proc_state%'")
		if state := query[string](t, s, "SELECT string_agg(state, ' ') FROM proc_state"); state != "DEAD DEAD" {
			t.Errorf("in the hand of the back-fill: %s, want DEAD DEAD", state)
		}
		return []message.MarkOutcome{{MsgID: 1, Confirmed: true}}, nil
	})
	if err := errors.Join(err, <-replayed); err != nil {
		t.Fatal(err)
	}
	found, err := s.Standings(t.Context(), []int64{1})
	if err != nil || found[0].State != message.Pending || found[0].Mark.ConfirmedAt.IsZero() {
		t.Errorf("%+v, %v, want PENDING with its mark confirmed", found, err)
	}
}

// While a replay has a row in hand, the back-fill passes it by, and so does a second replay afterwards.
func TestTheBackfillPassesAReplayBy(t *testing.T) {
	_, w, other := twoStores(t)
	exhausted(t, w, 3)
	done, _, err := other.Replay(t.Context(), []int64{1, 2}, ordered, func(m message.Standing) string {
		if m.MsgID == 1 { // asked once for each; both are locked by then
			if err := w.HoldMarks(t.Context(), []int64{1, 2, 3}, func(_ context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
				if diff := cmp.Diff([]int64{3}, idsOf(held)); diff != "" {
					t.Errorf("held beside a replay (-want +got):\n%s", diff)
				}
				return nil, nil
			}); err != nil {
				t.Error(err)
			}
		}
		return deadOrFailed(m)
	})
	if err != nil || len(done) != 2 {
		t.Fatalf("replayed %v, %v", ids(done), err)
	}
	if again, left, err := other.Replay(t.Context(), []int64{1}, ordered, deadOrFailed); err != nil || len(again) != 0 || len(left) != 1 {
		t.Errorf("replayed twice: %v %v, %v", ids(again), left, err)
	}
}

// A message is not skipped in the middle of its decision: the skip waits, and finds it finished.
func TestASkipWaitsForTheDecision(t *testing.T) {
	s, w, other := twoStores(t)
	enqueue(t, w, 1, 2)
	type answer struct {
		done []message.Standing
		left []message.Left
		err  error
	}
	skipped := make(chan answer, 1)
	err := w.Decide(t.Context(), decision.Claim{MsgID: 1}, func(decision.Claimed) (decision.Settlement, error) {
		go func() {
			done, left, err := other.Skip(context.Background(), []int64{1, 2}, ordered, func(m message.Standing) string {
				if m.State.Terminal() {
					return "it is " + m.Label()
				}
				return ""
			})
			skipped <- answer{done, left, err}
		}()
		waitFor(t, s, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%pipeline_lock%'")
		return succeed(1), nil
	})
	got := <-skipped
	if err := errors.Join(err, got.err); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{2}, ids(got.done)) + cmp.Diff([]message.Left{{MsgID: 1, Reason: "it is SUCCEEDED"}}, got.left); diff != "" {
		t.Errorf("skipped and left (-want +got):\n%s", diff)
	}
}

// gate watches that nobody has a message in hand that somebody else has in hand.
type gate struct {
	mu   sync.Mutex
	hand map[int64]string
	bad  []string
}

func (g *gate) take(who string, id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other := g.hand[id]; other != "" {
		g.bad = append(g.bad, fmt.Sprintf("message %d is in the hand of %s and of %s", id, other, who))
	}
	g.hand[id] = who
}

func (g *gate) drop(taken []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range taken {
		delete(g.hand, id)
	}
}

// Back-fill, replay and the decision itself, on two instances and in many random rounds: no
// message is ever in two hands, no confirmed mark is lost, and each replay is on record.
func TestNoMessageIsInTwoHands(t *testing.T) {
	s, w, other := twoStores(t)
	const n, rounds = 6, 60
	exhausted(t, w, n)
	g := &gate{hand: map[int64]string{}}
	var mu sync.Mutex
	var replays, confirmed int
	some := func(r *rand.Rand) []int64 {
		picked := []int64{}
		for id := int64(1); id <= n; id++ {
			if r.IntN(2) == 0 {
				picked = append(picked, id)
			}
		}
		return picked
	}
	mark := func(r *rand.Rand) error {
		return w.HoldMarks(context.Background(), some(r), func(_ context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
			taken, outcomes := idsOf(held), []message.MarkOutcome{}
			for _, id := range taken {
				g.take("a back-fill", id)
			}
			defer g.drop(taken)
			for _, id := range taken {
				o := message.MarkOutcome{MsgID: id, NextAt: noon, FirstFailedAt: noon}
				if r.IntN(8) == 0 {
					o = message.MarkOutcome{MsgID: id, Confirmed: true}
					mu.Lock()
					confirmed++
					mu.Unlock()
				}
				outcomes = append(outcomes, o)
			}
			return outcomes, nil
		})
	}
	replay := func(r *rand.Rand) error {
		picked := some(r)
		done, _, err := other.Replay(context.Background(), picked, ordered, func(m message.Standing) string {
			g.take("a replay", m.MsgID)
			if m.MsgID == picked[len(picked)-1] { // the last that is asked about: the rows are still locked
				g.drop(picked)
			}
			return deadOrFailed(m)
		})
		mu.Lock()
		replays += len(done)
		mu.Unlock()
		return err
	}
	decideAgain := func(*rand.Rand) error {
		heads, _, _, err := s.Heads(context.Background(), 1)
		if err != nil || len(heads) == 0 {
			return err
		}
		settlement := settlementOf(heads[0].MsgID, message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "INFRA: again"})
		settlement.Identity = ""
		if err := w.Settle(context.Background(), settlement); !errors.Is(err, fault.ErrMoved) {
			return err
		}
		return nil
	}
	var hands sync.WaitGroup
	for i, work := range []func(*rand.Rand) error{mark, mark, replay, replay, decideAgain, decideAgain} {
		hands.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for range rounds {
				if err := work(r); err != nil {
					t.Errorf("hand %d: %v", i, err)
					return
				}
			}
		})
	}
	hands.Wait()
	for _, text := range g.bad {
		t.Error(text)
	}
	if got := query[int](t, s, "SELECT count(*) FROM operator_log WHERE action = 'replay'"); got != replays || replays == 0 {
		t.Errorf("%d replays are on record, want %d", got, replays)
	}
	if got := query[int](t, s, "SELECT count(*) FROM proc_state WHERE backfill_at IS NOT NULL"); got != confirmed {
		t.Errorf("%d marks are confirmed, want %d", got, confirmed)
	}
}
