// Package outage waits for a server that is away: it says once that the server
// has gone and once that it is back, and backs off in between.
package outage

import (
	"log/slog"
	"time"
)

// Outage follows one server for one stage. It is for one goroutine.
type Outage struct {
	Log    *slog.Logger
	Stage  string
	Server string
	Waits  []time.Duration // the back-off steps; the last repeats

	failures int
}

// Failed notes a failure and returns how long to wait before the next try.
func (o *Outage) Failed(err error) time.Duration {
	if o.failures == 0 {
		o.Log.Warn("server is away, waiting for it", "stage", o.Stage, "server", o.Server, "error", err)
	}
	wait := o.Waits[min(o.failures, len(o.Waits)-1)]
	o.failures++
	return wait
}

// Over notes a success.
func (o *Outage) Over() {
	if o.failures > 0 {
		o.Log.Info("server is back", "stage", o.Stage, "server", o.Server, "failures", o.failures)
		o.failures = 0
	}
}
