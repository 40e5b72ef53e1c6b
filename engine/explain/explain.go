// Package explain tells how a decision came about: what the message said, which script ran on it and
// which way it went, what it read, what it left alone, and what came of it. An Explainer is a judge on a rule
// set that is traced; it is asked like any other judge, on recorded state or in a rehearsal, and then tells
// of the last message. The Explanation is plain data with JSON names, and can be written as text.
//
// An explanation is made for one message at a time and costs two to three decisions; it belongs to
// tools, never to the pump.
package explain

import (
	"encoding/json"

	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/message"
)

// Explanation is how one message was decided.
type Explanation struct {
	Name       string              `json:"name,omitempty"` // what the message is called where it comes from, such as its file
	MsgID      int64               `json:"msg_id"`
	Outcome    Outcome             `json:"outcome"`
	Said       *Said               `json:"said,omitempty"`   // nil when the body could not be decoded
	Script     *Script             `json:"script,omitempty"` // nil when no rule was asked
	Ignored    Ignored             `json:"ignored"`
	Notes      []decision.Note     `json:"notes,omitempty"`
	Warnings   []string            `json:"warnings,omitempty"`
	Changes    []Change            `json:"changes"`
	References []ReferenceChange   `json:"references,omitempty"`
	Requests   []decision.Outbound `json:"requests,omitempty"`
	Recorded   *Recorded           `json:"recorded,omitempty"` // of a message that was decided before
	With       *With               `json:"with,omitempty"`     // what another rule set would have done
}

// Outcome is what became of the message.
type Outcome struct {
	State  message.State      `json:"state"`
	Class  message.ErrorClass `json:"class,omitempty"`
	Reason string             `json:"reason,omitempty"`
}

// Said is what the message said.
type Said struct {
	Kind     string         `json:"kind"`
	Meaning  string         `json:"meaning,omitempty"` // of the kind, from the catalogue
	Family   message.Family `json:"family"`
	Identity string         `json:"identity,omitempty"`
	SentAt   string         `json:"sent_at,omitempty"`
	Declared *int           `json:"declared,omitempty"` // RECS
	Records  []SaidRecord   `json:"records"`
}

// SaidRecord is one record of the message.
type SaidRecord struct {
	FLID     string        `json:"flid,omitempty"`
	Key      string        `json:"key,omitempty"` // of a reference record
	Value    string        `json:"value,omitempty"`
	Elements []SaidElement `json:"elements,omitempty"` // in catalogue order
	Absent   []string      `json:"absent,omitempty"`   // tags that the kind may carry and this record does not
	Faults   []string      `json:"faults,omitempty"`
}

// SaidElement is an element that was there: with a value, or empty.
type SaidElement struct {
	Tag     string          `json:"tag"`
	Meaning string          `json:"meaning,omitempty"`
	Empty   bool            `json:"empty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// Script is the script that was asked, and what it did.
type Script struct {
	ID           string   `json:"id"` // at its version: "flop-gtdt@1"
	File         string   `json:"file"`
	Ruleset      string   `json:"ruleset"`
	Instructions int64    `json:"instructions"`
	Budget       int64    `json:"budget"`
	Sources      []Source `json:"sources"`       // the script first, then the libraries of which something ran
	Branches     []Branch `json:"branches"`      // in the order in which they were gone
	Cut          int      `json:"cut,omitempty"` // how many more branches there were
	Reads        []Read   `json:"reads"`
	Writes       []string `json:"writes"`
}

// Source is one file of the rule set with what ran of it.
type Source struct {
	File  string `json:"file"`
	Lines []Line `json:"lines"`
}

// Line is a line of a source.
type Line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
	Hits   *int   `json:"hits"` // how often it ran; nil of a line that no decision runs
}

// Branch is one evaluation of a condition or loop.
type Branch struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	Taken    bool     `json:"taken"`
	Operands []string `json:"operands,omitempty"`
}

// Read is something that the script looked at, and what it found.
type Read struct {
	What  string `json:"what"` // "flight 1 STND", "record 2 GTDT", "message meta styp"
	Value string `json:"value"`
}

// Ignored is what the message said in vain.
type Ignored struct {
	Unknown   []Counted `json:"unknown,omitempty"`       // elements that the catalogue does not name
	Dropped   []Counted `json:"dropped,omitempty"`       // empty entries, and bad values that the catalogue says to drop
	NotLooked []string  `json:"not_looked_at,omitempty"` // tags that are there and that the script never looks at
}

// Counted is a path and how often it occurred.
type Counted struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// Change is one flight going from one version to the next.
type Change struct {
	FLID    string                 `json:"flid"`
	Op      decision.Op            `json:"op"`
	Version int64                  `json:"state_version"`
	Changed []decision.FieldChange `json:"changed"`
}

// ReferenceChange is what becomes of a reference record.
type ReferenceChange struct {
	Type  string          `json:"type"`
	Key   string          `json:"key"`
	Op    decision.RefOp  `json:"op"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Recorded compares the explanation with what was decided at its time.
type Recorded struct {
	Ruleset string   `json:"ruleset"`
	Script  string   `json:"script,omitempty"`
	Same    bool     `json:"same"`
	Differs []string `json:"differs,omitempty"` // where the explanation is not what is on record
	Remarks []string `json:"remarks,omitempty"` // what makes the explanation less than certain
}

// With is what another rule set makes of the same message on the same state.
type With struct {
	Name        string                  `json:"name"`
	Ruleset     string                  `json:"ruleset"`
	Script      string                  `json:"script,omitempty"`
	Outcome     Outcome                 `json:"outcome"`
	Differences []comparison.Difference `json:"differences"`
	Branch      *comparison.Branch      `json:"branch,omitempty"` // that tells the two apart
	Operands    []string                `json:"operands,omitempty"`
}
