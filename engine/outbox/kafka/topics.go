package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"msgx/engine/clock"
	"msgx/engine/fault"
)

// Topic is what a topic should be like.
type Topic struct {
	Name        string
	Partitions  int
	Replication int
	Compacted   bool // keep the latest record of each key for ever
	// Retention is the least time for which a topic that is not compacted has to keep a record; 0 for any.
	Retention time.Duration
}

// Problem is one difference between a topic and what it should be.
type Problem struct {
	Topic string
	What  string // "missing", "cleanup.policy", "min.insync.replicas" …
	Found string
	Want  string
	Fix   string
	Fatal bool // delivery cannot work, or loses what it must keep
}

// String is one line for people.
func (p Problem) String() string {
	return fmt.Sprintf("topic %s: %s: found %s, expected %s; %s", p.Topic, p.What, p.Found, p.Want, p.Fix)
}

// Admin checks and creates topics.
type Admin struct{ d *dialer }

// NewAdmin makes an Admin; it connects for each call.
func NewAdmin(c Config) (*Admin, error) {
	d, err := newDialer(c)
	if err != nil {
		return nil, err
	}
	return &Admin{d: d}, nil
}

// Check lists everything that is wrong with the topics. Its error means that
// the cluster could not be asked.
func (a *Admin) Check(ctx context.Context, topics []Topic) ([]Problem, error) {
	client, transport := a.d.client(names(topics)...)
	defer transport.CloseIdleConnections()
	response, err := client.Metadata(ctx, &kafkago.MetadataRequest{Topics: names(topics)})
	if err != nil {
		return nil, unavailable("check topics", err)
	}
	found := map[string]kafkago.Topic{}
	for _, t := range response.Topics {
		found[t.Name] = t
	}
	var problems []Problem
	for _, want := range topics {
		t, ok := found[want.Name]
		if !ok || errors.Is(t.Error, kafkago.UnknownTopicOrPartition) {
			problems = append(problems, Problem{Topic: want.Name, What: "missing", Found: "no such topic",
				Want: fmt.Sprintf("%d partitions, replication %d", want.Partitions, want.Replication), Fix: "run 'msgx topics create'", Fatal: true})
			continue
		}
		if t.Error != nil {
			problems = append(problems, Problem{Topic: want.Name, What: "not readable", Found: t.Error.Error(), Want: "a description", Fix: "grant DESCRIBE and WRITE", Fatal: true})
			continue
		}
		settings, err := describe(ctx, client, want.Name)
		if err != nil {
			return problems, unavailable("check topic "+want.Name, err)
		}
		problems = append(problems, layout(want, t)...)
		problems = append(problems, a.settings(want, t, settings)...)
	}
	return problems, nil
}

// layout compares partitions and replicas.
func layout(want Topic, t kafkago.Topic) (problems []Problem) {
	if n := len(t.Partitions); n != want.Partitions {
		problems = append(problems, Problem{Topic: want.Name, What: "partitions", Found: strconv.Itoa(n), Want: strconv.Itoa(want.Partitions),
			Fix: "set the configuration to what is there; growing a topic moves keys and breaks their order"})
	}
	var leaderless []string
	replicas := want.Replication
	for _, p := range t.Partitions {
		if p.Leader.Host == "" {
			leaderless = append(leaderless, strconv.Itoa(p.ID))
		}
		replicas = min(replicas, len(p.Replicas))
	}
	if len(leaderless) > 0 {
		problems = append(problems, Problem{Topic: want.Name, What: "leader", Found: "none for partition " + strings.Join(leaderless, ", "),
			Want: "a leader for each partition", Fix: "see to the brokers", Fatal: true})
	}
	if replicas < want.Replication {
		problems = append(problems, Problem{Topic: want.Name, What: "replication", Found: strconv.Itoa(replicas), Want: strconv.Itoa(want.Replication),
			Fix: "reassign the partitions to more brokers"})
	}
	return problems
}

// settings compares what keeps or loses records.
func (a *Admin) settings(want Topic, t kafkago.Topic, s map[string]string) (problems []Problem) {
	name := want.Name
	compacted := strings.Contains(s["cleanup.policy"], "compact")
	if compacted != want.Compacted {
		p := Problem{Topic: name, What: "cleanup.policy", Found: s["cleanup.policy"], Want: policy(want), Fatal: true,
			Fix: alter(name, "cleanup.policy="+policy(want))}
		problems = append(problems, p)
	} else if want.Compacted && strings.Contains(s["cleanup.policy"], "delete") {
		problems = append(problems, Problem{Topic: name, What: "cleanup.policy", Found: s["cleanup.policy"], Want: policy(want),
			Fix: "remove delete from it, or flights that do not change for long disappear from the topic", Fatal: true})
	}
	problems = append(problems, retention(want, s)...)
	if insync, err := strconv.Atoi(s["min.insync.replicas"]); err == nil && len(t.Partitions) > 0 {
		replicas := len(t.Partitions[0].Replicas)
		switch {
		case insync > replicas:
			problems = append(problems, Problem{Topic: name, What: "min.insync.replicas", Found: strconv.Itoa(insync), Want: fmt.Sprintf("at most %d, the replicas there are", replicas),
				Fix: "lower it or add replicas; nothing can be stored as it is", Fatal: true})
		case insync < minInsync(replicas):
			problems = append(problems, Problem{Topic: name, What: "min.insync.replicas", Found: strconv.Itoa(insync), Want: strconv.Itoa(minInsync(replicas)),
				Fix: "raise it, or an acknowledged record can be lost with one broker"})
		}
	}
	if limit, err := strconv.Atoi(s["max.message.bytes"]); err == nil && limit < a.d.c.MaxMessageBytes {
		problems = append(problems, Problem{Topic: name, What: "max.message.bytes", Found: strconv.Itoa(limit), Want: fmt.Sprintf("at least %d", a.d.c.MaxMessageBytes),
			Fix: "raise it, or lower the configured message size"})
	}
	return problems
}

