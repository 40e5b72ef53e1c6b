package message

import "time"

// MarkDue is a terminal message that still owes the mailbox its processed mark.
type MarkDue struct {
	MsgID         int64
	EnqueuedAt    time.Time
	Attempts      int
	FirstFailedAt time.Time // when its transient failures began, zero when it has none
}

// MarkResult is what one attempt to write a mark found.
type MarkResult string

// The results of a mark. Only MarkFailed is tried again.
const (
	MarkWritten MarkResult = "WRITTEN"        // it was empty and is now written
	MarkAlready MarkResult = "ALREADY_MARKED" // it had a value, which stays
	MarkMissing MarkResult = "MISSING_ROW"    // the mailbox has no such row
	MarkFailed  MarkResult = "FAILED"         // transient: unreachable, timed out, refused
)

// Abandon reasons of a mark.
const (
	AbandonMissingRow        = "MISSING_ROW"
	AbandonTransientDeadline = "TRANSIENT_DEADLINE"
)

// MarkOutcome is what the back-fill makes of one result: confirmed, given up
// (with a reason), or tried again at NextAt.
type MarkOutcome struct {
	MsgID         int64
	Result        MarkResult
	Confirmed     bool
	AbandonReason string // "" unless given up
	NextAt        time.Time
	FirstFailedAt time.Time
	Error         string
}
