package decision

import (
	"time"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// Claim asks for the business transaction of one message: it names what has
// to be read before the decision. Masters are the FLIDs that records state as MAID.
type Claim struct {
	MsgID    int64
	Identity string
	Flights  []flight.ID
	Masters  []flight.ID
	RefTypes []string // reference types the script reads
	// IdentitySince bounds the identity memory: a record enqueued before it no
	// longer holds its identity.
	IdentitySince time.Time
}

// Claimed is what the transaction found under the pipeline lock.
type Claimed struct {
	Head       message.Head
	Holder     *message.Binding // another record that holds the identity, nil when free
	View       View
	DecisionNo int64 // of the last applied decision
}

// Settlement is everything that is to be stored of one message in one
// transaction: its effects, its outcome, and the mark it owes.
type Settlement struct {
	MsgID     int64
	Identity  string // bound to this message unless another holds it; "" binds nothing
	Kind      string // "" while unknown
	SHA256    string
	Raw       *message.Raw // our own copy of the body, nil to keep none
	Outcome   message.Outcome
	Before    int       // failures that the message had when it was taken up
	Attempts  int       // failures so far, this one included
	NextAt    time.Time // when a FAILED message is due again
	Effects   Effects
	Ruleset   string
	Script    string
	Scope     *ScheduleScope // schedule messages leave a trace, nil for others
	Warnings  []string       // what is odd and yet changes nothing, for the log and a metric
	StartedAt time.Time
	At        time.Time
	OwesMark  bool // false in shadow mode
}

// ScheduleScope is what a schedule message covered, for the schedule log.
type ScheduleScope struct {
	FirstDay, LastDay string // operation days, "" when unknown
	Declared, Carried int
}
