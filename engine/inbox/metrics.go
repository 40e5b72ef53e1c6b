package inbox

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/watermark"
)

type metrics struct {
	enqueued, permanent, late   prometheus.Counter
	watermark, highest, holeAge prometheus.Gauge
	mailboxUp, reused, paused   prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "msgx", Subsystem: "inbox", Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "msgx", Subsystem: "inbox", Name: name, Help: help})
	}
	m := &metrics{
		enqueued:  counter("rows_enqueued_total", "Mailbox rows that became processing records."),
		permanent: counter("permanent_holes_total", "Runs of ids that were released because they never turned up."),
		late:      counter("late_rows_total", "Rows that turned up below the watermark."),
		watermark: gauge("watermark_id", "Every existing row up to this id has been read."),
		highest:   gauge("highest_id", "Highest id seen in the mailbox at the last read."),
		holeAge:   gauge("hole_age_seconds", "How long the id after the watermark has been missing, 0 when none is."),
		mailboxUp: gauge("mailbox_up", "1 while the mailbox can be read."),
		reused:    gauge("ids_reused", "1 when reading has stopped because ids would be used again."),
		paused:    gauge("paused", "1 while an operator has paused the inbox."),
	}
	if registry == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []*prometheus.Counter{&m.enqueued, &m.permanent, &m.late} {
		errs = append(errs, register(registry, c))
	}
	for _, g := range []*prometheus.Gauge{&m.watermark, &m.highest, &m.holeAge, &m.mailboxUp, &m.reused, &m.paused} {
		errs = append(errs, register(registry, g))
	}
	return m, errors.Join(errs...)
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

// seen notes a read of the mailbox that went well.
func (m *metrics) seen(highest int64) {
	m.mailboxUp.Set(1)
	m.highest.Set(float64(highest))
}

func (m *metrics) at(c watermark.Cursor, now time.Time) {
	m.watermark.Set(float64(c.Watermark))
	m.holeAge.Set(0)
	if !c.HoleSince.IsZero() {
		m.holeAge.Set(now.Sub(c.HoleSince).Seconds())
	}
}
