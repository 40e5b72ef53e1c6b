package pump

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/outage"
)

// Stage is the name under which an operator pauses the pump.
const Stage = "pump"

// Line is what the pump reads of the store.
type Line interface {
	// Heads lists unfinished messages at or below the watermark, ascending;
	// beyond is the smallest unfinished one above it, 0 if there is none.
	Heads(ctx context.Context, limit int) (heads []message.Head, watermark, beyond int64, err error)
	// RawCopy is our own copy of a body.
	RawCopy(ctx context.Context, msgID int64) (message.Raw, bool, error)
	// Paused lists the stages that an operator has paused.
	Paused(ctx context.Context) (map[string]bool, error)
}

// Writer is what the pump writes to the store, fenced by a lease epoch.
type Writer interface {
	// Decide is the business transaction: it locks, confirms that the message
	// is the head, reads what the claim names, calls judge at most once and stores
	// the settlement. An error of judge rolls back and is returned.
	Decide(ctx context.Context, c decision.Claim, judge func(decision.Claimed) (decision.Settlement, error)) error
	// Settle stores the outcome of a message that touches no flight; fault.ErrMoved when its failures
	// are not those that it had when it was taken up, as an operator has sent it through again.
	Settle(ctx context.Context, s decision.Settlement) error
	// Resolve tells what became of a message whose commit is in doubt.
	Resolve(ctx context.Context, msgID int64) (message.State, error)
}

// Mailbox is where bodies are. Ids that are not there are left out of raws; last
// is the last id that was looked at, because a read stops at maxBytes (but
// returns at least one).
type Mailbox interface {
	Bodies(ctx context.Context, ids []int64, maxBytes int64) (raws []message.Raw, last int64, err error)
}

// Decoder turns a body into a message.
type Decoder interface {
	Decode(raw message.Raw) (*message.Message, error)
}

// Judge decides, without any input or output of its own.
type Judge interface {
	// Claim names what has to be read to judge a message.
	Claim(msg *message.Message) decision.Claim
	// Judge settles a decoded message.
	Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement
	// Broken settles a message that could not be decoded.
	Broken(raw message.Raw, err error, at time.Time) decision.Settlement
}

