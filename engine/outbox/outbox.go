package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/outage"
)

// Store is what a dispatcher needs of the outbox table. Every write is fenced.
type Store interface {
	// NextMsgEvents returns the unsent events of KAFKA:msg with ids above after, ascending and
	// without leaving any out; none while any unsent event backs off.
	NextMsgEvents(ctx context.Context, after int64, limit int) ([]event.Event, error)
	// DueMsgEvents returns unsent events of KAFKA:msg in ascending order of id,
	// leaving out any that has an earlier unsent event of its key or flight outside the result.
	DueMsgEvents(ctx context.Context, now time.Time, limit int) ([]event.Event, error)
	DueSchdEvents(ctx context.Context, now time.Time, after int64, limit int) ([]event.Event, error)
	// ConfirmEvents marks events as sent, KAFKA:schd only where id and version still match.
	ConfirmEvents(ctx context.Context, sent []event.Delivery, at time.Time) error
	DeferEvent(ctx context.Context, e event.Event, attempts int, next time.Time, reason string) error
	BuryEvent(ctx context.Context, e event.Event, attempts int, reason string, at time.Time) error
}

// Control tells which stages an operator has paused.
type Control interface {
	Paused(ctx context.Context) (map[string]bool, error)
}

// Publisher sends records to the target's topic: at most one request per
// partition, in bounded time, and one receipt per record in the same order.
// Records of one key are stored in the given order or not at all, and when one
// of them is not stored none of that key is stored after it.
type Publisher interface {
	Publish(ctx context.Context, records []event.Record) []event.Receipt
}

// Options are the settings of one dispatcher.
type Options struct {
	Target event.Target
	// Every is how long a round waits for the next when there is nothing more
	// to do: the poll interval of KAFKA:msg, the flush period of KAFKA:schd.
	Every time.Duration
	// Gather is how far apart rounds that a poke causes begin at least. A lone event
	// goes at once; those of a busy pump go together, instead of a request to the
	// broker and a commit for each.
	Gather time.Duration
	// Limit is how many events one round reads: the flush limit of KAFKA:schd.
	Limit int
	// Retry is the policy for records that the broker refuses.
	Retry message.Retry
	// Waits are the back-off steps while the broker or the database is away; the last repeats.
	Waits []time.Duration
	// Quarantine is the broker's request time-out.
	Quarantine time.Duration
	// Patience bounds each call of the store that must not be broken off.
	Patience time.Duration
}

// Defaults are the settings of a target where nothing else is configured.
func Defaults(target event.Target) Options {
	o := Options{
		Target: target, Every: time.Second, Gather: 100 * time.Millisecond, Limit: 500,
		Retry: message.Retry{MaxAttempts: 5, Tiers: []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		Waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second,
			8 * time.Second, 15 * time.Second, 30 * time.Second},
		Quarantine: 5 * time.Second, Patience: 10 * time.Second,
	}
	if target == event.Schd {
		o.Every = 3 * time.Second
	}
	return o
}

// Needs is what a dispatcher works with.
type Needs struct {
	Store     Store
	Control   Control // nil when nothing can be paused
	Publisher Publisher
	Held      func() error // says whether the lease is still ours
	// Backlog measures what is unsent and how old the oldest is; nil leaves those metrics out.
	Backlog  func(ctx context.Context) (unsent int64, oldest time.Time, err error)
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer // may be nil
}

// Dispatcher delivers the events of one target.
type Dispatcher struct {
	o       Options
	n       Needs
	log     *slog.Logger
	metrics *metrics
	poke    clock.Poke

	holds       holds
	unconfirmed []event.Delivery // landed, and to be confirmed
	confirming  *confirming      // nil when none is on its way
	beside      func(func())     // runs something while the caller goes on
	broker      trouble
	store       outage.Outage
	paused      bool
	measured    time.Time
	began       time.Time // the last round
}

// New makes a dispatcher; it does nothing before Run.
func New(o Options, n Needs) (*Dispatcher, error) {
	switch {
	case o.Target != event.Msg && o.Target != event.Schd:
		return nil, fmt.Errorf("outbox: unknown target %q, expected %s or %s", o.Target, event.Msg, event.Schd)
	case o.Every <= 0 || o.Limit <= 0 || o.Quarantine <= 0 || o.Patience <= 0 || len(o.Waits) == 0 || o.Retry.MaxAttempts <= 0:
		return nil, fmt.Errorf("outbox %s: every, limit, quarantine, patience, waits and attempts must be positive, found %+v", o.Target, o)
	case n.Store == nil || n.Publisher == nil || n.Held == nil || n.Clock == nil || n.Log == nil:
		return nil, fmt.Errorf("outbox %s: store, publisher, lease, clock and log are needed", o.Target)
	}
	m, err := newMetrics(n.Registry, o.Target)
	if err != nil {
		return nil, fmt.Errorf("outbox %s: %w", o.Target, err)
	}
	log := n.Log.With("stage", string(o.Target))
	return &Dispatcher{
		o: o, n: n, log: log, metrics: m, poke: clock.NewPoke(),
		holds:  newHolds(),
		beside: func(work func()) { go work() },
		broker: trouble{log: log, what: "broker"},
		store:  outage.Outage{Log: n.Log, Stage: string(o.Target), Server: "postgres", Waits: o.Waits},
	}, nil
}

// Poke says that events may be waiting. It never blocks. KAFKA:msg wakes at
// once, or after Gather when it has just been awake; KAFKA:schd keeps its flush period, which is there to join versions.
func (d *Dispatcher) Poke() { d.poke.Poke() }

// Run delivers until ctx ends (nil) or the lease is lost (fault.ErrFenced).
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		d.began = d.n.Clock.Now()
		rest, err := d.round(ctx)
		switch {
		case errors.Is(err, fault.ErrFenced):
			return fmt.Errorf("outbox %s: %w", d.o.Target, err)
		case err != nil && ctx.Err() == nil: // not merely broken off
			rest = pause{length: d.store.Failed(err)}
		}
		d.wait(ctx, rest)
	}
	return nil
}

// pause is what follows a round.
type pause struct {
	length time.Duration
	early  bool // a poke may end it
}

func (d *Dispatcher) wait(ctx context.Context, p pause) {
	var poke clock.Poke
	if p.early && d.o.Target == event.Msg {
		poke = d.poke
	}
	if clock.Wait(ctx, d.n.Clock, p.length, poke) {
		gather := d.o.Gather - d.n.Clock.Now().Sub(d.began)
		_ = clock.Sleep(ctx, d.n.Clock, gather) // Run looks at ctx itself
	}
}

// isPaused asks whether an operator holds the target; errors are the store's.
func (d *Dispatcher) isPaused(ctx context.Context) (bool, error) {
	if d.n.Control == nil {
		return false, nil
	}
	stages, err := d.n.Control.Paused(ctx)
	if err != nil {
		return d.paused, err
	}
	if now := stages[string(d.o.Target)]; now != d.paused {
		d.paused = now
		d.log.Info("delivery " + map[bool]string{true: "paused", false: "resumed"}[now] + " by an operator")
	}
	return d.paused, nil
}
