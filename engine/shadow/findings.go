package shadow

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/ruleset"
)

// examplesASpot is how many examples of a spot are kept until they are written: the latest.
const examplesASpot = 5

// findings collect what is to be written, by the pair of rule sets. It is for one goroutine, and pure.
type findings struct {
	runs map[ruleset.Run]*collected
	last ruleset.Run // whose messages came last: what is dropped is counted there
}

type collected struct {
	tally    ruleset.Tally
	counts   map[ruleset.Spot]int64
	examples map[ruleset.Spot][]ruleset.Difference
}

func newFindings() findings { return findings{runs: map[ruleset.Run]*collected{}} }

func (f *findings) of(run ruleset.Run) *collected {
	f.last = run
	c := f.runs[run]
	if c == nil {
		c = &collected{counts: map[ruleset.Spot]int64{}, examples: map[ruleset.Spot][]ruleset.Difference{}}
		f.runs[run] = c
	}
	return c
}

func (f *findings) tally(run ruleset.Run, t ruleset.Tally) { f.of(run).tally.Add(t) }

func (f *findings) add(run ruleset.Run, d ruleset.Difference) {
	c := f.of(run)
	c.counts[d.Spot]++
	kept := append(c.examples[d.Spot], d)
	c.examples[d.Spot] = kept[max(0, len(kept)-examplesASpot):]
}

// any tells whether there is a run to count something for.
func (f *findings) any() bool { return f.last != ruleset.Run{} }

// drop counts messages that the shadow never saw.
func (f *findings) drop(n int64) {
	if n > 0 {
		f.of(f.last).tally.Dropped += n
	}
}

// take gives what is to be written; it stays until written says so.
func (f *findings) take(at time.Time) []ruleset.Findings {
	var out []ruleset.Findings
	for run, c := range f.runs {
		found := ruleset.Findings{Run: run, Tally: c.tally, Counts: maps.Clone(c.counts), At: at}
		for _, examples := range c.examples {
			found.Examples = append(found.Examples, examples...)
		}
		slices.SortStableFunc(found.Examples, func(a, b ruleset.Difference) int { return int(a.MsgID - b.MsgID) })
		out = append(out, found)
	}
	return out
}

// written forgets what was written of a run.
func (f *findings) written(run ruleset.Run) { delete(f.runs, run) }

// meters are what the shadow tells Prometheus.
type meters struct {
	messages    *prometheus.CounterVec
	differences *prometheus.CounterVec
	info        *prometheus.GaugeVec
	seconds     prometheus.Histogram
}

func newMeters(r prometheus.Registerer) *meters {
	m := &meters{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_rules_shadow_messages_total",
			Help: "Messages offered to the shadow rule set by what came of it: same, different, unread, late, dropped."}, []string{"result"}),
		differences: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_rules_shadow_differences_total",
			Help: "Places in which the shadow would have decided otherwise, by kind."}, []string{"kind"}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "msgx_rules_shadow_info",
			Help: "1, labelled with the hash of the shadow rule set; 0 without a hash while none is loaded."}, []string{"ruleset"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "msgx_rules_shadow_decide_seconds",
			Help: "How long the shadow took over a message.", Buckets: prometheus.ExponentialBuckets(0.00025, 2, 14)}),
	}
	if r != nil {
		r.MustRegister(m.messages, m.differences, m.info, m.seconds)
	}
	m.up("")
	return m
}

func (m *meters) up(hash string) {
	m.info.Reset()
	value := 1.0
	if hash == "" {
		value = 0
	}
	m.info.WithLabelValues(hash).Set(value)
}
