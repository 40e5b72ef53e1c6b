package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"msgx/cmd/msgx/config"
	"msgx/engine/message"
	"msgx/schemas/eventtest"
	"msgx/tools/feed"
	"msgx/tools/stack/stacktest"
)

const patienceOfTest = 2 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small day ends with everything accounted for, on Apache Kafka and on the
// broker in this process.
func TestASmallDayIsAccountedFor(t *testing.T) {
	t.Parallel()
	stack := stacktest.Stack(t)
	for name, brokers := range map[string][]string{"Apache Kafka": stack.Kafka, "in this process": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patienceOfTest)
			defer cancel()
			var out bytes.Buffer
			report, err := Run(ctx, Options{
				Postgres: stack.Postgres, MariaDB: stack.MariaDB, Kafka: brokers, Listen: "127.0.0.1:0",
				Once: true, Seed: 3, Flights: 60, Operations: 400, Out: &out, Build: "test", CheckEvent: eventtest.Check,
			})
			if err != nil || !report.OK() {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for _, want := range []string{"received", "decided", "marked", "delivered", "lag", "every record of KAFKA:msg is an event", "Every message is accounted for."} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

// What is missing is told and makes the report fail.
func TestAReportTellsWhatIsMissing(t *testing.T) {
	r := &Report{
		messages: []feed.Message{{Seq: 1, Kind: "FLOP-STND", Expect: feed.Expect{State: message.Succeeded}}},
		inserted: feed.Inserted{IDs: map[int]int64{1: 7}},
	}
	r.compare(map[int64]message.Outcome{})
	if r.OK() || !strings.Contains(r.String(), "message 7 (FLOP-STND) was never enqueued") || !strings.Contains(r.String(), "Not everything") {
		t.Errorf("a message that never came: got\n%s", r)
	}
	r.checks = nil
	r.compare(map[int64]message.Outcome{7: {State: message.Dead, Class: message.Malformed}, 8: {State: message.Succeeded}})
	if r.OK() || !strings.Contains(r.String(), "message 7 (FLOP-STND): ") || !strings.Contains(r.String(), "message 8 was never sent") {
		t.Errorf("a wrong outcome: got\n%s", r)
	}
	r.checks = nil
	r.compare(map[int64]message.Outcome{7: {State: message.Succeeded}})
	if !r.OK() {
		t.Errorf("all well: got\n%s", r)
	}
}

// What is printed for another terminal is all that the commands of an operator need to find the day.
func TestTheHintsNameEveryServer(t *testing.T) {
	c, err := config.Load(config.Sources{Set: []string{
		"postgres.url=postgres://ours", "mailbox.dsn=root@tcp(127.0.0.1:1)/day", "kafka.brokers=127.0.0.1:2,127.0.0.1:3",
		"kafka.msg-topic=day.msg", "kafka.schd-topic=day.schd", "pipeline.max-commit-delay=1s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{busiest: 17, messages: []feed.Message{{}}, inserted: feed.Inserted{IDs: map[int]int64{1: 23}}}
	got := (&place{}).hints(c, r)
	for _, want := range []string{
		"MSGX_POSTGRES_URL='postgres://ours'", "MSGX_MAILBOX_DSN='root@tcp(127.0.0.1:1)/day'", "MSGX_KAFKA_BROKERS='127.0.0.1:2,127.0.0.1:3'",
		"MSGX_KAFKA_MSG_TOPIC='day.msg'", "MSGX_KAFKA_SCHD_TOPIC='day.schd'", "MSGX_PIPELINE_MAX_COMMIT_DELAY='1s'",
		"  msgx flight show 17\n", "  msgx message show 23\n", "  msgx tail --flid 17 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in:%s", want, got)
		}
	}
}

// A line that stands still says which message holds it, and how far that is.
func TestProgressNamesWhatHoldsTheLine(t *testing.T) {
	w := &watch{total: 9, tries: 5}
	if got := (progress{failed: 1, retried: 781, failures: 3}).line(w); !strings.HasSuffix(got, "  message 781 holds the line: failed 3 of 5 times") {
		t.Errorf("got %q", got)
	}
	if got := (progress{}).line(w); strings.Contains(got, "holds") {
		t.Errorf("nothing fails: got %q", got)
	}
}
