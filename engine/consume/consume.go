package consume

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

// Event is one record, understood.
type Event struct {
	ID           int64
	FLID         flight.ID
	Version      int64
	Type         event.Type
	Kind         string
	MsgID        int64
	State        string          // ACTIVE or DELETED; "" for a null value
	Op           string          // of KAFKA:msg
	OperationDay string          // "" while unknown
	FlightNumber string          // of KAFKA:schd, and of KAFKA:msg where it changes; "" elsewhere
	UpdatedAt    time.Time       // when the version was made; zero for a null value
	Changes      []Change        // of KAFKA:msg
	Whole        json.RawMessage // the value; nil for Kafka's null value
	Resent       bool            // sent again by an operator
	Landing      event.Landing
}

// Change is one thing that became another.
type Change struct {
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Understand reads a record. Its error says what is not as the contract has it: a record of somebody else, or
// of a schema version that is not known here.
func Understand(r evidence.Record) (e Event, err error) {
	number := func(header string) (n int64) {
		if err != nil {
			return 0
		}
		if n, err = strconv.ParseInt(r.Headers[header], 10, 64); err != nil {
			err = fmt.Errorf("header %s is %q, expected a number", header, r.Headers[header])
		}
		return n
	}
	e = Event{ID: number("event_id"), Version: number("state_version"), MsgID: number("msg_id"), Type: event.Type(r.Headers["type"]), Kind: r.Headers["kind"],
		Whole: r.Value, Resent: r.Headers["resent"] == "true", Landing: r.Landing}
	if err == nil {
		if e.FLID, err = flight.ParseID(r.Headers["flid"]); err != nil {
			err = fmt.Errorf("header flid: %w", err)
		}
	}
	if err != nil || r.Value == nil {
		return e, err
	}
	var value struct {
		SchemaVersion int       `json:"schema_version"`
		State         string    `json:"state"`
		Op            string    `json:"op"`
		OperationDay  string    `json:"operation_day"`
		FlightNumber  string    `json:"FLNO"`
		UpdatedAt     time.Time `json:"updated_at"`
		Changes       []Change  `json:"changes"`
	}
	if err := json.Unmarshal(r.Value, &value); err != nil {
		return e, fmt.Errorf("value: %w", err)
	}
	if value.SchemaVersion != event.SchemaVersion {
		return e, fmt.Errorf("schema version %d, expected %d", value.SchemaVersion, event.SchemaVersion)
	}
	e.State, e.Op, e.OperationDay, e.UpdatedAt, e.Changes = value.State, value.Op, value.OperationDay, value.UpdatedAt, value.Changes
	e.FlightNumber = value.FlightNumber
	for _, c := range e.Changes {
		if c.Path == "FLNO" {
			_ = json.Unmarshal(c.After, &e.FlightNumber) // null leaves it ""
		}
	}
	return e, nil
}
