// Package clock is the only source of time for the stages, so that tests can
// hold time still and move it by hand.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and wakes whoever waits for it.
type Clock interface {
	Now() time.Time
	// NewTimer returns a timer that fires once, d from now.
	NewTimer(d time.Duration) Timer
}

// Timer fires once on C unless it is stopped before.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
}

// System is the machine's clock.
type System struct{}

// Now is the current instant.
func (System) Now() time.Time { return time.Now() } //nolint:forbidigo // the one place that asks the machine

// NewTimer starts a timer of the machine.
func (System) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} } //nolint:forbidigo // as above

type systemTimer struct{ t *time.Timer }

func (s systemTimer) C() <-chan time.Time { return s.t.C }
func (s systemTimer) Stop() bool          { return s.t.Stop() }

// Sleep waits for d or until ctx ends, whichever is first, and reports the
// latter as ctx's error.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C():
		return nil
	}
}

// Poke ends a wait early. The zero value never does.
type Poke chan struct{}

// NewPoke makes a poke that can be used by any number of goroutines.
func NewPoke() Poke { return make(Poke, 1) }

// Poke ends the wait that is going on, or else the next one. It never blocks.
func (p Poke) Poke() {
	select {
	case p <- struct{}{}:
	default:
	}
}

// Wait waits for d, for a poke or until ctx ends, and tells whether it was the poke.
func Wait(ctx context.Context, c Clock, d time.Duration, p Poke) (poked bool) {
	if d <= 0 {
		return false
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C():
	case <-p:
		return true
	}
	return false
}
