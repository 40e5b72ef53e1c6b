package daemon_test

import (
	"slices"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
)

// What holds all other tests to their promises notices when one is broken.
func TestTheAccountNoticesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want string // in what the account says
		harm []string
	}{
		{"a mark lost", "the mailbox is not as it was", []string{"mailbox", `UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = NULL WHERE CMINMSGS_ID = 2`}},
		{"a body touched", "the mailbox is not as it was", []string{"mailbox", `UPDATE CMINMSGS SET CMINMSGS_CLOB_MSG = 'x' WHERE CMINMSGS_ID = 3`}},
		{"a mark not on record", "every mark is confirmed", []string{`UPDATE proc_state SET state = 'ARCHIVED', backfill_at = NULL WHERE msg_id = 3`}},
		{"an attempt used up", "did not end as rehearsed", []string{`UPDATE proc_state SET attempts = 1 WHERE msg_id = 2`}},
		{"a field changed", "flights are not as rehearsed", []string{`UPDATE flight_schd SET stnd = 'X', state_version = state_version + 1 WHERE flid = 1`}},
		{"a row of history lost", "every version has one row of history", []string{`DELETE FROM flight_change WHERE flid = 1 AND state_version = 2`}},
		{"an event lost", "every version has one event", []string{`DELETE FROM msg_event WHERE flid = 1 AND state_version = 3 AND target = 'KAFKA:msg'`}},
		{"an event undelivered", "every event is delivered", []string{`UPDATE msg_event SET state = 'PENDING', sent_at = NULL WHERE flid = 1 AND state_version = 2`}},
		{"a record nobody ordered", "is event \"\"", []string{"topic"}},
		{"a record that no consumer reads", "is not as its schema has it", []string{"topic"}},
	}
	p := newPlace(t)
	p.put(schedule(1, 3))
	for _, value := range []string{"A1", "A2", "A3"} {
		p.put(stand(1, value))
	}
	d := p.start()
	p.settled()
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.t = t
			switch tt.harm[0] {
			case "mailbox":
				if _, err := p.mailbox.Exec(tt.harm[1]); err != nil {
					t.Fatal(err)
				}
			case "topic":
				p.produce(kafkago.Message{Key: []byte("1"), Value: []byte("{}")})
			default:
				p.list(tt.harm[0] + ` RETURNING 'done'`)
			}
			faults := p.account()
			if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("the account says\n%s\nwant it to say %q", strings.Join(faults, "\n"), tt.want)
			}
		})
	}
}

func (p *place) produce(m kafkago.Message) {
	p.t.Helper()
	c := p.config()
	conn, err := kafkago.DialLeader(p.t.Context(), "tcp", c.Kafka.Brokers[0], c.Kafka.MsgTopic, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.WriteMessages(m); err != nil {
		p.t.Fatal(err)
	}
}
