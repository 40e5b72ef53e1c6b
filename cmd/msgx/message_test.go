package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"msgx/engine/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	t.Parallel()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create"), 0)
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
	stop := s.begin("pipeline.backoff=1h,1h,1h,1h")
	s.until("message show 5", "FAILED(CODEC_ERROR)")
	s.until("message show 6", "it waits for message 5")
	waiting := map[int]string{
		5: "message 5  FLOP-STND  FAILED(CODEC_ERROR)\n\narrived    TIME (Asia/Shanghai; by the clock of the mailbox)\nenqueued   TIME\n" +
			"decided    not yet: 1 failure, next try TIME\n" +
			"           /MSG/FLOP[1]/STND: found \"123456789\", expected code of at most 8 characters\n" +
			"marked     not yet: it comes after the decision\ndelivered  there is nothing to deliver\n",
		6: "message 6  -  PENDING\n\narrived    TIME (Asia/Shanghai; by the clock of the mailbox)\nenqueued   TIME\n" +
			"decided    not yet: it waits for message 5, FLOP-STND FAILED(CODEC_ERROR), 1 failure, next try TIME\n" +
			"marked     not yet: it comes after the decision\ndelivered  there is nothing to deliver\n",
	}
	s.shows(waiting)
	stop()
	waiting[5] = strings.Replace(waiting[5], "\n           /MSG", "; no instance is at work\n           /MSG", 1)
	waiting[6] = strings.Replace(waiting[6], "\nmarked", "; no instance is at work\nmarked", 1)
	s.shows(waiting)

	// The next try is an hour away; the tiers of another start do not change that.
	s.retryNow(5)
	stop = s.begin("pipeline.backoff=10ms,10ms,10ms,10ms")
	for id := 1; id <= 9; id++ {
		s.until(fmt.Sprint("message show ", id), "marked     20")
	}
	s.until("message show 2", "delivered  1 of 1 event")
	s.until("message show 9", "delivered  2 of 2 events")
	stop()
	head := "arrived    TIME (Asia/Shanghai; by the clock of the mailbox)\nenqueued   TIME\n"
	nothing := "marked     TIME\ndelivered  there is nothing to deliver\n"
	s.shows(map[int]string{
		2: "message 2  FLOP-STND  SUCCEEDED\n\n" + head + "decided    TIME\n           by flop-stnd@1 of rule set HASH\n           identity AODB|FLOP|STND|8\n" +
			"marked     TIME\ndelivered  1 of 1 event\n           3 KAFKA:msg key 1 UPSERT version 2 SENT at TOPIC[0]@1, TIME\n" +
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
	if got := s.run("message show 6 --raw").out; got != "<MSG><META>" {
		t.Errorf("the body of message 6 is %q", got)
	}
	if got := s.run("message show 10"); got.code != exitFailed || got.err != "msgx: message 10: not enqueued: the mailbox has been read up to 9\n" {
		t.Errorf("a message that has not come: exit %d, %s%s", got.code, got.out, got.err)
	}
	if got := s.run("flight show 1 --history 1"); !strings.Contains(got.out, "version 3 ") || !strings.Contains(got.out, "and 2 versions before that: --history 3\n") {
		t.Errorf("a flight: exit %d, %s%s", got.code, got.out, got.err)
	}
}

// retryNow makes the next try of a message due.
func (s *served) retryNow(id int) {
	s.t.Helper()
	s.exec(`UPDATE proc_state SET next_attempt_at = now() WHERE msg_id = $1`, id)
}

// exec runs a statement on our own database.
func (s *served) exec(statement string, args ...any) {
	s.t.Helper()
	own, err := pgx.Connect(s.t.Context(), s.set["postgres.url"])
	if err != nil {
		s.t.Fatal(err)
	}
	defer own.Close(context.Background())
	if _, err := own.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) shows(want map[int]string) {
	s.t.Helper()
	for id, text := range want {
		r := s.run(fmt.Sprint("message show ", id))
		if d := cmp.Diff(text, plainly(r.out)); d != "" || r.code != 0 {
			s.t.Errorf("message show %d: exit %d, %s (-want +got):\n%s", id, r.code, r.err, d)
		}
	}
}

// What was given up by hand came to its state then, and not when it was tried last, if it was tried at all.
func TestWhenAMessageWasGivenUp(t *testing.T) {
	tried := time.Date(2026, 3, 1, 6, 30, 0, 0, time.UTC)
	skips := []message.Action{{Action: "skip", At: tried.Add(time.Minute)}, {Action: "replay", At: tried.Add(2 * time.Minute)}, {Action: "skip", At: tried.Add(3 * time.Minute)}}
	tests := map[string]struct {
		started time.Time
		reason  string
		actions []message.Action
		want    time.Time
	}{
		"by hand, after a try":        {tried, "operator:stuck", skips, tried.Add(3 * time.Minute)},
		"by hand, without a try":      {time.Time{}, "operator:stuck", skips[:1], tried.Add(time.Minute)},
		"by the rule":                 {tried, "flight-unknown", nil, tried},
		"by the rule, after a replay": {tried, "flight-unknown", skips[:2], tried},
	}
	for name, tt := range tests {
		s := &story{}
		s.Times.Started, s.Failure.SkipReason, s.Actions = tt.started, tt.reason, tt.actions
		if got := s.decidedAt(); !got.Equal(tt.want) {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}