// retention looks at how long a topic keeps what it should keep for a while.
func retention(want Topic, s map[string]string) (problems []Problem) {
	if want.Compacted || want.Retention <= 0 {
		return nil
	}
	least := strconv.FormatInt(want.Retention.Milliseconds(), 10)
	if ms, err := strconv.ParseInt(s["retention.ms"], 10, 64); err == nil && ms >= 0 && ms < want.Retention.Milliseconds() {
		problems = append(problems, Problem{Topic: want.Name, What: "retention.ms", Found: fmt.Sprintf("%d (%s)", ms, time.Duration(ms)*time.Millisecond),
			Want: fmt.Sprintf("at least %s (%s)", least, want.Retention), Fatal: true,
			Fix: alter(want.Name, "retention.ms="+least) + ", or lower msgx.kafka.retention"})
	}
	if size, err := strconv.ParseInt(s["retention.bytes"], 10, 64); err == nil && size >= 0 {
		problems = append(problems, Problem{Topic: want.Name, What: "retention.bytes", Found: s["retention.bytes"], Want: "-1: a size can run out before the time does",
			Fix: alter(want.Name, "retention.bytes=-1")})
	}
	return problems
}

// alter is the command that changes a setting of a topic.
func alter(topic, setting string) string {
	return "kafka-configs --alter --entity-type topics --entity-name " + topic + " --add-config " + setting
}

func policy(t Topic) string {
	if t.Compacted {
		return "compact"
	}
	return "delete"
}

// minInsync is the smallest number of replicas in sync that survives the loss of one.
func minInsync(replicas int) int {
	if replicas < 3 {
		return 1
	}
	return 2
}

func describe(ctx context.Context, client *kafkago.Client, topic string) (map[string]string, error) {
	response, err := client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{Resources: []kafkago.DescribeConfigRequestResource{{
		ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
		ConfigNames: []string{"cleanup.policy", "min.insync.replicas", "max.message.bytes", "retention.ms", "retention.bytes"},
	}}})
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, r := range response.Resources {
		if r.Error != nil {
			return nil, r.Error
		}
		for _, e := range r.ConfigEntries {
			settings[e.ConfigName] = e.ConfigValue
		}
	}
	return settings, nil
}

// Create makes the topics that do not exist and returns their names. It
// changes nothing about those that do.
func (a *Admin) Create(ctx context.Context, topics []Topic) (created []string, err error) {
	client, transport := a.d.client(names(topics)...)
	defer transport.CloseIdleConnections()
	request := &kafkago.CreateTopicsRequest{}
	for _, t := range topics {
		settings := []kafkago.ConfigEntry{
			{ConfigName: "cleanup.policy", ConfigValue: policy(t)},
			{ConfigName: "min.insync.replicas", ConfigValue: strconv.Itoa(minInsync(t.Replication))},
			{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(a.d.c.MaxMessageBytes)},
		}
		if t.Retention > 0 && !t.Compacted {
			settings = append(settings, kafkago.ConfigEntry{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(t.Retention.Milliseconds(), 10)})
		}
		request.Topics = append(request.Topics, kafkago.TopicConfig{
			Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.Replication, ConfigEntries: settings,
		})
	}
	response, err := client.CreateTopics(ctx, request)
	if err != nil {
		return nil, unavailable("create topics", err)
	}
	var failures []error
	for _, t := range topics {
		switch err := response.Errors[t.Name]; {
		case err == nil:
			created = append(created, t.Name)
		case errors.Is(err, kafkago.TopicAlreadyExists):
		default:
			failures = append(failures, fmt.Errorf("create topic %s (%d partitions, replication %d): %w", t.Name, t.Partitions, t.Replication, err))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return created, err
	}
	return created, a.known(ctx, topics)
}

// known waits until the brokers know the topics and their leaders: they answer a creation before they do.
func (a *Admin) known(ctx context.Context, topics []Topic) error {
	client, transport := a.d.client(names(topics)...)
	defer transport.CloseIdleConnections()
	for {
		response, err := client.Metadata(ctx, &kafkago.MetadataRequest{Topics: names(topics)})
		if err != nil {
			return unavailable("wait for the created topics", err)
		}
		waiting := ""
		for _, t := range response.Topics {
			if t.Error != nil || slices.ContainsFunc(t.Partitions, func(p kafkago.Partition) bool { return p.Leader.Host == "" }) {
				waiting = t.Name
			}
		}
		if waiting == "" && len(response.Topics) >= len(topics) {
			return nil
		}
		transport.CloseIdleConnections() // what it knows of the cluster is kept for a while
		if err := clock.Sleep(ctx, clock.System{}, 100*time.Millisecond); err != nil {
			return fmt.Errorf("kafka: topic %s was created and has no leader yet: %w", waiting, err)
		}
	}
}

func names(topics []Topic) []string {
	out := make([]string, len(topics))
	for i, t := range topics {
		out[i] = t.Name
	}
	return out
}

// unavailable tells a cluster that cannot be reached from one that said no.
func unavailable(operation string, err error) error {
	var code kafkago.Error
	if errors.As(err, &code) {
		return fmt.Errorf("kafka: %s: %w", operation, err)
	}
	return fmt.Errorf("kafka: %s: %w: %w", operation, fault.ErrUnavailable, err)
}
