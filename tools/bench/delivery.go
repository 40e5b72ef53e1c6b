package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"msgx/cmd/msgx/config"
	"msgx/engine/event"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
	"msgx/tools/scratch"
)

const (
	deliveryRounds = 3
	deliveryFlight = 20 // versions of each flight in the backlog of KAFKA:msg
	latencyFor     = 5 * time.Second
)

// One statement makes a whole backlog, as decisions would have left it: a version of every flight, then the next.
const sqlBacklog = `
INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
SELECT $1, f.n::text, 'UPSERT', f.n, v.n, v.n, 'FLOP-STND', 'bench', json_build_object('schema_version', 1, 'flid', f.n::text, 'state_version', v.n, 'filler', repeat('x', 400)), now()
FROM generate_series($2::bigint, $3::bigint) AS v (n), generate_series(1, $4::bigint) AS f (n) ORDER BY v.n, f.n`

// delivery is a database with events and a broker to take them.
type delivery struct {
	*engine
	pool   *pgxpool.Pool
	events int
}

// deliver measures how many events a second go to the broker, against the same records sent without an outbox, and how long
// an event takes from its commit to a consumer. It returns the lower of both targets' median ratios.
func deliver(ctx context.Context, o options) (float64, error) {
	name := fmt.Sprintf("msgx_bench_delivery_%d", time.Now().UnixMilli())
	place, err := scratch.New(ctx, o.postgres, o.mariadb, name)
	if err != nil {
		return 0, err
	}
	defer place.Remove()
	url, err := place.Database(ctx, name, "")
	if err != nil {
		return 0, err
	}
	if _, _, err := store.Migrate(ctx, url); err != nil {
		return 0, err
	}
	c, err := config.Load(config.Sources{Set: []string{
		"postgres.url=" + url, "mailbox.dsn=" + place.MailboxDSN, "kafka.brokers=" + o.kafka, "kafka.msg-topic=" + name + ".msg", "kafka.schd-topic=" + name + ".schd",
		"pipeline.max-commit-delay=1s", "pipeline.cutover-watermark=zero", "kafka.partitions=12", "schd.flush-period=50ms",
	}})
	if err != nil {
		return 0, err
	}
	if err := makeTopics(ctx, c); err != nil {
		return 0, err
	}
	d := &delivery{events: o.events}
	if d.engine, err = newEngine(ctx, c, nil); err != nil {
		return 0, err
	}
	defer d.close()
	if d.pool, err = pgxpool.New(ctx, url); err != nil {
		return 0, err
	}
	defer d.pool.Close()
	fmt.Printf("delivery, %d rounds of %d events in turn\n\n            outbox      floor   ratio\n", deliveryRounds, d.events)
	least := 10.0
	for _, target := range []event.Target{event.Msg, event.Schd} {
		ratio, err := d.compare(ctx, target)
		if err != nil {
			return 0, err
		}
		least = min(least, ratio)
	}
	return least, d.latencies(ctx)
}

// compare takes rounds with and without an outbox in turn.
func (d *delivery) compare(ctx context.Context, target event.Target) (float64, error) {
	var ours, floor, ratios []float64
	for range deliveryRounds {
		with, err := d.drainEvents(ctx, target)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", target, err)
		}
		without, err := d.sendAlone(ctx, target)
		if err != nil {
			return 0, fmt.Errorf("%s without an outbox: %w", target, err)
		}
		n := float64(d.events)
		ours, floor, ratios = append(ours, n/with.Seconds()), append(floor, n/without.Seconds()), append(ratios, without.Seconds()/with.Seconds())
	}
	slices.Sort(ours)
	slices.Sort(floor)
	slices.Sort(ratios)
	fmt.Printf("%-10s %7.0f/s  %7.0f/s  %6.2f   (ratio %.2f to %.2f)\n", target, median(ours), median(floor), median(ratios), ratios[0], ratios[len(ratios)-1])
	return median(ratios), nil
}

func (d *delivery) publisher(target event.Target) *kafka.Publisher {
	if target == event.Schd {
		return d.schd
	}
	return d.msg
}

// backlog replaces what the outbox holds.
func (d *delivery) backlog(ctx context.Context, target event.Target) error {
	versions, flights := deliveryFlight, d.events/deliveryFlight
	if target == event.Schd {
		versions, flights = 1, d.events
	}
	if _, err := d.pool.Exec(ctx, "TRUNCATE msg_event"); err != nil {
		return err
	}
	if _, err := d.pool.Exec(ctx, sqlBacklog, string(target), 1, versions, flights); err != nil {
		return err
	}
	_, err := d.pool.Exec(ctx, "ANALYZE msg_event")
	return err
}

// drainEvents measures the time from the first look at a backlog to its last confirmation.
func (d *delivery) drainEvents(ctx context.Context, target event.Target) (took time.Duration, err error) {
	if err := d.backlog(ctx, target); err != nil {
		return 0, err
	}
	dispatcher, err := d.dispatcher(target, d.publisher(target))
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepBound)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	group.Go(func() error { return dispatcher.Run(ctx) })
	group.Go(func() error {
		defer cancel()
		for {
			var left bool
			if err := d.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM msg_event WHERE state = 'PENDING' AND target = $1)", string(target)).Scan(&left); err != nil {
				return err
			}
			took = time.Since(begun)
			if !left {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(30 * time.Millisecond):
			}
		}
	})
	return took, group.Wait()
}

