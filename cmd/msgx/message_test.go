package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience  = time.Minute
	lookEvery = 20 * time.Millisecond
)

// site is a migrated database, a mailbox and two topics, and the flags that name them.
type site struct {
	t       *testing.T
	set     []string // of --set
	own     *pgx.Conn
	mailbox *sql.DB
}

func newSite(t *testing.T) *site {
	t.Helper()
	dsn := stacktest.Mailbox(t)
	s := &site{t: t, set: []string{
		"postgres.url=" + stacktest.Postgres(t), "mailbox.dsn=" + dsn, "kafka.brokers=" + stacktest.Kafka(t)[0],
		"kafka.msg-topic=" + stacktest.Topic(t, 1), "kafka.schd-topic=" + stacktest.Topic(t, 1), "http.listen=127.0.0.1:0",
		"pipeline.max-commit-delay=2s", "pipeline.cutover-watermark=zero", "pipeline.poll-interval=100ms", "schd.flush-period=100ms",
	}}
	if r := s.run("migrate"); r.code != 0 {
		t.Fatalf("migrate: %s%s", r.out, r.err)
	}
	var err error
	if s.mailbox, err = sql.Open("mysql", dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.mailbox.Close() })
	if s.own, err = pgx.Connect(t.Context(), strings.TrimPrefix(s.set[0], "postgres.url=")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.own.Close(context.Background()) })
	return s
}

func (s *site) run(args ...string) result {
	for _, parameter := range s.set {
		args = append(args, "--set", parameter)
	}
	return run(args...)
}

func (s *site) put(bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		if _, err := s.mailbox.ExecContext(s.t.Context(), `INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS)
			VALUES (?, '2026-03-01 08:00:00', 'VALID')`, body); err != nil {
			s.t.Fatal(err)
		}
	}
}

// serve runs a daemon until stop is called.
func (s *site) serve(set ...string) (stop func()) {
	s.t.Helper()
	c, err := config.Load(config.Sources{Set: append(append([]string{}, s.set...), set...)})
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := daemon.New(s.t.Context(), c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return func() {
		s.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("daemon: %v", err)
		}
	}
}

// await waits until a query on our own database answers true.
func (s *site) await(question string) {
	s.t.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for end := time.After(patience); ; {
		var yes bool
		if err := s.own.QueryRow(s.t.Context(), question).Scan(&yes); err != nil {
			s.t.Fatal(err)
		}
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("waited %s for: %s", patience, question)
		}
	}
}

const allDone = `SELECT count(*) > 0 AND bool_and(state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND backfill_at IS NOT NULL)
	AND NOT EXISTS (SELECT FROM msg_event WHERE state <> 'SENT') FROM proc_state WHERE msg_id <= (SELECT watermark FROM inbox_cursor)`

// plainly takes out of a text what differs from run to run.
func plainly(text string) string {
	for _, r := range []struct{ find, put string }{
		{`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d`, "TIME"}, {`rule set [0-9a-f]{12}`, "rule set HASH"}, {`at \S+\[\d\]@`, "at TOPIC[0]@"},
	} {
		text = regexp.MustCompile(r.find).ReplaceAllString(text, r.put)
	}
	return text
}

func operation(sequence int, subtype, payload string) string {
	return fmt.Sprintf("<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><TYPE>FLOP</TYPE><STYP>%s</STYP></META><FLOP>%s</FLOP></MSG>", sequence, subtype, payload)
}

