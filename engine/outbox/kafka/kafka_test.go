package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)

func newPublisher(t *testing.T, c Config, topic string) *Publisher {
	t.Helper()
	p, err := New(c, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func records(keys ...string) []event.Record {
	var out []event.Record
	for i, k := range keys {
		out = append(out, event.Record{Key: k, Value: []byte(`{"n":` + strconv.Itoa(i) + `}`), At: at,
			Headers: []event.Header{{Key: "event_id", Value: strconv.Itoa(i)}}})
	}
	return out
}

// lead waits until each partition of a fresh topic takes records: the broker
// names a leader a moment before that one is ready.
func lead(t *testing.T, p *Publisher, keys ...string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		receipts := p.Publish(t.Context(), records(keys...))
		i := slices.IndexFunc(receipts, func(r event.Receipt) bool { return r.Fate != event.Landed })
		if i < 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("topic %s: still %s %v", p.topic, receipts[i].Fate, receipts[i].Err)
		}
	}
}

func fatesOf(receipts []event.Receipt) []string {
	var out []string
	for _, r := range receipts {
		out = append(out, strings.TrimSuffix(string(r.Fate)+" "+r.Reason, " "))
	}
	return out
}

// What Utils.murmur2 of the Java client gives, as its own tests have it.
func TestPartitionsAreTheJavaClients(t *testing.T) {
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		for _, n := range []int{1, 6, 97, 100_003} {
			want := int(hash&0x7fffffff) % n
			if got := partitionOf(key, partitionNumbers(n)); got != want {
				t.Errorf("partition of %q among %d: got %d, want %d", key, n, got, want)
			}
		}
	}
}

// stored is one record as a reader of the topic finds it.
type stored struct {
	Partition int
	Offset    int64
	Key       string
	Value     string // "null" for the null value
	Headers   string
}

// read returns everything in a topic by partition and offset.
func read(t *testing.T, broker, topic string, partitions int) []stored {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out []stored
	for n := range partitions {
		conn, err := kafkago.DialLeader(ctx, "tcp", broker, topic, n)
		if err != nil {
			t.Fatal(err)
		}
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline)
		}
		_, last, err := conn.ReadOffsets()
		if err != nil {
			t.Fatal(err)
		}
		for offset := int64(0); offset < last; {
			if _, err := conn.Seek(offset, kafkago.SeekAbsolute); err != nil {
				t.Fatal(err)
			}
			m, err := conn.ReadMessage(1 << 20)
			if err != nil {
				t.Fatalf("read %s/%d at %d: %v", topic, n, offset, err)
			}
			s := stored{Partition: n, Offset: m.Offset, Key: string(m.Key), Value: string(m.Value)}
			if len(m.Value) == 0 {
				s.Value = "null"
			}
			for _, h := range m.Headers {
				s.Headers += h.Key + "=" + string(h.Value) + " "
			}
			out = append(out, s)
			offset = m.Offset + 1
		}
		_ = conn.Close()
	}
	return out
}

