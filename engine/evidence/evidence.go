// Package evidence is the vocabulary of looking back: what the mailbox, our own
// database and the broker each hold of a message, of a version of a flight and of an
// event. Adapters read it, an audit compares it. It is pure.
package evidence

import (
	"time"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// Limits is how far a database has come.
type Limits struct {
	Watermark  int64
	SeededHow  string // min, zero, max or an id; "" when the cursor was never seeded
	LowestID   int64  // the smallest id that is enqueued or archived; 0 when there is none
	DecisionNo int64  // of the last applied decision
	Archived   bool   // records were archived: the oldest may be gone
	Epoch      int64  // of the lease
	BeatEpoch  int64  // of the heartbeat
}

// Arrival is a row of the mailbox.
type Arrival struct {
	ID     int64
	Marked bool
	Mark   string // the mark as it stands, "" when there is none
}

// Message is the processing record of a message. One that was archived is told from
// the archive.
type Message struct {
	ID         int64
	State      message.State // ARCHIVED only when nothing but the identity is left
	Archived   bool
	Identity   string
	Kind       string
	Ruleset    string
	Class      message.ErrorClass
	DecisionNo int64 // 0 when it changed nothing
	Attempts   int
	EnqueuedAt time.Time
	UpdatedAt  time.Time
	// Twin is another record that holds the same identity, 0 when there is none.
	Twin         int64
	TwinEnqueued time.Time
	OwesMark     bool
	MarkDue      bool // the intent to mark is there
	Marked       time.Time
	Abandoned    string // why the mark was given up, "" when it was not
	Reconciled   bool
	SHA256       string // of the body that was decided
	CopySHA256   string // of our own copy as it stands now, "" when there is none
}

// Decision is one applied decision by its number.
type Decision struct {
	No       int64
	MsgID    int64
	Kind     string
	Ruleset  string
	SHA256   string
	Identity string // "" when it gave it up
}

// Schedule is what a schedule message left in the schedule log, beside what it changed.
type Schedule struct {
	SnapID  int64
	MsgID   int64
	Outcome message.State
	Carried int // flights in the message
	Changed int // flights that have a version of it in which more than MAFL changed
	Deleted int // flights that it deleted
}

// Flight is a flight's current state, and what is known of it beside its history.
type Flight struct {
	ID flight.ID
	// State is nil when the flight has no row.
	State *flight.State
	// RemovedVersion is the highest version that the archive of removed flights holds, 0 for none.
	RemovedVersion int64
	// Orphans are the tables with rows of a flight that has none itself.
	Orphans []string
}

// Version is one row of a flight's history.
type Version struct {
	FLID       flight.ID
	Version    int64
	MsgID      int64
	Kind       string
	Op         decision.Op
	Ruleset    string
	Script     string
	At         time.Time
	Changed    []decision.FieldChange
	MsgState   message.State // of its message, "" when there is no record of it any more
	MsgClass   message.ErrorClass
	DecisionNo int64 // of its message, 0 when that has none
}

// Event is one row of the outbox.
type Event struct {
	event.Event
	State   event.State
	SentAt  time.Time
	Landing event.Landing
}

// Record is one record of a topic.
type Record struct {
	Landing event.Landing
	Key     string
	Value   []byte // nil is Kafka's null value
	Headers map[string]string
}

// Extent is what a partition holds: offsets from First up to and without End.
type Extent struct {
	Partition  int
	First, End int64
}

// Position is the offset of each partition from which a reader goes on. A partition that is not in it is read from its
// beginning.
type Position map[int]int64

// Reference is one record of reference data, with the message that wrote it.
type Reference struct {
	Type, Key string
	Value     string
	MsgID     int64
	MsgState  message.State
}
