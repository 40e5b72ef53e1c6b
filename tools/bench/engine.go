package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/outbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/pump"
	"msgx/engine/store"
)

const (
	stepBound = 5 * time.Minute
	lookEvery = 20 * time.Millisecond
)

// engine is the stages of the daemon on their own, so that they can be started on
// a mailbox that is filled and timed to the end. Its connections last from round to round.
type engine struct {
	config  *config.Config
	mind    *core.Core
	store   *store.Store
	mailbox *mailbox.Mailbox
	log     *slog.Logger
	epoch   int64
	msg     *kafka.Publisher
	schd    *kafka.Publisher
}

func newEngine(ctx context.Context, c *config.Config, tracer pgx.QueryTracer) (*engine, error) {
	e := &engine{config: c, log: slog.New(slog.DiscardHandler)}
	if err := e.open(ctx, tracer); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *engine) open(ctx context.Context, tracer pgx.QueryTracer) (err error) {
	if e.mind, err = core.New(e.config); err != nil {
		return err
	}
	e.store, err = store.Open(ctx, store.Config{URL: e.config.Postgres.URL, Tracer: tracer}, e.mind.Catalogue, e.config.Airport.Location)
	if err != nil {
		return err
	}
	if e.mailbox, err = mailbox.Open(ctx, daemon.MailboxConfig(e.config)); err != nil {
		return err
	}
	var held bool
	if e.epoch, held, err = e.store.ClaimLease(ctx, "bench", time.Second); err != nil || !held {
		return fmt.Errorf("claim the lease: %v, %w", held, err)
	}
	k := daemon.KafkaConfig(e.config)
	if e.msg, err = kafka.New(k, e.config.Kafka.MsgTopic); err != nil {
		return err
	}
	e.schd, err = kafka.New(k, e.config.Kafka.SchdTopic)
	return err
}

func (e *engine) close() {
	for _, p := range []*kafka.Publisher{e.msg, e.schd} {
		if p != nil {
			p.Close()
		}
	}
	if e.mailbox != nil {
		_ = e.mailbox.Close()
	}
	if e.store == nil {
		return
	}
	if e.epoch != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), stopBound)
		defer cancel()
		_ = e.store.ReleaseLease(ctx, e.epoch, "bench") // the database is removed anyway
	}
	e.store.Close()
}

// decide runs inbox and pump until the next n messages, of which the last has the given
// id, are terminal.
func (e *engine) decide(ctx context.Context, n int, last int64) (took time.Duration, err error) {
	begun := time.Now()
	count := newCountdown(n)
	err = e.run(ctx, others{wakeBackfill: count.down}, func(ctx context.Context) error {
		took, err = e.terminal(ctx, begun, count, last)
		return err
	})
	return took, err
}

// everything runs all stages until the next n messages are terminal, and then until
// everything is delivered and marked.
func (e *engine) everything(ctx context.Context, n int, last int64) (decided, done time.Duration, err error) {
	marks, err := e.backfill()
	if err != nil {
		return 0, 0, err
	}
	msg, err := e.dispatcher(event.Msg, e.msg)
	if err != nil {
		return 0, 0, err
	}
	schd, err := e.dispatcher(event.Schd, e.schd)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	count := newCountdown(n)
	more := others{
		runs:         []func(context.Context) error{marks.Run, msg.Run, schd.Run},
		wakeBackfill: func() { count.down(); marks.Poke() },
		wakeOutbox:   msg.Poke,
	}
	err = e.run(ctx, more, func(ctx context.Context) error {
		if decided, err = e.terminal(ctx, begun, count, last); err != nil {
			return err
		}
		err = e.settled(ctx)
		done = time.Since(begun)
		return err
	})
	return decided, done, err
}

// others are the stages behind the pump.
type others struct {
	runs                     []func(context.Context) error
	wakeBackfill, wakeOutbox func()
}

// countdown ends when so many messages have become terminal, without asking a server for it.
type countdown struct {
	left  atomic.Int64
	ended chan time.Time
}

func newCountdown(n int) *countdown {
	c := &countdown{ended: make(chan time.Time, 1)}
	c.left.Store(int64(n))
	return c
}

