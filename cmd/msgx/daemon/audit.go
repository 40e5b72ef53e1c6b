package daemon

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/audit"
	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
)

// AuditNeeds is what an audit works on, as far as our own database goes.
func AuditNeeds(s *store.Store, mind *core.Core, c clock.Clock) audit.Needs {
	return audit.Needs{
		Catalogue: mind.Catalogue, Clock: c, Outbox: s, Rulesets: configured{mind},
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

// configured is the one rule set that is at hand: that of the configuration.
type configured struct{ mind *core.Core }

// Load gives the rule set if it has the hash.
func (r configured) Load(_ context.Context, hash string) (*audit.Ruleset, error) {
	if hash != r.mind.Rules.Hash() {
		return nil, fmt.Errorf("rule set %s: %w", hash, fault.ErrNotFound)
	}
	writes := map[string][]string{}
	for _, kind := range r.mind.Catalogue.Kinds {
		if script, ok := r.mind.Rules.Handler(kind.Name); ok {
			writes[script.ID] = script.Writes
		}
	}
	return &audit.Ruleset{Decoder: r.mind.Codec, Judge: r.mind.Judge, Writes: writes}, nil
}

func (d *Daemon) newSentinel(registry *prometheus.Registry) (*audit.Sentinel, error) {
	check := d.config.Check
	return audit.NewSentinel(AuditNeeds(d.store, d.core, d.clock), AuditOptions(d.config),
		audit.Watch{OnStartup: check.OnStartup, Ratio: check.DailySampleRatio}, d.log, registry)
}
