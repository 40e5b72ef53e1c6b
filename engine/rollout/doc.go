// Package rollout changes the rule set while messages flow. It is a stage of the leader.
//
//	directory ──two equal reads──▶ ┐
//	SIGHUP ──────────────────────▶ ├─ load beside ─▶ prove ─▶ offer ──▶ Bench ◀── pump, between two messages
//	request of an operator ──────▶ ┘       │            │                 │
//	  (activate, rollback)                 └── refuse ──┘                 └─ record (fenced), then swap
//	                                           │
//	                                 the live one stays, the reasons are on record
//
// # Invariants
//
//   - A message is claimed and judged by one rule set, and its hash is what is stored with the message. The
//     pump takes a candidate over (Bench.Turn) between two messages, in its own goroutine.
//   - What is live is on record before it judges: Turn commits that in a transaction that holds the lease
//     epoch, and swaps after the commit. While it is not known whether it has committed, no message is taken up.
//   - What is loaded, proved, recorded and swapped in are the same bytes: a source is read once, into memory.
//   - A source is tried when two reads in a row gave the same content, and one that was not considered
//     before. So a copy in progress is waited for, and what was refused is not tried again before it changes.
//   - A rollback is pinned: what lies in the directory has been considered. A change of it, SIGHUP or an
//     activation ends the pin.
//   - A candidate that fails in any way, a panic of a check included, leaves the live one alone.
//
// # Which rule set an instance begins with
//
//	nothing is on record                            its own, as it is: there is nothing to go back to
//	its own place is as it was, or cannot be read   the recorded one (a pinned one, or the same)
//	it takes over from an instance of another place the recorded one; what lies at its own is named in the log
//	its own place has changed since                 its own, when it passes; else the recorded one
//	neither can be loaded                           it does not lead: Begin returns the error
//
// The recorded one is loaded from the record, so it needs no directory. Under another catalogue or other settings its
// files make another hash; then that goes on record as a start.
//
// # Failures
//
//	source away or unreadable        logged once; the live one stays
//	PostgreSQL away                  waited for; a request stays open and is answered later
//	lease lost                       Run returns fault.ErrFenced
//	record refused by the database   the candidate is refused with that reason
package rollout