// sendAlone sends the same records in the same batches, with nothing before or behind.
func (d *delivery) sendAlone(ctx context.Context, target event.Target) (time.Duration, error) {
	if err := d.backlog(ctx, target); err != nil {
		return 0, err
	}
	var records []event.Record
	events, err := d.store.NextMsgEvents(ctx, 0, d.events)
	if target == event.Schd {
		events, err = d.store.DueSchdEvents(ctx, time.Now(), 0, d.events)
	}
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		records = append(records, event.Record{Key: e.Key, Value: e.Value(), At: time.Now(), Headers: []event.Header{
			{Key: "event_id", Value: fmt.Sprint(e.ID)}, {Key: "flid", Value: e.FLID.String()}, {Key: "state_version", Value: fmt.Sprint(e.Version)},
			{Key: "type", Value: string(e.Type)}, {Key: "kind", Value: e.Kind}, {Key: "ruleset", Value: e.Ruleset},
			{Key: "msg_id", Value: fmt.Sprint(e.MsgID)}, {Key: "created_at", Value: e.CreatedAt.Format(time.RFC3339Nano)},
		}})
	}
	begun := time.Now()
	for some := range slices.Chunk(records, d.config.Outbox.Batch) {
		for _, r := range d.publisher(target).Publish(ctx, some) {
			if r.Fate != event.Landed {
				return 0, fmt.Errorf("a record came to %s: %s %w", r.Fate, r.Reason, r.Err)
			}
		}
	}
	return time.Since(begun), nil
}

// latencies measures from commit to consumer, at several rates.
func (d *delivery) latencies(ctx context.Context) error {
	fmt.Printf("\nfrom commit to consumer, KAFKA:msg, %s at each rate\n\n              p50       p99    events\n", latencyFor)
	for i, rate := range []int{10, 100, 1000} {
		times, err := d.latency(ctx, rate, int64(1000*(i+1)))
		if err != nil {
			return fmt.Errorf("at %d/s: %w", rate, err)
		}
		slices.Sort(times)
		at := func(share float64) time.Duration { return times[min(len(times)-1, int(share*float64(len(times))))] }
		fmt.Printf("%6d/s  %8s  %8s  %8d\n", rate, at(0.5).Round(100*time.Microsecond), at(0.99).Round(100*time.Microsecond), len(times))
	}
	fmt.Println()
	return nil
}

// latency commits events at a rate and notes when each arrives.
func (d *delivery) latency(ctx context.Context, rate int, version int64) ([]time.Duration, error) {
	if _, err := d.pool.Exec(ctx, "TRUNCATE msg_event"); err != nil {
		return nil, err
	}
	dispatcher, err := d.dispatcher(event.Msg, d.msg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	total := rate * int(latencyFor/time.Second)
	var mu sync.Mutex
	committed, times := map[string]time.Time{}, []time.Duration{}
	arrived := func(key string, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if since, ok := committed[key]; ok {
			times = append(times, at.Sub(since))
			delete(committed, key)
		}
		if len(times) == total {
			cancel()
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{}, d.config.Kafka.Partitions)
	for partition := range d.config.Kafka.Partitions {
		group.Go(func() error { return d.consume(ctx, partition, ready, arrived) })
	}
	group.Go(func() error { return dispatcher.Run(ctx) })
	group.Go(func() error {
		for range d.config.Kafka.Partitions {
			<-ready
		}
		// Several a transaction where one each would measure the commits.
		together := max(1, rate/100)
		tick := time.NewTicker(time.Second * time.Duration(together) / time.Duration(rate))
		defer tick.Stop()
		for n := 0; n < total; n += together {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			mu.Lock()
			for k := range together { // before the commit: the consumer may be faster than the reply
				committed[fmt.Sprint(version*100_000+int64(n+k))] = time.Now()
			}
			mu.Unlock()
			if _, err := d.pool.Exec(ctx, `INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
				SELECT 'KAFKA:msg', f::text, 'UPSERT', f, 1, 1, 'FLOP-STND', 'bench', json_build_object('schema_version', 1, 'filler', repeat('x', 400)), now()
				FROM generate_series($1::bigint, $2::bigint) AS f`, version*100_000+int64(n), version*100_000+int64(n+together-1)); err != nil {
				return err
			}
			dispatcher.Poke()
		}
		return nil
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	if len(times) < total {
		return nil, fmt.Errorf("%d of %d events arrived", len(times), total)
	}
	return times, nil
}

// consume reads a partition from its end on.
func (d *delivery) consume(ctx context.Context, partition int, ready chan<- struct{}, arrived func(string, time.Time)) error {
	conn, err := kafkago.DialLeader(ctx, "tcp", d.config.Kafka.Brokers[0], d.config.Kafka.MsgTopic, partition)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Seek(0, kafkago.SeekEnd); err != nil {
		return err
	}
	ready <- struct{}{}
	for {
		batch := conn.ReadBatchWith(kafkago.ReadBatchConfig{MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond})
		for {
			message, err := batch.ReadMessage()
			if err != nil {
				break
			}
			arrived(string(message.Key), time.Now())
		}
		err := batch.Close()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, kafkago.RequestTimedOut):
			return err
		}
	}
}
