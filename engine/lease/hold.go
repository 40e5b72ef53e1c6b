package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"msgx/engine/clock"
	"msgx/engine/fault"
)

// hold leads until lead returns, and says why the lease was lost, nil if it
// was not; then it is released, and err is lead's.
func (l *Lease) hold(ctx context.Context, epoch int64, sent time.Time, lead func(context.Context, int64) error) (lost, err error) {
	l.opts.Log.Info("leading", "holder", l.opts.Holder, "epoch", epoch)
	l.renew(sent)
	l.leading.Set(1)
	l.epoch.Set(float64(epoch))

	leadCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- lead(leadCtx, epoch) }()

	// Beats go on while lead drains after ctx has ended.
	beatCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	beaten := make(chan error)
	go func() {
		defer close(beaten)
		l.beat(beatCtx, epoch, beaten)
	}()

	lost, err = l.watch(done, beaten, func(cause error) {
		l.opts.Log.Error("leadership lost", "epoch", epoch, "error", cause)
		cancel(cause)
	})
	stop()
	for range beaten { // until the goroutine has ended
	}
	if lost == nil && errors.Is(err, fault.ErrFenced) {
		lost = err
		l.opts.Log.Error("leadership lost", "epoch", epoch, "error", lost)
	}
	l.trust.Store(nil)
	l.leading.Set(0)
	if lost == nil {
		l.release(ctx, epoch)
	}
	return lost, err
}

// watch waits for lead to return, and meanwhile for the lease to be lost.
func (l *Lease) watch(done, beaten <-chan error, lose func(error)) (lost, err error) {
	for {
		expiry := l.opts.Clock.NewTimer(l.trust.Load().Sub(l.opts.Clock.Now()))
		select {
		case err := <-done:
			expiry.Stop()
			return nil, err
		case cause := <-beaten:
			expiry.Stop()
			if cause == nil {
				continue // renewed: the window is a new one
			}
			lost = cause
		case <-expiry.C():
			// A renewal may have come through at the same moment.
			if l.Held() == nil {
				continue
			}
			lost = ErrExpired
		}
		l.trust.Store(nil)
		lose(lost)
		break
	}
	for {
		select {
		case err := <-done:
			return lost, err
		case _, open := <-beaten: // too late: trust is gone
			if !open {
				return lost, <-done
			}
		}
	}
}

// beat renews the lease every third of it, sooner after a failure, and
// reports nil for each renewal. It ends with ctx or when the lease is another's.
func (l *Lease) beat(ctx context.Context, epoch int64, report chan<- error) {
	const perLease, perLeaseAway = 3, 12
	away := false
	pause := l.opts.Lease / perLease
	for clock.Sleep(ctx, l.opts.Clock, pause) == nil {
		sent := l.opts.Clock.Now()
		err := l.beatOnce(ctx, epoch)
		pause = l.opts.Lease / perLease
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, fault.ErrFenced):
			l.tell(ctx, report, err)
			return
		case err != nil:
			if !away {
				l.opts.Log.Warn("lease not renewed, trying on", "epoch", epoch, "error", err)
			}
			away, pause = true, l.opts.Lease/perLeaseAway
			continue
		}
		if away {
			l.opts.Log.Info("lease renewed again", "epoch", epoch)
			away = false
		}
		if !l.extend(sent) {
			return
		}
		l.tell(ctx, report, nil)
	}
}

func (l *Lease) tell(ctx context.Context, report chan<- error, outcome error) {
	select {
	case report <- outcome:
	case <-ctx.Done():
	}
}

// beatOnce is bounded so that several tries fit into a trust window.
func (l *Lease) beatOnce(ctx context.Context, epoch int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Lease/4)
	defer cancel()
	if err := l.store.BeatLease(ctx, epoch, l.opts.Holder); err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	return nil
}

// renew starts a trust window for a claim that was sent at the given time.
func (l *Lease) renew(sent time.Time) {
	until := sent.Add(l.opts.Lease - l.opts.Margin)
	l.trust.Store(&until)
}

// extend moves the end of the window, unless trust was lost in the meantime:
// what lead was told cannot be taken back.
func (l *Lease) extend(sent time.Time) bool {
	until := sent.Add(l.opts.Lease - l.opts.Margin)
	old := l.trust.Load()
	return old != nil && l.trust.CompareAndSwap(old, &until)
}
