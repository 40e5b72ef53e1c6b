package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/outage"
	"msgx/engine/watermark"
)

// Stage is the name under which the inbox is paused.
const Stage = "inbox"

// Mailbox is what the inbox reads. Rows come ascending, and complete or with an error.
type Mailbox interface {
	After(ctx context.Context, after int64, limit int) ([]watermark.Row, error)
	Existing(ctx context.Context, first, last int64, limit int) ([]watermark.Row, error)
	// Bounds tells the lowest and highest visible id (0 when there is none)
	// and the next id to be handed out (0 when that is not known).
	Bounds(ctx context.Context) (lowest, highest, next int64, err error)
}

// Store is what the inbox reads of our own database.
type Store interface {
	Cursor(ctx context.Context) (watermark.Cursor, bool, error)
	AgedHoles(ctx context.Context, since time.Time) ([]watermark.Hole, error)
	Paused(ctx context.Context) (map[string]bool, error)
}

// Writer is what the inbox writes. Every write is fenced.
type Writer interface {
	// Seed sets where reading begins, once, together with the ids at or below it that are looked at again;
	// fault.ErrRefused when reading has begun already.
	Seed(ctx context.Context, mark int64, how string, missing []watermark.Hole, at time.Time) error
	Advance(ctx context.Context, step watermark.Step, at time.Time) (enqueued int, err error)
	RecordLate(ctx context.Context, rows []watermark.Row, at time.Time) error
}

// Needs is what the inbox works with.
type Needs struct {
	Mailbox  Mailbox
	Store    Store
	Writer   Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer // nil for no metrics
}

// Options are the inbox's settings. MaxCommitDelay has to be given; what else is zero
// takes the value of Defaults.
type Options struct {
	PollInterval   time.Duration
	ClaimBatch     int
	MaxCommitDelay time.Duration
	IDStride       int64
	// Cutover says where an empty database begins to read: min, zero, max or an id.
	Cutover string
	// LateWindow is how long released holes are looked at again, every LateEvery.
	LateWindow, LateEvery time.Duration
	// SeedWindow is how many ids below a seed are looked at for late rows.
	SeedWindow int64
	// Waits are the back-off steps while a server is away; the last repeats.
	Waits []time.Duration
	// WakePump is called when messages have been enqueued. It must not block.
	WakePump func()
}

// Defaults are the settings where nothing else is configured.
func Defaults() Options {
	return Options{
		PollInterval: time.Second, ClaimBatch: 500, IDStride: 1, LateWindow: 24 * time.Hour, LateEvery: time.Minute, SeedWindow: 1000,
		Waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second},
	}
}

func (o Options) withDefaults() Options {
	d := Defaults()
	pick(&o.PollInterval, d.PollInterval)
	pick(&o.ClaimBatch, d.ClaimBatch)
	pick(&o.IDStride, d.IDStride)
	pick(&o.LateWindow, d.LateWindow)
	pick(&o.LateEvery, d.LateEvery)
	pick(&o.SeedWindow, d.SeedWindow)
	if len(o.Waits) == 0 {
		o.Waits = d.Waits
	}
	if o.WakePump == nil {
		o.WakePump = func() {}
	}
	return o
}

func pick[T time.Duration | int | int64](value *T, usual T) {
	if *value == 0 {
		*value = usual
	}
}

// Inbox is the stage. It runs once at a time.
type Inbox struct {
	n       Needs
	o       Options
	metrics *metrics
	poke    clock.Poke

	mailbox, store outage.Outage
	cursor         *watermark.Cursor // nil when it has to be read
	paused, reused bool
	late           lateRows
}

// New makes an inbox.
func New(n Needs, o Options) (*Inbox, error) {
	if o.MaxCommitDelay <= 0 {
		return nil, fmt.Errorf("inbox: msgx.pipeline.max-commit-delay is %s, expected the bound that the mailbox's owner gives", o.MaxCommitDelay)
	}
	o = o.withDefaults()
	m, err := newMetrics(n.Registry)
	if err != nil {
		return nil, fmt.Errorf("inbox: metrics: %w", err)
	}
	return &Inbox{
		n: n, o: o, metrics: m, poke: clock.NewPoke(),
		mailbox: outage.Outage{Log: n.Log, Stage: Stage, Server: "mailbox", Waits: o.Waits},
		store:   outage.Outage{Log: n.Log, Stage: Stage, Server: "postgres", Waits: o.Waits},
	}, nil
}

// Poke says that a row has been put into the mailbox, so that it need not wait
// for the poll interval. It never blocks.
func (i *Inbox) Poke() { i.poke.Poke() }

// Run reads until ctx ends (nil), the lease is lost (fault.ErrFenced), or there is no
// telling where to begin (fault.ErrRefused).
func (i *Inbox) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		rest, err := i.round(ctx)
		if ctx.Err() != nil {
			break
		}
		if final(err) {
			return fmt.Errorf("inbox: %w", err)
		}
		if err == nil { // not before: a database may read well and refuse to write
			i.store.Over()
		}
		i.wait(ctx, rest)
	}
	return nil //nolint:nilerr // a call that ctx broke off is no failure
}

// final tells which errors waiting does not mend.
func final(err error) bool {
	return errors.Is(err, fault.ErrFenced) || errors.Is(err, fault.ErrRefused)
}

// rest is the pause between rounds.
type rest struct {
	length time.Duration
	early  bool // a poke may end it
}

func (i *Inbox) wait(ctx context.Context, r rest) {
	var poke clock.Poke
	if r.early {
		poke = i.poke
	}
	clock.Wait(ctx, i.n.Clock, r.length, poke)
}
