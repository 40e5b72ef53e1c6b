package crash

import (
	"flag"
	"testing"
	"time"

	"msgx/engine/failpoint"
)

var (
	seed  = flag.Uint64("crash.seed", 1, "of the messages, the ends and the troubles")
	kills = flag.Int("crash.kills", 0, "kill so often; 0 for the few of make test")
	bound = flag.Duration("crash.bound", 60*time.Minute, "how long the disturbed part may take at most")
)

// tried is said of a boundary that TestPointsOutsideTheRun goes to.
const tried = "tried outside the run"

// unreached are boundaries that nothing in a run leads to, and where they are tried, or why nowhere.
var unreached = map[failpoint.Boundary]string{
	failpoint.Migrate: "before the run", failpoint.AlignBounds: "before the run",
	failpoint.Seed:       tried,                           // it can be tried at the beginning only
	failpoint.RecordLate: tried,                           // a row comes late only when a writer breaks its promise
	failpoint.BuryEvent:  tried,                           // an event that is refused for good
	failpoint.AskRules:   tried, failpoint.Operate: tried, // commands
	failpoint.Pause:  tried, // without autostart
	failpoint.Insert: "in TestEntryIsKilled", failpoint.EntryEnqueue: "in TestEntryIsKilled",
}

// points are the fail points that a run leads to.
func points() []string {
	out := []string{}
	for _, b := range failpoint.Boundaries {
		if unreached[b] == "" {
			out = append(out, string(b)+"/before", string(b)+"/after")
		}
	}
	return out
}

// TestCrash kills daemons and troubles servers, and holds what is left to what it has to be.
func TestCrash(t *testing.T) {
	o := options{seed: *seed, kills: *kills, messages: 1000, points: points(), troubles: 30, random: 2, doubt: 400, pace: 300 * time.Millisecond}
	if o.kills == 0 {
		// All points, and a third as many moments at random.
		o.kills, o.messages, o.troubles, o.random, o.pace = 4*len(o.points)/3, 600, 6, 4, 600*time.Millisecond
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: make crash SEED=%d KILLS=%d", o.seed, o.kills)
		}
	})
	r := crash(t, build(t, ""), o, *bound)
	if found := r.audit(); found != "" {
		t.Error(found)
	}
	for _, d := range r.differences() {
		t.Error(d)
	}
}
