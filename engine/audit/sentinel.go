package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/flight"
)

const (
	day = 24 * time.Hour
	// sampleMost bounds a sample; samplePage and samplePause keep it from being felt.
	sampleMost  = 1000
	samplePage  = 10
	samplePause = 100 * time.Millisecond
)

// Watch says when a sentinel looks, and how much at once.
type Watch struct {
	OnStartup bool
	Ratio     float64 // share of the flights in a sample, 0 for none
}

// Sentinel holds a sample of flights against their history and events while the daemon works:
// at the start, and once a day another part, until all had their turn. It only reads, a few flights at a time, each few in a
// snapshot of their own; it decides nothing, and its failures stop nobody.
type Sentinel struct {
	n       Needs
	o       Options
	w       Watch
	log     *slog.Logger
	metrics *metrics
}

type metrics struct {
	samples, flights, failures prometheus.Counter
	differences                *prometheus.GaugeVec
	last                       prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "msgx", Subsystem: "audit", Name: name, Help: help}
	}
	counter := func(n, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts(name(n, help)))
	}
	m := &metrics{
		samples:     counter("samples_total", "Samples of flights that were held against their history and events."),
		flights:     counter("flights_total", "Flights in these samples."),
		failures:    counter("failures_total", "Samples that could not be taken to their end."),
		differences: prometheus.NewGaugeVec(prometheus.GaugeOpts(name("differences", "Differences that the last sample found, by number of the invariant.")), []string{"invariant"}),
		last:        prometheus.NewGauge(prometheus.GaugeOpts(name("last_sample_timestamp_seconds", "When the last sample was taken to its end."))),
	}
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(registry.Register(m.samples), registry.Register(m.flights), registry.Register(m.failures),
		registry.Register(m.differences), registry.Register(m.last))
}

// NewSentinel makes a sentinel. Of the needs it uses the snapshots and the rule sets.
func NewSentinel(n Needs, o Options, w Watch, log *slog.Logger, registry prometheus.Registerer) (*Sentinel, error) {
	if w.Ratio < 0 || w.Ratio > 1 {
		return nil, fmt.Errorf("audit: a sample of %g of the flights, expected 0 to 1", w.Ratio)
	}
	m, err := newMetrics(registry)
	if err != nil {
		return nil, fmt.Errorf("audit: metrics: %w", err)
	}
	n.Mailbox, n.Outbox, n.Msg, n.Schd = nil, nil, nil, nil
	return &Sentinel{n: n, o: o, w: w, log: log, metrics: m}, nil
}

// Run samples until ctx ends.
func (s *Sentinel) Run(ctx context.Context) error {
	if s.w.Ratio == 0 {
		<-ctx.Done()
		return nil
	}
	for now := s.w.OnStartup; ctx.Err() == nil; now = true {
		if now {
			s.sample(ctx)
		}
		clock.Wait(ctx, s.n.Clock, day, nil)
	}
	return nil
}

// sample takes one sample and tells what it found.
func (s *Sentinel) sample(ctx context.Context) {
	parts := int64(math.Ceil(1 / s.w.Ratio))
	part := s.n.Clock.Now().Unix() / int64(day/time.Second) % parts
	a := New(s.n, s.o)
	err := a.sample(ctx, s.n.Clock, part, parts)
	a.report.close()
	found := a.report.Counts["flights"]
	s.metrics.flights.Add(float64(found))
	if err != nil {
		if ctx.Err() == nil {
			s.metrics.failures.Inc()
			s.log.Warn("consistency check broken off", "flights", found, "error", err)
		}
		return
	}
	s.metrics.samples.Inc()
	s.metrics.last.Set(float64(s.n.Clock.Now().Unix()))
	for _, l := range a.report.Lines {
		s.metrics.differences.WithLabelValues(strconv.Itoa(int(l.Invariant))).Set(float64(l.Broken))
		for _, f := range l.Findings {
			s.log.Error("consistency check: difference", "invariant", int(l.Invariant), "promise", l.Name, "place", f.Place, "found", f.Found, "expected", f.Expected)
		}
	}
	s.log.Info("consistency check done", "flights", found, "differences", a.report.Broken(), "part", part+1, "of", parts)
}

// sample compares the flights of one part, a few at a time.
func (a *Audit) sample(ctx context.Context, c clock.Clock, part, parts int64) error {
	for after, taken := flight.ID(-1), 0; taken < sampleMost; {
		var ids []flight.ID
		err := a.n.Look(ctx, func(s Snapshot) (err error) {
			if ids, err = s.FlightSample(ctx, after, part, parts, samplePage); err != nil || len(ids) == 0 {
				return err
			}
			return a.flightsOf(ctx, s, ids)
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		after, taken = ids[len(ids)-1], taken+len(ids)
		if err := clock.Sleep(ctx, c, samplePause); err != nil {
			return err
		}
	}
	return nil
}
