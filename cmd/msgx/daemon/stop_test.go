package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"msgx/cmd/msgx/daemon"
	"msgx/engine/fault"
	"msgx/tools/stack/stacktest"
)

// backlog puts a schedule and n operations on its flights into the mailbox.
func (p *place) backlog(n int) {
	p.t.Helper()
	p.put(schedule(1, 20))
	for i := range n {
		p.put(stand(1+i%20, fmt.Sprint("S", i)))
	}
}

const attempts = `SELECT coalesce(sum(attempts), 0) FROM proc_state`

// A stop in the middle of a backlog uses up no attempt and leaves nothing half.
func TestStoppedInTheMiddleOfABacklog(t *testing.T) {
	p := newPlace(t)
	p.backlog(400)
	for stops := 0; stops < 4; stops++ {
		before := p.query(`SELECT count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
		d := p.start()
		p.until("some more messages to be decided", func() (string, bool) {
			got, err := p.tryQuery(`SELECT count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
			return got, err == nil && got != before
		})
		if err := d.end(); err != nil {
			t.Fatalf("stop %d: %v\n%s", stops, err, d.logs)
		}
		if got := p.query(`SELECT released FROM instance_heartbeat`); got != "true" {
			t.Errorf("stop %d: the lease was not given back", stops)
		}
	}
	p.start()
	p.settled()
	if got := p.query(attempts); got != "0" {
		t.Errorf("%s attempts were used up by stopping", got)
	}
}

// A daemon that is killed again and again loses nothing and does nothing twice.
func TestKilledInTheMiddleOfABacklog(t *testing.T) {
	p := newPlace(t)
	p.backlog(600)
	for kills := 0; kills < 5; kills++ {
		before := p.query(`SELECT count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
		c := p.spawn()
		p.until("some more messages to be decided", func() (string, bool) {
			got, err := p.tryQuery(`SELECT count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
			return got + "\n" + c.logs.String(), err == nil && got != before
		})
		c.kill()
	}
	p.start()
	p.settled()
	if got := p.query(attempts); got != "0" {
		t.Errorf("%s attempts were used up by being killed", got)
	}
	if got := p.query(`SELECT count(*) FROM proc_state WHERE state <> 'SUCCEEDED'`); got != "0" {
		t.Errorf("%s messages did not succeed", got)
	}
}

// A second instance stands by, takes over when the first falls silent, and the
// first, woken up, finds itself fenced and stands by.
func TestASecondInstanceTakesOver(t *testing.T) {
	p := newPlace(t)
	p.backlog(50)
	first := p.spawn("instance=first")
	p.await("first", `SELECT holder FROM instance_lease`)
	second := p.spawn("instance=second")
	p.until("the second to stand by", func() (string, bool) {
		return second.logs.String(), second.logs.count("standing by") > 0
	})
	if got := p.query(`SELECT holder FROM instance_lease`); got != "first" {
		t.Fatalf("%s leads while the first is at work", got)
	}
	first.signal(syscall.SIGSTOP)
	frozen := time.Now()
	p.await("second", `SELECT holder FROM instance_lease`)
	if took := time.Since(frozen); took < time.Second {
		t.Errorf("taken over after %s, before the lease could have run out", took)
	}
	p.put(stand(1, "AFTER"))
	p.await("AFTER", `SELECT stnd FROM flight_schd WHERE flid = 1`)
	first.signal(syscall.SIGCONT)
	p.until("the first to find itself fenced", func() (string, bool) {
		return first.logs.String(), first.logs.count("lost") > 0 && first.logs.count("standing by") > 0
	})
	p.put(stand(1, "LAST"))
	p.settled()
	second.signal(syscall.SIGTERM) // a clean stop hands over at once
	p.await("first", `SELECT holder FROM instance_lease`)
	p.put(stand(1, "AGAIN"))
	p.settled()
}

