// Package failpoint names every place at which msgx makes something last (a commit, a mark, a send), and lets
// a crash harness end the process right before it or right after it.
//
// In a program that is shipped the calls are empty and are compiled away. Built with the tag
// "failpoints", the environment variable FAILPOINT arms one point: "decide/after:3" kills the process, as SIGKILL does, when it
// comes to the point after the commit of a decision for the third time.
//
//	before  everything is prepared, and the other side knows nothing of it, or can still take it back
//	after   it lasts, and nobody here has acted upon it
//
// A test walks the source of the engine for calls that make something last and fails when one has no point beside it.
package failpoint

// Boundary is one thing that is made to last.
type Boundary string

// The boundaries. Those of PostgreSQL are transactions, or single statements that commit by themselves.
const (
	Seed         Boundary = "seed"          // where reading begins
	Advance      Boundary = "advance"       // a round of the inbox: rows, watermark, holes
	EntryEnqueue Boundary = "entry-enqueue" // a row that the HTTP entry has put into the mailbox becomes a record
	RecordLate   Boundary = "record-late"   // rows at or below the watermark are noted
	Decide       Boundary = "decide"        // the business transaction of a message
	Settle       Boundary = "settle"        // an outcome that changes no flight, in one statement
	Resolve      Boundary = "resolve"       // what became of a commit in doubt; reads only
	HoldMarks    Boundary = "hold-marks"    // outcomes of marks, in one transaction with the call of the mailbox
	ConfirmEvent Boundary = "confirm-event" // events were delivered
	DeferEvent   Boundary = "defer-event"   // an event backs off
	BuryEvent    Boundary = "bury-event"    // an event is given up
	KeepFact     Boundary = "keep-fact"     // a setting that data depend on
	KeepRuleset  Boundary = "keep-ruleset"  // a rule set goes live
	RefuseRules  Boundary = "refuse-rules"  // a rule set is refused
	AskRules     Boundary = "ask-rules"     // an operator asks for a rule set
	ShadowFound  Boundary = "shadow-found"  // differences between the shadow and what is live
	ShadowNow    Boundary = "shadow-now"    // what the shadow is
	ClaimLease   Boundary = "claim-lease"   // a takeover
	BeatLease    Boundary = "beat-lease"    // the lease is kept
	ReleaseLease Boundary = "release-lease" // the lease is given back
	Pause        Boundary = "pause"         // a stage is paused or goes on
	Operate      Boundary = "operate"       // an operator's action on messages
	Migrate      Boundary = "migrate"       // all migrations that are due, each a transaction of its own
	AlignBounds  Boundary = "align-bounds"  // the bounds of a site's catalogue

	Mark   Boundary = "mark"   // processed marks, in the mailbox
	Insert Boundary = "insert" // a message of ours, in the mailbox

	Produce Boundary = "produce" // records, in the broker
)

// Boundaries are all of them.
var Boundaries = []Boundary{
	Seed, Advance, EntryEnqueue, RecordLate, Decide, Settle, Resolve, HoldMarks, ConfirmEvent, DeferEvent, BuryEvent, KeepFact,
	KeepRuleset, RefuseRules, AskRules, ShadowFound, ShadowNow, ClaimLease, BeatLease, ReleaseLease, Pause, Operate, Migrate, AlignBounds,
	Mark, Insert, Produce,
}
