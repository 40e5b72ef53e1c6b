package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/fault"
)

const (
	fetchBytes = 4 << 20
	fetchWait  = 500 * time.Millisecond
	// maxEmpty is how often a partition may answer with nothing below its end.
	maxEmpty = 20
)

// Reader reads a topic from its beginning to where it ends now. It belongs to no group
// and commits nothing.
type Reader struct {
	d     *dialer
	topic string
}

// NewReader makes a reader of one topic; it connects for each call.
func NewReader(c Config, topic string) (*Reader, error) {
	if topic == "" {
		return nil, fmt.Errorf("kafka: no topic named")
	}
	d, err := newDialer(c)
	if err != nil {
		return nil, err
	}
	return &Reader{d: d, topic: topic}, nil
}

// Read tells every record that the topic holds now, partition by partition in order. It
// first tells what each partition holds. An error of tell ends it.
func (r *Reader) Read(ctx context.Context, begin func([]evidence.Extent), tell func(evidence.Record) error) error {
	client, transport := r.d.client(r.topic)
	defer transport.CloseIdleConnections()
	extents, err := r.extents(ctx, client)
	if err != nil {
		return unreadable("read topic "+r.topic, err)
	}
	begin(extents)
	for _, e := range extents {
		for at := e.First; at < e.End; {
			next, err := r.fetch(ctx, client, e, at, tell)
			if err != nil {
				return err
			}
			at = next
		}
	}
	return nil
}

// extents asks for the ends of all partitions.
func (r *Reader) extents(ctx context.Context, client *kafkago.Client) ([]evidence.Extent, error) {
	meta, err := client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{r.topic}})
	if err != nil {
		return nil, err
	}
	if len(meta.Topics) != 1 || len(meta.Topics[0].Partitions) == 0 {
		return nil, kafkago.UnknownTopicOrPartition
	}
	if meta.Topics[0].Error != nil {
		return nil, meta.Topics[0].Error
	}
	var asked []kafkago.OffsetRequest
	for _, p := range meta.Topics[0].Partitions {
		asked = append(asked, kafkago.FirstOffsetOf(p.ID), kafkago.LastOffsetOf(p.ID))
	}
	offsets, err := client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{r.topic: asked}})
	if err != nil {
		return nil, err
	}
	var out []evidence.Extent
	for _, p := range offsets.Topics[r.topic] {
		if p.Error != nil {
			return nil, p.Error
		}
		out = append(out, evidence.Extent{Partition: p.Partition, First: p.FirstOffset, End: p.LastOffset})
	}
	return out, nil
}

// fetch tells the records of one answer and returns the offset to go on from.
func (r *Reader) fetch(ctx context.Context, client *kafkago.Client, e evidence.Extent, at int64, tell func(evidence.Record) error) (int64, error) {
	place := fmt.Sprintf("read topic %s partition %d from offset %d", r.topic, e.Partition, at)
	for range maxEmpty {
		response, err := client.Fetch(ctx, &kafkago.FetchRequest{
			Topic: r.topic, Partition: e.Partition, Offset: at, MinBytes: 1, MaxBytes: fetchBytes, MaxWait: fetchWait,
		})
		if err == nil {
			err = response.Error
		}
		if err != nil {
			return 0, unreadable(place, err)
		}
		next := at
		for {
			record, err := response.Records.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, unreadable(place, err)
			}
			if record.Offset < at || record.Offset >= e.End { // a batch begins earlier or goes on longer
				next = max(next, record.Offset+1)
				continue
			}
			told, err := r.record(e.Partition, record)
			if err != nil {
				return 0, fmt.Errorf("kafka: %s: %w", place, err)
			}
			next = record.Offset + 1
			if err := tell(told); err != nil {
				return 0, err
			}
		}
		if next > at {
			return next, nil
		}
	}
	return 0, fmt.Errorf("kafka: %s: found nothing, expected records up to offset %d", place, e.End)
}

