package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/rollout"
	"msgx/engine/ruleset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// named judges nothing; its name is the hash of its rule set.
type named string

func (named) Claim(*message.Message) decision.Claim { return decision.Claim{} }

func (n named) Judge(*message.Message, decision.Claimed, time.Time) decision.Settlement {
	return decision.Settlement{Ruleset: string(n)}
}

func (n named) Broken(message.Raw, error, time.Time) decision.Settlement {
	return decision.Settlement{Ruleset: string(n)}
}

// world is a directory, a workshop and a database in memory. A rule set is one file whose text is
// its hash; the words broken, failing and panicking say what the workshop finds.
type world struct {
	mu       sync.Mutex
	files    map[string][]byte // nil when the directory is away
	live     *ruleset.Live
	sets     map[string]ruleset.Set
	lives    []string // what went live, as "how hash"
	judged   []string // what is known of those before
	refused  []string // "how reason"
	requests []ruleset.Request
	answers  []string
	fails    error // what writing returns next
	proofs   int
}

func (w *world) write(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = map[string][]byte{"handlers.lua": []byte(text)}
	if text == "" {
		w.files = nil
	}
}

func (w *world) read() (map[string][]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		return nil, errors.New("no such directory")
	}
	return w.files, nil
}

func (w *world) Load(files map[string][]byte) (*rollout.Candidate, error) {
	text := string(files["handlers.lua"])
	if strings.Contains(text, "broken") {
		return nil, errors.New("handlers.lua:1: broken\nhandlers.lua:2: too")
	}
	return &rollout.Candidate{Judge: named(text), Set: ruleset.Set{Hash: text, Files: files, Build: "b1"}}, nil
}

func (w *world) Prove(_ context.Context, files map[string][]byte) ([]string, error) {
	w.mu.Lock()
	w.proofs++
	w.mu.Unlock()
	switch text := string(files["handlers.lua"]); {
	case strings.Contains(text, "failing"):
		return []string{"golden: 1 failed"}, nil
	case strings.Contains(text, "panicking"):
		panic("a check went wrong")
	}
	return nil, nil
}

func (w *world) Live(context.Context) (ruleset.Live, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		return ruleset.Live{}, false, nil
	}
	return *w.live, true, nil
}

func (w *world) Ruleset(_ context.Context, hash string) (ruleset.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	set, found := w.sets[hash]
	if !found {
		return set, fault.ErrNotFound
	}
	return set, nil
}

func (w *world) OpenRequest(context.Context) (ruleset.Request, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		return ruleset.Request{}, false, nil
	}
	return w.requests[0], true, nil
}

func (w *world) GoLive(_ context.Context, set ruleset.Set, l ruleset.Live, judged *int64, request int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fails; err != nil {
		w.fails = nil
		return err
	}
	if w.live == nil || w.live.Hash != l.Hash || w.live.Pinned != l.Pinned {
		entry := string(l.How) + " " + l.Hash
		if l.Pinned {
			entry += " pinned"
		}
		known := "?"
		if judged != nil {
			known = fmt.Sprint(*judged)
		}
		w.lives, w.judged = append(w.lives, entry), append(w.judged, known)
	}
	l.Judged = nil // as the database has it
	w.live, w.sets[set.Hash] = &l, set
	w.answer(request, "live "+set.Hash)
	return nil
}

func (w *world) Refuse(_ context.Context, r ruleset.Refusal, request int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fails; err != nil {
		w.fails = nil
		return err
	}
	w.refused = append(w.refused, string(r.How)+" "+strings.Join(r.Reasons, "; "))
	w.answer(request, "refused")
	return nil
}

func (w *world) answer(request int64, text string) {
	if request == 0 {
		return
	}
	w.answers = append(w.answers, text)
	w.requests = slices.DeleteFunc(w.requests, func(q ruleset.Request) bool { return q.ID == request })
}

func (w *world) ask(action ruleset.How, hash string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, ruleset.Request{ID: int64(len(w.answers) + len(w.requests) + 1), Action: action, Hash: hash, Who: "op", Why: "why"})
}

// look reads the world under its lock.
func look[T any](w *world, f func() T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f()
}

func newWorld(text string) *world {
	w := &world{sets: map[string]ruleset.Set{}}
	w.write(text)
	return w
}

func (w *world) rollout(origin string, signal clock.Poke) *rollout.Rollout {
	return w.rolloutWith(origin, signal, false)
}

func (w *world) rolloutWith(origin string, signal clock.Poke, takesOver bool) *rollout.Rollout {
	return rollout.New(rollout.Needs{
		Workshop: w, Source: rollout.Source{Origin: origin, Read: w.read}, Store: w, Writer: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	}, rollout.Options{Instance: "i", Every: 2 * time.Millisecond, Watch: true, Signal: signal, TakesOver: takesOver})
}

