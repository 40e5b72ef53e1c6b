package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

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
