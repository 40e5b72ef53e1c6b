package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/rehearse"
	"msgx/engine/store"
	"msgx/tools/stack/stacktest"
)

const (
	// childVariable makes the test binary a daemon, for tests that kill one.
	childVariable = "MSGX_STACK_TEST_CHILD"
	patience      = 30 * time.Second // without anything happening
	longest       = 3 * time.Minute
	lookEvery     = 20 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// child is a daemon configured by its environment, as `msgx serve` is.
func child() int {
	c, err := config.Load(config.Sources{Env: os.Environ()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d, err := daemon.New(ctx, c, "test", slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err == nil {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		go func() {
			for range hangups {
				d.Reload()
			}
		}()
		err = d.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// place is a database, a mailbox and topics of one test.
type place struct {
	t       *testing.T
	set     []string // parameters, key=value
	pgURL   string
	pg      *pgxpool.Pool
	mailbox *sql.DB
	bytes   bool // the mailbox holds bytes instead of characters
	sent    []sent
	// crashed tells that an instance was killed or a broker failed: an event may
	// have been delivered twice, which readers tell by its version.
	crashed bool
	faults  []string // what the last account found
	// recorded tells that rule sets change, so that each message is accounted for by the one it records.
	recorded bool
	failures map[int64]int // of messages that succeeded after some
}

// sent is a message that was put into the mailbox.
type sent struct {
	id   int64
	body *string
	gone bool // its row was removed again
	// posted tells that the daemon itself has made the row, at a time of its own.
	posted bool
}

// receivedAt is what the mailbox's owner writes into every row.
const receivedAt = "2026-03-01 08:00:00"

// newPlace makes everything on the shared servers.
func newPlace(t *testing.T, set ...string) *place {
	t.Helper()
	return placeOn(t, stacktest.Postgres(t), stacktest.Mailbox(t), stacktest.Kafka(t)[0], stacktest.Topic(t, 3), stacktest.CompactedTopic(t, 3), set...)
}

func placeOn(t *testing.T, pgURL, dsn, broker, msgTopic, schdTopic string, set ...string) *place {
	t.Helper()
	if _, _, err := store.Migrate(t.Context(), pgURL); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	pool, err := pgxpool.New(t.Context(), pgURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	// A long lease is patience: the bounds of statements and transactions follow it, and a
	// machine that tests keep busy is slow. Tests that wait for a lease to run out have a short one.
	p := &place{t: t, pgURL: pgURL, pg: pool, mailbox: db, set: append([]string{
		"postgres.url=" + pgURL, "mailbox.dsn=" + dsn, "kafka.brokers=" + broker,
		"kafka.msg-topic=" + msgTopic, "kafka.schd-topic=" + schdTopic, "kafka.request-timeout=2s",
		"pipeline.max-commit-delay=500ms", "pipeline.cutover-watermark=zero", "pipeline.poll-interval=50ms",
		"pipeline.backoff=10ms,10ms,10ms,10ms", "schd.flush-period=100ms", "lease.duration=20s", "http.listen=127.0.0.1:0",
	}, set...)}
	return p
}

func (p *place) config() *config.Config {
	p.t.Helper()
	c, err := config.Load(config.Sources{Set: p.set})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// judge is what decodes and decides in a daemon of this place. Where rule sets have changed, each message is
// judged by the one that it records, loaded from the record.
func (p *place) judge() (rehearse.Decoder, rehearse.Judge) {
	p.t.Helper()
	c := p.config()
	if p.recorded {
		mind, err := core.Prepare(c)
		if err != nil {
			p.t.Fatal(err)
		}
		return mind.Codec, p.recordedJudge(mind)
	}
	mind := p.core()
	return mind.Codec, mind.Judge
}

// core is what decides, with the rule set of the configuration.
func (p *place) core() *core.Core {
	p.t.Helper()
	mind, err := core.New(p.config())
	if err != nil {
		p.t.Fatal(err)
	}
	return mind
}

// put writes messages into the mailbox and returns the id of the first.
func (p *place) put(bodies ...string) int64 {
	p.t.Helper()
	all := make([]*string, len(bodies))
	for i := range bodies {
		all[i] = &bodies[i]
	}
	return p.putAll(all...)[0]
}

// putAll writes messages in one transaction; nil is a row without a body.
func (p *place) putAll(bodies ...*string) (ids []int64) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tx, err := p.mailbox.BeginTx(ctx, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, body := range bodies {
		var value any = body
		if p.bytes && body != nil {
			value = []byte(*body)
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS) VALUES (?, ?, 'VALID')`, value, receivedAt)
		if err != nil {
			p.t.Fatal(err)
		}
		id, err := result.LastInsertId()
		if err != nil {
			p.t.Fatal(err)
		}
		ids, p.sent = append(ids, id), append(p.sent, sent{id: id, body: body})
	}
	if err := tx.Commit(); err != nil {
		p.t.Fatal(err)
	}
	return ids
}

// remove takes a row out of the mailbox, as its owner may.
func (p *place) remove(id int64) {
	p.t.Helper()
	if _, err := p.mailbox.Exec("DELETE FROM CMINMSGS WHERE CMINMSGS_ID = ?", id); err != nil {
		p.t.Fatal(err)
	}
	for i := range p.sent {
		p.sent[i].gone = p.sent[i].gone || p.sent[i].id == id
	}
}

// logs keeps what a daemon has logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count says how many lines hold all of the words.
func (l *logs) count(words ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

// instance is a daemon in this process.
type instance struct {
	*daemon.Daemon
	t       *testing.T
	address string
	logs    *logs
	stop    context.CancelFunc
	ended   chan error
}

// start runs a daemon until stopped, or the test ends.
func (p *place) start(extra ...string) *instance {
	p.t.Helper()
	q := *p
	q.set = append(append([]string{}, p.set...), extra...)
	i := &instance{t: p.t, logs: &logs{}, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	i.stop = stop
	d, err := daemon.New(ctx, q.config(), "test", slog.New(slog.NewTextHandler(i.logs, nil)))
	if err != nil {
		stop()
		p.t.Fatal(err)
	}
	i.Daemon, i.address = d, d.Address()
	go func() { i.ended <- d.Run(ctx) }()
	p.t.Cleanup(func() {
		i.end()
		if p.t.Failed() {
			p.t.Logf("log of the daemon:\n%s", i.logs)
		}
	})
	return i
}

// end stops the daemon in good order and returns its error.
func (i *instance) end() error {
	i.stop()
	select {
	case err := <-i.ended:
		i.ended <- err
		return err
	case <-time.After(patience):
		i.t.Errorf("the daemon did not stop within %s\n%s", patience, i.logs)
		return errors.New("stuck")
	}
}

// process is a daemon in a process of its own.
type process struct {
	cmd   *exec.Cmd
	logs  *logs
	ended chan error
}

func (p *place) spawn(extra ...string) *process {
	p.t.Helper()
	c := &process{cmd: exec.Command(os.Args[0]), logs: &logs{}, ended: make(chan error, 1)}
	c.cmd.Env = append(os.Environ(), childVariable+"=1")
	for _, s := range append(append([]string{}, p.set...), extra...) {
		key, value, _ := strings.Cut(s, "=")
		c.cmd.Env = append(c.cmd.Env, config.EnvName(key)+"="+value)
	}
	c.cmd.Stderr = c.logs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { c.ended <- c.cmd.Wait() }()
	p.t.Cleanup(func() {
		c.kill()
		if p.t.Failed() {
			p.t.Logf("log of process %d:\n%s", c.cmd.Process.Pid, c.logs)
		}
	})
	return c
}

func (c *process) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill ends the process as a crash would and waits for it.
func (c *process) kill() {
	c.signal(syscall.SIGKILL)
	err := <-c.ended
	c.ended <- err
}

// resume lets paused stages run, as an operator does.
func (p *place) resume(stages ...string) {
	p.t.Helper()
	p.list(`UPDATE operator_control SET value = 'running' WHERE control = 'pause' AND subject = ANY($1) RETURNING subject`, stages)
}

// query reads one value of our own database.
func (p *place) query(statement string, args ...any) string {
	p.t.Helper()
	value, err := p.tryQuery(statement, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func (p *place) tryQuery(statement string, args ...any) (value string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = p.pg.QueryRow(ctx, "SELECT ("+statement+")::text", args...).Scan(&value)
	return value, err
}

// list reads a column of texts.
func (p *place) list(statement string, args ...any) []string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := p.pg.Query(ctx, statement, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", statement, err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatalf("%s: %v", statement, err)
	}
	return texts
}

// each calls fn for each row, scanned into the targets.
func (p *place) each(statement string, fn func(), targets ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := p.pg.Query(ctx, statement)
	if err == nil {
		_, err = pgx.ForEachRow(rows, targets, func() error { fn(); return nil })
	}
	if err != nil {
		p.t.Fatalf("%s: %v", statement, err)
	}
}

// await waits until the value is as wanted.
func (p *place) await(want, statement string, args ...any) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s to be %s", statement, want), func() (string, bool) {
		got, err := p.tryQuery(statement, args...)
		return fmt.Sprintf("%s, %v", got, err), err == nil && got == want
	})
}

// until waits for a condition, as long as there is progress: a machine that is
// busy with other things is slow, not stuck.
func (p *place) until(what string, ok func() (string, bool)) {
	p.t.Helper()
	end, stuck := time.After(longest), time.NewTimer(patience)
	tick := time.NewTicker(lookEvery)
	defer stuck.Stop()
	defer tick.Stop()
	last := ""
	for {
		got, done := ok()
		if done {
			return
		}
		if got != last {
			last = got
			stuck.Reset(patience)
		}
		select {
		case <-stuck.C:
			p.t.Fatalf("nothing has changed for %s while waiting for %s; last seen: %s", patience, what, got)
		case <-end:
			p.t.Fatalf("waited %s for %s; last seen: %s", longest, what, got)
		case <-tick.C:
		}
	}
}

// settled waits until everything that was sent is decided, marked and
// delivered, and accounts for it.
func (p *place) settled() {
	p.t.Helper()
	p.await("0", fmt.Sprintf(`SELECT (%d - (SELECT count(*) FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND coalesce(backfill_at, backfill_abandoned_at) IS NOT NULL))
		+ (SELECT count(*) FROM msg_event WHERE state = 'PENDING')`, len(p.sent)))
	for _, fault := range p.account() {
		p.t.Error(fault)
	}
}
