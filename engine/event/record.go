package event

import "time"

// Header is one header of a record.
type Header struct {
	Key   string
	Value string
}

// Record is an event in the form in which a broker takes it. A nil Value is
// Kafka's null value.
type Record struct {
	Key     string
	Value   []byte
	Headers []Header
	At      time.Time // the record's timestamp: when it is sent
}

// Fate is what became of a record that was to be sent.
type Fate string

// The fates. Only a refusal is the record's own fault; NOT_STORED and UNKNOWN
// are the broker's and pass.
const (
	Landed         Fate = "LANDED"           // acknowledged by all replicas
	Refused        Fate = "REFUSED"          // the broker does not take this record
	RefusedForGood Fate = "REFUSED_FOR_GOOD" // and never will
	Suspect        Fate = "SUSPECT"          // its batch was refused without naming the culprit; nothing of it is stored
	NotStored      Fate = "NOT_STORED"       // certainly not stored, for a reason that can pass
	Unknown        Fate = "UNKNOWN"          // stored or not, or still on its way: nobody can tell
	Untried        Fate = "UNTRIED"          // not sent this time
)

// Receipt is the fate of one record.
type Receipt struct {
	Fate    Fate
	Landing Landing // for LANDED
	Reason  string  // short and stable, such as "not-enough-replicas"; "" for LANDED and UNTRIED
	Err     error   // wraps fault.ErrUnavailable when the broker cannot be reached at all
}

// Delivery is an event that a broker has acknowledged.
type Delivery struct {
	Event   Event
	Landing Landing
}
