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
	return e, nil
}

// Arrival is what a record of KAFKA:msg is to a reader.
type Arrival string

// The arrivals.
const (
	New    Arrival = "NEW"    // a version that comes next, or after some that are missing
	Repeat Arrival = "REPEAT" // a version that was there already
	Late   Arrival = "LATE"   // a version that was missing: it was sent again by an operator
)

// Feed tells the arrivals of KAFKA:msg apart. The zero value is ready.
type Feed struct {
	last    map[flight.ID]int64
	missing map[flight.ID]map[int64]bool
}

// missingLimit is how many missing versions of a flight are remembered: what is older arrives as a repeat.
const missingLimit = 100

// Take tells what a record is, and how many versions of its flight are missing just before it.
func (f *Feed) Take(id flight.ID, version int64) (a Arrival, missing int64) {
	if f.last == nil {
		f.last, f.missing = map[flight.ID]int64{}, map[flight.ID]map[int64]bool{}
	}
	last, known := f.last[id]
	switch {
	case !known: // whoever begins in the middle misses nothing
		f.last[id] = version
		return New, 0
	case version > last:
		f.last[id] = version
		for v := max(last+1, version-missingLimit); v < version; v++ {
			if f.missing[id] == nil {
				f.missing[id] = map[int64]bool{}
			}
			f.missing[id][v] = true
			delete(f.missing[id], v-missingLimit)
		}
		return New, version - last - 1
	case f.missing[id][version]:
		delete(f.missing[id], version)
		return Late, 0
	}
	return Repeat, 0
}

// Latest keeps the latest state of each flight, from KAFKA:schd. The zero value is ready.
type Latest struct {
	versions map[flight.ID]int64
	states   map[flight.ID]json.RawMessage
}

// Take brings the table up to date with a record and tells whether it changed anything. A version that
// is not above the known one is a repeat.
func (l *Latest) Take(e Event) bool {
	if l.versions == nil {
		l.versions, l.states = map[flight.ID]int64{}, map[flight.ID]json.RawMessage{}
	}
	if e.Version <= l.versions[e.FLID] {
		return false
	}
	l.versions[e.FLID] = e.Version
	if e.Whole == nil {
		delete(l.states, e.FLID)
	} else {
		l.states[e.FLID] = e.Whole
	}
	return true
}

// State is the latest state of a flight; false when there is none, or it is deleted.
func (l *Latest) State(id flight.ID) (json.RawMessage, bool) {
	s, ok := l.states[id]
	return s, ok
}

// Version is the latest version that was seen of a flight, 0 for none.
func (l *Latest) Version(id flight.ID) int64 { return l.versions[id] }

// Len is how many flights there are.
func (l *Latest) Len() int { return len(l.states) }
