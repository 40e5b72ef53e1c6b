package outbox

import (
	"log/slog"
	"time"
)

// trouble logs a broker that is away once when it goes, once for each new
// reason, and once when it is back. Whoever sends counts, for the back-off.
type trouble struct {
	log   *slog.Logger
	what  string
	count int             // failures in a row
	seen  map[string]bool // reasons logged since it went
}

// note logs a reason the first time that it is met.
func (t *trouble) note(reason string, err error) {
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	if !t.seen[reason] {
		t.seen[reason] = true
		t.log.Warn(t.what+" has trouble; delivery waits and tries again", "reason", reason, "error", err)
	}
}

func (t *trouble) away() bool { return len(t.seen) > 0 }

func (t *trouble) over() {
	if t.away() {
		t.log.Info(t.what + " is back")
	}
	t.count, t.seen = 0, nil
}

// step is the n-th wait, counted from 1; the last repeats.
func step(waits []time.Duration, n int) time.Duration { return waits[min(n, len(waits))-1] }
