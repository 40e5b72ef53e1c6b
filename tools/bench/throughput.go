package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/cmd/msgx/config"
	"msgx/engine/store"
	"msgx/tools/feed"
	"msgx/tools/scratch"
)

// warmUp is how many messages go before the measured ones, so that statements
// are prepared and plans made wherever they will be needed.
const warmUp = 300

// together is how many messages are put into the mailbox in one transaction.
const together = 100

// part is how many messages inbox and pump, then the floor, do at a time.
const part = 1000

// trial is the place of the throughput measurement: one mailbox, and a copy of the same
// database for each contestant. As all of them see the same messages, they stay alike.
type trial struct {
	*scratch.Place
	o        options
	name     string
	messages []feed.Message // that are not in the mailbox yet
	inserted int64          // highest id in the mailbox

	recorded *recorder
	ours     *engine // inbox and pump
	whole    *engine // every stage
	floor    *floor
}

// throughput measures the contestants in turn, round by round, and returns the
// ratio of inbox and pump to the floor.
func throughput(ctx context.Context, o options) (float64, error) {
	settings, err := durability(ctx, o)
	if err != nil {
		return 0, err
	}
	t, err := newTrial(ctx, o)
	if err != nil {
		return 0, err
	}
	defer t.close()
	fmt.Printf("mailbox to terminal state, %d rounds of %d messages in turn, PostgreSQL with %s\n\n", o.rounds, o.messages, settings)
	fmt.Println("          inbox+pump     floor   ratio   all stages   ratio   delivered and marked")
	if _, err := t.round(ctx, warmUp); err != nil {
		return 0, fmt.Errorf("warming up: %w", err)
	}
	var all results
	for n := 1; n <= o.rounds; n++ {
		r, err := t.round(ctx, o.messages)
		if err != nil {
			return 0, fmt.Errorf("round %d: %w", n, err)
		}
		all = append(all, r)
		fmt.Printf("round %-3d %s\n", n, r)
	}
	ratio := all.print()
	return ratio, t.compare(ctx)
}

// durability reads back what the figures depend on; without it they would mean nothing.
func durability(ctx context.Context, o options) (string, error) {
	conn, err := pgx.Connect(ctx, o.postgres)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) //nolint:errcheck // only reads
	var said string
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := conn.QueryRow(ctx, "SHOW "+name).Scan(&value); err != nil {
			return "", err
		}
		if value != "on" {
			return "", fmt.Errorf("PostgreSQL runs with %s %s, expected on", name, value)
		}
		said += ", " + name + " " + value
	}
	return said[2:], nil
}

// day makes the messages of a day without any that hold the line on purpose.
func day(c *config.Config, date time.Time, operations int) ([]feed.Message, error) {
	return feed.Generate(feed.Options{Seed: 1, Date: date, Zone: c.Airport.Location, Operations: operations, Holding: -1})
}