// run runs a rollout with somebody who takes turns, as the pump does, judging a message each.
func (w *world) run(t *testing.T, origin string, signal clock.Poke) *rollout.Rollout {
	t.Helper()
	r := w.rollout(origin, signal)
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		for ctx.Err() == nil {
			if judge, err := r.Turn(ctx); err == nil {
				judge.Claim(nil)
			}
			_ = clock.Sleep(ctx, clock.System{}, time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return r
}

func (w *world) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !look(w, ok) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: live %v, refused %q, answers %q", patience, what, w.lives, w.refused, w.answers)
		}
		_ = clock.Sleep(t.Context(), clock.System{}, time.Millisecond)
	}
}

func (w *world) untilLive(t *testing.T, entry string) {
	t.Helper()
	w.until(t, entry, func() bool { return len(w.lives) > 0 && w.lives[len(w.lives)-1] == entry })
}

func (w *world) untilRefused(t *testing.T, n int) {
	t.Helper()
	w.until(t, "a refusal", func() bool { return len(w.refused) == n })
}

func TestWatchTakesWhatPassesAndRefusesTheRestOnce(t *testing.T) {
	w := newWorld("one")
	r := w.run(t, "here", nil)
	w.write("two")
	w.untilLive(t, "watch two")
	for i, text := range []string{"broken", "failing", "panicking"} {
		w.write(text)
		w.untilRefused(t, i+1)
	}
	if got := r.Status(); got.Live.Hash != "two" || got.Refused == nil || got.Refused.Hash != "panicking" {
		t.Errorf("status %+v, want two live and the last one refused", got)
	}
	w.write("three")
	w.untilLive(t, "watch three")
	w.write("two")
	w.untilLive(t, "watch two")
	want := []string{"watch handlers.lua:1: broken; handlers.lua:2: too", "watch golden: 1 failed", "watch proving it panicked: a check went wrong"}
	if diff := cmp.Diff(want, w.refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if got := r.Status(); got.Refused != nil {
		t.Errorf("still refused after another went live: %+v", got.Refused)
	}
	if w.judged[0] != "?" || slices.Contains(w.judged[1:], "?") {
		t.Errorf("judged before each went live: %q, want all but the first known", w.judged)
	}
}

func TestRollbackPinsUntilTheDirectoryChanges(t *testing.T) {
	w := newWorld("one")
	w.run(t, "here", nil)
	w.write("two")
	w.untilLive(t, "watch two")
	w.ask(ruleset.ByRollback, "one")
	w.untilLive(t, "rollback one pinned")
	w.ask(ruleset.ByRollback, "never")
	w.untilRefused(t, 1)
	w.write("") // it goes away and comes back as it was
	w.ask(ruleset.ByRollback, "one")
	w.until(t, "three answers", func() bool { return len(w.answers) == 3 })
	w.write("two")
	proofs := look(w, func() int { return w.proofs })
	w.ask(ruleset.ByRollback, "one") // answered some looks later: by then two would have been taken
	w.until(t, "four answers", func() bool { return len(w.answers) == 4 })
	if got := look(w, func() string { return w.live.Hash }); got != "one" {
		t.Errorf("live is %s, want one: nothing has changed", got)
	}
	if got := look(w, func() int { return w.proofs }); got != proofs {
		t.Errorf("%d proofs while nothing has changed, want %d", got, proofs)
	}
	w.ask(ruleset.ByActivate, "")
	w.untilLive(t, "activate two")
	w.ask(ruleset.ByRollback, "one")
	w.untilLive(t, "rollback one pinned")
	w.write("three")
	w.untilLive(t, "watch three")
	want := []string{"live one", "refused", "live one", "live one", "live two", "live one"}
	if diff := cmp.Diff(want, w.answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestSignalTriesAgain(t *testing.T) {
	signal := clock.NewPoke()
	w := newWorld("one")
	w.run(t, "here", signal)
	w.write("failing")
	w.untilRefused(t, 1)
	signal.Poke()
	w.untilRefused(t, 2)
	w.ask(ruleset.ByRollback, "one") // what is live is pinned
	w.untilLive(t, "rollback one pinned")
	w.write("one")
	w.untilLive(t, "watch one")
	signal.Poke()
	w.write("two")
	w.until(t, "two", func() bool { return w.live.Hash == "two" })
}

// What is not on record does not judge: a database that is away is asked again, one that refuses leaves the live one.
func TestTurnSwapsOnlyWhatIsOnRecord(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails error
		want  string
	}{
		{"away once", fault.ErrUnavailable, "two"},
		{"in doubt once", fault.ErrCommitInDoubt, "two"},
		{"refused", errors.New("value out of range"), "one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld("one")
			r := w.rollout("here", nil)
			if err := r.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { _ = r.Run(ctx) })
			defer running.Wait()
			defer cancel()
			w.mu.Lock()
			w.fails = tt.fails
			w.mu.Unlock()
			w.write("two")
			failures := 0
			deadline := time.Now().Add(patience)
			for done := false; !done; {
				judge, err := r.Turn(ctx)
				w.mu.Lock()
				live, refused := w.live.Hash, len(w.refused)
				w.mu.Unlock()
				switch {
				case err != nil:
					failures++
				case judge.Broken(message.Raw{}, nil, time.Time{}).Ruleset != live:
					t.Fatalf("%v judges while %s is on record", judge, live)
				}
				done = live == tt.want && (tt.want == "two" || refused == 1)
				if time.Now().After(deadline) {
					t.Fatalf("live is %s, want %s", live, tt.want)
				}
			}
			if transient := tt.want == "two"; transient != (failures == 1) {
				t.Errorf("%d turns were not settled", failures)
			}
		})
	}
}

