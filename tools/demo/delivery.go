package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"msgx/cmd/msgx/config"
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
		a.msgTopic(records, sent)
		states, err := a.read(ctx, c.Kafka.SchdTopic, a.landed(ctx, "KAFKA:schd"))
		if err != nil {
			return err
		}
		a.schdTopic(states, latest)
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

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// msgTopic checks that every version was told, and each flight's in order.
func (a *accountant) msgTopic(records []*kgo.Record, sent map[version]bool) {
	var faults []string
	last := map[string]int64{}
	for _, r := range records {
		v := version{flid: header(r, "flid")}
		v.number, _ = strconv.ParseInt(header(r, "state_version"), 10, 64)
		if !sent[v] {
			faults = append(faults, fmt.Sprintf("flight %s version %d was delivered and is not an event, or twice", v.flid, v.number))
		}
		delete(sent, v)
		// Two events of a flight under different keys may be in different
		// partitions, whose order no reader can see.
		lane := v.flid + "/" + string(r.Key)
		if v.number <= last[lane] {
			faults = append(faults, fmt.Sprintf("flight %s version %d was delivered after version %d", v.flid, v.number, last[lane]))
		}
		last[lane] = v.number
	}
	for v := range sent {
		faults = append(faults, fmt.Sprintf("flight %s version %d was not delivered", v.flid, v.number))
	}
	a.report.add("topic msg tells every version once, in order per flight", fmt.Sprintf("%d records", len(records)), faults)
}

// schdTopic checks that the last record of each key is the flight's state.
func (a *accountant) schdTopic(records []*kgo.Record, latest map[string]int64) {
	var faults []string
	last := map[string]int64{}
	for _, r := range records {
		n, _ := strconv.ParseInt(header(r, "state_version"), 10, 64)
		if r.Value == nil {
			n = -n
		}
		last[string(r.Key)] = n
	}
	for flid, want := range latest {
		if got := last[flid]; got != want {
			faults = append(faults, fmt.Sprintf("flight %s: the last record has version %d, the database %d (negative: deleted)", flid, got, want))
		}
	}
	a.report.add("topic schd ends with every flight's latest state", fmt.Sprintf("%d records, %d flights", len(records), len(latest)), faults)
}