func TestPublishLandsWhereItSays(t *testing.T) {
	broker := stacktest.Kafka(t)[0]
	topic := stacktest.Topic(t, 3)
	p := newPublisher(t, Config{Brokers: []string{broker}}, topic)
	given := records("100", "200", "300", "100", "12345", "200")
	given[4].Value = nil
	lead(t, p, "100", "200", "300", "12345")
	before := read(t, broker, topic, 3)
	var want []stored
	receipts := p.Publish(t.Context(), given)
	for i, r := range receipts {
		if r.Fate != event.Landed {
			t.Fatalf("record %d: got %s %s %v, want LANDED", i, r.Fate, r.Reason, r.Err)
		}
		value := string(given[i].Value)
		if value == "" {
			value = "null"
		}
		want = append(want, stored{r.Landing.Partition, r.Landing.Offset, given[i].Key, value, "event_id=" + strconv.Itoa(i) + " "})
	}
	slices.SortFunc(want, func(a, b stored) int { return (a.Partition-b.Partition)*1000 + int(a.Offset-b.Offset) })
	got := slices.DeleteFunc(read(t, broker, topic, 3), func(s stored) bool { return slices.Contains(before, s) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("topic against the receipts (-want +got):\n%s", diff)
	}
	if receipts[0].Landing.Partition != receipts[3].Landing.Partition || receipts[0].Landing.Offset >= receipts[3].Landing.Offset {
		t.Errorf("one key: got %+v then %+v, want the same partition in order", receipts[0].Landing, receipts[3].Landing)
	}
}

func TestMissingTopicIsNotCreated(t *testing.T) {
	broker := stacktest.Kafka(t)[0]
	topic := stacktest.Topic(t, 1) + "-not"
	p := newPublisher(t, Config{Brokers: []string{broker}}, topic)
	for range 2 {
		r := p.Publish(t.Context(), records("1"))[0]
		if r.Fate != event.NotStored || r.Reason != "unknown-topic" || !strings.Contains(r.Err.Error(), "msgx topics create") || errors.Is(r.Err, fault.ErrUnavailable) {
			t.Errorf("got %s %s %v, want NOT_STORED unknown-topic with advice", r.Fate, r.Reason, r.Err)
		}
	}
	a, err := NewAdmin(Config{Brokers: []string{broker}})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := a.Check(t.Context(), []Topic{{Name: topic, Partitions: 1, Replication: 1}})
	if err != nil || len(problems) != 1 || problems[0].What != "missing" {
		t.Errorf("check: got %v, %v, want one missing topic", problems, err)
	}
}

func TestCreateThenCheck(t *testing.T) {
	broker := stacktest.Kafka(t)[0]
	other := stacktest.Topic(t, 1)
	a, err := NewAdmin(Config{Brokers: []string{broker}})
	if err != nil {
		t.Fatal(err)
	}
	topics := []Topic{{Name: other + ".msg", Partitions: 3, Replication: 1}, {Name: other + ".schd", Partitions: 2, Replication: 1, Compacted: true}}
	t.Cleanup(func() {
		client, transport := a.d.client()
		defer transport.CloseIdleConnections()
		if _, err := client.DeleteTopics(context.Background(), &kafkago.DeleteTopicsRequest{Topics: names(topics)}); err != nil {
			t.Error(err)
		}
	})
	created, err := a.Create(t.Context(), topics)
	if diff := cmp.Diff(names(topics), created); err != nil || diff != "" {
		t.Fatalf("create: %v (-want +got):\n%s", err, diff)
	}
	if problems, err := a.Check(t.Context(), topics); err != nil || len(problems) > 0 {
		t.Errorf("check after create: got %v, %v, want nothing", problems, err)
	}
	if created, err = a.Create(t.Context(), topics); err != nil || len(created) > 0 {
		t.Errorf("create again: got %v, %v, want nothing", created, err)
	}
	wrong := []Topic{{Name: topics[0].Name, Partitions: 6, Replication: 2, Compacted: true}, {Name: topics[1].Name, Partitions: 2, Replication: 1}}
	problems, err := a.Check(t.Context(), wrong)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s %s: %s, want %s, fatal %v", strings.TrimPrefix(p.Topic, other), p.What, p.Found, p.Want, p.Fatal))
	}
	want := []string{
		".msg partitions: 3, want 6, fatal false", ".msg replication: 1, want 2, fatal false",
		".msg cleanup.policy: delete, want compact, fatal true", ".schd cleanup.policy: compact, want delete, fatal true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	_, err = a.Create(t.Context(), []Topic{{Name: other + ".many", Partitions: 1, Replication: 9}})
	if err == nil || !strings.Contains(err.Error(), "replication 9") {
		t.Errorf("create with 9 replicas on one broker: got %v, want a refusal that says so", err)
	}
}

func TestTooLarge(t *testing.T) {
	broker := stacktest.Kafka(t)[0]
	topic := stacktest.Topic(t, 1)
	big := strings.Repeat("航", 400_000)

	lead(t, newPublisher(t, Config{Brokers: []string{broker}}, topic), "1")

	// Beyond our own limit: never sent, and what follows of its key waits.
	p := newPublisher(t, Config{Brokers: []string{broker}}, topic)
	given := records("1", "2", "1")
	given[0].Value = []byte(big)
	if diff := cmp.Diff([]string{"REFUSED_FOR_GOOD too-large", "LANDED", "UNTRIED"}, fatesOf(p.Publish(t.Context(), given))); diff != "" {
		t.Errorf("our limit (-want +got):\n%s", diff)
	}
	// Beyond the broker's limit only: the batch does not say who.
	p = newPublisher(t, Config{Brokers: []string{broker}, MaxMessageBytes: 8 << 20}, topic)
	if diff := cmp.Diff([]string{"SUSPECT too-large", "SUSPECT too-large", "SUSPECT too-large"}, fatesOf(p.Publish(t.Context(), given))); diff != "" {
		t.Errorf("the broker's limit, batch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"REFUSED_FOR_GOOD too-large"}, fatesOf(p.Publish(t.Context(), given[:1]))); diff != "" {
		t.Errorf("the broker's limit, alone (-want +got):\n%s", diff)
	}
	// A full batch leaves the rest for the next request.
	half := records("1", "2", "1", "2")
	for i := range 3 { // the fourth would fit, but for the second, which has its key
		half[i].Value = []byte(big[:600_000])
	}
	p = newPublisher(t, Config{Brokers: []string{broker}}, topic)
	if diff := cmp.Diff([]string{"LANDED", "UNTRIED", "UNTRIED", "UNTRIED"}, fatesOf(p.Publish(t.Context(), half))); diff != "" {
		t.Errorf("full batch (-want +got):\n%s", diff)
	}
	if got := len(read(t, broker, topic, 1)); got != 3 { // with the one that found the leader
		t.Errorf("records in the topic: got %d, want 3", got)
	}
}

func TestBrokerThatFreezesDiesAndComesBack(t *testing.T) {
	server := stacktest.PrivateKafka(t)
	topic := server.Topic(1)
	const timeout = time.Second
	p := newPublisher(t, Config{Brokers: []string{server.URL}, RequestTimeout: timeout}, topic)
	publish := func(when string, want ...event.Fate) event.Receipt {
		t.Helper()
		begin := time.Now()
		r := p.Publish(t.Context(), records("1"))[0]
		if !slices.Contains(want, r.Fate) {
			t.Fatalf("%s: got %s %s %v, want %v", when, r.Fate, r.Reason, r.Err, want)
		}
		if took := time.Since(begin); took > 5*timeout {
			t.Errorf("%s: took %v, want at most %v", when, took, 5*timeout)
		}
		if r.Fate != event.Landed && !errors.Is(r.Err, fault.ErrUnavailable) {
			t.Errorf("%s: %v does not wrap %v", when, r.Err, fault.ErrUnavailable)
		}
		return r
	}
	lead(t, p, "1")
	publish("up", event.Landed)
	server.Freeze()
	publish("frozen", event.Unknown)
	publish("still frozen", event.NotStored) // the layout cannot be read: nothing was sent
	server.Thaw()
	server.Kill()
	if r := publish("dead", event.NotStored); r.Reason != "unreachable" {
		t.Errorf("dead: got reason %s %v, want unreachable", r.Reason, r.Err)
	}
	server.Start()
	deadline := time.Now().Add(30 * time.Second)
	for {
		r := p.Publish(t.Context(), records("1"))[0]
		if r.Fate == event.Landed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the restart: still %s %v", r.Fate, r.Err)
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"no broker address":           {},
		"expected host:port":          {Brokers: []string{"localhost"}},
		`SASL mechanism "GSSAPI"`:     {Brokers: []string{"localhost:1"}, Security: Security{Mechanism: "GSSAPI"}},
		"certificate authority: open": {Brokers: []string{"localhost:1"}, Security: Security{TLS: true, CAFile: "/nowhere"}},
	} {
		if _, err := New(c, "t"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: got %v, want an error with %q", c, err, name)
		}
	}
}