func TestFencedTurnAndRun(t *testing.T) {
	w := newWorld("one")
	r := w.rollout("here", nil)
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.write("broken")
	w.mu.Lock()
	w.fails = fault.ErrFenced
	w.mu.Unlock()
	if err := r.Run(t.Context()); !errors.Is(err, fault.ErrFenced) {
		t.Errorf("run ended with %v, want ErrFenced", err)
	}
}

func TestBegin(t *testing.T) {
	live := func(hash, origin, seen string, pinned bool) *ruleset.Live {
		return &ruleset.Live{Hash: hash, Build: "b1", Pinned: pinned, Cause: ruleset.Cause{How: ruleset.ByWatch},
			Place: ruleset.Place{Origin: origin, Seen: ruleset.Content(map[string][]byte{"handlers.lua": []byte(seen)})}}
	}
	tests := []struct {
		name     string
		recorded *ruleset.Live
		here     string // what lies in the directory, "" for nothing
		want     string // the rule set that leads, "" for an error
		lives    []string
		refused  int
	}{
		{"nothing on record", nil, "one", "one", []string{"start one"}, 0},
		{"nothing on record, not proved", nil, "failing", "failing", []string{"start failing"}, 0},
		{"nothing on record, broken", nil, "broken", "", nil, 0},
		{"nothing on record, nothing here", nil, "", "", nil, 0},
		{"the same", live("one", "here", "one", false), "one", "one", nil, 0},
		{"changed since", live("one", "here", "one", false), "two", "two", []string{"start two"}, 0},
		{"changed since, refused", live("one", "here", "one", false), "failing", "one", nil, 1},
		{"changed since, broken", live("one", "here", "one", false), "broken", "one", nil, 1},
		{"directory gone", live("one", "here", "one", false), "", "one", nil, 0},
		{"pinned", live("one", "here", "two", true), "two", "one", nil, 0},
		{"pinned, directory gone", live("one", "here", "two", true), "", "one", nil, 0},
		{"pinned, changed since", live("one", "here", "two", true), "three", "three", []string{"start three"}, 0},
		{"taken over from another place", live("one", "there", "one", false), "two", "one", nil, 0},
		{"taken over from another place, pinned", live("one", "there", "three", true), "two", "one", nil, 0},
		{"taken over at the same place, changed since", live("one", "here", "one", false), "two", "two", []string{"start two"}, 0},
		{"another place", live("one", "there", "one", false), "two", "two", []string{"start two"}, 0},
		{"another place, the same content, pinned", live("one", "there", "two", true), "two", "one", nil, 0},
		{"recorded is broken by now", live("broken", "here", "broken", false), "broken", "", nil, 0},
		{"recorded is broken, changed since", live("broken", "here", "broken", false), "two", "two", []string{"start two"}, 0},
		{"recorded is broken, changed since, refused", live("broken", "here", "broken", false), "failing", "", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.here)
			if w.live = tt.recorded; w.live != nil {
				w.sets[w.live.Hash] = ruleset.Set{Hash: w.live.Hash, Files: map[string][]byte{"handlers.lua": []byte(w.live.Hash)}}
			}
			r := w.rolloutWith("here", nil, strings.HasPrefix(tt.name, "taken over"))
			err := r.Begin(t.Context())
			if (err == nil) != (tt.want != "") {
				t.Fatalf("begin: %v, want the rule set %q", err, tt.want)
			}
			if err == nil {
				judge, _ := r.Turn(t.Context())
				if got := judge.Broken(message.Raw{}, nil, time.Time{}).Ruleset; got != tt.want {
					t.Errorf("%s judges, want %s", got, tt.want)
				}
				if tt.recorded != nil && w.live.Hash == tt.recorded.Hash && w.live.Pinned != tt.recorded.Pinned {
					t.Errorf("pinned is %v on record, was %v", w.live.Pinned, tt.recorded.Pinned)
				}
			}
			if diff := cmp.Diff(tt.lives, w.lives); diff != "" {
				t.Errorf("went live (-want +got):\n%s", diff)
			}
			if len(w.refused) != tt.refused {
				t.Errorf("refused %q, want %d", w.refused, tt.refused)
			}
		})
	}
}
