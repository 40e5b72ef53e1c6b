package delivery

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/net/dns/dnsmessage"

	"msgx/engine/outbox/kafka"
	"msgx/tools/stack/stacktest"
)

// whole is what every trouble must come to: no attempt used up, nothing dead, lost or out of order.
func whole(t *testing.T, s seen) {
	t.Helper()
	if s.attempts != 0 || s.dead != 0 || s.missing != 0 || s.disorder != 0 {
		t.Errorf("got %+v, want no attempt, and nothing dead, missing or out of order", s)
	}
}

// once holds the log to a line when the broker went and one when it was back, and a line more for each further reason.
func once(t *testing.T, s seen, reasons int) {
	t.Helper()
	if s.gone < 1 || s.gone > reasons || s.back != 1 {
		t.Errorf("log: got %d lines that the broker has trouble and %d that it is back, want 1 to %d, and 1", s.gone, s.back, reasons)
	}
}

// troubled is a broker behind a proxy.
type troubled struct {
	*stacktest.Private
	proxy *toxiproxy.Proxy
}

func behindProxy(t *testing.T) *troubled {
	t.Helper()
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "kafka", "127.0.0.1:0", "127.0.0.1:1")
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	b := &troubled{Private: stacktest.PrivateKafkaBehind(t, proxy.Listen), proxy: proxy}
	if err := proxy.Update(&toxiproxy.Proxy{Listen: proxy.Listen, Upstream: b.Address, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return b
}

func at(broker string) kafka.Config { return kafka.Config{Brokers: []string{broker}} }

// through is a way to the broker by its proxy, as all its clients go: it tells them to.
func (b *troubled) through() kafka.Config { return at(b.proxy.Listen) }

func (b *troubled) toxic(t *testing.T, name string) (remove func()) {
	t.Helper()
	text := map[string]string{
		"timeout": `{"name":"x","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
		"latency": `{"name":"x","type":"latency","stream":"downstream","attributes":{"latency":4000}}`,
	}[name]
	if _, err := b.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := b.proxy.Toxics.RemoveToxic(context.Background(), "x"); err != nil {
			t.Error(err)
		}
	}
}

// TestTheBrokerAndTheWayToIt troubles one real broker in turn.
func TestTheBrokerAndTheWayToIt(t *testing.T) {
	b := behindProxy(t)
	begin := func(t *testing.T) *line {
		t.Helper()
		return b.line(t, b.through())
	}
	t.Run("restart in mid-batch", func(t *testing.T) {
		l := begin(t)
		stop := make(chan struct{})
		go func() { defer close(stop); b.Kill() }()
		l.commit(10)
		<-stop
		l.says("has trouble")
		l.commit(10)
		b.Start()
		l.commit(5)
		s := l.verdict()
		whole(t, s)
		once(t, s, 4)
	})
	t.Run("frozen for 15 seconds", func(t *testing.T) {
		l := begin(t)
		b.Freeze()
		l.commit(10)
		time.Sleep(15 * time.Second)
		l.commit(10)
		b.Thaw()
		l.commit(5)
		s := l.verdict()
		whole(t, s)
		once(t, s, 3)
	})
	t.Run("acknowledgement lost after the write", func(t *testing.T) {
		l := begin(t)
		remove := b.toxic(t, "timeout") // what the broker says is dropped
		l.commit(5)
		l.says("has trouble")
		remove()
		l.commit(5)
		s := l.verdict()
		whole(t, s)
		once(t, s, 3)
		if s.repeats == 0 {
			t.Error("no record came twice: no acknowledgement was lost")
		}
	})
	t.Run("answers come after the time-out", func(t *testing.T) {
		l := begin(t)
		remove := b.toxic(t, "latency")
		l.commit(5)
		l.says("has trouble")
		remove()
		l.commit(5)
		s := l.verdict()
		whole(t, s)
		once(t, s, 3)
	})
	t.Run("connections cut", func(t *testing.T) {
		l := begin(t)
		for range 5 {
			b.proxy.Stop()
			l.commit(2)
			if err := b.proxy.Start(); err != nil {
				t.Fatal(err)
			}
			l.commit(2)
		}
		whole(t, l.verdict())
	})
	t.Run("too large, alone and among small ones", func(t *testing.T) {
		l := begin(t)
		l.topicSetting("max.message.bytes", "20000")
		l.committed++
		l.insert(l.committed, strings.Repeat("y", 30_000), 7, 7)
		l.dispatcher.Poke()
		l.settled()
		l.insert(l.committed, "small", 1, 6)
		l.insert(l.committed, "small", 8, flights)
		l.committed++
		l.insert(l.committed, "small", 1, 8)
		l.insert(l.committed, strings.Repeat("y", 30_000), 9, 9)
		l.insert(l.committed, "small", 10, flights)
		l.dispatcher.Poke()
		l.commit(5)
		s := l.verdict()
		if s.dead != 2 || s.attempts != 0 || s.missing != 0 || s.disorder != 0 {
			t.Errorf("got %+v, want the two events dead that are too large, and the others as if nothing had been", s)
		}
		if n := len(l.linesWith("event is dead", "too-large")); n != 2 {
			t.Errorf("got %d log lines of dead events, want 2", n)
		}
	})
	t.Run("the topic does not exist yet", func(t *testing.T) {
		l := newLine(t, b.through(), b.through(), "later")
		l.commit(5)
		l.says("has trouble", "unknown-topic", "msgx topics create")
		l.commit(5)
		l.makeTopic(3)
		l.commit(5)
		s := l.verdict()
		whole(t, s)
		once(t, s, 3)
	})
	t.Run("the topic is deleted and made again", func(t *testing.T) {
		l := begin(t)
		l.admin(func(ctx context.Context, c *kafkago.Client) error {
			_, err := c.DeleteTopics(ctx, &kafkago.DeleteTopicsRequest{Topics: []string{l.topic}})
			return err
		})
		l.commit(5)
		l.says("has trouble", "unknown-topic")
		before := l.count(`SELECT count(*) FROM msg_event WHERE state = 'SENT'`)
		l.makeTopic(2)
		l.commit(5)
		s := l.verdict()
		// What the broker threw away with the topic is gone from it.
		if s.attempts != 0 || s.dead != 0 || s.disorder != 0 || s.missing > before {
			t.Errorf("got %+v, want no attempt, nothing dead or out of order, and missing at most the %d events that went with the topic", s, before)
		}
		once(t, s, 3)
	})
	t.Run("partitions grow", func(t *testing.T) {
		way := b.through()
		way.MetadataMaxAge = time.Second
		l := b.line(t, way)
		l.admin(func(ctx context.Context, c *kafkago.Client) error {
			answer, err := c.CreatePartitions(ctx, &kafkago.CreatePartitionsRequest{Topics: []kafkago.TopicPartitionsConfig{{Name: l.topic, Count: 6}}})
			if err != nil {
				return err
			}
			return answer.Errors[l.topic]
		})
		l.await("events in the new partitions", func() bool {
			l.commit(1)
			return l.count(`SELECT count(*) FROM msg_event WHERE topic_partition > 2`) > 0
		})
		l.commit(5)
		whole(t, l.verdict())
	})
}

func (l *line) makeTopic(partitions int) {
	l.t.Helper()
	l.admin(func(ctx context.Context, c *kafkago.Client) error {
		answer, err := c.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{Topic: l.topic, NumPartitions: partitions, ReplicationFactor: 1}}})
		if err != nil {
			return err
		}
		return answer.Errors[l.topic]
	})
}

// line delivers to a topic of its own, without trouble so far.
func (b *troubled) line(t *testing.T, way kafka.Config) *line {
	t.Helper()
	l := newLine(t, way, b.through(), strings.NewReplacer("/", "-", ",", "").Replace(t.Name()))
	l.makeTopic(3)
	l.commit(5)
	l.settled()
	l.log.clear() // the first records may have met partitions without a leader
	return l
}

// admin does something at the broker.
func (l *line) admin(do func(context.Context, *kafkago.Client) error) {
	l.t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	// The broker may have told us of the last topic's end before it is through with it.
	l.await("a change at the broker", func() bool {
		err := do(ctx, &kafkago.Client{Addr: kafkago.TCP(l.reading.Brokers...), Timeout: 20 * time.Second, Transport: transport})
		if err != nil {
			l.t.Log(err)
		}
		return err == nil
	})
}

func (l *line) topicSetting(name, value string) {
	l.t.Helper()
	l.admin(func(ctx context.Context, c *kafkago.Client) error {
		_, err := c.IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: l.topic,
			Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafkago.ConfigOperationSet}},
		}}})
		return err
	})
}

// A broker alone cannot have too few replicas: this one says so by itself.
func TestNotEnoughReplicas(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	var lacking atomic.Bool
	lacking.Store(true)
	fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if lacking.Load() {
			fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: 3})
		}
		return nil, nil, false
	})
	way := at(fake.ListenAddrs()[0])
	l := newLine(t, way, way, "t")
	l.commit(5)
	l.says("has trouble", "not-enough-replicas")
	l.commit(5)
	lacking.Store(false)
	l.commit(5)
	s := l.verdict()
	whole(t, s)
	once(t, s, 2)
}

func TestWrongPasswordUntilItIsRight(t *testing.T) {
	b := stacktest.PrivateKafkaSecure(t, false)
	secured := func(password string) kafka.Config {
		return kafka.Config{Brokers: []string{b.Address}, Security: kafka.Security{TLS: true, CAFile: b.CAFile, Mechanism: "SCRAM-SHA-512", User: b.User, Password: password}}
	}
	const password = "the one of tomorrow"
	l := newLine(t, secured(password), at(b.URL), b.Topic(3))
	l.commit(5)
	l.says("has trouble", "not-authenticated", "user and password")
	l.commit(5)
	b.SetPassword(t, password)
	l.commit(5)
	s := l.verdict()
	whole(t, s)
	once(t, s, 2)
	if lines := l.linesWith(password); len(lines) > 0 {
		t.Errorf("the log tells the password: %s", lines[0])
	}
}

// names is a DNS server that knows every name, or none.
func names(t *testing.T, known *atomic.Bool) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			m.Response, m.Additionals = true, nil
			switch q := m.Questions[0]; {
			case !known.Load():
				m.RCode = dnsmessage.RCodeNameError
			case q.Type == dnsmessage.TypeA:
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
			}
			answer, err := m.Pack()
			if err != nil {
				continue
			}
			if _, err := conn.WriteTo(answer, from); err != nil {
				return
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = conn.Close()
		<-ended
	})
}

func TestAnUnknownNameUntilItIsKnown(t *testing.T) {
	var known atomic.Bool
	names(t, &known)
	broker := stacktest.Kafka(t)[0]
	_, port, err := net.SplitHostPort(broker)
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(t, at(net.JoinHostPort("kafka.airport.example", port)), at(broker), stacktest.Topic(t, 3))
	l.commit(5)
	l.says("has trouble", "unreachable", "kafka.airport.example")
	l.commit(5)
	known.Store(true)
	l.commit(5)
	s := l.verdict()
	whole(t, s)
	once(t, s, 1)
}
