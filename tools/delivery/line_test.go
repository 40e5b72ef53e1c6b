package delivery

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/clock"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/outbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) {
	// Both ends of a way through toxiproxy wait for each other for ever where a connection ends in a toxic with bytes under way.
	const proxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(proxy+".(*ToxicLink).read"), goleak.IgnoreAnyFunction(proxy+"/toxics.(*ToxicStub).Run"))
}

const (
	flights = 30
	// requestTimeout is short, so that its consequences are not long in coming.
	requestTimeout = time.Second
	patience       = 2 * time.Minute
)

// line is a dispatcher between a database and a broker, at work while events are committed.
type line struct {
	t       *testing.T
	pool    *pgxpool.Pool
	reading kafka.Config // a way to the broker without trouble
	topic   string
	log     *journal

	dispatcher *outbox.Dispatcher
	committed  int // versions of each flight
	large      map[int64]bool
}

// writing is what a dispatcher needs of a store.
type writing struct {
	*store.Store
	*store.Writer
}

// journal keeps log lines.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.b.Reset()
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Split(strings.TrimSpace(j.b.String()), "\n")
}

// newLine begins to deliver to a topic. sending is the way there, which may be troubled; reading the same broker's, which is not.
func newLine(t *testing.T, sending, reading kafka.Config, topic string) *line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	url := stacktest.Postgres(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := store.Migrate(ctx, url)
	must(err)
	c, err := config.Load(config.Sources{Set: []string{"postgres.url=" + url}})
	must(err)
	words, err := core.LoadCatalogue(c)
	must(err)
	s, err := store.Open(ctx, store.Config{URL: url}, words, time.UTC)
	must(err)
	t.Cleanup(s.Close)
	epoch, held, err := s.ClaimLease(ctx, "test", time.Minute)
	must(err)
	if !held {
		t.Fatal("the lease is somebody else's")
	}
	l := &line{t: t, reading: reading, topic: topic, log: &journal{}, large: map[int64]bool{}}
	l.pool, err = pgxpool.New(ctx, url)
	must(err)
	t.Cleanup(l.pool.Close)
	sending.RequestTimeout = requestTimeout
	publisher, err := kafka.New(sending, topic)
	must(err)
	t.Cleanup(publisher.Close)
	o := outbox.Defaults(event.Msg)
	o.Every, o.Gather, o.Limit, o.Quarantine = 200*time.Millisecond, 20*time.Millisecond, 50, requestTimeout
	o.Waits = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second}
	l.dispatcher, err = outbox.New(o, outbox.Needs{Store: writing{s, s.Writer(epoch)}, Publisher: publisher, Held: func() error { return nil },
		Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(l.log, nil))})
	must(err)
	run, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.dispatcher.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// commit commits the next n versions of every flight, each in a transaction, as decisions would leave them.
func (l *line) commit(n int) {
	l.t.Helper()
	for range n {
		l.committed++
		l.insert(l.committed, strings.Repeat("x", 300), 1, flights)
		l.dispatcher.Poke()
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *line) insert(version int, filler string, first, last int) {
	l.t.Helper()
	if _, err := l.pool.Exec(l.t.Context(), `INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
		SELECT 'KAFKA:msg', f::text, 'UPSERT', f, $1::bigint, $1::bigint, 'FLOP-STND', 'r', json_build_object('schema_version', 1, 'filler', $2::text), now()
		FROM generate_series($3::bigint, $4::bigint) AS f`, version, filler, first, last); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) count(sql string) (n int) {
	l.t.Helper()
	if err := l.pool.QueryRow(l.t.Context(), sql).Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// await waits until something holds.
func (l *line) await(what string, holds func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%s: not within %s\n%s", what, patience, strings.Join(l.log.lines(), "\n"))
		}
	}
}

// says waits until a log line has all of some words.
func (l *line) says(words ...string) {
	l.t.Helper()
	l.await(fmt.Sprintf("a log line with %q", words), func() bool { return len(l.linesWith(words...)) > 0 })
}

func (l *line) linesWith(words ...string) (with []string) {
next:
	for _, line := range l.log.lines() {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		with = append(with, line)
	}
	return with
}

func (l *line) settled() {
	l.t.Helper()
	l.await("everything settled", func() bool { return l.count(`SELECT count(*) FROM msg_event WHERE state = 'PENDING'`) == 0 })
}

// seen is what came of a trouble.
type seen struct {
	attempts, dead, missing, repeats, disorder int
	gone, back                                 int // log lines
}

// verdict reads the whole topic and holds it to what was committed. Nothing may be out of order, and no event sent that is not there.
func (l *line) verdict() seen {
	l.t.Helper()
	l.settled()
	s := seen{
		attempts: l.count(`SELECT COALESCE(max(attempts), 0) FROM msg_event WHERE state <> 'DEAD'`),
		dead:     l.count(`SELECT count(*) FROM msg_event WHERE state = 'DEAD'`),
		disorder: l.count(`SELECT count(*) FROM (SELECT sent_at, lag(sent_at) OVER (PARTITION BY flid ORDER BY state_version) AS before FROM msg_event WHERE state = 'SENT') x WHERE sent_at < before`),
		gone:     len(l.linesWith("has trouble")), back: len(l.linesWith("is back")),
	}
	reader, err := kafka.NewReader(l.reading, l.topic)
	if err != nil {
		l.t.Fatal(err)
	}
	ids := map[string]string{} // flight and version to event id
	last := map[string]int64{} // flight in a partition to its last first delivery
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	err = reader.Read(ctx, func([]evidence.Extent) {}, func(r evidence.Record) error {
		version, err := strconv.ParseInt(r.Headers["state_version"], 10, 64)
		if err != nil {
			return err
		}
		if r.Key != r.Headers["flid"] {
			l.t.Errorf("key %s for flight %s", r.Key, r.Headers["flid"])
		}
		what := r.Key + " v" + r.Headers["state_version"]
		if before, repeat := ids[what]; repeat {
			s.repeats++
			if before != r.Headers["event_id"] {
				l.t.Errorf("%s came as event %s and again as event %s", what, before, r.Headers["event_id"])
			}
			return nil
		}
		ids[what] = r.Headers["event_id"]
		lane := fmt.Sprintf("%s in %d", r.Key, r.Landing.Partition)
		if version < last[lane] {
			s.disorder++
		}
		last[lane] = version
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	rows, err := l.pool.Query(l.t.Context(), `SELECT flid || ' v' || state_version, event_id::text FROM msg_event WHERE state = 'SENT'`)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var what, id string
		if err := rows.Scan(&what, &id); err != nil {
			l.t.Fatal(err)
		}
		if ids[what] != id {
			s.missing++
		}
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Logf("SEEN attempts=%d dead=%d missing=%d repeats=%d disorder=%d gone=%d back=%d", s.attempts, s.dead, s.missing, s.repeats, s.disorder, s.gone, s.back)
	for _, line := range l.linesWith("has trouble") {
		l.t.Log(line)
	}
	return s
}
