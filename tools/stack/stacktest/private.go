package stacktest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"msgx/tools/stack/mailboxddl"
	"msgx/tools/stack/server"
	"msgx/tools/stack/shared"
	"msgx/tools/stack/software"
)

// Private is a server of one test, to be stopped, killed and frozen at will.
// It keeps its data and its address over all of that, and is removed when the
// test ends, or with the test process. Methods fail the test that made it and
// belong into its goroutine.
type Private struct {
	URL     string // URL, DSN or bootstrap address
	Address string // host:port

	t       testing.TB
	options server.Options
	record  server.Record
}

// PrivatePostgres starts a PostgreSQL; its URL names an empty database.
func PrivatePostgres(t testing.TB) *Private {
	t.Helper()
	return private(t, software.Postgres, "")
}

// PrivateMariaDB starts a MariaDB; its URL names a database with the mailbox tables.
func PrivateMariaDB(t testing.TB) *Private {
	t.Helper()
	p := private(t, software.MariaDB, "")
	withMariaDB(t, p.URL, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "CREATE DATABASE mailbox")
		return err
	})
	p.URL = strings.Replace(p.URL, ")/", ")/mailbox", 1)
	withMariaDB(t, p.URL, mailboxddl.Create)
	return p
}

// PrivateKafka starts an Apache Kafka broker without topics.
func PrivateKafka(t testing.TB) *Private {
	t.Helper()
	return private(t, software.Kafka, "")
}

// PrivateKafkaBehind starts an Apache Kafka broker that sends its clients to another
// address, host:port: that of a proxy before it.
func PrivateKafkaBehind(t testing.TB, advertised string) *Private {
	t.Helper()
	return private(t, software.Kafka, advertised)
}

// Topic makes a topic on a private Kafka broker.
func (p *Private) Topic(partitions int) string {
	p.t.Helper()
	return makeTopic(p.t, p.URL, partitions)
}

func private(t testing.TB, kind software.Kind, advertised string) *Private {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stack, err := shared.Open()
	if err != nil {
		t.Fatalf("private %s: %v", kind, err)
	}
	stack.Say = t.Logf
	options, remove, err := stack.Private(ctx, kind)
	if err != nil {
		t.Fatalf("private %s: %v", kind, err)
	}
	options.Advertised = advertised
	p := &Private{t: t, options: options}
	t.Cleanup(func() {
		p.Kill()
		if err := remove(); err != nil {
			t.Errorf("private %s: %v", kind, err)
		}
	})
	p.Start()
	p.URL, p.Address = p.record.URL, p.record.Address
	return p
}

// Start starts the server again, on the address that it had.
func (p *Private) Start() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	record, err := server.Start(ctx, p.options)
	if err != nil {
		p.t.Fatalf("private %s: %v", p.options.Kind, err)
	}
	p.record = record
	if p.Address != "" && p.Address != record.Address {
		p.t.Fatalf("private %s: came back on %s, expected %s, which somebody took meanwhile", p.options.Kind, record.Address, p.Address)
	}
	p.options.Port = record.Port()
}

// Stop shuts the server down in good order.
func (p *Private) Stop() {
	p.t.Helper()
	p.check("stop", p.record.Stop(context.Background(), 20*time.Second))
}

// Kill ends the server as a crash would.
func (p *Private) Kill() {
	p.t.Helper()
	p.check("kill", p.record.Kill(context.Background()))
}

// Freeze stops the server in its tracks, with its connections open; Thaw lets
// it go on.
func (p *Private) Freeze() {
	p.t.Helper()
	p.check("freeze", p.record.Freeze(p.t.Context()))
}

// Thaw lets a frozen server go on.
func (p *Private) Thaw() {
	p.t.Helper()
	p.check("thaw", p.record.Thaw())
}

func (p *Private) check(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s private %s: %v", what, p.options.Kind, err)
	}
}
