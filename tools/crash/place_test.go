package crash

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"msgx"
	"msgx/tools/stack/stacktest"
)

// server is a private server and the proxy through which the daemon reaches it. The harness
// itself and the producers go past the proxy.
type server struct {
	*stacktest.Private
	name  string
	proxy *toxiproxy.Proxy
}

// place is everything that one run has for itself.
type place struct {
	t       *testing.T
	program string
	dir     string // logs, and the rule set

	postgres, mariadb, kafka *server
	wire                     *wire // between the proxy and PostgreSQL
	quota                    bool  // PostgreSQL has a disk that can be filled
	pg                       *pgxpool.Pool
	mailbox                  *sql.DB
	set                      []string // parameters of the daemon
}

// Bounds of the daemon, short where a run would only wait. A row becomes visible within commitDelay of its id, which the
// producers keep and the freezes of MariaDB stay far below.
const (
	commitDelay = 3 * time.Second
	leaseTime   = 3 * time.Second
	diskQuota   = 3 << 29
)

// lead has a proxy lead to a server. The proxy reads where it leads when it begins, so that it begins anew.
func lead(t *testing.T, proxy *toxiproxy.Proxy, to string) {
	t.Helper()
	if err := proxy.Update(&toxiproxy.Proxy{Listen: proxy.Listen, Upstream: to, Enabled: true}); err != nil {
		t.Fatal(err)
	}
}

func newPlace(t *testing.T, program string) *place {
	t.Helper()
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	front := func(name string) *toxiproxy.Proxy {
		p := toxiproxy.NewProxy(proxies, name, "127.0.0.1:0", "127.0.0.1:1")
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		return p
	}
	behind := func(name string, private *stacktest.Private, proxy *toxiproxy.Proxy) *server {
		lead(t, proxy, private.Address)
		return &server{Private: private, name: name, proxy: proxy}
	}
	p := &place{t: t, program: program, dir: t.TempDir()}
	broker := front("kafka")
	p.kafka = behind("kafka", stacktest.PrivateKafkaBehind(t, broker.Listen), broker)
	database, err := stacktest.PrivatePostgresWithin(t, diskQuota)
	if p.quota = err == nil; !p.quota {
		t.Logf("no disk will be full: this account cannot have a file system of its own (%v)", err)
		database = stacktest.PrivatePostgres(t)
	}
	p.postgres = behind("postgres", database, front("postgres"))
	p.wire = newWire(t, database.Address, *seed)
	lead(t, p.postgres.proxy, p.wire.address())
	p.mariadb = behind("mariadb", stacktest.PrivateMariaDB(t), front("mariadb"))

	if p.pg, err = pgxpool.New(t.Context(), p.postgres.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.pg.Close)
	if p.mailbox, err = sql.Open("mysql", p.mariadb.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.mailbox.Close() })

	rules, shadow := filepath.Join(p.dir, "rules"), filepath.Join(p.dir, "shadow")
	for _, dir := range []string{rules, shadow} {
		if err := os.CopyFS(dir, msgx.Files); err != nil {
			t.Fatal(err)
		}
	}
	// A shadow that is the live rule set has nothing to find.
	if err := appendTo(filepath.Join(shadow, "handlers.lua"), "-- shadow\n"); err != nil {
		t.Fatal(err)
	}
	p.set = []string{
		"kafka.brokers=" + broker.Listen, "kafka.msg-topic=crash.msg", "kafka.schd-topic=crash.schd", "kafka.request-timeout=2s",
		"pipeline.max-commit-delay=" + commitDelay.String(), "pipeline.cutover-watermark=zero", "pipeline.poll-interval=100ms",
		"pipeline.backoff=10ms,10ms,10ms,10ms", "schd.flush-period=200ms", "lease.duration=" + leaseTime.String(),
		"kafka.partitions=3", "http.listen=127.0.0.1:0", "log.level=info", "rules.dir=" + rules, "rules.shadow=" + shadow, "rules.watch-interval=200ms",
	}
	return p
}

func appendTo(path, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, text...), 0o644)
}

// through is the parameters that reach both databases by their proxies, or past them.
func (p *place) through(proxies bool) []string {
	pg, maria := p.postgres.URL, p.mariadb.URL
	if proxies {
		pg = strings.Replace(pg, p.postgres.Address, p.postgres.proxy.Listen, 1)
		maria = strings.Replace(maria, p.mariadb.Address, p.mariadb.proxy.Listen, 1)
	}
	return []string{"postgres.url=" + pg, "mailbox.dsn=" + maria}
}

// command is the program with the parameters of this place, and others after them.
func (p *place) command(ctx context.Context, words []string, set ...string) *exec.Cmd {
	for _, parameter := range append(append([]string{}, p.set...), set...) {
		words = append(words, "--set", parameter)
	}
	return exec.CommandContext(ctx, p.program, words...)
}

// run runs a command of the program to its end, past the proxies.
func (p *place) run(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	out, err := p.command(ctx, words, p.through(false)...).CombinedOutput()
	return string(out), err
}

// mustRun is run that has to end well.
func (p *place) mustRun(words ...string) string {
	p.t.Helper()
	out, err := p.run(words...)
	if err != nil {
		p.t.Fatalf("msgx %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return out
}

// undisturbed is the same mailbox, worked off by one daemon to which nothing happens, into a database and topics of its own.
func (p *place) undisturbed() *place {
	p.t.Helper()
	const name = "undisturbed"
	if _, err := p.pg.Exec(p.t.Context(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		p.t.Fatal(err)
	}
	u, err := url.Parse(p.postgres.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	u.Path = "/" + name
	alone := *p
	private := *p.postgres.Private
	private.URL = u.String()
	alone.postgres = &server{Private: &private, name: p.postgres.name, proxy: p.postgres.proxy}
	if alone.pg, err = pgxpool.New(p.t.Context(), private.URL); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(alone.pg.Close)
	alone.set = append(append([]string{}, p.set...), "kafka.msg-topic=undisturbed.msg", "kafka.schd-topic=undisturbed.schd",
		"rules.shadow=", "rules.watch=false")
	return &alone
}
