package daemon

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/clock"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/rollout"
	"msgx/engine/ruleset"
	"msgx/engine/shadow"
	"msgx/engine/store"
)

// rules is what changes rule sets while the instance leads.
type rules struct {
	source   rollout.Source
	workshop *core.Workshop
	signal   clock.Poke
	leading  atomic.Pointer[rollout.Rollout] // nil while another instance leads
	shadow   atomic.Pointer[shadow.Shadow]   // nil while another one leads, and without a shadow
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
		Instance: Holder(d.config), Every: d.config.Rules.WatchInterval, TakesOver: d.lease.TakesOver(),
		// What the binary carries does not change.
		Watch: d.config.Rules.Watch && d.config.Rules.Dir != "", Signal: d.rules.signal,
	})
}

// newShadow makes the shadow of the configuration, nil when it has none.
func (d *Daemon) newShadow(writer *store.Writer, registry *prometheus.Registry) *shadow.Shadow {
	c := d.config.Rules
	if c.Shadow == "" {
		return nil
	}
	source := core.DirSource(c.Shadow)
	return shadow.New(shadow.Needs{
		Origin: source.Origin, Read: source.Read, Load: d.rules.workshop.LoadShadow, Compare: compare,
		Writer: writer, Clock: d.clock, Log: d.log, Registry: registry,
	}, shadow.Options{Every: c.WatchInterval, Time: c.ShadowTime})
}

// compare tells where two settlements of a message differ.
func compare(live, beside *decision.Settlement) []ruleset.Difference {
	var out []ruleset.Difference
	for _, d := range comparison.Differences(live, beside) {
		out = append(out, ruleset.Difference{Spot: ruleset.Spot{Place: string(d.Where)}, FLID: d.FLID, Live: d.Old, Shadow: d.New})
	}
	return out
}

// rulesShown is what the instance tells of rule sets over HTTP.
type rulesShown struct {
	Leading bool `json:"leading"`
	rollout.Status
	Shadow *shadow.Status `json:"shadow,omitempty"`
}

// showRules tells what this instance leads with, or what is on record as live.
func (d *Daemon) showRules(ctx context.Context) (any, error) {
	if leading := d.rules.leading.Load(); leading != nil {
		shown := rulesShown{Leading: true, Status: leading.Status()}
		if beside := d.rules.shadow.Load(); beside != nil {
			status := beside.Status()
			shown.Shadow = &status
		}
		return shown, nil
	}
	l, found, err := d.store.Live(ctx)
	if err != nil || !found {
		return rulesShown{}, err
	}
	return rulesShown{Status: rollout.Status{Live: &ruleset.Live{
		Hash: l.Hash, Build: l.Build, Cause: l.Cause, Place: l.Place, Pinned: l.Pinned, From: l.From,
	}}}, nil
}
