package shadow

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/outage"
	"msgx/engine/ruleset"
)

// Stage names the shadow in logs.
const Stage = "shadow"

// Judge is the shadow's own.
type Judge interface {
	Claim(msg *message.Message) decision.Claim
	Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement
}

// Writer keeps what is found, under the lease epoch.
type Writer interface {
	AddShadow(ctx context.Context, f ruleset.Findings) error
	SetShadowNow(ctx context.Context, n *ruleset.ShadowNow) error
}

// Needs is what a shadow works with.
type Needs struct {
	Origin string // names the directory
	Read   func() (map[string][]byte, error)
	// Load makes the rule set ready to judge. A decision is given up soon after late says true.
	Load func(files map[string][]byte, late func() bool) (judge Judge, hash string, err error)
	// Compare tells each place in which two settlements of a message differ.
	Compare  func(live, shadow *decision.Settlement) []ruleset.Difference
	Writer   Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer // nil for no metrics
}

// Options are the settings of a shadow; zero values get defaults.
type Options struct {
	Every   time.Duration // between two looks at the directory, default 2 s
	Flush   time.Duration // between two writes of what was found, default 1 s
	Time    time.Duration // of one decision, default 100 ms
	Queue   int           // messages that may wait, default 256
	Records int           // records and flights of messages that wait, default 20,000
}

func (o Options) withDefaults() Options {
	pick := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	pick(&o.Every, 2*time.Second)
	pick(&o.Flush, time.Second)
	pick(&o.Time, 100*time.Millisecond)
	if o.Queue <= 0 {
		o.Queue = 256
	}
	if o.Records <= 0 {
		o.Records = 20_000
	}
	return o
}

// waits is the back-off while our own database is away.
var waits = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// Shadow is the stage. Offer may be called from any goroutine.
type Shadow struct {
	Needs
	opts   Options
	meters *meters
	queue  chan work
	weight atomic.Int64 // of what waits
	loaded atomic.Bool
	missed atomic.Int64 // dropped since the last look at it
	status atomic.Pointer[Status]

	// What follows belongs to the goroutine of Run.
	judge    Judge
	hash     string
	settle   ruleset.Settle
	deadline time.Time
	late     bool
	found    findings
	store    *outage.Outage
	told     bool // that what the shadow is now is on record
}

// work is one message with what it was judged on and what the live rule set said.
type work struct {
	msg    *message.Message
	claim  decision.Claim // of the live rule set
	on     decision.Claimed
	said   decision.Settlement
	weight int64
}

// New returns a shadow. Nothing is loaded before Run.
func New(n Needs, o Options) *Shadow {
	o = o.withDefaults()
	s := &Shadow{Needs: n, opts: o, meters: newMeters(n.Registry), queue: make(chan work, o.Queue), found: newFindings(),
		store: &outage.Outage{Log: n.Log, Stage: Stage, Server: "postgres", Waits: waits}}
	s.status.Store(&Status{ShadowNow: ruleset.ShadowNow{Origin: n.Origin, Fault: "not looked at yet", At: n.Clock.Now()}})
	return s
}

// Offer gives the shadow a message that was decided. It never waits; nothing of what it is given may change afterwards.
func (s *Shadow) Offer(msg *message.Message, claim decision.Claim, on decision.Claimed, said decision.Settlement) {
	if !s.loaded.Load() || msg.Family == message.Unsupported || msg.Family == "" {
		return // no rule set is asked about what nobody knows
	}
	w := work{msg, claim, on, said, int64(1 + len(msg.Records) + len(on.View.Flights))}
	if waiting := s.weight.Add(w.weight); waiting > int64(s.opts.Records) && waiting > w.weight {
		s.drop(w)
		return
	}
	select {
	case s.queue <- w:
	default:
		s.drop(w)
	}
}

func (s *Shadow) drop(w work) {
	s.weight.Add(-w.weight)
	s.missed.Add(1)
	s.meters.messages.WithLabelValues("dropped").Inc()
}

// Run decides beside until ctx ends (nil) or the lease is lost (an error that is fault.ErrFenced).
func (s *Shadow) Run(ctx context.Context) error {
	s.look()
	defer s.loaded.Store(false)
	look, flush := s.Clock.NewTimer(s.opts.Every), s.Clock.NewTimer(s.opts.Flush)
	defer func() { look.Stop(); flush.Stop() }()
	for {
		select {
		case <-ctx.Done():
			s.last(ctx)
			return nil
		case w := <-s.queue:
			s.weight.Add(-w.weight)
			s.one(w)
		case <-look.C():
			s.look()
			look = s.Clock.NewTimer(s.opts.Every)
		case <-flush.C():
			wait := s.opts.Flush
			err := s.flush(ctx)
			switch {
			case ctx.Err() != nil: // the next turn sees to it
			case errors.Is(err, fault.ErrFenced):
				return err
			case err != nil:
				wait = s.store.Failed(err)
			default:
				s.store.Over()
			}
			flush = s.Clock.NewTimer(wait)
		}
	}
}

// lastFlush bounds the write of what was found when the stage is stopped; the lease is held until it returns.
const lastFlush = time.Second

// last writes what was found so far when the stage is stopped.
func (s *Shadow) last(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := s.flush(bounded); err != nil && !errors.Is(err, fault.ErrFenced) {
		s.Log.Warn("what the shadow found last is not recorded", "error", err)
	}
}

// flush writes what was found, and what the shadow is, where that has changed.
func (s *Shadow) flush(ctx context.Context) error {
	if s.found.any() {
		s.found.drop(s.missed.Swap(0))
	}
	if !s.told {
		now := s.status.Load().ShadowNow
		if err := s.Writer.SetShadowNow(ctx, &now); err != nil {
			return err
		}
		s.told = true
	}
	for _, f := range s.found.take(s.Clock.Now()) {
		if err := s.Writer.AddShadow(ctx, f); err != nil {
			if ctx.Err() != nil || errors.Is(err, fault.ErrFenced) || errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrCommitInDoubt) {
				return err // it stays, and is written later if we lead then
			}
			s.Log.Error("what the shadow found cannot be recorded", "error", err)
		}
		s.found.written(f.Run)
	}
	return nil
}
