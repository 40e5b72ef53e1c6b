package comparison

import "msgx/engine/decision"

// Difference is one place in which two settlements of a message differ.
type Difference struct {
	Where    Where
	FLID     string // "" when it concerns no single flight
	Old, New string
}

// Differences compares what two rule sets make of one message over the same flights. Each place is told
// once, by the first flight that differs in it.
func Differences(old, newer *decision.Settlement) []Difference {
	var out []Difference
	for _, d := range differences(old, newer) {
		out = append(out, Difference{Where: d.where, FLID: d.flid, Old: d.old, New: d.new})
	}
	return out
}
