package pump

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/message"
)

// meters are what the pump tells Prometheus.
type meters struct {
	messages    *prometheus.CounterVec
	warnings    prometheus.Counter
	judged      prometheus.Histogram
	transaction prometheus.Histogram
	attempts    prometheus.Gauge
	ahead       prometheus.Gauge
	paused      prometheus.Gauge
	enqueued    atomic.Pointer[time.Time] // of the head, nil without one
	kinds       map[string]bool
}

func newMeters(r prometheus.Registerer, c clock.Clock, kinds []string) *meters {
	fast := prometheus.ExponentialBuckets(0.00025, 2, 14) // 0.25 ms to 2 s
	m := &meters{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_pump_messages_total",
			Help: "Attempts by what became of the message, its kind and its error class."}, []string{"outcome", "kind", "class"}),
		warnings: prometheus.NewCounter(prometheus.CounterOpts{Name: "msgx_pump_warnings_total",
			Help: "Oddities of messages that changed nothing, such as a duplicate with another body."}),
		judged: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "msgx_pump_decide_seconds",
			Help: "From taking a message up to its decision.", Buckets: fast}),
		transaction: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "msgx_pump_message_seconds",
			Help: "From taking a message up to its commit.", Buckets: fast}),
		attempts: prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_pump_head_attempts", Help: "Failures so far of the head of the line."}),
		ahead:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_pump_ahead_messages", Help: "Messages decoded ahead and waiting for their turn."}),
		paused:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_pump_paused", Help: "1 while an operator has paused the pump."}),
		kinds:    map[string]bool{},
	}
	for _, k := range kinds {
		m.kinds[k] = true
	}
	age := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "msgx_pump_head_age_seconds",
		Help: "How long ago the head of the line was enqueued, 0 when nothing waits."}, func() float64 {
		if at := m.enqueued.Load(); at != nil {
			return c.Now().Sub(*at).Seconds()
		}
		return 0
	})
	if r != nil {
		r.MustRegister(m.messages, m.warnings, m.judged, m.transaction, m.attempts, m.ahead, m.paused, age)
	}
	return m
}

func (m *meters) head(h message.Head) {
	m.enqueued.Store(&h.EnqueuedAt)
	m.attempts.Set(float64(h.Attempts))
}

func (m *meters) noHead() {
	m.enqueued.Store(nil)
	m.attempts.Set(0)
	m.ahead.Set(0)
}

func (m *meters) pause(on bool) {
	m.paused.Set(map[bool]float64{true: 1}[on])
}

// kind keeps the label bounded: what a message calls itself is anything.
func (m *meters) kind(k string) string {
	switch {
	case k == "":
		return "unknown"
	case m.kinds[k]:
		return k
	}
	return "other"
}

// report tells log and metrics of a stored outcome.
func (p *Pump) report(s decision.Settlement) {
	o := s.Outcome
	p.meters.messages.WithLabelValues(string(o.State), p.meters.kind(s.Kind), string(o.Class)).Inc()
	p.meters.transaction.Observe(p.Clock.Now().Sub(s.StartedAt).Seconds())
	for _, w := range s.Warnings {
		p.meters.warnings.Inc()
		p.Log.Warn("message is odd", "msg_id", s.MsgID, "kind", s.Kind, "warning", w)
	}
	level := map[message.State]slog.Level{message.Succeeded: slog.LevelDebug, message.Skipped: slog.LevelInfo,
		message.Failed: slog.LevelWarn}
	l, ok := level[o.State]
	if !ok {
		l = slog.LevelError
	}
	if !p.Log.Enabled(context.Background(), l) {
		return
	}
	attrs := []slog.Attr{slog.Int64("msg_id", s.MsgID), slog.String("kind", s.Kind)}
	if o.Class != "" {
		attrs = append(attrs, slog.String("class", string(o.Class)), slog.Int("attempts", s.Attempts))
	}
	if o.Reason != "" {
		attrs = append(attrs, slog.String("reason", o.Reason))
	}
	if o.State == message.Failed {
		attrs = append(attrs, slog.Time("next_at", s.NextAt))
	}
	attrs = append(attrs, slog.String("ruleset", fmt.Sprintf("%.12s", s.Ruleset))) // as everything that people read shows it
	p.Log.LogAttrs(context.Background(), l, "message "+string(o.State), attrs...)
}
