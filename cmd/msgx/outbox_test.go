package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"msgx/engine/evidence"
	"msgx/engine/outbox/kafka"
)

// topic reads one whole: key, version, whether there is a value, and whether it was sent again.
func (s *served) topic(name string) string {
	s.t.Helper()
	reader, err := kafka.NewReader(kafka.Config{Brokers: []string{s.set["kafka.brokers"]}}, s.set[name])
	if err != nil {
		s.t.Fatal(err)
	}
	var seen []string
	err = reader.Read(s.t.Context(), func([]evidence.Extent) {}, func(r evidence.Record) error {
		text := r.Key + " v" + r.Headers["state_version"]
		if r.Value == nil {
			text += " null"
		}
		if r.Headers["resent"] == "true" {
			text += " resent"
		}
		seen = append(seen, text)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(seen, ", ")
}

// What cannot be delivered is found, sent again under its id or given up, each time on record.
func TestOutboxByHand(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create", "kafka.partitions=1"), 0)
	s.put(remark, operation(8, "STND", "<FLID>1</FLID><STND>12</STND>"))
	stop := s.begin("kafka.partitions=1", "kafka.max-message-bytes=1000")
	s.until("outbox list --target msg --state SENT", "FLOP-STND")
	s.until("outbox list --target schd --state SENT", "FLOP-STND")
	stop()
	s.want(s.run("outbox list --state DEAD"), 1, "no such event")

	// Event 3 is that of version 2: the broker is said to have refused it for good.
	s.exec(`UPDATE msg_event SET state = 'DEAD', dead_at = now(), sent_at = NULL, topic = NULL, topic_partition = NULL, topic_offset = NULL, attempts = 5, last_error = 'too-large'
		WHERE target = 'KAFKA:msg' AND state_version = 2`)
	s.want(s.run("outbox list --state DEAD"), 0, "KAFKA:msg", "too-large", "FLOP-STND")
	s.want(s.run("outbox list --flid 1 --json"), 0, `"event_id"`, `"last_error": "too-large"`, `"offset"`)
	s.want(s.run("outbox retry --all-dead"), exitUsage, "--reason is missing")
	s.want(s.run("outbox retry --reason x"), exitUsage, "expected --id or --all-dead")
	s.want(s.run("outbox drop --reason x"), exitUsage, "expected --id, to say which events")
	s.want(s.run("outbox retry --all-dead --dry-run"), 0, "1 event would be sent again; nothing was changed")
	s.want(s.run("outbox list --state DEAD"), 0)
	s.want(s.run("outbox retry --id 1,99 --reason x"), 1, "event 1 is left: it is neither dead nor backing off", "event 99 is left: there is none")
	s.want(s.run("outbox retry --all-dead --reason larger"), 0, "1 event sent again")
	s.want(s.run("outbox drop --id 3 --dry-run"), 0, "1 event would be given up")
	s.want(s.run("outbox drop --id 3 --reason never"), 0, "1 event given up")
	s.want(s.run("outbox list --state DEAD"), 0, "given up by ", "never")
	s.want(s.run("outbox retry --id 3 --reason after-all"), 0, "1 event sent again")

	s.want(s.run("resync"), exitUsage, "--reason is missing")
	s.want(s.run("resync --reason x"), exitUsage, "expected one of --flid, --day and --all")
	s.want(s.run("resync --flid 77 --reason x"), 1, "no such flight was ever put out")
	s.want(s.run("resync --day 2026-03-01 --dry-run"), 0, "1 state of 1 flight would be put out once more")
	s.want(s.run("resync --all --reason lost"), 0, "1 state of 1 flight put out once more")
	stop = s.begin("kafka.partitions=1")
	s.until("outbox list --state SENT --id 3", "KAFKA:msg")
	s.until("outbox list --target schd --state SENT", "FLOP-STND")
	stop()
	if got, want := s.topic("kafka.msg-topic"), "1 v1, 1 v2, 1 v2 resent"; got != want {
		t.Errorf("changes: got %s, want %s", got, want)
	}
	if got := s.topic("kafka.schd-topic"); !strings.HasSuffix(got, "1 v2, 1 v2 resent") {
		t.Errorf("latest states: got %s, want version 2 again at the end", got)
	}
	s.want(s.run("tail --from beginning --count 3"), 0, "flight 1 CA1 v1 of 2026-03-01  message 1 SCHD-ADFT  create", "flight 1 CA1 v2", `STND nothing -> "12"`, "(a repeat)  (sent again by an operator)")
	s.want(s.run("tail --from beginning --count 1 --target schd --flid 1 --json"), 0, `"schema_version":1`, `"REMC":"天气原因"`)
	s.want(s.run("tail --from yesterday"), exitUsage, "expected now, beginning, or a time")
	s.want(s.run("tail --target x"), exitUsage, "expected msg or schd")
	s.want(s.run("audit --rebuild", "kafka.partitions=1"), 0)
	if got := s.query(`SELECT string_agg(action || ' ' || subject || ': ' || reason, '; ' ORDER BY log_id) FROM operator_log`); got !=
		"outbox retry event 3: larger; outbox drop event 3: never; outbox retry event 3: after-all; resync 1 flights from 1 to 1: lost" {
		t.Errorf("on record: %s", got)
	}
}

// query is one text from our own database.
func (s *served) query(statement string) (text string) {
	s.t.Helper()
	own, err := pgx.Connect(s.t.Context(), s.set["postgres.url"])
	if err != nil {
		s.t.Fatal(err)
	}
	defer own.Close(context.Background())
	if err := own.QueryRow(s.t.Context(), statement).Scan(&text); err != nil {
		s.t.Fatal(err)
	}
	return text
}
