package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"msgx/engine/backfill"
	"msgx/engine/event"
	"msgx/engine/inbox"
	"msgx/engine/outbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/pump"
	"msgx/engine/store"
)

// swap is the registry of the stages that run now.
type swap struct {
	now atomic.Pointer[prometheus.Registry]
}

// Gather joins the metrics of the process and of the stages.
func (r *registries) Gather() ([]*dto.MetricFamily, error) {
	gatherers := prometheus.Gatherers{r.process}
	if stages := r.leading.now.Load(); stages != nil {
		gatherers = append(gatherers, stages)
	}
	return gatherers.Gather()
}

// lead runs every stage under one lease epoch until ctx ends or one of them
// cannot go on.
func (d *Daemon) lead(ctx context.Context, epoch int64) error {
	writer := d.store.Writer(epoch)
	registry := prometheus.NewRegistry()
	d.metrics.leading.now.Store(registry)
	defer d.metrics.leading.now.Store(nil)
	err := d.await(ctx, "postgres", func(ctx context.Context) error { return d.enter(ctx, writer) })
	if errors.Is(err, context.Canceled) {
		return nil // asked to stop, or the lease was lost, before the first message
	}
	if err != nil {
		return err
	}
	stages, err := d.stages(writer, registry)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range stages {
		group.Go(func() error {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err // which says what it is of
			}
			return nil
		})
	}
	return group.Wait()
}

// enter does what comes before the first message: the settings that data
// depend on are held to, the live rule set is put on record, and a start without autostart
// pauses everything. It may be done again.
func (d *Daemon) enter(ctx context.Context, writer *store.Writer) error {
	if err := d.keepFacts(ctx, writer); err != nil {
		return err
	}
	now := d.clock.Now()
	settings := map[string]string{
		"absent-optional": d.config.Schd.AbsentOptional,
		"code-share":      d.config.Outbox.CodeShare,
		"zone":            d.config.Airport.Zone,
		"day-cutover":     d.config.Airport.DayCutover.String(),
	}
	if err := writer.RecordRuleset(ctx, d.core.Rules.Hash(), d.core.Rules.Files(), settings, d.build, now); err != nil {
		return err
	}
	if d.config.Pipeline.Autostart {
		return nil
	}
	for _, stage := range []string{inbox.Stage, pump.Stage, backfill.Stage, string(event.Msg), string(event.Schd)} {
		if err := d.store.SetPaused(ctx, stage, true, Holder(d.config), "msgx.pipeline.autostart is false", now); err != nil {
			return err
		}
	}
	return nil
}

// stages builds the stages, each waking the next.
func (d *Daemon) stages(writer *store.Writer, registry *prometheus.Registry) (map[string]func(context.Context) error, error) {
	marks, err := d.newBackfill(writer, registry)
	if err != nil {
		return nil, err
	}
	msg, err := d.newDispatcher(event.Msg, d.servers.msg, writer, registry)
	if err != nil {
		return nil, err
	}
	schd, err := d.newDispatcher(event.Schd, d.servers.schd, writer, registry)
	if err != nil {
		return nil, err
	}
	decide := d.newPump(writer, registry, marks.Poke, msg.Poke)
	read, err := d.newInbox(writer, registry, decide.Poke)
	if err != nil {
		return nil, err
	}
	sentinel, err := d.newSentinel(registry)
	if err != nil {
		return nil, err
	}
	return map[string]func(context.Context) error{
		"sentinel": sentinel.Run,
		"inbox":    read.Run, "pump": decide.Run, "backfill": marks.Run,
		string(event.Msg): msg.Run, string(event.Schd): schd.Run,
	}, nil
}

func (d *Daemon) newPump(writer *store.Writer, registry *prometheus.Registry, wakeBackfill, wakeOutbox func()) *pump.Pump {
	kinds := make([]string, 0, len(d.core.Catalogue.Kinds))
	for _, k := range d.core.Catalogue.Kinds {
		kinds = append(kinds, k.Name)
	}
	return pump.New(pump.Parts{
		Line: d.store, Writer: writer, Mailbox: d.servers.mailbox.Load(), Decoder: d.core.Codec, Judge: d.core.Judge,
		Clock: d.clock, Log: d.log, Metrics: registry,
	}, pump.Options{
		Retry: d.core.Retry, Poll: d.config.Pipeline.PollInterval, KeepRaw: d.config.Replay.KeepRaw,
		IdentityMemory: d.config.Identity.Memory, Kinds: kinds, WakeBackfill: wakeBackfill, WakeOutbox: wakeOutbox,
	})
}

func (d *Daemon) newInbox(writer *store.Writer, registry *prometheus.Registry, wakePump func()) (*inbox.Inbox, error) {
	p := d.config.Pipeline
	return inbox.New(inbox.Needs{
		Mailbox: d.servers.mailbox.Load(), Store: d.store, Writer: writer, Clock: d.clock, Log: d.log, Registry: registry,
	}, inbox.Options{
		PollInterval: p.PollInterval, ClaimBatch: p.ClaimBatch, MaxCommitDelay: p.MaxCommitDelay,
		IDStride: p.IDStride, Cutover: p.CutoverWatermark, LateWindow: p.LateWindow, WakePump: wakePump,
	})
}

func (d *Daemon) newBackfill(writer *store.Writer, registry *prometheus.Registry) (*backfill.Backfill, error) {
	o := backfill.Defaults()
	o.Batch, o.Policy.R = d.config.Pipeline.BackfillBatch, d.config.Pipeline.R
	o.HoldLimit = sessionBound(d.config)
	return backfill.New(backfill.Needs{
		Mailbox: d.servers.mailbox.Load(), Store: d.store, Writer: writer, Clock: d.clock, Log: d.log, Registry: registry,
	}, o)
}

// writing is what a dispatcher needs of the store: reading as anybody,
// writing under the epoch.
type writing struct {
	*store.Store
	*store.Writer
}

func (d *Daemon) newDispatcher(target event.Target, publisher *kafka.Publisher, writer *store.Writer, registry *prometheus.Registry) (*outbox.Dispatcher, error) {
	o := outbox.Defaults(target)
	o.Retry = d.core.Retry
	o.Quarantine = d.config.Kafka.RequestTimeout
	o.Every, o.Limit = d.config.Pipeline.PollInterval, d.config.Outbox.Batch
	if target == event.Schd {
		o.Every, o.Limit = d.config.Schd.FlushPeriod, d.config.Schd.FlushLimit
	}
	return outbox.New(o, outbox.Needs{
		Store: writing{d.store, writer}, Control: d.store, Publisher: publisher, Held: d.lease.Held,
		Backlog: func(ctx context.Context) (int64, time.Time, error) {
			counts, err := d.store.Counts(ctx)
			return counts.Unsent[target], counts.OldestUnsent[target], err
		},
		Clock: d.clock, Log: d.log, Registry: registry,
	})
}
