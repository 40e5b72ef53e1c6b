package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/inbox"
	"msgx/engine/lease"
	"msgx/engine/message"
	"msgx/engine/outbox"
	"msgx/engine/pump"
)

// instance is one process after another at the same place.
type instance struct {
	s       *scheduler
	place   int
	number  int // of the process
	dead    atomic.Bool
	cutOff  time.Duration
	restart time.Duration
	cancel  context.CancelFunc
	running atomic.Bool
	elected *lease.Lease // nil when there is nobody to compete with
}

var quietLog = slog.New(slog.DiscardHandler)

func newInstance(s *scheduler, place int) *instance {
	return &instance{s: s, place: place, cancel: func() {}}
}

func (in *instance) ended() bool { return !in.running.Load() }

// start begins a new process.
func (in *instance) start() {
	w := in.s.w
	w.processes++
	in.number, in.cutOff = w.processes, 0
	in.dead.Store(false)
	ctx, cancel := context.WithCancel(context.Background())
	in.cancel = cancel
	in.running.Store(true)
	in.s.note("%d starts", in.number)
	run := func() error { return in.lead(ctx, w.db.takeOver(in.number)) }
	if w.instances > 1 {
		trust := leaseTime
		if w.mutant == longTrust {
			trust *= 3
		}
		in.elected = lease.New(conn{in, slotLease, 0}, lease.Options{Holder: fmt.Sprint(in.number), Lease: trust, Poll: 3 * time.Second})
		run = func() error { return in.elected.Run(ctx, in.lead) }
	}
	go func() {
		err := run()
		if err != nil && !in.dead.Load() && !errors.Is(err, context.Canceled) {
			w.violate("process %d ended by itself: %v", in.number, err)
		}
		cancel()
		in.running.Store(false)
	}()
}

func (in *instance) held() error {
	if in.elected == nil {
		return nil
	}
	return in.elected.Held()
}

// lead runs the stages, wired as the daemon wires them.
func (in *instance) lead(ctx context.Context, epoch int64) error {
	w := in.s.w
	of := func(slot int) conn { return conn{in, slot, epoch} }
	marks, err := backfill.New(backfill.Needs{Mailbox: of(slotBackfill), Store: of(slotBackfill), Writer: of(slotBackfill), Clock: clock.System{}, Log: quietLog},
		backfill.Options{Batch: w.batch, Interval: 4 * time.Second, HoldLimit: sessionBound - time.Second, Waits: tiers,
			Policy: backfill.Policy{R: 72 * time.Hour, First: 500 * time.Millisecond, Max: 2 * time.Second}})
	if err != nil {
		return err
	}
	msg, err := in.dispatcher(event.Msg, of(slotMsg))
	if err != nil {
		return err
	}
	schd, err := in.dispatcher(event.Schd, of(slotSchd))
	if err != nil {
		return err
	}
	decide := pump.New(pump.Parts{Line: of(slotPump), Writer: of(slotPump), Mailbox: of(slotAhead), Decoder: decider{w}, Judge: decider{w}, Clock: clock.System{}, Log: quietLog},
		pump.Options{Retry: message.Retry{MaxAttempts: maxAttempts, Tiers: tiers}, Poll: 4 * time.Second, Ahead: w.ahead, KeepRaw: true,
			WakeBackfill: marks.Poke, WakeOutbox: msg.Poke})
	delay := commitDelay
	if w.mutant == youngHole {
		delay /= 8
	}
	stride := w.configured
	if w.mutant == wideStride {
		stride = 2*w.stride + 1
	}
	read, err := inbox.New(inbox.Needs{Mailbox: of(slotInbox), Store: of(slotInbox), Writer: of(slotInbox), Clock: clock.System{}, Log: quietLog},
		inbox.Options{PollInterval: time.Second, ClaimBatch: w.claim, MaxCommitDelay: delay, IDStride: stride, Cutover: w.cutover,
			LateWindow: time.Hour, LateEvery: 10 * time.Second, Waits: tiers, WakePump: decide.Poke})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{read.Run, decide.Run, marks.Run, msg.Run, schd.Run} {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

func (in *instance) dispatcher(target event.Target, c conn) (*outbox.Dispatcher, error) {
	o := outbox.Defaults(target)
	o.Every, o.Limit, o.Waits, o.Quarantine = 4*time.Second, in.s.w.batch, tiers, brokerBound
	o.Retry = message.Retry{MaxAttempts: maxAttempts, Tiers: tiers}
	if in.s.w.mutant == noQuarantine {
		o.Quarantine = time.Millisecond
	}
	return outbox.New(o, outbox.Needs{Store: c, Control: c, Publisher: c, Held: in.held, Clock: clock.System{}, Log: quietLog})
}

// conn is how one stage of one process reaches the servers.
type conn struct {
	in    *instance
	slot  int
	epoch int64
}

func (c conn) world() *world { return c.in.s.w }

// at waits to go on; an error is that of the call, and done tells whether it takes effect all the same.
func (c conn) at(ctx context.Context, k kind, name string, args any) (v verdict, err error) {
	firm := k == commits || k == writes || k == sends
	v = c.in.s.park(ctx, c.in, c.slot, &call{kind: k, name: name, args: args}, firm)
	switch v {
	case through:
		return v, nil
	case away:
		return v, fmt.Errorf("%s: %w", name, fault.ErrUnavailable)
	case lost, undone, pending:
		return v, fmt.Errorf("%s: %w", name, fault.ErrCommitInDoubt)
	case brokenOff:
		return v, fmt.Errorf("%s: %w", name, context.Cause(ctx))
	case dead:
		return v, fmt.Errorf("%s: %w", name, context.Canceled)
	}
	return v, fmt.Errorf("%s: refused", name)
}
