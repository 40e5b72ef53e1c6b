package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"msgx/cmd/msgx/config"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
	"msgx/tools/stack/stacktest"
)

// told is a record as a topic has it; value "" is the null value.
func told(version, value string) evidence.Record {
	r := evidence.Record{Landing: event.Landing{Topic: "t", Partition: 1, Offset: 2}, Key: "1", Headers: map[string]string{
		"event_id": "9", "flid": "1", "state_version": version, "type": "UPSERT", "kind": "FLOP-STND", "msg_id": "7"}}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// lines is what a tail shows of records.
func (t *tail) lines(test *testing.T, records ...evidence.Record) string {
	test.Helper()
	var out bytes.Buffer
	t.out, t.c, t.numbers = &out, &config.Config{}, map[flight.ID]string{}
	t.c.Airport.Location = time.FixedZone("CST", 8*3600)
	for _, r := range records {
		if err := t.show(r); err != nil {
			test.Fatal(err)
		}
	}
	return out.String()
}

const (
	toldCreate = `{"event_id":"9","schema_version":1,"state":"ACTIVE","op":"create","operation_day":"2021-01-23","updated_at":"2021-01-23T12:00:00.5+08:00","changes":[{"path":"FLNO","before":null,"after":"CA101"},{"path":"REMC","before":"a","after":"\u001b[2J延误"}]}`
	toldDelete = `{"event_id":"9","schema_version":1,"state":"DELETED","op":"delete","operation_day":"2021-01-23","updated_at":"2021-01-23T12:05:00+08:00","changes":[{"path":"STATE","before":"ACTIVE","after":"DELETED"}]}`
)

func TestTailShowsEvents(t *testing.T) {
	foreign := told("3", "<xml\n\x1b[2J/>")
	later := told("3", `{"schema_version":2}`)
	nobody := evidence.Record{Landing: event.Landing{Topic: "t"}, Key: "x\x1b"}
	records := []evidence.Record{told("1", toldCreate), told("4", toldDelete), told("1", toldCreate), told("3", toldCreate), foreign, later, nobody}
	got := (&tail{target: "msg"}).lines(t, records...)
	want := `2021-01-23 12:00:00  flight 1 CA101 v1 of 2021-01-23  message 7 FLOP-STND  create  FLNO nothing -> "CA101"  REMC "a" -> "\u001b[2J延误"
2021-01-23 12:05:00  flight 1 CA101 v4 of 2021-01-23  message 7 FLOP-STND  delete  (2 versions missing before it)  STATE "ACTIVE" -> "DELETED"
2021-01-23 12:00:00  flight 1 CA101 v1 of 2021-01-23  message 7 FLOP-STND  create  (a repeat)  FLNO nothing -> "CA101"  REMC "a" -> "\u001b[2J延误"
2021-01-23 12:00:00  flight 1 CA101 v3 of 2021-01-23  message 7 FLOP-STND  create  (late: it was missing)  FLNO nothing -> "CA101"  REMC "a" -> "\u001b[2J延误"
t/1@2  key 1  not an event of this version of msgx: value: invalid character '<' looking for beginning of value
t/1@2  key 1  not an event of this version of msgx: schema version 2, expected 1
t/0@0  key x\u001b  not an event of this version of msgx: header event_id is "", expected a number
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	only := flight.ID(2)
	if got := (&tail{target: "msg", only: &only}).lines(t, records...); got != "" {
		t.Errorf("another flight's: %s", got)
	}
	if got := (&tail{target: "schd"}).lines(t, told("4", `{"schema_version":1,"FLNO":"CA101"}`), told("5", "")); !strings.HasSuffix(got, "flight 1 CA101 v5  message 7 FLOP-STND  deleted\n") {
		t.Errorf("latest states:\n%s", got)
	}
	coloured := (&tail{target: "msg", colour: true}).lines(t, told("1", toldDelete), told("1", toldCreate))
	if !strings.Contains(coloured, "\x1b[31m  delete\x1b[0m") || !strings.Contains(coloured, "\x1b[33m  (a repeat)\x1b[0m") || strings.Contains(coloured, "\x1b[2J") {
		t.Errorf("in colour: %q", coloured)
	}

	asJSON := (&tail{target: "msg", asJSON: true}).lines(t, append(records, told("5", ""))...)
	for line := range strings.Lines(asJSON) {
		var v struct {
			Key     *string
			Headers map[string]string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Key == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, want := range []string{`"arrival":"NEW","missing":2,"value":{"event_id":"9","schema_version":1`, `"arrival":"LATE"`, `"value":null`,
		`"fault":"schema version 2, expected 1","value":{"schema_version":2}`, `"value":"<xml\n\u001b[2J/>"`} {
		if !strings.Contains(asJSON, want) {
			t.Errorf("want %s in\n%s", want, asJSON)
		}
	}
}

func TestTailBeginsAtATime(t *testing.T) {
	zone := time.FixedZone("CST", 8*3600)
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC) // which is the next day at the airport
	for text, want := range map[string]string{
		"06:30":                     "2026-03-02T06:30:00+08:00",
		"06:30:05":                  "2026-03-02T06:30:05+08:00",
		"2026-03-01":                "2026-03-01T00:00:00+08:00",
		"2026-03-01 06:30":          "2026-03-01T06:30:00+08:00",
		"2026-03-01T06:30":          "2026-03-01T06:30:00+08:00",
		"2026-03-01T06:30:00Z":      "2026-03-01T06:30:00Z",
		"2026-03-01T06:30:00+02:00": "2026-03-01T06:30:00+02:00",
	} {
		if got, err := parseMoment("--from", text, "a time", zone, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	if _, err := parseMoment("--from", "25:00", "a time", zone, now); err == nil {
		t.Error("25:00 was taken")
	}
}

// What others wrote into the topic does not end it; SIGINT and a closed pipe do, well.
func TestTailOnABroker(t *testing.T) {
	t.Parallel()
	broker, topic := stacktest.Kafka(t)[0], stacktest.Topic(t, 2)
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	writer := &kafkago.Writer{Addr: kafkago.TCP(broker), Topic: topic, RequiredAcks: kafkago.RequireAll, BatchTimeout: time.Millisecond, Transport: transport}
	defer writer.Close()
	write := func(at time.Time, r evidence.Record) {
		t.Helper()
		m := kafkago.Message{Key: []byte(r.Key), Value: r.Value, Time: at}
		for k, v := range r.Headers {
			m.Headers = append(m.Headers, kafkago.Header{Key: k, Value: []byte(v)})
		}
		if err := writer.WriteMessages(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	early := time.Now().Add(-time.Hour)
	write(early, told("1", toldCreate))
	write(early, evidence.Record{Key: "1", Value: []byte("\x00\x1b\xff")})
	write(early.Add(30*time.Minute), told("2", toldDelete))

	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	run := func(ctx context.Context, out io.Writer, args ...string) (int, string) {
		var errs safeBuffer
		args = append([]string{"tail", "--set", "kafka.brokers=" + broker, "--set", "kafka.msg-topic=" + topic}, args...)
		code := execute(ctx, args, strings.NewReader(""), out, &errs)
		return code, errs.String()
	}
	var all bytes.Buffer
	code, errs := run(ctx, &all, "--from", "beginning", "--count", "3")
	if code != 0 || strings.Count(all.String(), "\n") != 3 || !strings.Contains(all.String(), "not an event of this version") || !strings.Contains(all.String(), "v2 of 2021-01-23") {
		t.Errorf("exit %d, %s\n%q", code, errs, all.String())
	}
	var since bytes.Buffer
	code, errs = run(ctx, &since, "--from", early.Add(time.Minute).Format(time.RFC3339), "--count", "1")
	if code != 0 || !strings.Contains(since.String(), "flight 1 v2") {
		t.Errorf("from a time: exit %d, %s\n%s", code, errs, since.String())
	}

	read, closed := io.Pipe()
	_ = read.Close()
	if code, errs := run(ctx, closed, "--from", "beginning"); code != 0 || errs != "" {
		t.Errorf("a closed pipe: exit %d, %s", code, errs)
	}

	var now safeBuffer
	ended := make(chan int, 1)
	go func() { code, _ := run(ctx, &now, "--flid", "1"); ended <- code }()
	for i := 3; !strings.Contains(now.String(), "flight 1"); i++ { // it begins at some time after now
		if ctx.Err() != nil {
			t.Fatal("nothing came")
		}
		write(time.Now(), told("9", toldCreate))
		time.Sleep(50 * time.Millisecond)
	}
	interrupt()
	if code := <-ended; code != 0 || strings.Contains(now.String(), " v1 ") {
		t.Errorf("from now: exit %d\n%s", code, now.String())
	}
}
