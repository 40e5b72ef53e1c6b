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
	"go.uber.org/goleak"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/store"
	"msgx/tools/stack/stacktest"
)

const (
	// childVariable makes the test binary a daemon, for tests that kill one.
	childVariable = "MSGX_STACK_TEST_CHILD"
	patience      = 40 * time.Second
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
	mailbox *sql.DB
	last    int64 // highest id in the mailbox
}

// newPlace makes everything on the shared servers.
func newPlace(t *testing.T, set ...string) *place {
	t.Helper()
	return placeOn(t, stacktest.Postgres(t), stacktest.Mailbox(t), stacktest.Kafka(t)[0], stacktest.Topic(t, 3), stacktest.Topic(t, 3), set...)
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
	p := &place{t: t, pgURL: pgURL, mailbox: db, set: append([]string{
		"postgres.url=" + pgURL, "mailbox.dsn=" + dsn, "kafka.brokers=" + broker,
		"kafka.msg-topic=" + msgTopic, "kafka.schd-topic=" + schdTopic, "kafka.request-timeout=2s",
		"pipeline.max-commit-delay=500ms", "pipeline.cutover-watermark=zero", "pipeline.poll-interval=50ms",
		"pipeline.backoff=10ms,10ms,10ms,10ms", "schd.flush-period=100ms", "lease.duration=3s", "http.listen=127.0.0.1:0",
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

// put writes a message into the mailbox and returns its id.
func (p *place) put(body string) int64 {
	p.t.Helper()
	result, err := p.mailbox.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS) VALUES (?, now(), 'VALID')`, body)
	if err != nil {
		p.t.Fatal(err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		p.t.Fatal(err)
	}
	p.last = id
	return id
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
	t     *testing.T
	logs  *logs
	stop  context.CancelFunc
	ended chan error
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
	go func() { i.ended <- d.Run(ctx) }()
	p.t.Cleanup(func() { i.end() })
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
	p.t.Cleanup(func() { c.kill() })
	return c
}

func (c *process) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill ends the process as a crash would and waits for it.
func (c *process) kill() {
	c.signal(syscall.SIGKILL)
	err := <-c.ended
	c.ended <- err
}

// query reads one value of our own database.
func (p *place) query(statement string, args ...any) string {
	p.t.Helper()
	value, err := p.tryQuery(statement, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

func (p *place) tryQuery(statement string, args ...any) (value string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.pgURL)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT ("+statement+")::text", args...).Scan(&value)
	return value, err
}

// await waits until the value is as wanted.
func (p *place) await(want, statement string, args ...any) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s to be %s", statement, want), func() (string, bool) {
		got, err := p.tryQuery(statement, args...)
		return fmt.Sprintf("%s, %v", got, err), err == nil && got == want
	})
}

// until waits for a condition.
func (p *place) until(what string, ok func() (string, bool)) {
	p.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		got, done := ok()
		if done {
			return
		}
		select {
		case <-deadline:
			p.t.Fatalf("waited %s for %s; last seen: %s", patience, what, got)
		case <-tick.C:
		}
	}
}

// settled waits until everything in the mailbox is decided, marked and
// delivered, and then holds the data to every promise that they can show.
func (p *place) settled() {
	p.t.Helper()
	p.await("0", fmt.Sprintf(`SELECT (%d - (SELECT count(*) FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND backfill_at IS NOT NULL))
		+ (SELECT count(*) FROM msg_event WHERE state = 'PENDING')`, p.rows()))
	for what, statement := range promises {
		if got := p.query(statement); got != "0" {
			p.t.Errorf("%s: %s", what, got)
		}
	}
	var unmarked int
	if err := p.mailbox.QueryRow(`SELECT count(*) FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NULL OR CMINMSGS_STATUS <> 'PROCESSED'`).Scan(&unmarked); err != nil || unmarked != 0 {
		p.t.Errorf("%d rows of the mailbox are not marked (%v)", unmarked, err)
	}
}

func (p *place) rows() (n int) {
	p.t.Helper()
	if err := p.mailbox.QueryRow(`SELECT count(*) FROM CMINMSGS`).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// promises count what breaks them.
var promises = map[string]string{
	"versions without exactly one history row and one event each": `
SELECT count(*) FROM flight_schd f WHERE
   f.state_version <> (SELECT count(*) FROM flight_change c WHERE c.flid = f.flid)
   OR f.state_version <> (SELECT count(*) FROM msg_event e WHERE e.flid = f.flid AND e.target = 'KAFKA:msg')
   OR f.state_version <> (SELECT max(state_version) FROM flight_change c WHERE c.flid = f.flid)
   OR f.state_version <> (SELECT e.state_version FROM msg_event e WHERE e.flid = f.flid AND e.target = 'KAFKA:schd')`,
	"gaps in the order of decisions": `
SELECT coalesce(max(decision_no), 0) - count(decision_no) FROM proc_state`,
	"decisions out of the order of ids": `
SELECT count(*) FROM (SELECT msg_id, lag(msg_id) OVER (ORDER BY decision_no) AS before FROM proc_state WHERE decision_no IS NOT NULL) d WHERE before > msg_id`,
	"ids that are neither enqueued nor a hole": `
SELECT count(*) FROM generate_series(1, (SELECT watermark FROM inbox_cursor)) AS id
WHERE NOT EXISTS (SELECT FROM proc_state p WHERE p.msg_id = id)
  AND NOT EXISTS (SELECT FROM inbox_hole h WHERE h.outcome = 'aged' AND id BETWEEN h.first_id AND h.last_id)`,
	"events that are dead": `SELECT count(*) FROM msg_event WHERE state = 'DEAD'`,
}
