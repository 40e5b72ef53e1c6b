package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/fault"
)

// Store keeps the lease row.
type Store interface {
	// ClaimLease takes the lease if it is released or its heartbeat is older
	// than lease, by the database's clock.
	ClaimLease(ctx context.Context, holder string, lease time.Duration) (epoch int64, ok bool, err error)
	// BeatLease renews it; fault.ErrFenced when it is another's.
	BeatLease(ctx context.Context, epoch int64, holder string) error
	// ReleaseLease gives it up, so that another may claim it at once.
	ReleaseLease(ctx context.Context, epoch int64, holder string) error
}

// Options are the settings of a lease; zero values get defaults.
type Options struct {
	Holder     string        // who this instance is, for people
	Lease      time.Duration // default 10 s
	Margin     time.Duration // default a fifth of the lease
	Poll       time.Duration // how often a standby tries; default a tenth of the lease, at most 1 s
	Clock      clock.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer // may be nil
}

func (o Options) withDefaults() Options {
	if o.Lease <= 0 {
		o.Lease = 10 * time.Second
	}
	if o.Margin <= 0 || o.Margin >= o.Lease {
		o.Margin = o.Lease / 5
	}
	if o.Poll <= 0 {
		o.Poll = min(o.Lease/10, time.Second)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// ErrExpired means that no beat has succeeded within the trust window.
var ErrExpired = errors.New("lease not renewed in time")

// ErrStandby means that this instance does not lead.
var ErrStandby = errors.New("standing by: this instance does not hold the lease")

// Lease elects this instance, or waits for its turn.
type Lease struct {
	store Store
	opts  Options
	trust atomic.Pointer[time.Time] // until when this instance may believe that it leads; nil while it does not
	after atomic.Bool               // another instance was seen to hold the lease, or this one has held it before

	leading prometheus.Gauge
	epoch   prometheus.Gauge
}

// New returns a lease that has not been claimed.
func New(store Store, o Options) *Lease {
	l := &Lease{
		store: store,
		opts:  o.withDefaults(),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "msgx_lease_leading", Help: "1 while this instance leads, 0 while it stands by."}),
		epoch: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "msgx_lease_epoch", Help: "Epoch of the lease that this instance held last."}),
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(l.leading, l.epoch)
	}
	return l
}

// Valid tells whether this instance may believe that it leads.
func (l *Lease) Valid() bool { return l.Held() == nil }

// TakesOver tells whether this instance leads, or will lead, in the place of another that it found at work or of itself
// before; false for one that found nobody when it began.
func (l *Lease) TakesOver() bool { return l.after.Load() }

// Held says why this instance must not write anywhere that the database does
// not fence; nil when it may.
func (l *Lease) Held() error {
	until := l.trust.Load()
	if until == nil {
		return ErrStandby
	}
	if !l.opts.Clock.Now().Before(*until) {
		return ErrExpired
	}
	return nil
}

// Run stands by until the lease is this instance's, then calls lead, and so on
// until ctx ends or lead returns for a reason of its own. The context that lead
// gets ends with ctx or when the lease is lost; lead has to return then.
func (l *Lease) Run(ctx context.Context, lead func(ctx context.Context, epoch int64) error) error {
	for {
		epoch, sent, err := l.standby(ctx)
		if err != nil {
			return nil //nolint:nilerr // the only error is that ctx ended, which is how a stage is stopped
		}
		lost, err := l.hold(ctx, epoch, sent, lead)
		l.after.Store(true)
		if lost == nil {
			return err
		}
		if err != nil && !errors.Is(err, fault.ErrFenced) && !errors.Is(err, context.Canceled) {
			l.opts.Log.Error("a stage ended with an error after the lease was lost", "epoch", epoch, "error", err)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is how a stage is stopped
		}
	}
}

// standby claims until it succeeds, and returns when that claim was sent.
func (l *Lease) standby(ctx context.Context) (epoch int64, sent time.Time, err error) {
	var away, waiting bool
	for {
		sent = l.opts.Clock.Now()
		epoch, ok, err := l.claim(ctx)
		if ctx.Err() != nil {
			// A claim that came through all the same must not keep the others waiting.
			if err == nil && ok {
				l.release(ctx, epoch)
			}
			return 0, sent, ctx.Err()
		}
		if err != nil && !away {
			l.opts.Log.Warn("cannot ask for the lease, trying on", "error", err)
		}
		if err == nil && away {
			l.opts.Log.Info("the lease can be asked for again")
		}
		away = err != nil
		if err == nil && ok {
			return epoch, sent, nil
		}
		if err == nil && !waiting {
			l.after.Store(true)
			l.opts.Log.Info("standing by: another instance leads", "holder", l.opts.Holder)
			waiting = true
		}
		if err := clock.Sleep(ctx, l.opts.Clock, l.opts.Poll); err != nil {
			return 0, sent, err
		}
	}
}

func (l *Lease) claim(ctx context.Context) (int64, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Lease-l.opts.Margin)
	defer cancel()
	epoch, ok, err := l.store.ClaimLease(ctx, l.opts.Holder, l.opts.Lease)
	if err != nil {
		return 0, false, fmt.Errorf("claim lease: %w", err)
	}
	return epoch, ok, nil
}

// release is for a lease that is still ours; it works after ctx has ended.
func (l *Lease) release(ctx context.Context, epoch int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.Lease/2)
	defer cancel()
	if err := l.store.ReleaseLease(ctx, epoch, l.opts.Holder); err != nil {
		l.opts.Log.Warn("lease not released: another instance has to wait until it runs out", "epoch", epoch, "error", err)
		return
	}
	l.opts.Log.Info("lease released", "epoch", epoch)
}
