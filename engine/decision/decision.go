package decision

import (
	"encoding/json"
	"time"

	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// Script is the script that decides a kind, and what it may touch.
type Script struct {
	ID     string   // its name at its version: "flop-gtdt@1"
	Writes []string // footprint: tags it may set, clear or list; "*" for all
	Reads  []string // reference types it looks at
}

// View is what a rule may look at: the complete current state of every
// flight the message names, their masters and children, deleted ones
// included, and the reference data that the script declares.
type View struct {
	Flights map[flight.ID]*flight.State
	Refs    map[string]map[string]json.RawMessage // type to key to record
	// LastVersions is the highest version that history or the outbox knows of a
	// flight that has no row any more; a flight that comes back goes on from it.
	LastVersions map[flight.ID]int64
}

// Op is what a change does to a flight.
type Op string

// The operations. Only a revive brings a deleted flight back.
const (
	Create Op = "create"
	Update Op = "update"
	Revive Op = "revive"
	Delete Op = "delete"
)

// Value is what a change sets a scalar or a single object to.
type Value struct {
	Text   string            // scalar, canonical text
	Object map[string]string // single object as a whole: part to canonical text
}

// Change is what a decision does to one flight; a decision holds one entry per FLID.
type Change struct {
	FLID  flight.ID
	Op    Op
	Set   map[string]Value           // by tag
	Clear []string                   // tags of scalars and objects
	Lists map[string][]flight.Record // the whole new list; empty clears it
}

// RefOp is what a decision does to a reference record.
type RefOp string

// The reference operations.
const (
	RefUpsert RefOp = "upsert"
	RefDelete RefOp = "delete"
)

// RefChange is one change of reference data.
type RefChange struct {
	Type  string
	Key   string
	Op    RefOp
	Value json.RawMessage // the whole record, for an upsert
}

// Outbound is a request that the decision wants sent upstream.
type Outbound struct {
	Request string
	Fields  map[string]string
}

// Note names what a decision left out, and why.
type Note struct {
	FLID   flight.ID `json:"flid,omitempty"`
	Reason string    `json:"reason"`
}

// Decision is what a rule returns. Skip and Reject exclude everything else.
type Decision struct {
	Skip     string
	Reject   string
	Changes  []Change
	Refs     []RefChange
	Outbound []Outbound
	Notes    []Note
}

// Context is what applying needs to know of the message and the moment.
type Context struct {
	MsgID   int64
	Kind    string
	Family  message.Family
	Ruleset string // hash of the rule set
	Script  string // "flop-gtdt@1"
	Now     time.Time
	Writes  []string // the script's footprint: tags it may set, clear or list; "*" for all
}

// FieldChange is one difference between two versions: a scalar or object part
// by path, a whole list by tag, "STATE", "OPERATION_DAY" or "MAFL". Before and
// After are canonical JSON values, nil for none.
type FieldChange struct {
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Advance is one flight going from one version to the next.
type Advance struct {
	Before  *flight.State // nil when the flight is new
	After   *flight.State
	Op      Op
	Changed []FieldChange // STATE, OPERATION_DAY, then catalogue order, then MAFL
	Lists   []string      // tags of the lists that differ, catalogue order
}

// Effects is everything that one message does, to be committed together.
type Effects struct {
	Advances []Advance     // by FLID, ascending, one per flight
	Events   []event.Event // in the order of allocation
	Refs     []RefChange
	Outbound []Outbound
	Notes    []Note
}
