package store

import (
	"context"

	"msgx/engine/clock"
)

// awake runs fn, which says nothing to the server itself, in the middle of the transaction, and lets
// the server know meanwhile that this process is alive. So the bound on idle transactions ends the session
// of a process that is frozen or gone, and never that of a decision on a slow machine: how long that takes is bounded
// by the work it may do, not by a clock. When ctx ends (a lost lease, a shutdown) nothing is said any
// more, and the server's bound holds.
func (t *Tx) awake(ctx context.Context, fn func() error) error {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for t.stillWaiting(ctx, stop) {
			ping, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.store.patience)
			err := t.conn.Ping(ping)
			cancel()
			if err != nil {
				return // the next statement of the transaction reports it
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	return fn()
}

// stillWaiting lets a part of the idle bound pass; false when the wait is over.
func (t *Tx) stillWaiting(ctx context.Context, stop <-chan struct{}) bool {
	timer := clock.System{}.NewTimer(t.store.wake)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
