package daemon

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/audit"
	"msgx/engine/clock"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
)

// AuditNeeds is what an audit works on, as far as our own database goes.
func AuditNeeds(conf *config.Config, s *store.Store, mind *core.Core, c clock.Clock) audit.Needs {
	return audit.Needs{
		Catalogue: mind.Catalogue, Clock: c, Outbox: s,
		Rulesets: onRecord{s, mind, core.NewWorkshop(conf, mind.Catalogue, "audit")},
		Look: func(ctx context.Context, fn func(audit.Snapshot) error) error {
			return s.Snapshot(ctx, func(snapshot *store.Snapshot) error { return fn(snapshot) })
		},
	}
}

// AuditTopics adds the broker to the needs of an audit.
func AuditTopics(n *audit.Needs, c *config.Config) error {
	msg, err := kafka.NewReader(KafkaConfig(c), c.Kafka.MsgTopic)
	if err != nil {
		return err
	}
	schd, err := kafka.NewReader(KafkaConfig(c), c.Kafka.SchdTopic)
	if err != nil {
		return err
	}
	n.Msg, n.Schd = msg, schd
	return nil
}

// AuditOptions are the bounds of an audit that the configuration gives.
func AuditOptions(c *config.Config) audit.Options {
	return audit.Options{IdentityMemory: c.Identity.Memory, IDStride: c.Pipeline.IDStride}
}

// onRecord are the rule sets that were live, as our own database keeps them.
type onRecord struct {
	store    *store.Store
	mind     *core.Core
	workshop *core.Workshop
}

// Load makes the rule set with the hash again; fault.ErrNotFound when its text is not kept, or makes another
// one under the catalogue of today.
func (r onRecord) Load(ctx context.Context, hash string) (*audit.Ruleset, error) {
	set, err := r.store.Ruleset(ctx, hash)
	if err != nil {
		return nil, err
	}
	book, judge, err := r.workshop.Recall(set)
	if err != nil {
		return nil, err
	}
	writes := map[string][]string{}
	for _, kind := range r.mind.Catalogue.Kinds {
		if script, ok := book.Handler(kind.Name); ok {
			writes[script.ID] = script.Writes
		}
	}
	return &audit.Ruleset{Decoder: r.mind.Codec, Judge: judge, Writes: writes}, nil
}

func (d *Daemon) newSentinel(registry *prometheus.Registry) (*audit.Sentinel, error) {
	check := d.config.Check
	return audit.NewSentinel(AuditNeeds(d.config, d.store, d.core, d.clock), AuditOptions(d.config),
		audit.Watch{OnStartup: check.OnStartup, Ratio: check.DailySampleRatio}, d.log, registry)
}
