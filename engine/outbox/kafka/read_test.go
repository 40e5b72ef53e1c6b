package kafka

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/fault"
	"msgx/tools/stack/stacktest"
)

// everything reads a topic whole.
func everything(t *testing.T, topic string) (extents []evidence.Extent, records []evidence.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := NewReader(Config{Brokers: stacktest.Kafka(t)}, topic)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Read(ctx, func(e []evidence.Extent) { extents = e }, func(r evidence.Record) error { records = append(records, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return extents, records
}

// A topic is read from its beginning to its end; null and empty values are told apart.
func TestReaderReadsWhatIsThere(t *testing.T) {
	topic := stacktest.Topic(t, 1)
	if extents, records := everything(t, topic); len(records) != 0 || len(extents) != 1 {
		t.Fatalf("an empty topic: %v, %v", extents, records)
	}
	p := newPublisher(t, Config{Brokers: stacktest.Kafka(t)}, topic)
	lead(t, p, "a")
	null, empty := records("b")[0], records("c")[0]
	null.Value, empty.Value = nil, []byte{}
	for _, r := range p.Publish(t.Context(), []event.Record{null, empty}) {
		if r.Fate != event.Landed {
			t.Fatal(r)
		}
	}
	at := func(offset int64) event.Landing { return event.Landing{Topic: topic, Offset: offset} }
	headers := map[string]string{"event_id": "0"}
	want := []evidence.Record{
		{Landing: at(0), Key: "a", Value: []byte(`{"n":0}`), Headers: headers},
		{Landing: at(1), Key: "b", Value: nil, Headers: headers},
		{Landing: at(2), Key: "c", Value: []byte{}, Headers: headers},
	}
	extents, got := everything(t, topic)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]evidence.Extent{{End: 3}}, extents); d != "" {
		t.Errorf("extents (-want +got):\n%s", d)
	}
	removeBelow(t, topic, 2)
	extents, got = everything(t, topic)
	if d := cmp.Diff(want[2:], got); d != "" {
		t.Errorf("records after removal (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]evidence.Extent{{First: 2, End: 3}}, extents); d != "" {
		t.Errorf("extents after removal (-want +got):\n%s", d)
	}
}

// removeBelow removes the records below an offset of partition 0, as retention does.
func removeBelow(t *testing.T, topic string, offset int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(stacktest.Kafka(t)...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewDeleteRecordsRequest()
	partition := kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Offset = offset
	of := kmsg.NewDeleteRecordsRequestTopic()
	of.Topic, of.Partitions = topic, append(of.Partitions, partition)
	request.Topics = append(request.Topics, of)
	response, err := request.RequestWith(t.Context(), client)
	if err != nil || response.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("remove records: %v, %v", response, err)
	}
}

func TestReaderSaysWhatItCannotRead(t *testing.T) {
	none := func([]evidence.Extent) {}
	r, err := NewReader(Config{Brokers: stacktest.Kafka(t)}, stacktest.Topic(t, 1)+"-never-made")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), none, nil); err == nil || errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("a topic that is missing: %v, want an answer of the broker", err)
	}
	r, err = NewReader(Config{Brokers: []string{"127.0.0.1:1"}, RequestTimeout: time.Second}, "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), none, nil); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("a broker that is away: %v, want unavailable", err)
	}
	if _, err := NewReader(Config{Brokers: []string{"127.0.0.1:1"}}, ""); err == nil {
		t.Error("no topic was accepted")
	}
}

// A follower goes on when retention was faster, when the topic was made anew, and when a leader moves; a time finds the first record
// as late, in each partition.
func TestReaderGoesOnFromAPosition(t *testing.T) {
	topic := stacktest.Topic(t, 1)
	p := newPublisher(t, Config{Brokers: stacktest.Kafka(t)}, topic)
	lead(t, p, "a")
	at := time.Now().Add(10 * time.Minute).Truncate(time.Millisecond) // after "a"
	for i, key := range []string{"b", "c"} {
		r := records(key)[0]
		r.At = at.Add(time.Duration(i) * time.Minute)
		if got := p.Publish(t.Context(), []event.Record{r})[0]; got.Fate != event.Landed {
			t.Fatal(got)
		}
	}
	reader, err := NewReader(Config{Brokers: stacktest.Kafka(t)}, topic)
	if err != nil {
		t.Fatal(err)
	}
	next := func(p evidence.Position) (keys string) {
		t.Helper()
		if err := reader.Next(t.Context(), p, func(r evidence.Record) error { keys += r.Key; return nil }); err != nil {
			t.Fatal(err)
		}
		if p[0] != 3 {
			t.Errorf("the position stands at %v, want 3", p)
		}
		return keys
	}
	for when, want := range map[time.Duration]string{-time.Minute: "bc", 0: "bc", time.Second: "c", time.Hour: ""} {
		since, err := reader.At(t.Context(), at.Add(when))
		if err != nil {
			t.Fatal(err)
		}
		if got := next(since); got != want {
			t.Errorf("since %s: got %q, want %q", when, got, want)
		}
	}
	if got := next(evidence.Position{0: 9}); got != "abc" {
		t.Errorf("from behind the end: got %q, want all of the topic that was made anew", got)
	}
	removeBelow(t, topic, 2)
	if got := next(evidence.Position{}); got != "c" {
		t.Errorf("from what was removed: got %q, want c", got)
	}

	for code, passes := range map[kafkago.Error]bool{kafkago.NotLeaderForPartition: true, kafkago.LeaderNotAvailable: true, kafkago.OffsetOutOfRange: true,
		kafkago.UnknownTopicOrPartition: false, kafkago.TopicAuthorizationFailed: false} {
		if errors.Is(unreadable("read", code), fault.ErrUnavailable) != passes {
			t.Errorf("%v passes by itself: want %t", code, passes)
		}
	}
}
