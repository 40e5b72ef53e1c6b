// Package flight is the vocabulary of a flight's state: its identity, its
// scalar fields, its lists and its version. It is pure and imports nothing
// but the standard library; which fields exist is the catalogue's business.
package flight

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ID is a FLID, the only identity of a flight instance: 1 to 18 digits,
// hence exact in 64 bits. It never passes through a float.
type ID int64

// ParseID reads a FLID as the wire carries it: digits, 1 to 18, no sign,
// leading zeros and blanks around it dropped.
func ParseID(text string) (ID, error) {
	digits := strings.TrimSpace(text)
	if len(digits) == 0 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("expected 1 to 18 digits")
	}
	significant := strings.TrimLeft(digits, "0")
	if len(significant) > 18 || len(digits) > 18 {
		return 0, fmt.Errorf("expected 1 to 18 digits, found %d", len(digits))
	}
	if significant == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(significant, 10, 64)
	return ID(n), err
}

// String is the canonical text: decimal digits without leading zeros.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Status says whether a flight lives.
type Status string

// The two states of a flight. A deleted flight keeps its row and details.
const (
	Active  Status = "ACTIVE"
	Deleted Status = "DELETED"
)

// Fields maps a path to its value in canonical text. A path is a catalogue
// tag ("STND"), or object and part for the single objects ("FDIV.DDES"). A path
// that is not there has no value; an empty string is never stored. FLID is
// never among them: State.ID is its only home.
//
// Canonical text by type: id and int are decimal digits without leading zeros;
// decimal has no superfluous zeros; datetime is 2021-01-23T05:35:00+08:00 in the
// airport's zone; date is 2021-01-23; duration is whole minutes; the rest is trimmed text.
type Fields map[string]string

// Record is one entry of a list, in document order. Fields are keyed by the
// bare tag, the source sequence attribute (GTNO, DELY's CODE …) among them,
// and an element's own text by "TEXT". Lists holds nested lists (VIPF's VIPT).
type Record struct {
	Fields Fields              `json:"fields"`
	Lists  map[string][]Record `json:"lists,omitempty"`
}

// Member is one entry of MAFL: an active code-share child of a master.
type Member struct {
	FLID ID     `json:"flid"`
	FLNO string `json:"flno"`
}

// State is the complete state of one flight at one version.
type State struct {
	ID           ID
	Status       Status
	Version      int64
	OperationDay string // 2021-01-23, or "" while unknown; never changes once set
	LastMsgID    int64
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Fields       Fields
	Lists        map[string][]Record // list tag to entries; an empty list has no key
	Members      []Member            // MAFL, by FLID; derived, nil unless an active master
}

// Clone copies a state so deeply that neither copy sees the other's changes.
func (s *State) Clone() *State {
	if s == nil {
		return nil
	}
	c := *s
	c.Fields = maps.Clone(s.Fields)
	c.Lists = cloneLists(s.Lists)
	c.Members = slices.Clone(s.Members)
	return &c
}

func cloneLists(lists map[string][]Record) map[string][]Record {
	if lists == nil {
		return nil
	}
	out := make(map[string][]Record, len(lists))
	for tag, records := range lists {
		out[tag] = CloneRecords(records)
	}
	return out
}

// CloneRecords copies the entries of a list deeply.
func CloneRecords(records []Record) []Record {
	if records == nil {
		return nil
	}
	out := make([]Record, len(records))
	for i, r := range records {
		out[i] = Record{Fields: maps.Clone(r.Fields), Lists: cloneLists(r.Lists)}
	}
	return out
}

// EqualRecords compares two lists entry by entry, in order.
func EqualRecords(a, b []Record) bool {
	return slices.EqualFunc(a, b, func(x, y Record) bool {
		return maps.Equal(x.Fields, y.Fields) && EqualLists(x.Lists, y.Lists)
	})
}

// EqualLists compares two sets of lists; a missing list equals an empty one.
func EqualLists(a, b map[string][]Record) bool {
	for tag := range a {
		if !EqualRecords(a[tag], b[tag]) {
			return false
		}
	}
	for tag := range b {
		if _, both := a[tag]; !both && len(b[tag]) > 0 {
			return false
		}
	}
	return true
}

// Master is the FLID of the flight whose code share this one is, as stated by
// MAID, and false when MAID is empty.
func (s *State) Master() (ID, bool) {
	text, ok := s.Fields["MAID"]
	if !ok {
		return 0, false
	}
	id, err := ParseID(text)
	return id, err == nil
}

// IsMaster tells whether the flight may carry MAFL: active, with MAID empty.
func (s *State) IsMaster() bool {
	if s == nil || s.Status != Active {
		return false
	}
	_, child := s.Master()
	return !child
}
