// Package backlog measures what is left to do: how many messages, how old the oldest is, and how long it will take at the rate
// that was measured. A backlog is no mode of its own: it is drained by the ordinary path, in order, at the ordinary speed.
//
// The rate is that by which what is left shrinks, arrivals included, over the last 5 minutes; so a backlog that grows has no end, and
// the time is +Inf. A server that is away leaves the figures as they were; its own metrics tell.
package backlog

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/outage"
)

// Stage names it among the stages.
const Stage = "backlog"

// Reading is one look at what is left.
type Reading struct {
	At         time.Time
	Unread     int64 // ids of the mailbox above the watermark; a gap counts as if it were rows
	Unfinished int64 // enqueued, and not decided
	// Oldest is when the oldest of them was enqueued, or received where it is not enqueued yet; zero when nothing is left.
	Oldest time.Time
}

// Left is how many messages are not decided.
func (r Reading) Left() int64 { return r.Unread + r.Unfinished }

// Age is how old the oldest is.
func (r Reading) Age() time.Duration {
	if r.Oldest.IsZero() {
		return 0
	}
	return max(0, r.At.Sub(r.Oldest))
}

// Drain tells from two readings by how many messages a second what is left shrinks (less than 0: grows), and how long it
// takes to the end at that rate. ends is false when it does not come to an end.
func Drain(first, last Reading) (perSecond float64, remaining time.Duration, ends bool) {
	if elapsed := last.At.Sub(first.At).Seconds(); elapsed > 0 {
		perSecond = float64(first.Left()-last.Left()) / elapsed
	}
	if last.Left() == 0 {
		return perSecond, 0, true
	}
	seconds := float64(last.Left()) / perSecond
	if perSecond <= 0 || seconds > math.MaxInt64/float64(time.Second)/2 {
		return perSecond, 0, false
	}
	return perSecond, time.Duration(seconds * float64(time.Second)), true
}

const (
	every  = 10 * time.Second
	window = 30 // readings
)

// Gauge is the stage that keeps the figures as metrics.
type Gauge struct {
	look               func(ctx context.Context) (Reading, error)
	clock              clock.Clock
	server             outage.Outage
	readings           []Reading
	left, oldest, rest prometheus.Gauge
}

// New makes a gauge of what look reads.
func New(look func(ctx context.Context) (Reading, error), c clock.Clock, log *slog.Logger, registry prometheus.Registerer) (*Gauge, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "msgx", Subsystem: Stage, Name: name, Help: help})
	}
	g := &Gauge{
		look: look, clock: c, server: outage.Outage{Log: log, Stage: Stage, Server: "postgres or mailbox", Waits: []time.Duration{every}},
		left:   gauge("left_messages", "Messages that are not decided yet, read or not."),
		oldest: gauge("oldest_seconds", "Age of the oldest of them, 0 when none is left."),
		rest:   gauge("drain_seconds", "How long they take at the rate of the last minutes; +Inf when they do not become fewer."),
	}
	for _, c := range []prometheus.Collector{g.left, g.oldest, g.rest} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("backlog: metrics: %w", err)
		}
	}
	return g, nil
}

// Run looks until ctx ends.
func (g *Gauge) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if r, err := g.look(ctx); err == nil {
			g.server.Over()
			g.take(r)
		} else if ctx.Err() == nil {
			_ = g.server.Failed(err) // the pace is the same
		}
		if err := clock.Sleep(ctx, g.clock, every); err != nil {
			break
		}
	}
	return nil //nolint:nilerr // a call that ctx broke off is no failure
}

func (g *Gauge) take(r Reading) {
	g.readings = append(g.readings, r)
	if len(g.readings) > window {
		g.readings = g.readings[len(g.readings)-window:]
	}
	g.left.Set(float64(r.Left()))
	g.oldest.Set(r.Age().Seconds())
	_, remaining, ends := Drain(g.readings[0], r)
	g.rest.Set(remaining.Seconds())
	if !ends {
		g.rest.Set(math.Inf(1))
	}
}
