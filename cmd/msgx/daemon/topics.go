package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/outbox/kafka"
)

const (
	topicsEvery = 10 * time.Minute // a look at topics that were well, or told of
	topicsRetry = 5 * time.Second  // a broker that did not answer
	topicsBound = 10 * time.Second
)

// refuse is the topic policy that ends a start.
const refuse = "refuse"

// watchTopics tells of topics that would lose what they have to keep, when an instance begins to lead and from
// time to time after that: somebody may make them anew. Under the policy "refuse" the first answer of the
// brokers decides whether this instance leads at all.
func (d *Daemon) watchTopics(registry prometheus.Registerer) func(context.Context) error {
	bad := prometheus.NewGauge(prometheus.GaugeOpts{Name: "msgx_topic_problems", Help: "Differences of the topics from what delivery needs, by which data are lost or cannot be delivered."})
	registry.MustRegister(bad)
	return func(ctx context.Context) error {
		for {
			wait := topicsRetry
			if problems, err := d.lookAtTopics(ctx); err == nil {
				wait = topicsEvery
				bad.Set(float64(len(problems)))
				text := lines(problems)
				switch {
				case text == d.topics.told:
				case text == "":
					d.log.Info("topics are well again")
				case !d.topics.asked && d.config.Kafka.TopicPolicy == refuse:
					return fmt.Errorf("topics, which msgx.kafka.topic-policy refuses to begin with: %s", text)
				default:
					d.log.Error("topics would lose data, or cannot take it", "problems", text)
				}
				d.topics.told, d.topics.asked = text, true
			}
			if err := clock.Sleep(ctx, d.clock, wait); err != nil {
				return err
			}
		}
	}
}

// lookAtTopics lists what is fatal about the topics. Its error means that the brokers could not be asked, of
// which delivery tells.
func (d *Daemon) lookAtTopics(ctx context.Context) ([]kafka.Problem, error) {
	ctx, cancel := context.WithTimeout(ctx, topicsBound)
	defer cancel()
	problems, err := d.servers.admin.Check(ctx, Topics(d.config))
	var fatal []kafka.Problem
	for _, p := range problems {
		if p.Fatal {
			fatal = append(fatal, p)
		}
	}
	return fatal, err
}

func lines(problems []kafka.Problem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}
