package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/ruleset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// A directory that was away over a restart and comes back as it was has not changed.
func TestPinHoldsWhenTheDirectoryComesBack(t *testing.T) {
	w := newWorld("two")
	w.live = &ruleset.Live{Hash: "one", Build: "b1", Pinned: true, Place: ruleset.Place{Origin: "here", Seen: ruleset.Content(w.files)}}
	w.sets["one"] = ruleset.Set{Hash: "one", Files: map[string][]byte{"handlers.lua": []byte("one")}}
	w.write("")
	w.run(t, "here", nil)
	looks := look(w, func() int { return w.reads })
	w.write("two")
	w.until(t, "some more looks", func() bool { return w.reads > looks+5 })
	w.write("three")
	w.untilLive(t, "watch three")
	if diff := cmp.Diff([]string{"watch three"}, w.lives); diff != "" {
		t.Errorf("went live (-want +got):\n%s", diff)
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
				if tt.here == "" && w.live.Seen != tt.recorded.Seen {
					t.Errorf("what was seen of a directory that is gone is %q on record, want it kept", w.live.Seen)
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
