package coverage

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is the coverage of a rule set; as JSON it is what `msgx golden coverage` prints.
type Report struct {
	Ruleset  string   `json:"ruleset"` // its hash
	Cases    []string `json:"cases"`   // that were run
	Failing  []string `json:"failing"` // those of them that do not come out as expected
	Lines    Ratio    `json:"lines"`
	Outcomes Ratio    `json:"outcomes"`
	Files    []File   `json:"files"`

	Again func(name string) string `json:"-"` // the command that runs a case alone, for people; may be nil
}

// Ratio is a part of a whole.
type Ratio struct {
	Covered int `json:"covered"`
	Total   int `json:"total"`
}

func (r *Ratio) add(o Ratio) { r.Covered, r.Total = r.Covered+o.Covered, r.Total+o.Total }

func (r *Ratio) count(covered bool) {
	r.Total++
	if covered {
		r.Covered++
	}
}

// Percent is 100 for nothing at all. It is rounded down to a tenth: 100 means all.
func (r Ratio) Percent() float64 {
	if r.Total == 0 {
		return 100
	}
	return float64(r.Covered*1000/r.Total) / 10
}

func (r Ratio) String() string {
	return fmt.Sprintf("%.1f%% (%d of %d)", r.Percent(), r.Covered, r.Total)
}

// File is the coverage of one file.
type File struct {
	Name     string    `json:"file"`
	Lines    Ratio     `json:"lines"`
	Outcomes Ratio     `json:"outcomes"`
	Missing  []Missing `json:"missing"`
	Hits     []Line    `json:"hits"`   // the lines that can run
	Points   []Point   `json:"points"` // the places that can go one way or another
	source   []string
}

// Line is how often a line ran.
type Line struct {
	Number int      `json:"line"`
	Count  int      `json:"count"`
	Cases  []string `json:"cases"` // in which it ran, most often first
}

// Point is how often a place went which way.
type Point struct {
	Line       int      `json:"line"`
	Column     int      `json:"column"` // of the keyword or operator, from 1
	Kind       string   `json:"kind"`   // if, elseif, while, until, for, and, or, function
	Text       string   `json:"text"`
	True       int      `json:"true"` // of a loop: it had a round; of a function: it was called
	False      int      `json:"false"`
	TrueCases  []string `json:"true_cases"`
	FalseCases []string `json:"false_cases"`
}

// Missing is a line that never ran, or an outcome that no case has of a line that did.
type Missing struct {
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
	What   string `json:"what"`
	Source string `json:"source"` // the line
}

type way struct {
	name, never string
	count       int
	cases       []string
}

// ways lists what is wanted of a point. That a loop has no round is counted and shown, but not wanted:
// whether there can be nothing to walk is up to whoever made the list, and no branch of the script.
func (p Point) ways() []way {
	switch p.Kind {
	case "function":
		return []way{{"called", "was never called", p.True, p.TrueCases}}
	case "for":
		return []way{{"with a round", "never had a round", p.True, p.TrueCases}}
	}
	return []way{{"true", "was never true", p.True, p.TrueCases}, {"false", "was never false", p.False, p.FalseCases}}
}

func (f *File) miss(line, column int, what string) {
	f.Missing = append(f.Missing, Missing{Line: line, Column: column, What: what, Source: strings.TrimSpace(f.text(line))})
}

func (f *File) text(line int) string {
	if line < 1 || line > len(f.source) {
		return ""
	}
	return f.source[line-1]
}

// Reaches tells whether lines and outcomes both come to at least so many percent.
func (r *Report) Reaches(percent float64) bool {
	return r.Lines.Percent() >= percent && r.Outcomes.Percent() >= percent
}

// Text prints the report for people: what is missing, then each file.
func (r *Report) Text(w io.Writer) error {
	for i := range r.Files {
		f := &r.Files[i]
		for _, m := range f.Missing {
			if m.Column == 0 {
				fmt.Fprintf(w, "%s:%d: %s: %s\n", f.Name, m.Line, m.What, m.Source)
			} else {
				fmt.Fprintf(w, "%s:%d:%d: %s\n", f.Name, m.Line, m.Column, m.What)
			}
		}
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "LINES\t\tOUTCOMES\t\t  FILE\n")
	row := func(lines, outcomes Ratio, name string) {
		fmt.Fprintf(tw, "%.1f%%\t%d/%d\t%.1f%%\t%d/%d\t  %s\n", lines.Percent(), lines.Covered, lines.Total, outcomes.Percent(), outcomes.Covered, outcomes.Total, name)
	}
	for _, f := range r.Files {
		row(f.Lines, f.Outcomes, f.Name)
	}
	row(r.Lines, r.Outcomes, "all, by "+count(len(r.Cases), "case"))
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, name := range r.Failing {
		fmt.Fprintf(w, "case %s does not come out as expected", name)
		if r.Again != nil {
			fmt.Fprintf(w, ": %s", r.Again(name))
		}
		fmt.Fprintln(w)
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// times says how often, for the page.
func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
