package stacktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"msgx/tools/stack/software"
)

// Kafka returns the bootstrap addresses of the shared Apache Kafka broker.
// Topics are not made by themselves: see Topic.
func Kafka(t testing.TB) (brokers []string) {
	t.Helper()
	return []string{up(t, software.Kafka).Servers[software.Kafka].URL}
}

// compact keeps the latest record of each key for ever.
const compact = "cleanup.policy=compact"

// Topic makes a topic of one replica and returns its name.
func Topic(t testing.TB, partitions int) string {
	t.Helper()
	return makeTopic(t, Kafka(t)[0], partitions)
}

// CompactedTopic is a Topic that keeps the latest record of each key.
func CompactedTopic(t testing.TB, partitions int) string {
	t.Helper()
	return makeTopic(t, Kafka(t)[0], partitions, compact)
}

// makeTopic makes a topic with some settings, name=value.
func makeTopic(t testing.TB, broker string, partitions int, settings ...string) string {
	t.Helper()
	name := uniqueName()
	topic := kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	err := withController(broker, func(conn *kafka.Conn) error {
		return conn.CreateTopics(topic)
	})
	if err != nil {
		t.Fatalf("create topic %s at %s: %v", name, broker, err)
	}
	t.Cleanup(func() {
		err := withController(broker, func(conn *kafka.Conn) error { return conn.DeleteTopics(name) })
		// A test may have stopped its own broker or deleted its topic for good.
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) && !unreachable(err) {
			t.Errorf("delete topic %s at %s: %v", name, broker, err)
		}
	})
	if err := awaitLeaders(broker, name, partitions); err != nil {
		t.Fatalf("topic %s at %s: %v", name, broker, err)
	}
	return name
}

// withController uses a bare connection: kafka-go's transport would leave
// goroutines behind for tests to find.
func withController(broker string, fn func(*kafka.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := kafka.DialContext(ctx, "tcp", broker)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // fn's answer is what counts
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	controller, err := conn.Controller()
	if err != nil {
		return fmt.Errorf("find controller: %w", err)
	}
	if address := net.JoinHostPort(controller.Host, strconv.Itoa(controller.Port)); address != broker {
		return fmt.Errorf("controller is %s, expected the only broker %s", address, broker)
	}
	return fn(conn)
}

// awaitLeaders waits until every partition can be written.
func awaitLeaders(broker, topic string, partitions int) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		ready := 0
		err := withController(broker, func(conn *kafka.Conn) error {
			found, err := conn.ReadPartitions(topic)
			for _, partition := range found {
				if partition.Leader.Port != 0 && partition.Error == nil {
					ready++
				}
			}
			return err
		})
		if err == nil && ready == partitions {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d partitions have a leader after 30 s: %w", ready, partitions, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}
