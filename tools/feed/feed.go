package feed

import (
	"fmt"
	"strings"
	"time"

	"msgx/engine/message"
)

// Form says what a message is handed over as.
type Form string

// The forms of a body.
const (
	Characters Form = "characters" // UTF-8, whatever the declaration says, as a character column holds it
	Bytes      Form = "bytes"      // encoded as declared, as a file or a binary column holds it
)

// Options say what day to make. The zero value of each but Date has a default.
type Options struct {
	Seed       uint64
	Date       time.Time // day of the schedule; only year, month and day count
	Zone       *time.Location
	Flights    int // in the morning schedule, code shares included; default 1000
	Operations int // messages after the morning schedule that are as they should be; default 12000
	// BadPerMille is how many bad messages there are for each thousand operations; default 4, none below 0.
	BadPerMille int
	// Holding is how many bad messages hold the head of the line through all their
	// retries (over length, bad flag, unsupported kind or charset); default 2, none below 0.
	Holding int
	Form    Form // default Characters
}

func (o Options) withDefaults() (Options, error) {
	if o.Date.IsZero() {
		return o, fmt.Errorf("feed: no date given")
	}
	if o.Zone == nil {
		o.Zone = time.FixedZone("UTC+8", 8*3600)
	}
	y, m, d := o.Date.Date()
	o.Date = time.Date(y, m, d, 0, 0, 0, 0, o.Zone)
	fill := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
		*n = max(*n, 0)
	}
	fill(&o.Flights, 1000)
	fill(&o.Operations, 12000)
	if o.BadPerMille < 0 && o.Holding == 0 {
		o.Holding = -1
	}
	fill(&o.BadPerMille, 4)
	fill(&o.Holding, 2)
	if o.Form == "" {
		o.Form = Characters
	}
	if o.Form != Characters && o.Form != Bytes {
		return o, fmt.Errorf("feed: form %q, expected %s or %s", o.Form, Characters, Bytes)
	}
	if o.Flights < 10 || o.Flights > 50_000 {
		return o, fmt.Errorf("feed: %d flights, expected 10 to 50000", o.Flights)
	}
	return o, nil
}

// Expect is what has to become of a message.
type Expect struct {
	// State is SUCCEEDED, SKIPPED, DEAD, or FAILED for a message whose every
	// attempt fails alike.
	State message.State
	Class message.ErrorClass // of FAILED and DEAD
	// Reason is how the reason of SKIPPED and DEAD begins, or, with an ellipsis
	// in front, what it contains; "" promises nothing.
	Reason string
}

// Final is the state at the end of the day: a message that keeps failing is
// DEAD(EXHAUSTED).
func (e Expect) Final() Expect {
	if e.State == message.Failed {
		return Expect{State: message.Dead, Class: message.Exhausted, Reason: e.Reason}
	}
	return e
}

// Check says how an outcome differs from what is expected, "" if it does not.
func (e Expect) Check(o message.Outcome) string {
	inside, contains := strings.CutPrefix(e.Reason, "…")
	switch {
	case o.State != e.State || o.Class != e.Class:
		return fmt.Sprintf("got %s(%s) %q, want %s(%s) %q", o.State, o.Class, o.Reason, e.State, e.Class, e.Reason)
	case contains && !strings.Contains(o.Reason, inside), !contains && !strings.HasPrefix(o.Reason, e.Reason):
		return fmt.Sprintf("got %s with reason %q, want one with %q", o.State, o.Reason, e.Reason)
	}
	return ""
}

// Message is one message of the day.
type Message struct {
	Seq      int       // from 1, in the order of sending
	At       time.Time // when it is sent, in the simulated day
	Kind     string    // "FLOP-STND", or what a bad message pretends to be
	Type     string    // META's TYPE and STYP, as meant
	Subtype  string
	Bad      string // the class of a bad message, "" for a good one
	Sender   string
	Sequence int64 // SEQN, 0 when the message has none
	Body     []byte
	Encoding string // as declared, "" when nothing is
	Expect   Expect
}

// Generate makes the whole day, in order.
func Generate(o Options) ([]Message, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := newDay(o)
	d.plan()
	return d.write(), nil
}
