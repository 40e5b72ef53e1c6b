package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the mailbox as its owner sees it
	kafkago "github.com/segmentio/kafka-go"

	"msgx/tools/stack/stacktest"
)

// served is a prepared place for commands, and what they are told of it.
type served struct {
	t       *testing.T
	set     map[string]string
	mailbox *sql.DB
	log     *safeBuffer // of the daemon that was begun last
}

func newServed(t *testing.T) *served {
	t.Helper()
	dsn := stacktest.Mailbox(t)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	name := strings.ToLower(t.Name()) + time.Now().Format(".150405.000000")
	s := &served{t: t, mailbox: db, set: map[string]string{
		"postgres.url": stacktest.Postgres(t), "mailbox.dsn": dsn, "kafka.brokers": stacktest.Kafka(t)[0],
		"kafka.msg-topic": name + ".msg", "kafka.schd-topic": name + ".schd", "kafka.partitions": "2", "http.listen": "127.0.0.1:0",
		"pipeline.max-commit-delay": "100ms", "pipeline.cutover-watermark": "zero", "pipeline.poll-interval": "50ms", "schd.flush-period": "100ms",
	}}
	t.Cleanup(s.dropTopics)
	return s
}

// dropTopics removes what topics create has made.
func (s *served) dropTopics() {
	conn, err := kafkago.Dial("tcp", s.set["kafka.brokers"])
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	if err := conn.DeleteTopics(s.set["kafka.msg-topic"], s.set["kafka.schd-topic"]); err != nil {
		s.t.Error(err)
	}
}

// msgx runs a command on this place, with some settings changed.
func (s *served) msgx(ctx context.Context, stderr *safeBuffer, args []string, changed ...string) result {
	for key, value := range s.set {
		args = append(args, "--set", key+"="+value)
	}
	for _, c := range changed {
		args = append(args, "--set", c)
	}
	var out bytes.Buffer
	code := execute(ctx, args, strings.NewReader(""), &out, stderr)
	return result{code, out.String(), stderr.String()}
}

func (s *served) run(line string, changed ...string) result {
	return s.msgx(context.Background(), &safeBuffer{}, strings.Fields(line), changed...)
}

