package rollout

import (
	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/ruleset"
)

// Status is what is live, and why the last candidate was refused. It is for reading.
type Status struct {
	Live    *ruleset.Live    `json:"live"`
	Refused *ruleset.Refusal `json:"refused,omitempty"` // since the live one went live
}

// Status is what holds now. It may be called from any goroutine.
func (r *Rollout) Status() Status { return *r.status.Load() }

// show publishes what holds from now on.
func (r *Rollout) show(l ruleset.Live, refused *ruleset.Refusal) {
	l.Judged = nil // it is told when it is over
	r.status.Store(&Status{Live: &l, Refused: refused})
}

// meters are what the rollout tells Prometheus.
type meters struct {
	live    *prometheus.GaugeVec
	swaps   *prometheus.CounterVec
	refused *prometheus.CounterVec
	waiting prometheus.Gauge
	pinned  prometheus.Gauge
	proving prometheus.Histogram
}

func newMeters(r prometheus.Registerer) *meters {
	m := &meters{
		live: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "msgx_rules_live_info",
			Help: "1, labelled with the hash of the live rule set."}, []string{"ruleset"}),
		swaps: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_rules_swaps_total",
			Help: "Rule sets that took the place of another while messages flowed, by what asked for it."}, []string{"how"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_rules_refused_total",
			Help: "Rule sets that were refused, by what asked for them."}, []string{"how"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_rules_refused",
			Help: "1 while the last candidate was refused."}),
		pinned: prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_rules_pinned",
			Help: "1 while a rollback holds the live rule set."}),
		proving: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "msgx_rules_prove_seconds",
			Help: "How long loading and proving a candidate took.", Buckets: prometheus.ExponentialBuckets(0.05, 2, 12)}),
	}
	// From the first scrape on, so that the first one is a change.
	for _, how := range []ruleset.How{ruleset.ByWatch, ruleset.BySignal, ruleset.ByActivate, ruleset.ByRollback} {
		m.swaps.WithLabelValues(string(how))
		m.refused.WithLabelValues(string(how))
	}
	if r != nil {
		r.MustRegister(m.live, m.swaps, m.refused, m.waiting, m.pinned, m.proving)
	}
	return m
}

func (m *meters) wentLive(l ruleset.Live, swapped bool) {
	m.live.Reset()
	m.live.WithLabelValues(l.Hash).Set(1)
	m.waiting.Set(0)
	m.pinned.Set(0)
	if l.Pinned {
		m.pinned.Set(1)
	}
	if swapped {
		m.swaps.WithLabelValues(string(l.How)).Inc()
	}
}

func (m *meters) refuse(how ruleset.How) {
	m.refused.WithLabelValues(string(how)).Inc()
	m.waiting.Set(1)
}
