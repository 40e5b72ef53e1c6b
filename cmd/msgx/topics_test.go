package main

import (
	"testing"
	"time"

	"msgx/engine/outbox/kafka"
)

// Topics that would lose what they have to keep are named, with what mends them; a start warns of them, or refuses.
func TestTopics(t *testing.T) {
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics check"), 1, "FAIL  topic "+s.set["kafka.msg-topic"]+": missing: found no such topic", "run 'msgx topics create'")

	// Made by somebody who did not know.
	admin, err := kafka.NewAdmin(kafka.Config{Brokers: []string{s.set["kafka.brokers"]}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Create(t.Context(), []kafka.Topic{
		{Name: s.set["kafka.msg-topic"], Partitions: 3, Replication: 1, Retention: time.Hour},
		{Name: s.set["kafka.schd-topic"], Partitions: 3, Replication: 1, Retention: time.Hour},
	}); err != nil {
		t.Fatal(err)
	}
	short := "retention.ms: found 3600000 (1h0m0s), expected at least 604800000 (168h0m0s)"
	uncompacted := "cleanup.policy: found delete, expected compact"
	s.want(s.run("topics create"), 1, short, uncompacted, "kafka-configs --alter", "partitions: found 3, expected 2")
	s.want(s.run("check"), 1, short, uncompacted)
	s.want(s.run("topics check", "kafka.retention=30m"), 1, uncompacted)

	s.want(s.run("serve", "kafka.topic-policy=refuse"), 1, "msgx.kafka.topic-policy refuses to begin with", short, uncompacted)
	stop := s.begin() // by default it tells and goes on
	s.wait("the log", s.log.String, "topics would lose data")
	s.until("head", "no message waits")
	stop()
}
