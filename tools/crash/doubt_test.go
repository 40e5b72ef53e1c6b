package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"msgx/tools/feed"
)

// TestCommitsInDoubt breaks connections at the moment of COMMIT, in the transactions of every stage, and holds what is left to
// what it has to be: each done exactly once.
func TestCommitsInDoubt(t *testing.T) {
	p := newPlace(t, build(t, ""))
	p.prepare()
	w := p.wire
	w.sure = true
	w.breaks(25)
	r := newRun(p, options{seed: *seed, messages: 600})
	r.feed()
	p.settled(r, "doubt")

	w.mu.Lock()
	text := ""
	for _, name := range slices.Sorted(maps.Keys(w.done)) {
		text += fmt.Sprintf("%6d  %s\n", w.done[name], name)
	}
	seen := maps.Clone(w.seen)
	w.mu.Unlock()
	t.Log("\n" + text)
	for _, of := range []string{"a decision", "a round of the inbox", "confirmed events", "marks", "a takeover", "a rule set goes live", "how a commit in doubt ended", "the shadow", "an outcome without a flight", "the lease is kept or given back"} {
		if seen[of] == 0 {
			t.Errorf("no commit of %s was seen", of)
		}
	}
	if strings.Contains(text, "other") {
		t.Error("commits of something that is not in the list")
	}
	if found := r.audit(); found != "" {
		t.Error(found)
	}
	for _, d := range r.differences() {
		t.Error(d)
	}
}

// feed puts a small day in, all at once.
func (r *run) feed() {
	r.t.Helper()
	r.feedWith(feed.Options{Flights: 40, Operations: 500, Holding: -1, BadPerMille: 30}, 2)
}

// feedWith puts in what the options say, all at once, and gives up so many ids for each thousand.
func (r *run) feedWith(o feed.Options, rolledBack int) {
	r.t.Helper()
	o.Seed, o.Zone = r.o.seed, time.FixedZone("", 8*3600)
	if o.Date.IsZero() {
		o.Date = time.Date(2026, 3, 1, 0, 0, 0, 0, o.Zone)
	}
	messages, err := feed.Generate(o)
	if err == nil {
		_, err = feed.Insert(r.t.Context(), r.mailbox, messages, feed.Inserting{Seed: r.o.seed, Writers: 4, OutOfOrder: true, RolledBack: rolledBack})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
