package daemon_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"msgx/engine/consume"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/schemas/eventtest"
)

// told is a record of a topic, or what the database says of it.
type told struct {
	EventID, FLID, Version, Type string
	Key                          string
	Value                        string // of an event, compared as JSON
	Null                         bool
}

// accountTopics reads both topics back and compares them with the outbox.
func (p *place) accountTopics() {
	p.t.Helper()
	c := p.config()
	changes, states := readTopic(p.t, c.Kafka.Brokers[0], c.Kafka.MsgTopic), readTopic(p.t, c.Kafka.Brokers[0], c.Kafka.SchdTopic)
	p.accountContract(event.Msg, changes)
	p.accountContract(event.Schd, states)
	p.accountMsgTopic(changes)
	p.accountSchdTopic(states)
}

// accountContract holds each record to what is published of it, and to what consumers understand.
func (p *place) accountContract(target event.Target, records []*kgo.Record) {
	p.t.Helper()
	for _, r := range records {
		if err := eventtest.Check(target, r.Value); err != nil {
			p.fault("record at %d/%d: %v", r.Partition, r.Offset, err)
		}
		headers := map[string]string{}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		if _, err := consume.Understand(evidence.Record{Key: string(r.Key), Value: r.Value, Headers: headers}); err != nil {
			p.fault("record at %d/%d: %v", r.Partition, r.Offset, err)
		}
	}
}

func (p *place) events(target string) map[string]told {
	p.t.Helper()
	found := map[string]told{}
	var v told
	p.each(`SELECT event_id::text, flid::text, state_version::text, event_type, partition_key, coalesce(payload::text, ''),
		payload IS NULL OR (event_type = 'TOMBSTONE' AND target = 'KAFKA:schd') FROM msg_event WHERE target = '`+target+`'`,
		func() { found[v.EventID] = v }, &v.EventID, &v.FLID, &v.Version, &v.Type, &v.Key, &v.Value, &v.Null)
	return found
}

func (p *place) accountMsgTopic(records []*kgo.Record) {
	p.t.Helper()
	want := p.events("KAFKA:msg")
	seen, last := map[string]int{}, map[string]int{}
	for _, r := range records {
		got := tell(r)
		expected, known := want[got.EventID]
		if !known || !same(got, expected) {
			p.fault("record at %d/%d: %+v is event %q, which is %+v", r.Partition, r.Offset, got, got.EventID, expected)
			continue
		}
		if seen[got.EventID]++; seen[got.EventID] > 1 {
			if !p.crashed {
				p.fault("event %s was delivered %d times", got.EventID, seen[got.EventID])
			}
			continue // order is promised of first deliveries
		}
		// No reader can see the order of two partitions; a flight whose key
		// changes may be in both, and the times of sending tell.
		lane := fmt.Sprint(got.FLID, " in partition ", r.Partition)
		version, err := strconv.Atoi(got.Version)
		if err != nil || version <= last[lane] {
			p.fault("flight %s: version %q was delivered after version %d", lane, got.Version, last[lane])
		}
		last[lane] = version
	}
	for id, v := range want {
		if seen[id] == 0 {
			p.fault("event %s, flight %s version %s, was not delivered", id, v.FLID, v.Version)
		}
	}
}

// accountSchdTopic checks that the last record of each key is the latest state.
func (p *place) accountSchdTopic(records []*kgo.Record) {
	p.t.Helper()
	last := map[string]told{}
	for _, r := range records {
		last[string(r.Key)] = tell(r)
	}
	want := p.events("KAFKA:schd")
	for _, v := range want {
		if !same(last[v.Key], v) {
			p.fault("the last record of flight %s is %+v, want %+v", v.Key, last[v.Key], v)
		}
	}
	if len(last) != len(want) {
		p.fault("%d flights in the topic of latest states, want %d", len(last), len(want))
	}
}

// same compares values as JSON: blanks and the order of keys are nobody's business.
func same(got, want told) bool {
	if want.Null {
		want.Value = ""
	}
	if !reflect.DeepEqual(plain([]byte(got.Value)), plain([]byte(want.Value))) {
		return false
	}
	got.Value, want.Value = "", ""
	return got == want
}

func tell(r *kgo.Record) told {
	v := told{Key: string(r.Key), Value: string(r.Value), Null: r.Value == nil}
	for _, h := range r.Headers {
		switch h.Key {
		case "event_id":
			v.EventID = string(h.Value)
		case "flid":
			v.FLID = string(h.Value)
		case "state_version":
			v.Version = string(h.Value)
		case "type":
			v.Type = string(h.Value)
		}
	}
	// The outbox holds the payload without the identity that the header has, too.
	v.Value = strings.Replace(v.Value, fmt.Sprintf(`{"event_id":"%v",`, v.EventID), "{", 1)
	return v
}

// readTopic reads a topic from beginning to end, with another client than the daemon's.
func readTopic(t *testing.T, broker, topic string) (records []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rest := topicEnds(ctx, t, broker, topic)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for len(rest) > 0 {
		fetched := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("topic %s: %d records, still to read up to %v", topic, len(records), rest)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if r.Offset+1 >= rest[r.Partition] {
				delete(rest, r.Partition)
			}
		})
	}
	return records
}

// topicEnds are the ends of those partitions that hold anything.
func topicEnds(ctx context.Context, t *testing.T, broker, topic string) map[int32]int64 {
	t.Helper()
	conn, err := kafkago.DialContext(ctx, "tcp", broker)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	partitions, err := conn.ReadPartitions(topic)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int32]int64{}
	for _, partition := range partitions {
		leader, err := kafkago.DialLeader(ctx, "tcp", broker, topic, partition.ID)
		if err != nil {
			t.Fatal(err)
		}
		first, last, err := leader.ReadOffsets()
		_ = leader.Close()
		if err != nil {
			t.Fatal(err)
		}
		if last > first {
			ends[int32(partition.ID)] = last
		}
	}
	return ends
}
