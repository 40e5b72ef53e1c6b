package rollout

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
	"msgx/engine/outage"
	"msgx/engine/ruleset"
)

// Stage names the rollout in logs.
const Stage = "rules"

// Workshop makes candidates and proves them.
type Workshop interface {
	// Load makes a rule set ready to judge. Its error names every fault of the files.
	Load(files map[string][]byte) (*Candidate, error)
	// Prove runs every check over a rule set that can be loaded, and returns why it must not go live. An error
	// means that nothing was found out, because ctx has ended.
	Prove(ctx context.Context, files map[string][]byte) (reasons []string, err error)
}

// Source is where this instance's configuration has its rule set.
type Source struct {
	Origin string // names the place, the machine included
	Read   func() (map[string][]byte, error)
	// Proved says that what is there needs no proof: it was proved when the binary was made.
	Proved bool
}

// Store is what the rollout reads of our own database.
type Store interface {
	Live(ctx context.Context) (l ruleset.Live, found bool, err error)
	Ruleset(ctx context.Context, hash string) (ruleset.Set, error)
	OpenRequest(ctx context.Context) (r ruleset.Request, found bool, err error)
}

// Writer is what it writes, under the lease epoch. All of it may be written again.
type Writer interface {
	GoLive(ctx context.Context, set ruleset.Set, l ruleset.Live, judged *int64, request int64) error
	Refuse(ctx context.Context, r ruleset.Refusal, request int64) error
}

// Needs is what a rollout works with.
type Needs struct {
	Workshop Workshop
	Source   Source
	Store    Store
	Writer   Writer
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer // nil for no metrics
}

// Options are the settings of a rollout.
type Options struct {
	Instance string        // who goes on record where no operator asked
	Every    time.Duration // between two looks at the source and at requests; default 2 s
	Watch    bool          // false takes no notice of a source that changes
	// TakesOver tells that this instance follows another that was at work: it does not change rules for that.
	TakesOver bool
	// Signal makes it try the source at once, whatever was considered before.
	Signal clock.Poke
}

// waits is the back-off while our own database is away.
var waits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// Rollout is the stage. Begin comes first, then Run, beside whoever calls Turn.
type Rollout struct {
	Needs
	opts   Options
	meters *meters
	store  *outage.Outage
	bench  *Bench
	status atomic.Pointer[Status]

	// What follows belongs to the goroutine of Begin and Run.
	live       ruleset.Live // Judged is nil when others judged by it as well
	settle     ruleset.Settle
	unreadable string // why the source cannot be read, as it was logged
}

// New returns a rollout.
func New(n Needs, o Options) *Rollout {
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	r := &Rollout{Needs: n, opts: o, meters: newMeters(n.Registry), store: &outage.Outage{Log: n.Log, Stage: Stage, Server: "postgres", Waits: waits}}
	r.status.Store(&Status{})
	return r
}

// Turn is Bench.Turn of what Begin seated.
func (r *Rollout) Turn(ctx context.Context) (Judge, error) { return r.bench.Turn(ctx) }

// Run changes rule sets until ctx ends (nil) or the lease is lost (an error that is fault.ErrFenced).
func (r *Rollout) Run(ctx context.Context) error {
	signalled := false
	for {
		err := r.round(ctx, signalled)
		wait := r.opts.Every
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is how a stage is stopped
		case errors.Is(err, fault.ErrFenced):
			return err
		case err != nil:
			wait = r.store.Failed(err)
		default:
			signalled = false
			r.store.Over()
		}
		signalled = clock.Wait(ctx, r.Clock, wait, r.opts.Signal) || signalled
	}
}

// round does what there is to do: what an operator asks first, then a signal, then what has changed.
func (r *Rollout) round(ctx context.Context, signalled bool) error {
	request, found, err := r.Store.OpenRequest(ctx)
	if err != nil {
		return err
	}
	if found {
		if err := r.answer(ctx, request); err != nil {
			return err
		}
	}
	if signalled {
		return r.trySource(ctx, trial{cause: ruleset.Cause{How: ruleset.BySignal, Who: r.opts.Instance}})
	}
	if !r.opts.Watch {
		return nil
	}
	files, seen := r.read()
	if !r.settle.Look(seen) {
		return nil
	}
	return r.try(ctx, trial{files: files, seen: seen, cause: ruleset.Cause{How: ruleset.ByWatch, Who: r.opts.Instance}})
}

// read reads the source; seen is "" when that fails, which is logged when it begins.
func (r *Rollout) read() (files map[string][]byte, seen string) {
	files, err := r.Source.Read()
	if err != nil {
		if r.unreadable != err.Error() {
			r.unreadable = err.Error()
			r.Log.Warn("rule set cannot be read, the live one stays", "origin", r.Source.Origin, "error", err)
		}
		return nil, ""
	}
	r.unreadable = ""
	return files, ruleset.Content(files)
}

// answer does what an operator asks.
func (r *Rollout) answer(ctx context.Context, q ruleset.Request) error {
	t := trial{cause: ruleset.Cause{How: q.Action, Who: q.Who, Why: q.Why}, request: q.ID}
	if q.Action != ruleset.ByRollback {
		return r.trySource(ctx, t)
	}
	set, err := r.Store.Ruleset(ctx, q.Hash)
	t.pinned = true
	if _, t.seen = r.read(); t.seen == "" {
		t.seen = r.settle.Considered() // it may come back as it was
	}
	if errors.Is(err, fault.ErrNotFound) {
		return r.refuse(ctx, t, "", []string{fmt.Sprintf("rule set %.12s is not on record", q.Hash)})
	}
	if err != nil {
		return err
	}
	t.files = set.Files
	return r.try(ctx, t)
}

// looks bounds how often a source that keeps changing is read before it is refused.
const looks = 20

// trySource tries what lies in the source now, once two reads agree: somebody may still be writing.
func (r *Rollout) trySource(ctx context.Context, t trial) error {
	reason := "the rule set keeps changing while it is read"
	_, before := r.read()
	for range looks {
		if err := clock.Sleep(ctx, r.Clock, min(r.opts.Every, time.Second/2)); err != nil {
			return err
		}
		t.files, t.seen = r.read()
		if t.seen == "" {
			reason = "the rule set cannot be read: " + r.unreadable
			break
		}
		if t.seen == before {
			return r.try(ctx, t)
		}
		before = t.seen
	}
	return r.refuse(ctx, t, "", []string{reason})
}
