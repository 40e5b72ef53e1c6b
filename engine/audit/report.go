package audit

import (
	"fmt"
	"slices"
)

// Invariant is one promise of the system, by its number.
type Invariant int

// The invariants.
const (
	Order Invariant = iota + 1
	Watermark
	Identity
	Together
	Terminal
	Marks
	OperationDay
	Versions
	Schedules
	Footprint
	Deletions
	Members
	Delivery
	EvidenceFirst
	Fencing
	Rebuild
)

var names = map[Invariant]string{
	Order:         "mailbox order is processing order",
	Watermark:     "the watermark never passes an existing row",
	Identity:      "one business identity binds at most one record",
	Together:      "state, history, events, outcome and mark intent commit together",
	Terminal:      "terminal states change only by a replay",
	Marks:         "a mark is written for a terminal message only, and stays",
	OperationDay:  "an operation day never changes once set",
	Versions:      "each version has one history row and one KAFKA:msg event",
	Schedules:     "a schedule alters only what it carries, a rejected one nothing",
	Footprint:     "a script changes only its footprint",
	Deletions:     "deleted is deleted: one tombstone, no half-deleted master",
	Members:       "MAFL equals the active children at every version",
	Delivery:      "Kafka tells every version, in order, and the latest state",
	EvidenceFirst: "nothing is removed before its evidence exists",
	Fencing:       "a stale instance cannot write",
	Rebuild:       "the same decisions give the same state",
}

// Name says what the invariant promises.
func (i Invariant) Name() string { return names[i] }

// All lists the invariants by number.
func All() []Invariant {
	out := make([]Invariant, 0, len(names))
	for i := Order; i <= Rebuild; i++ {
		out = append(out, i)
	}
	return out
}

// Verdict is what the data say of an invariant.
type Verdict string

// The verdicts.
const (
	Held          Verdict = "held"
	Broken        Verdict = "broken"
	NotComparable Verdict = "not comparable"
)

// Finding is one difference, with its place and evidence.
type Finding struct {
	Place    string `json:"place"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
}

// Line is what came out for one invariant.
type Line struct {
	Invariant Invariant `json:"invariant"`
	Name      string    `json:"name"`
	Verdict   Verdict   `json:"verdict"`
	Broken    int64     `json:"broken"`   // differences, told or not
	Compared  int64     `json:"compared"` // things that were looked at
	Findings  []Finding `json:"findings,omitempty"`
	// Limits say what was not compared, and why.
	Limits []string `json:"limits,omitempty"`
}

// Report is the outcome of an audit.
type Report struct {
	Lines []Line `json:"invariants"` // by number
	// Counts are facts that are no faults: what was looked at, duplicates, purged rows.
	Counts map[string]int64 `json:"counts"`

	most int // findings kept for each line
}

func newReport(most int) *Report {
	r := &Report{Counts: map[string]int64{}, most: most}
	for _, i := range All() {
		r.Lines = append(r.Lines, Line{Invariant: i, Name: i.Name()})
	}
	return r
}

// Well tells whether no invariant is broken.
func (r *Report) Well() bool { return r.Broken() == 0 }

// Broken is the number of differences.
func (r *Report) Broken() (n int64) {
	for i := range r.Lines {
		n += r.Lines[i].Broken
	}
	return n
}

// Line is the line of one invariant.
func (r *Report) Line(i Invariant) *Line { return &r.Lines[i-1] }

func (r *Report) broken(i Invariant, place, found, expected string) {
	l := r.Line(i)
	l.Broken++
	if r.most == 0 || len(l.Findings) < r.most {
		l.Findings = append(l.Findings, Finding{place, found, expected})
	}
}

func (r *Report) compared(i Invariant, n int) { r.Line(i).Compared += int64(n) }

func (r *Report) count(what string, n int) { r.Counts[what] += int64(n) }

// limit says once what could not be told.
func (r *Report) limit(i Invariant, format string, args ...any) {
	l, text := r.Line(i), fmt.Sprintf(format, args...)
	if !slices.Contains(l.Limits, text) {
		l.Limits = append(l.Limits, text)
	}
}

// close gives each line its verdict.
func (r *Report) close() {
	for i := range r.Lines {
		l := &r.Lines[i]
		switch {
		case l.Broken > 0:
			l.Verdict = Broken
		case l.Compared > 0:
			l.Verdict = Held
		default:
			l.Verdict = NotComparable
			if len(l.Limits) == 0 {
				l.Limits = []string{"there is nothing of the kind"}
			}
		}
	}
}
