package daemon

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/clock"
	"msgx/engine/rollout"
	"msgx/engine/ruleset"
	"msgx/engine/store"
)

// rules is what changes rule sets while the instance leads.
type rules struct {
	source   rollout.Source
	workshop *core.Workshop
	signal   clock.Poke
	leading  atomic.Pointer[rollout.Rollout] // nil while another instance leads
}

func newRules(c *config.Config, mind *core.Core, build string) rules {
	return rules{
		source: core.RulesSource(c), signal: clock.NewPoke(),
		workshop: core.NewWorkshop(c, mind.Catalogue, build, core.Checks(c, mind.Catalogue)...),
	}
}

// Reload has the instance try its rule set directory, if it leads, as SIGHUP does.
func (d *Daemon) Reload() {
	if d.rules.leading.Load() == nil {
		d.log.Info("not leading: the leader decides when rule sets change")
		return
	}
	d.rules.signal.Poke()
}

func (d *Daemon) newRollout(writer *store.Writer, registry *prometheus.Registry) *rollout.Rollout {
	return rollout.New(rollout.Needs{
		Workshop: d.rules.workshop, Source: d.rules.source, Store: d.store, Writer: writer, Clock: d.clock, Log: d.log, Registry: registry,
	}, rollout.Options{
		Instance: Holder(d.config), Every: d.config.Rules.WatchInterval,
		// What the binary carries does not change.
		Watch: d.config.Rules.Watch && d.config.Rules.Dir != "", Signal: d.rules.signal,
	})
}

// rulesShown is what the instance tells of rule sets over HTTP.
type rulesShown struct {
	Leading bool `json:"leading"`
	rollout.Status
}

// showRules tells what this instance leads with, or what is on record as live.
func (d *Daemon) showRules(ctx context.Context) (any, error) {
	if leading := d.rules.leading.Load(); leading != nil {
		return rulesShown{Leading: true, Status: leading.Status()}, nil
	}
	l, found, err := d.store.Live(ctx)
	if err != nil || !found {
		return rulesShown{}, err
	}
	return rulesShown{Status: rollout.Status{Live: &ruleset.Live{
		Hash: l.Hash, Build: l.Build, Cause: l.Cause, Place: l.Place, Pinned: l.Pinned, From: l.From,
	}}}, nil
}
