package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	produceapi "github.com/segmentio/kafka-go/protocol/produce"

	"msgx/engine/event"
	"msgx/engine/fault"
)

// verdict is what an error code of a broker means for the records it answers.
type verdict struct {
	fate   event.Fate
	reason string
	advice string // for whoever reads the log, "" when waiting is all there is
}

// verdicts lists the codes that a broker answers a produce request with. A code
// that is not here leaves open what was stored.
var verdicts = map[kafkago.Error]verdict{
	kafkago.MessageSizeTooLarge:         {event.RefusedForGood, "too-large", ""},
	kafkago.RecordListTooLarge:          {event.RefusedForGood, "too-large", ""},
	kafkago.InvalidRecord:               {event.RefusedForGood, "invalid-record", ""},
	kafkago.InvalidMessage:              {event.Refused, "corrupt", ""},
	kafkago.InvalidTimestamp:            {event.Refused, "invalid-timestamp", ""},
	kafkago.UnsupportedForMessageFormat: {event.Refused, "unsupported-format", ""},

	kafkago.NotLeaderForPartition:   {event.NotStored, "not-leader", ""},
	kafkago.LeaderNotAvailable:      {event.NotStored, "no-leader", ""},
	kafkago.ReplicaNotAvailable:     {event.NotStored, "no-leader", ""},
	kafkago.BrokerNotAvailable:      {event.NotStored, "no-broker", ""},
	kafkago.FencedLeaderEpoch:       {event.NotStored, "not-leader", ""},
	kafkago.UnknownLeaderEpoch:      {event.NotStored, "not-leader", ""},
	kafkago.NotEnoughReplicas:       {event.NotStored, "not-enough-replicas", "too few replicas are in sync, see min.insync.replicas"},
	kafkago.ThrottlingQuotaExceeded: {event.NotStored, "throttled", ""},
	kafkago.PolicyViolation:         {event.NotStored, "policy", "a policy of the cluster forbids it"},
	kafkago.UnknownTopicOrPartition: {event.NotStored, "unknown-topic",
		"the topic does not exist; it is never created by sending: run 'msgx topics create'"},
	kafkago.InvalidTopic:               {event.NotStored, "invalid-topic", "the topic's name is not valid"},
	kafkago.TopicAuthorizationFailed:   {event.NotStored, "not-authorised", "the user may not write to the topic: it needs WRITE and DESCRIBE"},
	kafkago.ClusterAuthorizationFailed: {event.NotStored, "not-authorised", "the user may not use the cluster"},
	kafkago.SASLAuthenticationFailed:   {event.NotStored, "not-authenticated", "check user and password"},
	kafkago.UnsupportedSASLMechanism:   {event.NotStored, "not-authenticated", "the broker does not offer this SASL mechanism"},
	kafkago.UnsupportedVersion:         {event.NotStored, "unsupported-version", "the broker does not speak this version of the protocol"},

	kafkago.RequestTimedOut:              {event.Unknown, "timed-out", ""},
	kafkago.NotEnoughReplicasAfterAppend: {event.Unknown, "not-enough-replicas-after-append", "too few replicas are in sync, see min.insync.replicas"},
	kafkago.KafkaStorageError:            {event.Unknown, "storage-error", "the broker cannot write its disk"},
}

// answered makes a receipt of an error that a broker gave as its answer.
func answered(err error) event.Receipt {
	var code kafkago.Error
	if !errors.As(err, &code) {
		return event.Receipt{Fate: event.Unknown, Reason: "unknown", Err: err}
	}
	v, known := verdicts[code]
	if !known {
		return event.Receipt{Fate: event.Unknown, Reason: fmt.Sprintf("code-%d", int(code)), Err: err}
	}
	if v.advice != "" {
		err = fmt.Errorf("%w: %s", err, v.advice)
	}
	return event.Receipt{Fate: v.fate, Reason: v.reason, Err: err}
}

// notSent makes a receipt of an error before anything was sent.
func notSent(err error) event.Receipt {
	r := lost(err)
	r.Fate = event.NotStored
	return r
}

// lost makes a receipt of a request that got no answer. Unless it is certain
// that nothing left this machine, the outcome is unknown.
func lost(err error) event.Receipt {
	var code kafkago.Error
	var routing *produceapi.Error
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &code):
		return answered(err)
	case errors.As(err, &routing), errors.Is(err, protocol.ErrNoTopic), errors.Is(err, protocol.ErrNoPartition), errors.Is(err, protocol.ErrNoLeader):
		return event.Receipt{Fate: event.NotStored, Reason: "no-leader", Err: err}
	case errors.As(err, &certificate):
		return event.Receipt{Fate: event.NotStored, Reason: "certificate", Err: fmt.Errorf("%w: %w", fault.ErrUnavailable, err)}
	case errors.As(err, &dial) && dial.Op == "dial":
		return event.Receipt{Fate: event.NotStored, Reason: "unreachable", Err: fmt.Errorf("%w: %w", fault.ErrUnavailable, err)}
	}
	return event.Receipt{Fate: event.Unknown, Reason: "no-answer", Err: fmt.Errorf("%w: %w", fault.ErrUnavailable, err)}
}