// down is called by the pump after each message.
func (c *countdown) down() {
	if c.left.Add(-1) == 0 {
		c.ended <- time.Now()
	}
}

// run runs the stages until the given call returns.
func (e *engine) run(ctx context.Context, more others, until func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepBound)
	defer cancel()
	w := e.store.Writer(e.epoch)
	o := pump.Options{
		Retry: e.mind.Retry, Poll: e.config.Pipeline.PollInterval, KeepRaw: e.config.Replay.KeepRaw, IdentityMemory: e.config.Identity.Memory,
		WakeBackfill: more.wakeBackfill, WakeOutbox: more.wakeOutbox,
	}
	decide := pump.New(pump.Parts{
		Line: e.store, Writer: w, Mailbox: e.mailbox, Decoder: e.mind.Codec, Judge: e.mind.Judge, Clock: clock.System{}, Log: e.log,
	}, o)
	read, err := inbox.New(inbox.Needs{Mailbox: e.mailbox, Store: e.store, Writer: w, Clock: clock.System{}, Log: e.log}, inbox.Options{
		PollInterval: e.config.Pipeline.PollInterval, ClaimBatch: e.config.Pipeline.ClaimBatch,
		MaxCommitDelay: e.config.Pipeline.MaxCommitDelay, Cutover: e.config.Pipeline.CutoverWatermark, WakePump: decide.Poke,
	})
	if err != nil {
		return err
	}
	stop, halt := context.WithCancel(ctx)
	defer halt()
	group, running := errgroup.WithContext(stop)
	for _, run := range append(more.runs, read.Run, decide.Run) {
		group.Go(func() error { return run(running) })
	}
	group.Go(func() error {
		defer halt()
		return until(running)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

func (e *engine) backfill() (*backfill.Backfill, error) {
	o := backfill.Defaults()
	o.Batch, o.Policy.R = e.config.Pipeline.BackfillBatch, e.config.Pipeline.R
	return backfill.New(backfill.Needs{Mailbox: e.mailbox, Store: e.store, Writer: e.store.Writer(e.epoch), Clock: clock.System{}, Log: e.log}, o)
}

func (e *engine) dispatcher(target event.Target, publisher *kafka.Publisher) (*outbox.Dispatcher, error) {
	o := outbox.Defaults(target)
	o.Retry, o.Every, o.Limit = e.mind.Retry, e.config.Pipeline.PollInterval, e.config.Outbox.Batch
	if target == event.Schd {
		o.Every, o.Limit = e.config.Schd.FlushPeriod, e.config.Schd.FlushLimit
	}
	return outbox.New(o, outbox.Needs{
		Store: struct {
			*store.Store
			*store.Writer
		}{e.store, e.store.Writer(e.epoch)},
		Control: e.store, Publisher: publisher, Held: func() error { return nil }, Clock: clock.System{}, Log: e.log,
	})
}

// terminal waits until all messages are terminal and returns how long that took.
func (e *engine) terminal(ctx context.Context, begun time.Time, count *countdown, last int64) (time.Duration, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var ended time.Time
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		case ended = <-count.ended:
		}
		heads, watermark, _, err := e.store.Heads(ctx, 1)
		switch {
		case err != nil:
			return 0, err
		case len(heads) == 1 && heads[0].State == message.Failed:
			return 0, fmt.Errorf("message %d failed: %s", heads[0].MsgID, heads[0].LastError)
		case ended.IsZero():
		case len(heads) > 0 || watermark != last:
			return 0, fmt.Errorf("found watermark %d and %d messages unfinished, expected %d and none", watermark, len(heads), last)
		default:
			return ended.Sub(begun), nil
		}
	}
}

// settled waits until nothing is left to mark or to deliver.
func (e *engine) settled(ctx context.Context) error {
	for {
		counts, err := e.store.Counts(ctx)
		if err != nil {
			return err
		}
		if counts.MarksOwed == 0 && counts.Unsent[event.Msg] == 0 && counts.Unsent[event.Schd] == 0 {
			return nil
		}
		if err := clock.Sleep(ctx, clock.System{}, 5*lookEvery); err != nil {
			return err
		}
	}
}