func (r *Reader) record(partition int, record *protocol.Record) (evidence.Record, error) {
	out := evidence.Record{Landing: event.Landing{Topic: r.topic, Partition: partition, Offset: record.Offset}, Headers: map[string]string{}}
	for _, h := range record.Headers {
		out.Headers[h.Key] = string(h.Value)
	}
	key, err := protocol.ReadAll(record.Key)
	if err != nil {
		return out, err
	}
	out.Key = string(key)
	if record.Value == nil {
		return out, nil
	}
	out.Value, err = protocol.ReadAll(record.Value)
	if out.Value == nil && err == nil {
		out.Value = []byte{}
	}
	return out, err
}

// End is the position behind all that the topic holds now.
func (r *Reader) End(ctx context.Context) (evidence.Position, error) {
	client, transport := r.d.client(r.topic)
	defer transport.CloseIdleConnections()
	extents, err := r.extents(ctx, client)
	if err != nil {
		return nil, unreadable("read topic "+r.topic, err)
	}
	p := evidence.Position{}
	for _, e := range extents {
		p[e.Partition] = e.End
	}
	return p, nil
}

// At is the position of what was sent at a time and later, by the timestamps of the records; where a partition has nothing
// as late, its end.
func (r *Reader) At(ctx context.Context, at time.Time) (evidence.Position, error) {
	p, err := r.End(ctx)
	if err != nil {
		return nil, err
	}
	client, transport := r.d.client(r.topic)
	defer transport.CloseIdleConnections()
	var asked []kafkago.OffsetRequest
	for partition := range p {
		asked = append(asked, kafkago.TimeOffsetOf(partition, at))
	}
	offsets, err := client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{r.topic: asked}})
	if err != nil {
		return nil, unreadable("read topic "+r.topic, err)
	}
	for _, o := range offsets.Topics[r.topic] {
		if o.Error != nil {
			return nil, unreadable("read topic "+r.topic, o.Error)
		}
		for offset := range o.Offsets {
			if offset >= 0 { // -1 is none
				p[o.Partition] = offset
			}
		}
	}
	return p, nil
}

// Next tells what the topic holds from a position on, partition by partition in order, and moves the position behind it.
// A partition that the position does not know is read from its beginning; what was removed before it was read is passed over.
// After an error the position stands behind what was told.
func (r *Reader) Next(ctx context.Context, p evidence.Position, tell func(evidence.Record) error) error {
	client, transport := r.d.client(r.topic)
	defer transport.CloseIdleConnections()
	extents, err := r.extents(ctx, client)
	if err != nil {
		return unreadable("read topic "+r.topic, err)
	}
	for _, e := range extents {
		p[e.Partition] = max(p[e.Partition], e.First)
		if p[e.Partition] > e.End { // the topic was made anew
			p[e.Partition] = e.First
		}
		for p[e.Partition] < e.End {
			next, err := r.fetch(ctx, client, e, p[e.Partition], func(record evidence.Record) error {
				err := tell(record)
				if err == nil {
					p[e.Partition] = record.Landing.Offset + 1
				}
				return err
			})
			if err != nil {
				return err
			}
			p[e.Partition] = next
		}
	}
	return nil
}

// passing are the answers that another look at the cluster can turn into records: a leader that moves, a broker that comes
// back, retention that was faster.
var passing = []kafkago.Error{
	kafkago.NotLeaderForPartition, kafkago.LeaderNotAvailable, kafkago.ReplicaNotAvailable, kafkago.BrokerNotAvailable,
	kafkago.FencedLeaderEpoch, kafkago.UnknownLeaderEpoch, kafkago.RequestTimedOut, kafkago.NetworkException,
	kafkago.KafkaStorageError, kafkago.ThrottlingQuotaExceeded, kafkago.OffsetOutOfRange,
}

// unreadable tells what passes by itself from an answer that somebody has to do something about.
func unreadable(operation string, err error) error {
	var code kafkago.Error
	if errors.As(err, &code) && slices.Contains(passing, code) {
		return fmt.Errorf("kafka: %s: %w: %w", operation, fault.ErrUnavailable, err)
	}
	return unavailable(operation, err)
}
