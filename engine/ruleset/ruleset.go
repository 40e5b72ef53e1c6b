package ruleset

import "time"

// Set is a rule set whole: all that is needed to decide with it again.
type Set struct {
	Hash     string
	Files    map[string][]byte // by path: the manifest, the scripts it names, the libraries they need
	Settings map[string]string // those that reach rules
	Build    string            // the host that loaded it
}

// How says what made a rule set a candidate.
type How string

// The ways to go live.
const (
	ByStart    How = "start"    // an instance began to lead
	ByWatch    How = "watch"    // its directory changed
	BySignal   How = "signal"   // SIGHUP
	ByActivate How = "activate" // msgx rules activate
	ByRollback How = "rollback" // msgx rules rollback
)

// Cause is who made a rule set a candidate, how and why.
type Cause struct {
	How How    `json:"how"`
	Who string `json:"who"`
	Why string `json:"why,omitempty"`
}

// Place is where a leader's rule set is written, and what lay there.
type Place struct {
	Origin string `json:"origin"` // such as "host:/etc/msgx/rules"
	Seen   string `json:"seen"`   // Content; "" when it could not be read
}

// Live is a rule set being live for a while.
type Live struct {
	Hash  string `json:"ruleset"`
	Build string `json:"build"`
	Cause
	Place
	Pinned bool      `json:"pinned"` // by a rollback: what lay in the directory then is not taken
	From   time.Time `json:"from"`
	Until  time.Time `json:"until,omitzero"`
	// Judged is how many messages it was asked about; nil while it is live, and when a change of
	// leader came between.
	Judged *int64 `json:"judged,omitempty"`
}

// Refusal is a rule set that was to go live and did not.
type Refusal struct {
	Hash string `json:"ruleset,omitempty"` // "" when it could not even be loaded
	Cause
	Place
	At      time.Time `json:"at"`
	Reasons []string  `json:"reasons"`
}

// Entry is one line of the history: exactly one of the two.
type Entry struct {
	Live    *Live    `json:"live,omitempty"`
	Refused *Refusal `json:"refused,omitempty"`
}

// At is when the entry was made.
func (e Entry) At() time.Time {
	if e.Live != nil {
		return e.Live.From
	}
	return e.Refused.At
}

// Request is what an operator asks of the leader.
type Request struct {
	ID     int64     `json:"request"`
	Action How       `json:"action"`            // ByActivate or ByRollback
	Hash   string    `json:"ruleset,omitempty"` // what to go back to
	Who    string    `json:"who"`
	Why    string    `json:"why"`
	At     time.Time `json:"at"`
	Answer *Answer   `json:"answer,omitempty"` // nil until the leader has answered
}

// Answer is what became of a request.
type Answer struct {
	Live    bool      `json:"live"`
	Hash    string    `json:"ruleset,omitempty"` // of what was tried, "" when it could not be loaded
	Reasons []string  `json:"reasons,omitempty"`
	At      time.Time `json:"at"`
}

// GoesOn tells whether an instance that begins to lead goes on with the rule set that
// the record says is live, rather than with what its own configuration names.
//
// It does when its own place is as it was when the record was made, which is what holds a
// rollback over a restart, and when its own place cannot be read. And it does when it takes over from an instance that has its rules
// at another place: that is no reason to change them. Otherwise somebody has changed the rules while nobody led.
func GoesOn(recorded Live, here Place, takesOver bool) bool {
	return here.Seen == "" || recorded.Seen == here.Seen || takesOver && recorded.Origin != here.Origin
}
