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
	"msgx/engine/backlog"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/inbox"
	"msgx/engine/message"
	"msgx/engine/outbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/pump"
	"msgx/engine/rollout"
	"msgx/engine/shadow"
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
	rules := d.newRollout(writer, registry)
	err := d.await(ctx, "postgres", func(ctx context.Context) error { return d.enter(ctx, writer, rules) })
	if errors.Is(err, context.Canceled) {
		return nil // asked to stop, or the lease was lost, before the first message
	}
	if err != nil {
		return err
	}
	d.rules.leading.Store(rules)
	defer d.rules.leading.Store(nil)
	beside := d.newShadow(writer, registry)
	d.rules.shadow.Store(beside)
	defer d.rules.shadow.Store(nil)
	defer d.leads.end()
	stages, err := d.stages(writer, registry, rules, beside)
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
// depend on are held to, the rule set to lead with is found and put on record, and a start without autostart
// pauses everything. It may be done again.
func (d *Daemon) enter(ctx context.Context, writer *store.Writer, rules *rollout.Rollout) error {
	if err := d.keepFacts(ctx, writer); err != nil {
		return err
	}
	if err := rules.Begin(ctx); err != nil {
		return err
	}
	if d.config.Rules.Shadow == "" {
		if err := writer.SetShadowNow(ctx, nil); err != nil {
			return err
		}
	}
	if d.config.Pipeline.Autostart {
		return nil
	}
	for _, stage := range []string{inbox.Stage, pump.Stage, backfill.Stage, string(event.Msg), string(event.Schd)} {
		if err := d.store.SetPaused(ctx, stage, true, Holder(d.config), "msgx.pipeline.autostart is false", d.clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// stages builds the stages, each waking the next.
func (d *Daemon) stages(writer *store.Writer, registry *prometheus.Registry, rules *rollout.Rollout, beside *shadow.Shadow) (map[string]func(context.Context) error, error) {
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
	decide := d.newPump(writer, registry, rules, beside, marks.Poke, msg.Poke)
	read, err := d.newInbox(writer, registry, decide.Poke)
	if err != nil {
		return nil, err
	}
	d.leads.begin(writer, read.Poke)
	sentinel, err := d.newSentinel(registry)
	if err != nil {
		return nil, err
	}
	left, err := d.newBacklog(registry)
	if err != nil {
		return nil, err
	}
	stages := map[string]func(context.Context) error{
		"sentinel": sentinel.Run, "topics": d.watchTopics(registry), backlog.Stage: left.Run,
		"inbox": read.Run, "pump": decide.Run, "backfill": marks.Run, rollout.Stage: rules.Run,
		string(event.Msg): msg.Run, string(event.Schd): schd.Run,
	}
	if beside != nil {
		stages[shadow.Stage] = beside.Run
	}
	return stages, nil
}

func (d *Daemon) newPump(writer *store.Writer, registry *prometheus.Registry, rules *rollout.Rollout, beside *shadow.Shadow, wakeBackfill, wakeOutbox func()) *pump.Pump {
	kinds := make([]string, 0, len(d.core.Catalogue.Kinds))
	for _, k := range d.core.Catalogue.Kinds {
		kinds = append(kinds, k.Name)
	}
	var offer func(*message.Message, decision.Claim, decision.Claimed, decision.Settlement)
	if beside != nil {
		offer = beside.Offer
	}
	return pump.New(pump.Parts{
		Line: d.store, Writer: writer, Mailbox: d.servers.mailbox.Load(), Decoder: d.core.Codec,
		Clock: d.clock, Log: d.log, Metrics: registry,
	}, pump.Options{
		Retry: d.core.Retry, Poll: d.config.Pipeline.PollInterval, KeepRaw: d.config.Replay.KeepRaw,
		IdentityMemory: d.config.Identity.Memory, Kinds: kinds,
		Turn: func(ctx context.Context) (pump.Judge, error) { return rules.Turn(ctx) }, Beside: offer,
		WakeBackfill: wakeBackfill, WakeOutbox: wakeOutbox,
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
