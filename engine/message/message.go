// Package message is the vocabulary of a mailbox message: what it said
// (envelope and records), and what became of it (processing state, error
// class, outcome). It is pure and imports nothing but the standard library
// and the flight vocabulary.
package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"msgx/engine/flight"
)

// Raw is the body of a message as the mailbox holds it.
type Raw struct {
	MsgID int64
	Body  []byte
	// Characters is true when the mailbox column is a character type: then
	// Body is UTF-8 whatever the XML declaration says, because the database
	// already transcoded it.
	Characters bool
}

// SHA256 is the digest of a body, in lower-case hex.
func (r Raw) SHA256() string {
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:])
}

// Meta is the envelope, in trimmed text as it stands in the message.
type Meta struct {
	Sender   string // SNDR
	Sequence string // SEQN
	Type     string // TYPE
	Subtype  string // STYP
	// SentAt is DTTM, airport local time, as 2021-01-23T22:31:26+08:00; empty
	// when the message has none.
	SentAt string
}

// Family groups kinds that are decoded and guarded alike.
type Family string

// The families. Unsupported is everything that no catalogue entry names.
const (
	Schedule    Family = "schedule"
	Operation   Family = "operation"
	Deletion    Family = "deletion"
	Reference   Family = "reference"
	Unsupported Family = "unsupported"
)

// Element is what one element of a record said: it was empty, or it had a
// value of exactly one shape. An element that was absent has no Element.
type Element struct {
	Empty   bool
	Text    string            // scalar, canonical text
	Object  map[string]string // single object, part to canonical text
	Records []flight.Record   // list
}

// Record is one flight or reference record of a message.
type Record struct {
	FLID     flight.ID
	FFID     string
	Elements map[string]Element // by tag; FLID and FFID are in it too where FLTR carries them
	// Faults are violations that reject a whole schedule (bad FLID, bad SODT),
	// each with path, value and expectation.
	Faults []string
	// Key and Value hold a reference record: its key, and the whole record as JSON.
	Key   string
	Value json.RawMessage
}

// Unknown is an element or attribute that the catalogue does not name.
type Unknown struct {
	Path  string
	Count int
}

// Message is a decoded message.
type Message struct {
	ID       int64
	Meta     Meta
	Kind     string // "SCHD-DNLD", "FLOP-GTDT", "FDEL", "REF-SLST" …
	Family   Family
	Declared *int // RECS, nil when the message has none
	// IgnoredBy names the ignore rule that matched; the payload was then only
	// checked for well-formedness.
	IgnoredBy string
	// PayloadMissing says which payload is not there ("" when complete).
	PayloadMissing string
	Records        []Record
	Unknowns       []Unknown
	Dropped        []Unknown // empty list entries and bad values dropped by the catalogue's on-bad
	SHA256         string
}

// State is the processing state of a mailbox message.
type State string

// The processing states. FAILED still holds the head of the line; SUCCEEDED,
// SKIPPED and DEAD are terminal; ARCHIVED is the shadow of an archived row that remembers its identity.
const (
	Pending   State = "PENDING"
	Failed    State = "FAILED"
	Succeeded State = "SUCCEEDED"
	Skipped   State = "SKIPPED"
	Dead      State = "DEAD"
	Archived  State = "ARCHIVED"
)

// Terminal tells whether the queue may advance past a message in this state.
func (s State) Terminal() bool { return s == Succeeded || s == Skipped || s == Dead }

// ErrorClass says why a message failed.
type ErrorClass string

// The error classes. MALFORMED and PROTOCOL are dead at once; the next four
// are retried with back-off; EXHAUSTED is what they become when attempts run out.
const (
	Malformed      ErrorClass = "MALFORMED"
	Protocol       ErrorClass = "PROTOCOL"
	CodecError     ErrorClass = "CODEC_ERROR"
	UnsupportedErr ErrorClass = "UNSUPPORTED"
	RuleError      ErrorClass = "RULE_ERROR"
	Infra          ErrorClass = "INFRA"
	Exhausted      ErrorClass = "EXHAUSTED"
)

// Retryable tells whether the class waits and tries again.
func (c ErrorClass) Retryable() bool {
	switch c {
	case CodecError, UnsupportedErr, RuleError, Infra:
		return true
	}
	return false
}

// Replayable tells whether an operator may send a dead message through again.
func (c ErrorClass) Replayable() bool { return c.Retryable() || c == Exhausted }

// Classed is an error that knows its class. The codec's errors are of this
// kind, so that a stage can settle them without knowing the codec.
type Classed interface {
	error
	ErrorClass() ErrorClass
}

// Kinded is an error that knows the kind of its message, "" when that could
// not be read.
type Kinded interface {
	error
	MessageKind() string
}

// Outcome is what one attempt made of a message. FAILED means one more failure;
// whether that exhausts the message is the retry policy's business.
type Outcome struct {
	State  State
	Class  ErrorClass // for FAILED and DEAD
	Reason string     // last_error or skip_reason; safe to store and print
}

// Head is the unfinished message at the head of the line.
type Head struct {
	MsgID         int64
	State         State
	Attempts      int
	NextAttemptAt time.Time // zero when due at once
	Identity      string    // "" until bound
	EnqueuedAt    time.Time
	Class         ErrorClass // of the last failure, "" when there was none
	LastError     string
}

// Binding is the processing record that holds a business identity.
type Binding struct {
	MsgID      int64
	State      State
	BodySHA256 string
	EnqueuedAt time.Time
}
