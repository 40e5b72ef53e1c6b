package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/outage"
)

// Stage is the name under which the back-fill is paused.
const Stage = "backfill"

// Mailbox is where marks go.
type Mailbox interface {
	MarkAll(ctx context.Context, ids []int64, at time.Time) (map[int64]message.MarkResult, error)
}

// Store is what the back-fill reads of our own database.
type Store interface {
	// DueMarks returns terminal messages that owe a mark, the least tried first.
	DueMarks(ctx context.Context, now time.Time, r time.Duration, limit int) ([]message.MarkDue, error)
	Paused(ctx context.Context) (map[string]bool, error)
}

// Writer is what the back-fill writes, fenced.
type Writer interface {
	// HoldMarks locks those of the rows that still owe a mark and that nobody else
	// holds, and stores the outcomes that mark returns in the same transaction. Rows without an
	// outcome stay as they are; an error of mark leaves all of them so and is returned.
	HoldMarks(ctx context.Context, ids []int64, mark func(ctx context.Context, held []message.MarkDue) ([]message.MarkOutcome, error)) error
}

// Needs is what the back-fill works with.
type Needs struct {
	Mailbox  Mailbox
	Store    Store
	Writer   Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer // nil for no metrics
}

// Options are the back-fill's settings. What is zero takes the value of Defaults.
type Options struct {
	Batch int
	// Interval is how long a round waits for the next without a poke; after a
	// poke it waits Gather, so that a busy pump's marks come in batches.
	Interval, Gather time.Duration
	Policy           Policy
	// HoldLimit bounds how long rows are held, and the lease epoch with them: well below the
	// lease, so that neither a takeover nor an operator's replay waits for a mailbox that hangs.
	HoldLimit time.Duration
	// AlarmAttempts is how many failures of one row raise an alarm; it changes nothing else.
	AlarmAttempts int
	// Waits are the back-off steps while a server is away; the last repeats.
	Waits []time.Duration
	// Shadow turns the stage off: what was only rehearsed owes no mark.
	Shadow bool
}

// Defaults are the settings where nothing else is configured.
func Defaults() Options {
	return Options{
		Batch: 200, Interval: time.Second, Gather: 100 * time.Millisecond, HoldLimit: 4 * time.Second, AlarmAttempts: 10,
		Policy: Policy{R: 72 * time.Hour, First: 2 * time.Second, Max: 5 * time.Minute},
		Waits:  []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second},
	}
}

func (o Options) withDefaults() Options {
	d := Defaults()
	pick(&o.Batch, d.Batch)
	pick(&o.Interval, d.Interval)
	pick(&o.Gather, d.Gather)
	pick(&o.HoldLimit, d.HoldLimit)
	pick(&o.AlarmAttempts, d.AlarmAttempts)
	pick(&o.Policy.R, d.Policy.R)
	pick(&o.Policy.First, d.Policy.First)
	pick(&o.Policy.Max, d.Policy.Max)
	if len(o.Waits) == 0 {
		o.Waits = d.Waits
	}
	return o
}

func pick[T time.Duration | int](value *T, usual T) {
	if *value == 0 {
		*value = usual
	}
}

// Backfill is the stage. It runs once at a time.
type Backfill struct {
	n       Needs
	o       Options
	metrics *metrics
	poke    clock.Poke

	mailbox, store outage.Outage
	paused         bool
}

// New makes a back-fill.
func New(n Needs, o Options) (*Backfill, error) {
	o = o.withDefaults()
	m, err := newMetrics(n.Registry)
	if err != nil {
		return nil, fmt.Errorf("backfill: metrics: %w", err)
	}
	return &Backfill{
		n: n, o: o, metrics: m, poke: clock.NewPoke(),
		mailbox: outage.Outage{Log: n.Log, Stage: Stage, Server: "mailbox", Waits: o.Waits},
		store:   outage.Outage{Log: n.Log, Stage: Stage, Server: "postgres", Waits: o.Waits},
	}, nil
}

// Poke says that a mark has become due. It never blocks.
func (b *Backfill) Poke() { b.poke.Poke() }

// Run writes marks until ctx ends (nil) or the lease is lost (fault.ErrFenced).
func (b *Backfill) Run(ctx context.Context) error {
	if b.o.Shadow {
		b.n.Log.Info("backfill is off: shadow mode owes no marks")
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		next, err := b.round(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, fault.ErrFenced) {
			return fmt.Errorf("backfill: %w", err)
		}
		if err != nil {
			next = rest{length: b.store.Failed(err)}
		} else {
			b.store.Over()
		}
		b.wait(ctx, next)
	}
	return nil //nolint:nilerr // a call that ctx broke off is no failure
}

// rest is the pause between rounds.
type rest struct {
	length time.Duration
	early  bool // a poke may end it
}

func (b *Backfill) wait(ctx context.Context, r rest) {
	var poke clock.Poke
	if r.early {
		poke = b.poke
	}
	if clock.Wait(ctx, b.n.Clock, r.length, poke) {
		_ = clock.Sleep(ctx, b.n.Clock, b.o.Gather) // Run looks at ctx itself
	}
}
