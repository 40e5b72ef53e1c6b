// Package diagnostic numbers what can be wrong with a rule set, from a file that does not
// parse to a decision that oversteps. A number stands in the findings of the linter, in
// the faults of the loader and in the error of a message, and names a page of
// rules/DIAGNOSTICS.md. A number is never given to something else.
//
//	MX0xx  files and manifest      MX4xx  shape of scripts and decisions
//	MX1xx  purity                  MX5xx  hygiene
//	MX2xx  footprint               MX6xx  while a rule runs
//	MX3xx  catalogue
package diagnostic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is a number such as MX301.
type Code string

// Anchor is where the page of a code begins in Pages.
func (c Code) Anchor() string { return strings.ToLower(string(c)) }

// Pages is the file of the pages, from the root of a rule set.
const Pages = "rules/DIAGNOSTICS.md"

// Page is the link to the page of a code.
func (c Code) Page() string { return Pages + "#" + c.Anchor() }

// Fault is something wrong in a file of a rule set.
type Fault struct {
	Code   Code
	File   string
	Line   int    // from 1; 0 for the file as a whole
	Column int    // in bytes from 1; 0 when it is not known
	Word   string // what on the line it is about, to find the column; may be ""
	Text   string
}

// Error is the place, the text and the number: "rules/a@1.lua:3: … [MX101]".
func (f *Fault) Error() string {
	place := f.File
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	if f.Column > 0 {
		place += fmt.Sprintf(":%d", f.Column)
	}
	return fmt.Sprintf("%s: %s [%s]", place, f.Text, f.Code)
}

// Of finds the faults that an error is made of; what has no number is not among them.
func Of(err error) []*Fault {
	var one *Fault
	var many interface{ Unwrap() []error }
	switch {
	case errors.As(err, &many):
		var out []*Fault
		for _, e := range many.Unwrap() {
			out = append(out, Of(e)...)
		}
		return out
	case errors.As(err, &one):
		return []*Fault{one}
	}
	return nil
}

// coded is an error with a number.
type coded struct {
	error
	code Code
}

func (c coded) Unwrap() error { return c.error }

// With gives an error a number. The innermost number of a chain stays.
func With(code Code, err error) error {
	if err == nil || CodeOf(err) != "" {
		return err
	}
	return coded{err, code}
}

// CodeOf is the number of an error, "" when it has none.
func CodeOf(err error) Code {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return ""
}

// Nearest is the known name that looks most like the given one, "" when none does. Two
// neighbours that changed places count as one mistake.
func Nearest(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(strings.ToUpper(name), strings.ToUpper(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// Perhaps is the nearest name as the end of a message, "" when there is none.
func Perhaps(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// maxName bounds the names that are compared: longer ones are no typing mistakes.
const maxName = 64

// distance counts the single letters to put in, take out or change, and the
// neighbours to exchange, that turn a into b.
func distance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Kind is what is said of a code in general.
type Kind struct {
	Code  Code
	Title string
	Cause string // why it is a problem
	Fix   string // what to do, unless a finding knows better
	Run   bool   // it shows only while a rule runs: no finding of the linter has it
}

// All lists every code in order.
func All() []Kind { return slices.Clone(kinds) }

// KindOf is what is said of a code; false when there is no such code.
func KindOf(code Code) (Kind, bool) {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Code == code })
	if at < 0 {
		return Kind{}, false
	}
	return kinds[at], true
}
