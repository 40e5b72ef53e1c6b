package backfill

import (
	"time"

	"msgx/engine/message"
)

// Policy says what follows from one attempt to write a mark.
type Policy struct {
	// R is how long the transient failures of one row may last.
	R time.Duration
	// First is the wait after the first failure; it doubles up to Max.
	First, Max time.Duration
}

// Outcome decides about one row: confirmed when the mark is there, given up when the
// mailbox has no such row or the row's failures have lasted R, else due again after a
// back-off. The last attempt falls on the end of R, so that a back-off never makes it
// longer.
func (p Policy) Outcome(due message.MarkDue, result message.MarkResult, failure string, now time.Time) message.MarkOutcome {
	o := message.MarkOutcome{MsgID: due.MsgID, Result: result}
	switch result {
	case message.MarkWritten, message.MarkAlready:
		o.Confirmed = true
		return o
	case message.MarkMissing:
		o.AbandonReason = message.AbandonMissingRow
		return o
	}
	o.Error = message.SafeText(failure, maxFailureText)
	o.FirstFailedAt = due.FirstFailedAt
	if o.FirstFailedAt.IsZero() {
		o.FirstFailedAt = now
	}
	end := o.FirstFailedAt.Add(p.R)
	if !now.Before(end) {
		o.AbandonReason = message.AbandonTransientDeadline
		return o
	}
	o.NextAt = now.Add(p.wait(due.Attempts + 1))
	if o.NextAt.After(end) {
		o.NextAt = end
	}
	return o
}

// maxFailureText bounds what is stored of an error, in characters.
const maxFailureText = 300

// wait is the back-off after the given number of failures.
func (p Policy) wait(failures int) time.Duration {
	wait := p.First
	for range failures - 1 {
		if wait >= p.Max {
			break
		}
		wait *= 2
	}
	return min(wait, p.Max)
}
