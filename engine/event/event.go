// Package event is the vocabulary of the outbox: what is announced of a
// flight, to which target and under which key. It is pure.
package event

import (
	"encoding/json"
	"strconv"
	"time"

	"msgx/engine/flight"
)

// Target is where an event goes.
type Target string

// The two Kafka targets: every change in order, and the latest state by key.
const (
	Msg  Target = "KAFKA:msg"
	Schd Target = "KAFKA:schd"
)

// Type tells an announcement from a deletion.
type Type string

// The event types.
const (
	Upsert    Type = "UPSERT"
	Tombstone Type = "TOMBSTONE"
)

// State is the delivery state of an event.
type State string

// The delivery states; DEAD is kept as the dead letter.
const (
	Pending State = "PENDING"
	Sent    State = "SENT"
	Dead    State = "DEAD"
)

// Event is one row of the outbox. Its payload is an object without the event's identity, which is known only when it is
// stored; a nil Payload is Kafka's null value.
type Event struct {
	ID        int64 // from one sequence, under the pipeline lock; 0 until stored
	Target    Target
	Key       string // partition key: a FLID in decimal
	Type      Type
	FLID      flight.ID // whose version it tells
	Version   int64
	MsgID     int64
	Kind      string
	Ruleset   string
	Payload   json.RawMessage
	Attempts  int
	CreatedAt time.Time
	Resent    bool // sent again by an operator under the same id
}

// SchemaVersion is that of the payloads, which schemas/EVENTS.md describes: a change that an old consumer could
// stumble over raises it.
const SchemaVersion = 1

// Value is what a broker stores: the payload, with the identity of the event as its first member; nil for Kafka's null
// value. It is the same to the byte whenever the event is sent.
func (e Event) Value() []byte {
	if e.Payload == nil || (e.Target == Schd && e.Type == Tombstone) {
		return nil // a compacted topic forgets the key
	}
	value := make([]byte, 0, len(e.Payload)+40)
	value = append(value, `{"event_id":"`...)
	value = strconv.AppendInt(value, e.ID, 10)
	value = append(value, `",`...)
	return append(value, e.Payload[1:]...)
}

// Landing is where a broker put an event.
type Landing struct {
	Topic     string `json:"topic,omitempty"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

// Standing is how an event stands, for people.
type Standing struct {
	EventID       int64     `json:"event_id"`
	Target        Target    `json:"target"`
	Key           string    `json:"key"`
	Type          Type      `json:"type"`
	FLID          flight.ID `json:"flid"`
	Version       int64     `json:"state_version"`
	MsgID         int64     `json:"msg_id"`
	Kind          string    `json:"kind"`
	State         State     `json:"state"`
	Attempts      int       `json:"attempts"`
	NextAttemptAt time.Time `json:"next_attempt_at,omitzero"` // while it backs off
	LastError     string    `json:"last_error,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	SentAt        time.Time `json:"sent_at,omitzero"`
	DeadAt        time.Time `json:"dead_at,omitzero"`
	Landing       Landing   `json:"landing,omitzero"`
}
