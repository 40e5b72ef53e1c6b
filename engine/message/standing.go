package message

import (
	"encoding/json"
	"fmt"
	"time"

	"msgx/engine/flight"
)

// Standing is where one message stands, as an operator sees it in a list.
type Standing struct {
	MsgID         int64        `json:"msg_id"`
	State         State        `json:"state"`
	Kind          string       `json:"kind,omitempty"`
	Class         ErrorClass   `json:"class,omitempty"`
	Text          string       `json:"text,omitempty"` // of the last failure, or why it was skipped
	Attempts      int          `json:"attempts"`
	NextAttemptAt time.Time    `json:"next_attempt_at,omitzero"`
	FirstFailedAt time.Time    `json:"first_failed_at,omitzero"`
	EnqueuedAt    time.Time    `json:"enqueued_at"`
	UpdatedAt     time.Time    `json:"updated_at"`
	Identity      string       `json:"identity,omitempty"`
	Mark          MarkStanding `json:"mark"`
}

// MarkStanding is where the processed mark of a message stands.
type MarkStanding struct {
	Owes            bool      `json:"owes"` // false for what was decided without owing the mailbox anything
	NextAt          time.Time `json:"next_at,omitzero"`
	Attempts        int       `json:"attempts"`
	FirstFailedAt   time.Time `json:"first_failed_at,omitzero"`
	LastError       string    `json:"last_error,omitempty"`
	ConfirmedAt     time.Time `json:"confirmed_at,omitzero"`
	AbandonedAt     time.Time `json:"abandoned_at,omitzero"`
	AbandonedReason string    `json:"abandoned_reason,omitempty"`
	ReconciledAt    time.Time `json:"reconciled_at,omitzero"`
	ReconciledBy    string    `json:"reconciled_by,omitempty"`
}

// Label is a state with its class, such as DEAD(EXHAUSTED).
func (s Standing) Label() string {
	if s.Class == "" {
		return string(s.State)
	}
	return fmt.Sprintf("%s(%s)", s.State, s.Class)
}

// NotSettleable says why the mark of a message can neither be reopened nor reconciled, "" when it can.
func (s Standing) NotSettleable() string {
	switch {
	case s.State == Archived:
		return "it is archived"
	case !s.Mark.ConfirmedAt.IsZero():
		return "its mark is confirmed"
	case s.Mark.AbandonedAt.IsZero():
		return "its mark was not given up"
	case !s.Mark.ReconciledAt.IsZero():
		return "it was reconciled by " + s.Mark.ReconciledBy
	}
	return ""
}

// Order is what every manual action is recorded with.
type Order struct {
	Who      string
	Reason   string
	Approver string // of a skip
	Ticket   string // of a skip
	At       time.Time
}

// Left is a message that a manual action leaves as it is, and why.
type Left struct {
	MsgID  int64  `json:"msg_id"`
	Reason string `json:"reason"`
}

// Touch is one version of a flight and the message that brought it about.
type Touch struct {
	FLID    flight.ID `json:"flid"`
	Version int64     `json:"version"`
	MsgID   int64     `json:"msg_id"`
	Kind    string    `json:"kind"`
	At      time.Time `json:"at"`
	Paths   []string  `json:"paths"` // what it changed
}

// Action is one entry of the record of manual actions.
type Action struct {
	At       time.Time       `json:"at"`
	Who      string          `json:"who"`
	Action   string          `json:"action"`
	Subject  string          `json:"subject"`
	Reason   string          `json:"reason"`
	Approver string          `json:"approver,omitempty"`
	Ticket   string          `json:"ticket,omitempty"`
	Details  json.RawMessage `json:"details,omitempty"` // what was before and what is after
}
