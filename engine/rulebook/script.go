package rulebook

import (
	"fmt"
	"strings"
)

// Script says which script handles a kind, and what it may do.
type Script struct {
	Kind    string
	Name    string // flop-gtdt
	Version int
	Writes  []string // tags it may set, clear or list; "*" of the source is written out
	Ops     []string // what it may do to a flight: create, update, revive, delete
	Reads   []string // reference types it looks at
	File    string
}

// ID is the script at its version, as every processed message records it: "flop-gtdt@1".
func (s Script) ID() string { return fmt.Sprintf("%s@%d", s.Name, s.Version) }

// Footprint is Writes for people: "none", "EXSC, EXSR", "all 68 tags".
func (s Script) Footprint() string {
	if len(s.Writes) == 0 {
		return "none"
	}
	if len(s.Writes) > 12 {
		return fmt.Sprintf("all %d tags", len(s.Writes))
	}
	return strings.Join(s.Writes, ", ")
}
