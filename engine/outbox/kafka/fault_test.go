package kafka

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"msgx/engine/event"
	"msgx/engine/fault"
)

// cluster is an in-process broker that fails on demand.
func cluster(t *testing.T) (*kfake.Cluster, Config) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, Config{Brokers: c.ListenAddrs(), RequestTimeout: time.Second}
}

func TestAnswersOfABroker(t *testing.T) {
	cases := []struct {
		code   *kerr.Error
		batch  string // fate of each record of a batch of two
		alone  string // fate of one
		stored int    // records of the batch that the topic then has
	}{
		{kerr.NotEnoughReplicas, "NOT_STORED not-enough-replicas", "NOT_STORED not-enough-replicas", 0},
		{kerr.NotLeaderForPartition, "NOT_STORED not-leader", "NOT_STORED not-leader", 0},
		{kerr.TopicAuthorizationFailed, "NOT_STORED not-authorised", "NOT_STORED not-authorised", 0},
		{kerr.RequestTimedOut, "UNKNOWN timed-out", "UNKNOWN timed-out", 2},
		{kerr.NotEnoughReplicasAfterAppend, "UNKNOWN not-enough-replicas-after-append", "UNKNOWN not-enough-replicas-after-append", 2},
		{kerr.MessageTooLarge, "SUSPECT too-large", "REFUSED_FOR_GOOD too-large", 0},
		{kerr.InvalidRecord, "SUSPECT invalid-record", "REFUSED_FOR_GOOD invalid-record", 0},
		{kerr.CorruptMessage, "SUSPECT corrupt", "REFUSED corrupt", 0},
		{kerr.InvalidTimestamp, "SUSPECT invalid-timestamp", "REFUSED invalid-timestamp", 0},
		{kerr.UnknownServerError, "UNKNOWN code--1", "UNKNOWN code--1", 0},
	}
	for _, c := range cases {
		t.Run(c.code.Message, func(t *testing.T) {
			broker, config := cluster(t)
			p := newPublisher(t, config, "t")
			inject := func() { broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: c.code}) }
			inject()
			if diff := cmp.Diff([]string{c.batch, c.batch}, fatesOf(p.Publish(t.Context(), records("1", "2")))); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
			if got := len(read(t, config.Brokers[0], "t", 1)); got != c.stored {
				t.Errorf("stored: got %d, want %d", got, c.stored)
			}
			inject()
			if diff := cmp.Diff([]string{c.alone}, fatesOf(p.Publish(t.Context(), records("1")))); diff != "" {
				t.Errorf("alone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"LANDED"}, fatesOf(p.Publish(t.Context(), records("1")))); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordsNamedByTheBroker(t *testing.T) {
	b := &batch{places: []int{0, 2, 3}}
	receipts := make([]event.Receipt, 4)
	for i := range receipts {
		receipts[i].Fate = event.Untried
	}
	b.answer(receipts, &kafkago.ProduceResponse{Error: kafkago.InvalidRecord, RecordErrors: map[int]error{1: errors.New("no key")}})
	if diff := cmp.Diff([]string{"UNTRIED", "UNTRIED", "REFUSED_FOR_GOOD invalid-record", "UNTRIED"}, fatesOf(receipts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A connection that breaks after the request left says nothing about its fate.
func TestConnectionLostIsUnknown(t *testing.T) {
	broker, config := cluster(t)
	p := newPublisher(t, config, "t")
	broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		return nil, errors.New("hang up"), true
	})
	r := p.Publish(t.Context(), records("1"))[0]
	if r.Fate != event.Unknown || !errors.Is(r.Err, fault.ErrUnavailable) {
		t.Errorf("got %s %v, want UNKNOWN and %v", r.Fate, r.Err, fault.ErrUnavailable)
	}
	if diff := cmp.Diff([]string{"LANDED"}, fatesOf(p.Publish(t.Context(), records("1")))); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}

func TestLost(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	readErr := &net.OpError{Op: "read", Err: errors.New("reset")}
	for _, c := range []struct {
		err  error
		want event.Fate
	}{{dial, event.NotStored}, {readErr, event.Unknown}, {io.ErrUnexpectedEOF, event.Unknown}, {kafkago.SASLAuthenticationFailed, event.NotStored}} {
		if got := lost(c.err); got.Fate != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got.Fate, c.want)
		}
	}
}