// What is printed of a message tells somebody who has never seen it before
// what became of it and why, whatever that was.
func TestShowingEveryOutcome(t *testing.T) {
	s := newSite(t)
	s.put(remark,
		operation(8, "STND", "<FLID>1</FLID><STND>12</STND>"),
		operation(8, "STND", "<FLID>1</FLID><STND>13</STND>"),
		operation(9, "STND", "<FLID>77</FLID><STND>1</STND>"),
		operation(10, "STND", "<FLID>1</FLID><STND>123456789</STND>"),
		"<MSG><META>",
		strings.NewReplacer(">7<", ">11<", "<RECS>1", "<RECS>2").Replace(remark),
		operation(12, "ZZZZ", "<FLID>1</FLID><ZZZZ/>"),
		operation(13, "STND", "<FLID>1</FLID><STND>14</STND>"),
	)
	stop := s.serve("pipeline.backoff=1h,1h,1h,1h")
	s.await(`SELECT count(*) = 4 FROM proc_state WHERE backfill_at IS NOT NULL AND (SELECT state FROM proc_state WHERE msg_id = 5) = 'FAILED'`)
	waiting := map[int]string{
		5: "message 5  FLOP-STND  FAILED(CODEC_ERROR)\n\narrived    TIME (Asia/Shanghai)\nenqueued   TIME\n" +
			"decided    not yet: 1 failure, next try TIME\n" +
			"           /MSG/FLOP[1]/STND: found \"123456789\", expected code of at most 8 characters\n" +
			"marked     not yet: it comes after the decision\ndelivered  there is nothing to deliver\n",
		6: "message 6  -  PENDING\n\narrived    TIME (Asia/Shanghai)\nenqueued   TIME\n" +
			"decided    not yet: it waits for message 5, FLOP-STND FAILED(CODEC_ERROR), 1 failure, next try TIME\n" +
			"marked     not yet: it comes after the decision\ndelivered  there is nothing to deliver\n",
	}
	s.shows(waiting)
	stop()
	waiting[5] = strings.Replace(waiting[5], "\n           /MSG", "; no instance is at work\n           /MSG", 1)
	waiting[6] = strings.Replace(waiting[6], "\nmarked", "; no instance is at work\nmarked", 1)
	s.shows(waiting)

	if _, err := s.own.Exec(t.Context(), `UPDATE proc_state SET next_attempt_at = now() WHERE msg_id = 5`); err != nil {
		t.Fatal(err)
	}
	stop = s.serve("pipeline.backoff=10ms,10ms,10ms,10ms")
	s.await(`SELECT count(*) = 9 FROM proc_state`)
	s.await(allDone)
	stop()
	head := "arrived    TIME (Asia/Shanghai)\nenqueued   TIME\n"
	nothing := "marked     TIME\ndelivered  there is nothing to deliver\n"
	s.shows(map[int]string{
		2: "message 2  FLOP-STND  SUCCEEDED\n\n" + head + "decided    TIME\n           by flop-stnd@1 of rule set HASH\n           identity AODB|FLOP|STND|8\n" +
			"marked     TIME\ndelivered  1 of 1 event\n           3 KAFKA:msg key 1 UPSERT version 2 SENT at TOPIC[0]@1\n" +
			"\n1  update to version 2\n    STND          none -> \"12\"\n",
		3: "message 3  FLOP-STND  SKIPPED\n\n" + head + "decided    TIME\n           duplicate-of:2\n" +
			"           message 2 is FLOP-STND SUCCEEDED, decided TIME, with another body\n" + nothing,
		4: "message 4  FLOP-STND  SKIPPED\n\n" + head + "decided    TIME\n           flight-unknown\n" +
			"           by flop-stnd@1 of rule set HASH\n           identity AODB|FLOP|STND|9\n" + nothing,
		5: "message 5  FLOP-STND  DEAD(EXHAUSTED)\n\n" + head + "decided    TIME after 5 failures\n" +
			"           CODEC_ERROR: /MSG/FLOP[1]/STND: found \"123456789\", expected code of at most 8 characters\n" + nothing,
		6: "message 6  -  DEAD(MALFORMED)\n\n" + head + "decided    TIME\n" +
			"           /MSG/META: found \"unexpected EOF at line 1 column 12\", expected well-formed XML\n" + nothing,
		7: "message 7  SCHD-ADFT  DEAD(PROTOCOL)\n\n" + head + "decided    TIME\n           record-count 2, found 1\n           identity AODB|SCHD|ADFT|11\n" + nothing,
		8: "message 8  FLOP-ZZZZ  DEAD(EXHAUSTED)\n\n" + head + "decided    TIME after 5 failures\n" +
			"           UNSUPPORTED: kind FLOP-ZZZZ is not known, expected a kind of the catalogue\n           identity AODB|FLOP|ZZZZ|12\n" + nothing,
	})
	if got := s.run("message", "show", "6", "--raw").out; got != "<MSG><META>" {
		t.Errorf("the body of message 6 is %q", got)
	}
	if got := s.run("message", "show", "10"); got.code != exitFailed || got.err != "msgx: message 10: not enqueued: the mailbox has been read up to 9\n" {
		t.Errorf("a message that has not come: exit %d, %s%s", got.code, got.out, got.err)
	}
	if got := s.run("flight", "show", "1", "--history", "1"); !strings.Contains(got.out, "version 3 ") || !strings.Contains(got.out, "and 2 versions before that: --history 3\n") {
		t.Errorf("a flight: exit %d, %s%s", got.code, got.out, got.err)
	}
}

func (s *site) shows(want map[int]string) {
	s.t.Helper()
	for id, text := range want {
		r := s.run("message", "show", fmt.Sprint(id))
		if d := cmp.Diff(text, plainly(r.out)); d != "" || r.code != 0 {
			s.t.Errorf("message show %d: exit %d, %s (-want +got):\n%s", id, r.code, r.err, d)
		}
	}
}
