package outbox

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/event"
)

type metrics struct {
	sent, dead, failed prometheus.Counter
	unsent, oldest     prometheus.Gauge
	brokerUp           prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer, target event.Target) (*metrics, error) {
	labels := prometheus.Labels{"target": string(target)}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "msgx", Subsystem: "outbox", Name: name, Help: help, ConstLabels: labels})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "msgx", Subsystem: "outbox", Name: name, Help: help, ConstLabels: labels})
	}
	m := &metrics{
		sent:     counter("sent_total", "Events that all replicas acknowledged."),
		failed:   counter("failed_total", "Sends that were refused, not stored or of unknown outcome, by event."),
		dead:     counter("dead_total", "Events given up because the broker refuses the record."),
		unsent:   gauge("unsent_events", "Events that are not sent yet."),
		oldest:   gauge("oldest_unsent_seconds", "Age of the oldest event that is not sent yet."),
		brokerUp: gauge("broker_up", "1 while sends succeed, 0 while the broker has trouble."),
	}
	m.brokerUp.Set(1)
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(
		register(registry, &m.sent), register(registry, &m.failed), register(registry, &m.dead),
		register(registry, &m.unsent), register(registry, &m.oldest), register(registry, &m.brokerUp))
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
