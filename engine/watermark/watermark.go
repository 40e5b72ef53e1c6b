// Package watermark is the arithmetic of reading a mailbox completely and in
// order: given a batch of rows, the cursor and the time, it says which rows to
// enqueue, where the cursor goes, and what became of holes. It is pure.
package watermark

import "time"

// Row is one mailbox row as the inbox sees it: its id, and when the mailbox
// says it was received (zero when NULL or a zero date).
type Row struct {
	MsgID      int64
	ReceivedAt time.Time
}

// Cursor is the persisted reading progress. Every existing row at or below
// Watermark has been enqueued. HoleSince is when the missing id right after it was
// first missed, zero when nothing is missing.
type Cursor struct {
	Watermark int64
	HoleSince time.Time
	// HoleLast is the last id that was missing when HoleSince was taken: only
	// up to there has the hole the age that HoleSince gives it. The store keeps it as
	// Last of the open ledger entry and reads it back with the cursor; zero when
	// there is no hole, or when it is not known.
	HoleLast int64
	SeededAt time.Time // zero when the cursor was never seeded
	// ReadAt is when the store read the cursor, by the clock that HoleSince was stored by; zero when
	// that clock is the reader's own.
	ReadAt time.Time
}

// In gives the cursor in terms of a clock that shows now: the age of a hole is carried over, whatever
// the two clocks show.
func (c Cursor) In(now time.Time) Cursor {
	if !c.HoleSince.IsZero() && !c.ReadAt.IsZero() {
		c.HoleSince = now.Add(c.HoleSince.Sub(c.ReadAt))
	}
	c.ReadAt = time.Time{}
	return c
}

// HoleOutcome is what became of a hole.
type HoleOutcome string

// A hole is open until its ids turn up (filled) or its age releases it
// (aged); a row that turns up after that is late.
const (
	HoleOpen   HoleOutcome = "open"
	HoleFilled HoleOutcome = "filled"
	HoleAged   HoleOutcome = "aged"
	HoleLate   HoleOutcome = "late"
)

// Hole is one entry of the ledger: a run of missing ids. An entry is known by
// its first id; a later entry with the same first id says what became of it,
// and its last id is the one that holds.
type Hole struct {
	First, Last int64
	Since       time.Time
	Outcome     HoleOutcome
	At          time.Time // when the outcome was reached, zero while open
}

// Step is the result of one round: what to enqueue, the new cursor, and what
// the ledger has to note. It is stored in one transaction.
type Step struct {
	Enqueue []Row
	Cursor  Cursor
	Holes   []Hole
}