// Servers that are away are waited for: one line when one goes, one when it is
// back, and no attempt is used up.
func TestServersThatGoAndComeBack(t *testing.T) {
	pg, maria, broker := stacktest.PrivatePostgres(t), stacktest.PrivateMariaDB(t), stacktest.PrivateKafka(t)
	p := placeOn(t, pg.URL, maria.URL, broker.URL, broker.Topic(3), broker.Topic(3))
	p.backlog(30)
	servers := map[string]*stacktest.Private{"mailbox": maria, "postgres": pg, "broker": broker}
	for _, s := range servers {
		s.Stop()
	}
	d := p.start()
	p.until("the database to be missed", func() (string, bool) { return d.logs.String(), d.logs.count("level=WARN", "away") > 0 })
	for _, s := range []*stacktest.Private{pg, maria, broker} {
		s.Start()
	}
	p.settled()
	for name, s := range servers {
		warned := d.logs.count("level=WARN")
		s.Stop()
		p.until(name+" to be missed", func() (string, bool) {
			if name == "broker" {
				_, _ = p.mailbox.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES (?)`, stand(1, "AWAY"))
			}
			return d.logs.String(), d.logs.count("level=WARN") > warned
		})
		s.Start()
		p.put(stand(2, "BACK"))
		p.settled()
	}
	if got := p.query(attempts); got != "0" {
		t.Errorf("%s attempts were used up by servers being away", got)
	}
	if lines := d.logs.count("level=WARN") + d.logs.count("level=ERROR"); lines > 40 {
		t.Errorf("%d warnings and errors for six outages:\n%s", lines, d.logs)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// The way identities are bound cannot change under a database that has some.
func TestTheDayInTheIdentityCannotChange(t *testing.T) {
	p := newPlace(t)
	p.put(schedule(1, 1))
	d := p.start()
	p.settled()
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	p.set = append(p.set, "identity.include-day-boundary=true")
	changed, err := daemon.New(t.Context(), p.config(), "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := changed.Run(ctx); err == nil || !strings.Contains(err.Error(), "msgx.identity.include-day-boundary is true, expected false") {
		t.Errorf("got %v, want a refusal that names the parameter", err)
	}
}

// A database that was never migrated is refused, with what to do.
func TestAnUnpreparedDatabaseIsRefused(t *testing.T) {
	p := newPlace(t)
	p.set = append(p.set, "postgres.url="+stacktest.Postgres(t))
	d, err := daemon.New(t.Context(), p.config(), "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Run(ctx); !errors.Is(err, fault.ErrRefused) || !strings.Contains(err.Error(), "msgx migrate") {
		t.Errorf("got %v, want a refusal that names msgx migrate", err)
	}
}

// A day's schedule of a thousand flights goes through whole, and Chinese text
// reaches the readers of the topic as it was written.
func TestAThousandFlightsAndTheirText(t *testing.T) {
	p := newPlace(t)
	p.put(schedule(1, 1000))
	p.start()
	p.settled()
	if got := p.query(`SELECT count(*) FROM flight_schd WHERE state_version = 1`); got != "1000" {
		t.Errorf("got %s flights, want 1000", got)
	}
	c := p.config()
	found := map[string]bool{}
	for partition := range 3 {
		r := kafka.NewReader(kafka.ReaderConfig{Brokers: c.Kafka.Brokers, Topic: c.Kafka.SchdTopic, Partition: partition, MaxWait: 100 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		end, err := kafka.DialLeader(ctx, "tcp", c.Kafka.Brokers[0], c.Kafka.SchdTopic, partition)
		if err != nil {
			t.Fatal(err)
		}
		last, err := end.ReadLastOffset()
		if err != nil {
			t.Fatal(err)
		}
		_ = end.Close()
		for range last {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(m.Value), `"REMC":"中国国际航空 `+string(m.Key)+`"`) {
				found[string(m.Key)] = true
			}
		}
		cancel()
		_ = r.Close()
	}
	if len(found) != 1000 {
		t.Errorf("%d flights reached the topic with their text, want 1000", len(found))
	}
}
