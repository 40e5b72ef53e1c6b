package backfill

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/message"
)

type metrics struct {
	marks, abandoned       *prometheus.CounterVec
	alarms                 prometheus.Counter
	due, mailboxUp, paused prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	counters := func(name, label, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "msgx", Subsystem: "backfill", Name: name, Help: help}, []string{label})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "msgx", Subsystem: "backfill", Name: name, Help: help})
	}
	m := &metrics{
		marks:     counters("marks_total", "result", "Attempts to write a mark, by what they found."),
		abandoned: counters("abandoned_total", "reason", "Marks that were given up."),
		alarms: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "msgx", Subsystem: "backfill", Name: "attempts_alarms_total",
			Help: "Marks that have failed as often as is worth an alarm."}),
		due:       gauge("due", "Marks that the last scan found due, at most a batch."),
		mailboxUp: gauge("mailbox_up", "1 while the mailbox takes marks."),
		paused:    gauge("paused", "1 while an operator has paused the back-fill."),
	}
	// From the first scrape on, so that the first one is a change.
	for _, result := range []message.MarkResult{message.MarkWritten, message.MarkAlready, message.MarkMissing, message.MarkFailed} {
		m.marks.WithLabelValues(string(result))
	}
	for _, reason := range []string{message.AbandonMissingRow, message.AbandonTransientDeadline} {
		m.abandoned.WithLabelValues(reason)
	}
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(
		register(registry, &m.marks), register(registry, &m.abandoned), register(registry, &m.alarms),
		register(registry, &m.due), register(registry, &m.mailboxUp), register(registry, &m.paused))
}

// register takes over the collector of an earlier term of leadership.
func register[C prometheus.Collector](registry prometheus.Registerer, c *C) error {
	err := registry.Register(*c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if earlier, ok := already.ExistingCollector.(C); ok {
			*c = earlier
			return nil
		}
	}
	return err
}
