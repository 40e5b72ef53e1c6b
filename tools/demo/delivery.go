package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"msgx/cmd/msgx/config"
	"msgx/engine/consume"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

const (
	readBound = 60 * time.Second
	longQuiet = 12 // polls of half a second
)

// version is a flight at a version.
type version struct {
	flid   string
	number int64
}

// delivery reads both topics back, with another client than the daemon's, and
// compares them with the database.
func (a *accountant) delivery(c *config.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		sent, latest, err := a.expected(ctx)
		if err != nil {
			return err
		}
		records, err := a.read(ctx, c.Kafka.MsgTopic, int64(len(sent)))
		if err != nil {
			return err
		}
		a.msgTopic(a.understood(event.Msg, records), sent)
		states, err := a.read(ctx, c.Kafka.SchdTopic, a.landed(ctx, "KAFKA:schd"))
		if err != nil {
			return err
		}
		a.schdTopic(a.understood(event.Schd, states), latest)
		return nil
	}
}

// expected lists the versions that KAFKA:msg has to tell, and the last version
// of each flight (negative for a deleted one).
func (a *accountant) expected(ctx context.Context) (sent map[version]bool, latest map[string]int64, err error) {
	sent, latest = map[version]bool{}, map[string]int64{}
	rows, err := a.conn.Query(ctx, `SELECT flid::text, state_version FROM msg_event WHERE target = 'KAFKA:msg'`)
	if err != nil {
		return nil, nil, err
	}
	var v version
	if _, err := pgx.ForEachRow(rows, []any{&v.flid, &v.number}, func() error { sent[v] = true; return nil }); err != nil {
		return nil, nil, err
	}
	rows, err = a.conn.Query(ctx, `SELECT flid::text, CASE state WHEN 'ACTIVE' THEN state_version ELSE -state_version END FROM flight_schd`)
	if err != nil {
		return nil, nil, err
	}
	_, err = pgx.ForEachRow(rows, []any{&v.flid, &v.number}, func() error { latest[v.flid] = v.number; return nil })
	return sent, latest, err
}

// landed is the least number of records that a topic must have.
func (a *accountant) landed(ctx context.Context, target string) (n int64) {
	_ = a.conn.QueryRow(ctx, `SELECT count(*) FROM msg_event WHERE target = $1 AND state = 'SENT'`, target).Scan(&n)
	return n
}

// read reads a topic from its beginning to its present end.
func (a *accountant) read(ctx context.Context, topic string, least int64) ([]*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(a.place.brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	defer client.Close()
	var records []*kgo.Record
	quiet := 0
	// A record may only show after its acknowledgement, so the end is when the
	// least is there and a while brings nothing more, or when a long while brings nothing.
	for quiet < 2 || int64(len(records)) < least && quiet < longQuiet {
		poll, stop := context.WithTimeout(ctx, 500*time.Millisecond)
		fetched := client.PollFetches(poll)
		stop()
		if ctx.Err() != nil {
			break // what is missing is told by the checks
		}
		quiet++
		fetched.EachRecord(func(r *kgo.Record) {
			records, quiet = append(records, r), 0
		})
	}
	return records, nil
}

// understood is what a consumer understands of records; what it does not is reported.
func (a *accountant) understood(target event.Target, records []*kgo.Record) (events []consume.Event) {
	var faults []string
	for _, r := range records {
		of := evidence.Record{Landing: event.Landing{Topic: r.Topic, Partition: int(r.Partition), Offset: r.Offset}, Key: string(r.Key), Value: r.Value, Headers: map[string]string{}}
		for _, h := range r.Headers {
			of.Headers[h.Key] = string(h.Value)
		}
		e, err := consume.Understand(of)
		if err == nil && a.place.checkEvent != nil {
			err = a.place.checkEvent(target, r.Value)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s/%d@%d: %v", r.Topic, r.Partition, r.Offset, err))
			continue
		}
		events = append(events, e)
	}
	a.report.add(fmt.Sprintf("every record of %s is an event", target), fmt.Sprintf("%d records", len(records)), faults)
	return events
}

// lane is a flight in a partition. Two events of a flight under different keys may be in different partitions,
// whose order no reader can see.
type lane struct {
	flid      flight.ID
	partition int
}

// msgTopic checks that every version was told, and each flight's in order.
func (a *accountant) msgTopic(events []consume.Event, sent map[version]bool) {
	var faults []string
	var feed consume.Feed
	last := map[lane]int64{}
	for _, e := range events {
		v := version{e.FLID.String(), e.Version}
		if !sent[v] {
			faults = append(faults, fmt.Sprintf("flight %s version %d was delivered and is not an event, or twice", v.flid, v.number))
		}
		delete(sent, v)
		feed.Take(e.FLID, e.Version)
		l := lane{e.FLID, e.Landing.Partition}
		if v.number <= last[l] {
			faults = append(faults, fmt.Sprintf("flight %s version %d was delivered after version %d", v.flid, v.number, last[l]))
		}
		last[l] = v.number
	}
	for l := range last {
		if n := feed.Missing(l.flid); n > 0 {
			faults = append(faults, fmt.Sprintf("a consumer misses %d versions of flight %s", n, l.flid))
		}
	}
	for v := range sent {
		faults = append(faults, fmt.Sprintf("flight %s version %d was not delivered", v.flid, v.number))
	}
	a.report.add("topic msg tells every version once, in order per flight", fmt.Sprintf("%d records", len(events)), faults)
}

// schdTopic checks that a consumer comes to every flight's state, also one that begins when the topic has been compacted to
// the last record of each key.
func (a *accountant) schdTopic(events []consume.Event, latest map[string]int64) {
	var faults []string
	var table consume.Latest
	last := map[string]int64{}
	for _, e := range events {
		table.Take(e)
		last[e.FLID.String()] = e.Version
		if e.Whole == nil {
			last[e.FLID.String()] = -e.Version
		}
	}
	for flid, want := range latest {
		if got := last[flid]; got != want {
			faults = append(faults, fmt.Sprintf("flight %s: the last record has version %d, the database %d (negative: deleted)", flid, got, want))
		}
		id, err := flight.ParseID(flid)
		_, there := table.State(id)
		if version := max(want, -want); err != nil || table.Version(id) != version || there != (want > 0) {
			faults = append(faults, fmt.Sprintf("flight %s: a consumer has version %d, there: %t; the database %d (negative: deleted)", flid, table.Version(id), there, want))
		}
	}
	a.report.add("topic schd ends with every flight's latest state", fmt.Sprintf("%d records, %d flights", len(events), len(latest)), faults)
}
