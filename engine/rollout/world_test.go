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

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/rollout"
	"msgx/engine/ruleset"
)

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
	reads    int // of the directory
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
	w.reads++
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
