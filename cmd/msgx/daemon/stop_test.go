package daemon_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"msgx/tools/feed"
)

// backlog puts a small day into the mailbox: code shares, turnarounds,
// deletions, and bad messages of every class that ends at once.
func (p *place) backlog(operations int) {
	p.t.Helper()
	messages, err := feed.Generate(feed.Options{
		Seed: 11, Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Flights: 40, Operations: operations, BadPerMille: 40, Holding: -1,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	bodies := make([]*string, len(messages))
	for i, m := range messages {
		body := string(m.Body)
		bodies[i] = &body
	}
	p.putAll(bodies...)
}

const decided = `SELECT count(*) FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD')`

// more waits until some more messages are decided than there are now, and
// some are left, so that what follows happens in the middle.
func (p *place) more(logs *logs) {
	p.t.Helper()
	before := p.query(decided)
	p.until("some more messages to be decided", func() (string, bool) {
		got, err := p.tryQuery(decided)
		return got + "\n" + logs.String(), err == nil && got != before
	})
	if got := p.query(decided); got == fmt.Sprint(len(p.sent)) {
		p.t.Log("all messages are decided already: this was not the middle of a backlog")
	}
}

// A stop in the middle of a backlog uses up no attempt and leaves nothing half.
func TestStoppedInTheMiddleOfABacklog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.backlog(600)
	for stops := range 5 {
		d := p.start()
		p.more(d.logs)
		if err := d.end(); err != nil {
			t.Fatalf("stop %d: %v\n%s", stops, err, d.logs)
		}
		if got := p.query(`SELECT released FROM instance_heartbeat`); got != "true" {
			t.Errorf("stop %d: the lease was not given back", stops)
		}
		if got := p.query(`SELECT count(*) FROM proc_state WHERE state = 'FAILED'`); got != "0" {
			t.Errorf("stop %d: %s messages count a failure", stops, got)
		}
	}
	p.start()
	p.settled()
}

// A daemon that is killed again and again loses nothing and does nothing twice.
func TestKilledInTheMiddleOfABacklog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, shortLease)
	p.crashed = true
	p.backlog(800)
	for range 3 {
		c := p.spawn()
		p.more(c.logs)
		c.kill()
	}
	p.start()
	p.settled()
}

// A stop right after the lease was won, before anything is read, is a stop like any other.
func TestStoppedWhileBeginningToLead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 1))
	for range 10 {
		d := p.start()
		p.until("it to lead", func() (string, bool) { return d.logs.String(), d.logs.count("msg=leading") > 0 })
		if err := d.end(); err != nil {
			t.Fatalf("stopped right after it began to lead: %v\n%s", err, d.logs)
		}
	}
	p.start()
	p.settled()
}

// A connection that breaks before the first message is waited for as any other is.
func TestDatabaseLostWhileBeginningToLead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 1))
	tx, err := p.pg.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `LOCK TABLE ruleset`); err != nil {
		t.Fatal(err)
	}
	d := p.start()
	waiting := `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	p.await("1", `SELECT count(*) `+waiting)
	p.query(`SELECT pg_terminate_backend(pid) ` + waiting)
	p.until("the break to be noticed", func() (string, bool) { return d.logs.String(), d.logs.count("server is away") > 0 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.settled()
	if got := d.logs.count("server is back"); got != 1 {
		t.Errorf("said %d times that the server is back, want once\n%s", got, d.logs)
	}
}
