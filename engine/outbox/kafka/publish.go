package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"msgx/engine/event"
	"msgx/engine/failpoint"
)

// Publisher sends records to one topic. It is safe for one caller at a time.
type Publisher struct {
	topic string
	d     *dialer

	client     *kafkago.Client
	transport  *kafkago.Transport
	partitions []int     // known partitions, nil while unknown
	located    time.Time // when they became known, by the records' clock
}

// New makes a publisher for one topic. It connects when first used.
func New(c Config, topic string) (*Publisher, error) {
	if topic == "" {
		return nil, fmt.Errorf("kafka: no topic named")
	}
	d, err := newDialer(c)
	if err != nil {
		return nil, err
	}
	p := &Publisher{topic: topic, d: d}
	p.client, p.transport = d.client(topic)
	return p, nil
}

// Close closes the connections.
func (p *Publisher) Close() { p.transport.CloseIdleConnections() }

// reset closes the connections and forgets what is known of the cluster.
func (p *Publisher) reset() {
	p.transport.CloseIdleConnections()
	p.client, p.transport = p.d.client(p.topic)
	p.partitions = nil
}

// batch is what goes to one partition in one request.
type batch struct {
	partition int
	bytes     int
	closed    bool  // full, or something before was left out
	places    []int // of its records among those given
}

// Publish sends records: at most one request per partition, the partitions side
// by side. Records that do not fit in are UNTRIED.
func (p *Publisher) Publish(ctx context.Context, records []event.Record) []event.Receipt {
	receipts := make([]event.Receipt, len(records))
	if len(records) == 0 {
		return receipts
	}
	if err := p.locate(ctx, records[0].At); err != nil {
		p.reset()
		r := notSent(err)
		for i := range receipts {
			receipts[i] = r
		}
		return receipts
	}
	for i := range receipts {
		receipts[i].Fate = event.Untried
	}
	var group sync.WaitGroup
	for _, b := range p.batches(records, receipts) {
		// Each batch writes the receipts of its own places only.
		group.Go(func() { p.send(ctx, b, records, receipts) })
	}
	group.Wait()
	for _, r := range receipts {
		if r.Fate == event.NotStored || r.Fate == event.Unknown {
			p.reset()
			break
		}
	}
	return receipts
}

// locate finds out how many partitions the topic has, from time to time again: their number may grow.
func (p *Publisher) locate(ctx context.Context, now time.Time) error {
	if p.partitions != nil && now.Sub(p.located) < p.d.c.MetadataMaxAge {
		return nil
	}
	response, err := p.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{p.topic}})
	if err != nil {
		if p.d.sasl != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			err = fmt.Errorf("%w: the broker hung up: check user and password", err)
		}
		return fmt.Errorf("topic %s: partitions: %w", p.topic, err)
	}
	if len(response.Topics) != 1 {
		return fmt.Errorf("topic %s: partitions: %w", p.topic, kafkago.UnknownTopicOrPartition)
	}
	t := response.Topics[0]
	if t.Error != nil {
		return fmt.Errorf("topic %s: %w", p.topic, t.Error)
	}
	if len(t.Partitions) == 0 {
		return fmt.Errorf("topic %s: no partitions: %w", p.topic, kafkago.LeaderNotAvailable)
	}
	p.partitions, p.located = partitionNumbers(len(t.Partitions)), now
	return nil
}

func partitionNumbers(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// partitionOf is the Java client's choice for a key.
func partitionOf(key string, partitions []int) int {
	return kafkago.Murmur2Balancer{Consistent: true}.Balance(kafkago.Message{Key: []byte(key)}, partitions...)
}

// batches distributes records over partitions, in order. A record that is too
// large is refused here, and what follows of its key is left for another time.
func (p *Publisher) batches(records []event.Record, receipts []event.Receipt) []*batch {
	byPartition := map[int]*batch{}
	var all []*batch
	stuck := map[string]bool{}
	for i, r := range records {
		size := recordSize(r)
		switch {
		case stuck[r.Key]:
			continue
		case batchOverhead+size > p.d.c.MaxMessageBytes:
			stuck[r.Key] = true
			receipts[i] = event.Receipt{Fate: event.RefusedForGood, Reason: "too-large",
				Err: fmt.Errorf("record of %d bytes, expected at most %d with its batch", size, p.d.c.MaxMessageBytes-batchOverhead)}
			continue
		}
		n := partitionOf(r.Key, p.partitions)
		b := byPartition[n]
		if b == nil {
			b = &batch{partition: n, bytes: batchOverhead}
			byPartition[n] = b
			all = append(all, b)
		}
		if b.closed || b.bytes+size > p.d.c.MaxMessageBytes {
			b.closed = true
			continue
		}
		b.bytes += size
		b.places = append(b.places, i)
	}
	return all
}

// batchOverhead is the header of a record batch; recordSize bounds a record in it from above.
const batchOverhead = 61

func recordSize(r event.Record) int {
	const lengths = 5 + 1 + 10 + 5 + 5 + 5 + 5 // varints and attributes
	size := lengths + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += 10 + len(h.Key) + len(h.Value)
	}
	return size
}

func (p *Publisher) send(ctx context.Context, b *batch, records []event.Record, receipts []event.Receipt) {
	batch := make([]kafkago.Record, len(b.places))
	for i, place := range b.places {
		r := records[place]
		headers := make([]kafkago.Header, len(r.Headers))
		for j, h := range r.Headers {
			headers[j] = kafkago.Header{Key: h.Key, Value: []byte(h.Value)}
		}
		batch[i] = kafkago.Record{
			Key: kafkago.NewBytes([]byte(r.Key)), Value: kafkago.NewBytes(r.Value), Headers: headers, Time: r.At,
		}
	}
	failpoint.Before(failpoint.Produce)
	response, err := p.client.Produce(ctx, &kafkago.ProduceRequest{
		Topic: p.topic, Partition: b.partition, RequiredAcks: kafkago.RequireAll,
		Records: kafkago.NewRecordReader(batch...),
	})
	failpoint.After(failpoint.Produce)
	switch {
	case err != nil:
		b.all(receipts, lost(err))
	case response.Error != nil:
		b.answer(receipts, response)
	default:
		for i, place := range b.places {
			receipts[place] = event.Receipt{Fate: event.Landed, Landing: event.Landing{
				Topic: p.topic, Partition: b.partition, Offset: response.BaseOffset + int64(i)}}
		}
	}
}

func (b *batch) all(receipts []event.Receipt, r event.Receipt) {
	for _, place := range b.places {
		receipts[place] = r
	}
}

// answer distributes an error that the broker gave for the batch. Nothing of a
// refused batch is stored: where the broker names the culprits, the others are simply left.
func (b *batch) answer(receipts []event.Receipt, response *kafkago.ProduceResponse) {
	r := answered(response.Error)
	refused := r.Fate == event.Refused || r.Fate == event.RefusedForGood
	switch {
	case refused && len(response.RecordErrors) > 0 && len(response.RecordErrors) < len(b.places):
		for i, place := range b.places {
			if why, named := response.RecordErrors[i]; named {
				receipts[place] = event.Receipt{Fate: r.Fate, Reason: r.Reason, Err: fmt.Errorf("%w: %w", response.Error, why)}
			}
		}
	case refused && len(b.places) > 1:
		r.Fate = event.Suspect
		b.all(receipts, r)
	default:
		b.all(receipts, r)
	}
}