func (s *served) put(bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		if _, err := s.mailbox.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS)
			VALUES (?, '2026-03-01 08:00:00', 'VALID')`, body); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *served) want(r result, code int, texts ...string) {
	s.t.Helper()
	if r.code != code {
		s.t.Errorf("exit %d, want %d: %s%s", r.code, code, r.out, r.err)
	}
	for _, want := range texts {
		if !strings.Contains(r.out+r.err, want) {
			s.t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
}

// safeBuffer is written by a daemon while the test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// begin runs the daemon, which leads when begin returns, until stop is called.
func (s *served) begin(changed ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	log, ended := &safeBuffer{}, make(chan result, 1)
	go func() { ended <- s.msgx(ctx, log, []string{"serve"}, changed...) }()
	s.log = log
	s.wait("the log", log.String, "msg=leading")
	return func() {
		s.t.Helper()
		cancel()
		select {
		case r := <-ended:
			s.want(r, 0, "msg=leading", `msg="lease released"`, "msg=stopped")
		case <-time.After(time.Minute):
			s.t.Fatal("serve did not end within a minute of being asked to")
		}
	}
}

// until waits until the text is in what a command prints.
func (s *served) until(line, text string) {
	s.t.Helper()
	s.wait("`msgx "+line+"`", func() string { return s.run(line).out }, text)
}

func (s *served) wait(who string, says func() string, text string) {
	s.t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for got := says(); !strings.Contains(got, text); got = says() {
		select {
		case <-deadline:
			s.t.Fatalf("after a minute %s says\n%s\nwant %q in it; the daemon's log:\n%s", who, got, text, s.log)
		case <-tick.C:
		}
	}
}

// serve runs the daemon until the text is in what a command prints.
func (s *served) serve(line, text string) {
	s.t.Helper()
	stop := s.begin()
	s.until(line, text)
	stop()
}

// From an empty database to a served message: check says that all is well, the
// daemon does its work and stops in good order, and what it did can be looked at.
func TestServingAndLookingAtIt(t *testing.T) {
	s := newServed(t)
	s.want(s.run("check"), exitFailed, "FAIL  postgres", "FAIL  kafka")
	s.want(s.run("migrate"), 0, "migrated from version 0")
	s.want(s.run("topics create"), 0, "created topic")
	s.want(s.run("check"), 0, "will begin at zero")
	s.want(s.run("check"), 0, "ok    configuration", "ok    rules", "ok    postgres", "ok    watermark", "ok    mailbox", "ok    kafka")

	late := strings.NewReplacer("SCHD", "FLOP", "ADFT", "REMC", "<RECS>1</RECS><FLTR>", "", "</FLTR>", "",
		"<FLNO>CA1</FLNO><SODT>01MAR260930</SODT>", "", "天气原因", "流量控制").Replace(remark)
	s.put(remark, late, "junk")
	s.serve("message show 2", "delivered  2 of 2 events")
	s.serve("message show 3", "marked     20") // and again, from where it was
	s.want(s.run("check"), 0, "ok    watermark      3")

	s.want(s.run("message show 1"), 0, "SCHD-ADFT", "SUCCEEDED", "KAFKA:msg", s.set["kafka.msg-topic"])
	s.want(s.run("message show 2"), 0, "FLOP-REMC", "SUCCEEDED", `"天气原因" -> "流量控制"`)
	s.want(s.run("message show 3"), 0, "DEAD(MALFORMED)")
	if r := s.run("message show 2 --raw"); r.out != late {
		t.Errorf("the copy of the body is %q, want %q", r.out, late)
	}
	s.want(s.run("flight show 1"), 0, "flight: 1", "version: 2", "REMC: 流量控制", "version 2", "version 1", "message 2 FLOP-REMC by flop-remc@1")
	if r := s.run("flight show 1 --history 1"); strings.Contains(r.out, "version 1 ") {
		t.Errorf("one version was asked for:\n%s", r.out)
	}
	var shown struct {
		Flight struct {
			FLID    string `json:"flid"`
			Version int    `json:"state_version"`
			REMC    string `json:"REMC"`
		} `json:"flight"`
		History []json.RawMessage `json:"history"`
	}
	if r := s.run("flight show 1 --json"); json.Unmarshal([]byte(r.out), &shown) != nil || shown.Flight.FLID != "1" ||
		shown.Flight.Version != 2 || shown.Flight.REMC != "流量控制" || len(shown.History) != 2 {
		t.Errorf("flight show --json: %s%s", r.out, r.err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if r := s.run("message show " + id + " --json"); r.code != 0 || !json.Valid([]byte(r.out)) {
			t.Errorf("message show %s --json: exit %d, %s%s", id, r.code, r.out, r.err)
		}
	}
}

// Each thing that is broken is a line of its own, and the others are still looked at.
func TestCheckTellsEachThingThatIsBroken(t *testing.T) {
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create"), 0)
	nowhere := "127.0.0.1:1"
	tests := []struct {
		name, set string
		want      []string
	}{
		{"postgres away", "postgres.url=postgres://u:hunter2@" + nowhere + "/x", []string{"FAIL  postgres", "refused"}},
		{"no such database", "postgres.url=" + strings.Replace(s.set["postgres.url"], "/t", "/none_t", 1), []string{"FAIL  postgres", "does not exist"}},
		{"mailbox away", "mailbox.dsn=u:hunter2@tcp(" + nowhere + ")/x", []string{"FAIL  mailbox", "refused"}},
		{"no such table", "mailbox.inbound.table=INBOX", []string{"FAIL  mailbox", "INBOX"}},
		{"no such column", "mailbox.inbound.body=TEXT", []string{"FAIL  mailbox", "TEXT"}},
		{"broker away", "kafka.brokers=" + nowhere, []string{"FAIL  kafka", "refused"}},
		{"no such topic", "kafka.msg-topic=msgx-no-such-topic", []string{"FAIL  kafka", "msgx-no-such-topic"}},
		{"the mailbox's owner not asked", "pipeline.max-commit-delay=0s", []string{"FAIL  configuration", "max-commit-delay is not set"}},
		{"no rule set", "rules.dir=" + t.TempDir(), []string{"FAIL  rules", "handlers.lua"}},
		{"nowhere to begin", "pipeline.cutover-watermark=", []string{"FAIL  watermark", "cutover-watermark is not set"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			r := s.run("check", tt.set)
			s.want(r, exitFailed, tt.want...)
			if got := strings.Count(r.out, "FAIL"); got != 1 || r.err != "" || strings.Contains(r.out, "hunter2") {
				t.Errorf("%d lines that fail, want one; no password and nothing beside:\n%s%s", got, r.out, r.err)
			}
			for line := range strings.Lines(r.out) {
				if !strings.HasPrefix(line, "ok ") && !strings.HasPrefix(line, "FAIL ") && !strings.HasPrefix(line, "note ") {
					t.Errorf("a line that is no check: %q", line)
				}
			}
		})
	}
	s.t = t
}
