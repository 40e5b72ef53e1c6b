package stacktest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	return private(t, software.Postgres, server.Options{}, 0)
}

// PrivatePostgresWithin starts a PostgreSQL whose folder is a file system of so many bytes, which Fill fills. An
// error says why this account cannot have one.
func PrivatePostgresWithin(t testing.TB, size int64) (*Private, error) {
	t.Helper()
	probe := t.TempDir()
	if err := mount(probe, 1<<20); err != nil {
		return nil, err
	}
	if err := syscall.Unmount(probe, 0); err != nil {
		return nil, err
	}
	return private(t, software.Postgres, server.Options{}, size), nil
}

func mount(dir string, size int64) error {
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size))
	return os.NewSyscallError("mount", err)
}

// Fill takes all the room that is left on the server's file system; the returned function gives it back.
func (p *Private) Fill() (free func()) {
	p.t.Helper()
	path := filepath.Join(p.options.Dir, "ballast")
	file, err := os.Create(path)
	if err != nil {
		p.t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 { // to the last byte
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	_ = file.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			p.t.Fatal(err)
		}
	}
}

// PrivateMariaDB starts a MariaDB; its URL names a database with the mailbox tables.
func PrivateMariaDB(t testing.TB) *Private {
	t.Helper()
	p := private(t, software.MariaDB, server.Options{}, 0)
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
	return private(t, software.Kafka, server.Options{}, 0)
}

// PrivateKafkaBehind starts an Apache Kafka broker that sends its clients to another
// address, host:port: that of a proxy before it.
func PrivateKafkaBehind(t testing.TB, advertised string) *Private {
	t.Helper()
	return private(t, software.Kafka, server.Options{Advertised: advertised}, 0)
}

// Topic makes a topic on a private Kafka broker.
func (p *Private) Topic(partitions int) string {
	p.t.Helper()
	return makeTopic(p.t, p.URL, partitions)
}

// CompactedTopic makes one that keeps the latest record of each key.
func (p *Private) CompactedTopic(partitions int) string {
	p.t.Helper()
	return makeTopic(p.t, p.URL, partitions, compact)
}

// private starts a server. Its folder is a file system of so many bytes; 0 leaves it where it is.
func private(t testing.TB, kind software.Kind, more server.Options, size int64) *Private {
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
	options.Advertised, options.Secure, options.More = more.Advertised, more.Secure, more.More
	if size > 0 {
		if err := mount(options.Dir, size); err != nil {
			t.Fatalf("private %s: %v", kind, err)
		}
	}
	p := &Private{t: t, options: options}
	t.Cleanup(func() {
		p.Kill()
		if size > 0 {
			if err := syscall.Unmount(options.Dir, 0); err != nil {
				t.Errorf("private %s: unmount: %v", kind, err)
			}
		}
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
