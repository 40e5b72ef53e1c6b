package ruleset

import "time"

// Run names a shadow and the rule set it is compared with.
type Run struct {
	Shadow string `json:"shadow"`
	Live   string `json:"live"`
}

// Tally is what comparing has come to, in messages.
type Tally struct {
	Same      int64 `json:"same"`
	Different int64 `json:"different"`
	// Unread were not compared: the shadow reads reference data that the live rule set did not.
	Unread  int64 `json:"unread"`
	Late    int64 `json:"late"`    // not compared: the shadow used up its time
	Dropped int64 `json:"dropped"` // not compared: the shadow could not keep up
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Same += o.Same
	t.Different += o.Different
	t.Unread += o.Unread
	t.Late += o.Late
	t.Dropped += o.Dropped
}

// Spot is where decisions differ: a kind of message, and a field by path or one of
// outcome, operation, references, outbound, notes.
type Spot struct {
	Kind  string `json:"kind"`
	Place string `json:"place"`
}

// Difference is one message that a shadow would have decided otherwise, in one place.
type Difference struct {
	Spot
	MsgID  int64     `json:"msg_id"`
	FLID   string    `json:"flid,omitempty"`
	Live   string    `json:"live"`
	Shadow string    `json:"shadow"`
	At     time.Time `json:"at"`
}

// Findings are what a shadow has found since it last reported.
type Findings struct {
	Run      Run
	Tally    Tally
	Counts   map[Spot]int64
	Examples []Difference // the latest of each spot, oldest first
	At       time.Time
}

// ShadowNow is what the leader's shadow is.
type ShadowNow struct {
	Origin string    `json:"origin"`
	Hash   string    `json:"ruleset,omitempty"` // "" while none is loaded
	Fault  string    `json:"fault,omitempty"`   // why what lies there is not loaded
	At     time.Time `json:"at"`
}

// SpotCount is how many messages differ in a spot.
type SpotCount struct {
	Spot
	Messages int64 `json:"messages"`
}

// ShadowReport is what is known of a run.
type ShadowReport struct {
	Run
	First  time.Time    `json:"first"`
	Last   time.Time    `json:"last"`
	Tally  Tally        `json:"tally"`
	Counts []SpotCount  `json:"counts"`   // the most frequent first
	Latest []Difference `json:"examples"` // the latest first
}
