// Package stacktest gives tests real servers.
//
// All tests of all packages share the user's development stack and keep apart
// by database and topic: every call here makes a fresh one with a name of its
// own and removes it when the test ends. A server that does not run is started,
// and installed if it is missing, so that a plain go test works; it then stays
// up until "make stack-down". A test is never skipped: if there is no server it
// fails and says why.
//
// A test that has to stop, kill or freeze a server starts one of its own with
// PrivatePostgres, PrivateMariaDB or PrivateKafka.
package stacktest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"msgx/tools/stack/mailboxddl"
	"msgx/tools/stack/shared"
	"msgx/tools/stack/software"
)

// Addresses are what clients of the shared stack connect to.
type Addresses struct {
	Postgres string   // URL of the maintenance database, as a superuser
	MariaDB  string   // DSN without a database, as root
	Kafka    []string // bootstrap addresses
}

// patience bounds starting the stack; installing what is missing is part of it.
const patience = 5 * time.Minute

// use keeps the stack from being taken down as long as this process lives: the
// returned values, and with them the open lock, stay reachable.
var use = sync.OnceValues(func() (release func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stack, err := shared.Open()
	if err != nil {
		return nil, err
	}
	return stack.Use(ctx)
})

// up makes sure that the servers run and returns the state of the stack.
func up(t testing.TB, kinds ...software.Kind) shared.State {
	t.Helper()
	// Not the test's context: the stack outlives it.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stack, err := shared.Open()
	if err != nil {
		t.Fatalf("development stack: %v", err)
	}
	stack.Say = t.Logf
	if _, err := use(); err != nil {
		t.Fatalf("development stack: %v", err)
	}
	state, err := stack.Up(ctx, false, kinds...)
	if err != nil {
		t.Fatalf("development stack: %v\nthis test needs %v; see 'go run ./tools/stack up' and tools/stack/README.md", err, kinds)
	}
	return state
}

// Stack starts all servers and returns their addresses.
func Stack(t testing.TB) Addresses {
	t.Helper()
	state := up(t, shared.All...)
	return Addresses{
		Postgres: state.Servers[software.Postgres].URL,
		MariaDB:  state.Servers[software.MariaDB].URL,
		Kafka:    []string{state.Servers[software.Kafka].URL},
	}
}

// Postgres makes an empty database and returns its URL.
func Postgres(t testing.TB) string {
	t.Helper()
	return postgresDatabase(t, up(t, software.Postgres).Servers[software.Postgres].URL)
}

func postgresDatabase(t testing.TB, admin string) string {
	t.Helper()
	name := uniqueName()
	execPostgres(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execPostgres(t, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return strings.Replace(admin, "/postgres?", "/"+name+"?", 1)
}

func execPostgres(t testing.TB, url, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("PostgreSQL at %s: %v", url, err)
	}
	defer conn.Close(ctx) //nolint:errcheck // the statement is what counts
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("PostgreSQL: %s: %v", statement, err)
	}
}

// MariaDB makes an empty database and returns its DSN for go-sql-driver/mysql.
func MariaDB(t testing.TB) string {
	t.Helper()
	return mariadbDatabase(t, up(t, software.MariaDB).Servers[software.MariaDB].URL)
}

// Mailbox makes a database with the mailbox tables CMINMSGS and COUTMSGS and
// returns its DSN.
func Mailbox(t testing.TB) string {
	t.Helper()
	dsn := MariaDB(t)
	createMailbox(t, dsn)
	return dsn
}

func createMailbox(t testing.TB, dsn string) {
	t.Helper()
	withMariaDB(t, dsn, mailboxddl.Create)
}

func mariadbDatabase(t testing.TB, admin string) string {
	t.Helper()
	name := uniqueName()
	execute := func(statement string) func(context.Context, *sql.DB) error {
		return func(ctx context.Context, db *sql.DB) error {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
			return nil
		}
	}
	withMariaDB(t, admin, execute("CREATE DATABASE "+name))
	t.Cleanup(func() { withMariaDB(t, admin, execute("DROP DATABASE IF EXISTS "+name)) })
	config, err := mysql.ParseDSN(admin)
	if err != nil {
		t.Fatalf("MariaDB DSN %q: %v", admin, err)
	}
	config.DBName = name
	return config.FormatDSN()
}

func withMariaDB(t testing.TB, dsn string, fn func(context.Context, *sql.DB) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatalf("MariaDB at %s: %v", dsn, err)
	}
	defer db.Close() //nolint:errcheck // fn's answer is what counts
	if err := fn(ctx, db); err != nil {
		t.Fatalf("MariaDB at %s: %v", dsn, err)
	}
}

// uniqueName tells whose it is, should it ever be left behind.
func uniqueName() string {
	return fmt.Sprintf("t%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:12]))
}