func newTrial(ctx context.Context, o options) (*trial, error) {
	t := &trial{o: o, name: fmt.Sprintf("msgx_bench_%d", time.Now().UnixMilli()), recorded: newRecorder()}
	var err error
	if t.Place, err = scratch.New(ctx, o.postgres, o.mariadb, t.name); err != nil {
		return nil, err
	}
	if err := t.prepare(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// prepare decides the morning (reference data, the schedule and the first operations)
// in one database and makes the others as copies of it.
func (t *trial) prepare(ctx context.Context) error {
	base := t.name + "_base"
	url, err := t.Database(ctx, base, "")
	if err != nil {
		return err
	}
	if _, _, err := store.Migrate(ctx, url); err != nil {
		return err
	}
	needed := warmUp + t.o.rounds*t.o.messages
	c, err := t.configuration(url)
	if err != nil {
		return err
	}
	if t.messages, err = day(c, time.Now(), needed+1000); err != nil {
		return err
	}
	if err := makeTopics(ctx, c); err != nil {
		return err
	}
	if err := t.morning(ctx, url, len(t.messages)-needed); err != nil {
		return fmt.Errorf("morning: %w", err)
	}
	if t.ours, err = t.engine(ctx, base, "_pump", t.recorded); err != nil {
		return err
	}
	if t.whole, err = t.engine(ctx, base, "_all", nil); err != nil {
		return err
	}
	_, err = t.Database(ctx, t.name+"_floor", base)
	return err
}

func (t *trial) morning(ctx context.Context, url string, messages int) error {
	if err := t.insert(ctx, messages); err != nil {
		return err
	}
	c, err := t.configuration(url)
	if err != nil {
		return err
	}
	e, err := newEngine(ctx, c, nil)
	if err != nil {
		return err
	}
	defer e.close()
	_, err = e.decide(ctx, messages, t.inserted)
	return err
}

func (t *trial) engine(ctx context.Context, base, suffix string, tracer pgx.QueryTracer) (*engine, error) {
	url, err := t.Database(ctx, t.name+suffix, base)
	if err != nil {
		return nil, err
	}
	c, err := t.configuration(url)
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, c, tracer)
}

func (t *trial) configuration(url string) (*config.Config, error) {
	return config.Load(config.Sources{Set: []string{
		"postgres.url=" + url, "mailbox.dsn=" + t.MailboxDSN, "kafka.brokers=" + t.o.kafka,
		"kafka.msg-topic=" + t.name + ".msg", "kafka.schd-topic=" + t.name + ".schd",
		"pipeline.max-commit-delay=1s", "pipeline.cutover-watermark=zero",
	}})
}

func (t *trial) close() {
	for _, e := range []*engine{t.ours, t.whole} {
		if e != nil {
			e.close()
		}
	}
	if t.floor != nil {
		t.floor.close()
	}
	t.Remove()
}

// insert puts the next messages into the mailbox.
func (t *trial) insert(ctx context.Context, n int) error {
	done, err := feed.Insert(ctx, t.Mailbox, t.messages[:n], feed.Inserting{Together: together})
	if err != nil {
		return err
	}
	t.inserted = done.IDs[t.messages[n-1].Seq]
	t.messages = t.messages[n:]
	return nil
}

// round has every contestant do n messages. Inbox and pump and the floor, which repeats
// what they did, take turns in parts of a round, so that both meet the same neighbours on the
// machine; every stage together does the whole round afterwards.
func (t *trial) round(ctx context.Context, n int) (r result, err error) {
	r.messages = n
	for left := n; left > 0; left -= min(left, part) {
		if err := t.pair(ctx, min(left, part), &r); err != nil {
			return r, err
		}
	}
	r.whole, r.done, err = t.whole.everything(ctx, n, t.inserted)
	return r, err
}

func (t *trial) pair(ctx context.Context, n int, r *result) error {
	before := t.inserted
	if err := t.insert(ctx, n); err != nil {
		return err
	}
	took, err := t.ours.decide(ctx, n, t.inserted)
	if err != nil {
		return err
	}
	r.ours += took
	units, settings := t.recorded.take()
	if len(units) != n {
		return fmt.Errorf("found %d decisions recorded, expected one for each of %d messages", len(units), n)
	}
	if err := t.startFloor(ctx, settings); err != nil {
		return err
	}
	if err := t.floor.enqueue(ctx, before, t.inserted, t.ours.epoch); err != nil {
		return err
	}
	took, err = t.floor.run(ctx, units)
	r.floor += took
	return err
}

// startFloor connects the floor once it is known with what settings the store does.
func (t *trial) startFloor(ctx context.Context, settings map[string]string) error {
	if t.floor != nil {
		return nil
	}
	url, err := t.URL(t.name + "_floor")
	if err != nil {
		return err
	}
	t.floor, err = newFloor(ctx, url, settings)
	return err
}

// compare makes sure that all contestants have done the same.
func (t *trial) compare(ctx context.Context) error {
	var want map[string]int64
	for _, suffix := range []string{"_pump", "_floor", "_all"} {
		got, err := t.tally(ctx, suffix)
		if err != nil {
			return err
		}
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("database %s%s differs from the first: found %v, expected %v", t.name, suffix, got, want)
		}
	}
	return nil
}

// tally counts what decisions leave behind.
func (t *trial) tally(ctx context.Context, suffix string) (map[string]int64, error) {
	url, err := t.URL(t.name + suffix)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx) //nolint:errcheck // only reads
	rows, err := conn.Query(ctx, `
SELECT state, count(*) FROM proc_state GROUP BY state
UNION ALL SELECT 'versions of flights', sum(state_version)::bigint FROM flight_schd
UNION ALL SELECT 'changes', count(*) FROM flight_change
UNION ALL SELECT 'decisions', decision_no FROM pipeline_lock
UNION ALL SELECT 'events', count(*) FROM msg_event
UNION ALL SELECT 'bodies', count(*) FROM raw_message`)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	var name string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error { out[name] = n; return nil })
	return out, err
}