// Parts are what a pump works with.
type Parts struct {
	Line    Line
	Writer  Writer
	Mailbox Mailbox
	Decoder Decoder
	Judge   Judge
	Clock   clock.Clock
	Log     *slog.Logger
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Options are the settings of a pump; zero values get defaults.
type Options struct {
	Retry      message.Retry // default 5 attempts after 1 2 4 8 s
	Poll       time.Duration // how often an idle pump looks, default 1 s
	PauseCheck time.Duration // how often a busy one asks whether it is paused, default 500 ms
	Grace      time.Duration // how long a commit under way may last after a shutdown, default 5 s
	Ahead      int           // messages read ahead, default 256
	AheadBytes int64         // bytes of their bodies, default 4 MiB
	KeepRaw    bool          // keep our own copy of every body
	// IdentityMemory is how long an identity is remembered; 0 for ever.
	IdentityMemory time.Duration
	Shadow         bool     // owe the mailbox no marks
	Kinds          []string // kinds that metrics name; all others are "other"
	// Turn is asked between two messages who judges from here on; nil keeps Parts.Judge. An error of it
	// is that of a server: the pump waits and asks again before it takes up another message.
	Turn func(ctx context.Context) (Judge, error)
	// Beside is told of each message once, after the commit of the first attempt that came to be
	// judged: what was asked for, what it was judged on, and what the judge said. It must not block and not change anything.
	Beside func(msg *message.Message, claim decision.Claim, found decision.Claimed, said decision.Settlement)
	// WakeBackfill and WakeOutbox are called after a commit that gives them
	// work. They must not block.
	WakeBackfill func()
	WakeOutbox   func()
}

func (o Options) withDefaults() Options {
	if o.Retry.MaxAttempts <= 0 {
		o.Retry = message.Retry{MaxAttempts: 5,
			Tiers: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}}
	}
	setDefault(&o.Poll, time.Second)
	setDefault(&o.PauseCheck, 500*time.Millisecond)
	setDefault(&o.Grace, 5*time.Second)
	if o.Ahead <= 0 {
		o.Ahead = 256
	}
	if o.AheadBytes <= 0 {
		o.AheadBytes = 4 << 20
	}
	if o.WakeBackfill == nil {
		o.WakeBackfill = func() {}
	}
	if o.WakeOutbox == nil {
		o.WakeOutbox = func() {}
	}
	return o
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// Pump is the stage.
type Pump struct {
	Parts
	opts   Options
	meters *meters
	poked  clock.Poke

	// What follows belongs to the goroutine that decides.
	store, mailbox *outage.Outage // whether they can be reached
	paused         bool
	pauseChecked   time.Time
	strayed        int64 // watermark for which ids beyond it were logged
	told           int64 // the last message that Options.Beside was told of
	moved          int   // how often in a row a session ended by ErrMoved without deciding anything
}

// New returns a pump. Nothing happens before Run.
func New(p Parts, o Options) *Pump {
	if p.Clock == nil {
		p.Clock = clock.System{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	o = o.withDefaults()
	return &Pump{
		Parts: p, opts: o,
		meters:  newMeters(p.Metrics, p.Clock, o.Kinds),
		poked:   clock.NewPoke(),
		store:   &outage.Outage{Log: p.Log, Stage: Stage, Server: "postgres", Waits: waits},
		mailbox: &outage.Outage{Log: p.Log, Stage: Stage, Server: "mailbox", Waits: waits},
		strayed: -1,
	}
}

// Poke makes an idle pump look at once. It never blocks.
func (p *Pump) Poke() { p.poked.Poke() }

// Run decides messages until ctx ends (nil) or the lease is lost (an error
// that is fault.ErrFenced). Nothing else ends it.
func (p *Pump) Run(ctx context.Context) error {
	for {
		step := p.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is how a stage is stopped
		case step.err != nil:
			return step.err
		case step.wait > 0:
			p.idle(ctx, step.wait)
		}
	}
}

// step says how to go on: with the next message that was read ahead, or, when
// leave is set, by waiting and looking at the line again. An err ends the pump.
type step struct {
	leave bool
	wait  time.Duration
	err   error
}

// round looks at the line once and does what there is to do.
func (p *Pump) round(ctx context.Context) step {
	if s := p.turn(ctx); s.leave {
		return s
	}
	if s := p.checkPause(ctx, true); s.leave {
		return s
	}
	heads, watermark, beyond, err := p.Line.Heads(ctx, p.opts.Ahead)
	if err != nil {
		return p.away(ctx, p.store, fmt.Errorf("read heads: %w", err))
	}
	// Where there is something to decide, only its commit tells that the server is back: a database that is out of disk
	// still reads well.
	if len(heads) == 0 {
		p.store.Over()
		p.meters.noHead()
		p.stray(watermark, beyond)
		return step{leave: true, wait: p.opts.Poll}
	}
	head := heads[0]
	p.meters.head(head)
	if p.exhausted(head) {
		return p.exhaust(ctx, head)
	}
	if wait := p.notDue(head); wait > 0 {
		// The line is looked at meanwhile: an operator may skip the head, or a
		// smaller id may turn up.
		p.store.Over()
		return step{leave: true, wait: min(wait, p.opts.Poll)}
	}
	return p.session(ctx, heads)
}

// turn finds out who judges from here on.
func (p *Pump) turn(ctx context.Context) step {
	if p.opts.Turn == nil {
		return step{}
	}
	judge, err := p.opts.Turn(ctx)
	if err != nil {
		return p.away(ctx, p.store, fmt.Errorf("change the rule set: %w", err))
	}
	p.Judge = judge
	return step{}
}

func (p *Pump) exhausted(h message.Head) bool {
	return h.State == message.Failed && h.Attempts >= p.opts.Retry.MaxAttempts
}

func (p *Pump) notDue(h message.Head) time.Duration {
	if h.State != message.Failed || h.NextAttemptAt.IsZero() {
		return 0
	}
	return h.NextAttemptAt.Sub(p.Clock.Now())
}

// exhaust ends a head that was found with all its attempts used up.
func (p *Pump) exhaust(ctx context.Context, h message.Head) step {
	now := p.Clock.Now()
	return p.settle(ctx, decision.Settlement{MsgID: h.MsgID, Outcome: message.Exhaust(h.Class, h.LastError),
		Before: h.Attempts, Attempts: h.Attempts, StartedAt: now, At: now, OwesMark: !p.opts.Shadow})
}

// stray says once for each watermark that there are messages above it: they
// wait until everything before them has been read.
func (p *Pump) stray(watermark, beyond int64) {
	if beyond == 0 || p.strayed == watermark {
		return
	}
	p.strayed = watermark
	p.Log.Warn("message waits above the watermark until everything before it has been read",
		"msg_id", beyond, "watermark", watermark)
}

// checkPause asks the store whether the pump is paused, between two messages
// at most every PauseCheck.
func (p *Pump) checkPause(ctx context.Context, now bool) step {
	at := p.Clock.Now()
	if !now && at.Sub(p.pauseChecked) < p.opts.PauseCheck {
		return step{}
	}
	stages, err := p.Line.Paused(ctx)
	if err != nil {
		return p.away(ctx, p.store, fmt.Errorf("read whether the pump is paused: %w", err))
	}
	p.pauseChecked = at
	if stages[Stage] != p.paused {
		p.paused = stages[Stage]
		p.meters.pause(p.paused)
		p.Log.Info(map[bool]string{true: "pump paused", false: "pump resumed"}[p.paused])
	}
	if p.paused {
		p.store.Over()
		return step{leave: true, wait: p.opts.Poll}
	}
	return step{}
}

// idle waits for a poke or for d.
func (p *Pump) idle(ctx context.Context, d time.Duration) { clock.Wait(ctx, p.Clock, d, p.poked) }
