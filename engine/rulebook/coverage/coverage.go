// Package coverage adds up what traced rule sets did over many cases: which lines ran, which
// way each branch went, and in which cases.
//
// Two things are counted. A line is one on which a statement begins. An outcome is a way
// that a place can go: a condition holds or does not, a "for" has a round, the left
// side of "and" and "or" decides or does not, a function is called. What runs when a file
// is loaded (its table, the libraries' functions being made) counts for a case when a message of
// the case is handled by the script.
//
// Only files that the manifest uses are counted. An old version of a script decides no new message; what
// a case that is bound to one runs of the libraries counts.
package coverage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"msgx/engine/rulebook"
)

// Collector adds up traces. It is safe for one caller at a time.
type Collector struct {
	book   *rulebook.Rulebook
	lines  map[place]tally
	points map[rulebook.Point]*ways
	cases  map[string]map[string]bool // by case, the scripts whose loading was counted for it
}

type place struct {
	file string
	line int
}

// tally is how often something ran, by case.
type tally map[string]int

type ways struct{ yes, no tally }

// New makes a collector for a rule set that was loaded with rulebook.LoadTraced.
func New(book *rulebook.Rulebook) *Collector {
	c := &Collector{book: book, lines: map[place]tally{}, points: map[rulebook.Point]*ways{}, cases: map[string]map[string]bool{}}
	for file, lines := range book.Executable() {
		for _, line := range lines {
			c.lines[place{file, line}] = tally{}
		}
	}
	for _, p := range book.Points() {
		c.points[p] = &ways{tally{}, tally{}}
	}
	return c
}

// Case says that a case was run, even when no script was asked.
func (c *Collector) Case(name string) {
	if c.cases[name] == nil {
		c.cases[name] = map[string]bool{}
	}
}

// Add counts one decision of a case on a message of a kind. The rule set that made it comes from the
// same files as the collector's; its settings may be others.
func (c *Collector) Add(name string, book *rulebook.Rulebook, kind string, t *rulebook.Trace) {
	c.Case(name)
	if script, ok := book.Script(kind); ok && !c.cases[name][script.File] {
		c.cases[name][script.File] = true
		loaded := book.Loaded()
		for _, file := range append([]string{script.File, rulebook.Manifest}, book.Requires(script.File)...) {
			if loaded[file] != nil {
				c.count(name, loaded[file])
			}
		}
	}
	c.count(name, t)
}

func (c *Collector) count(name string, t *rulebook.Trace) {
	for _, l := range t.Lines {
		if at := c.lines[place{l.File, l.Line}]; at != nil {
			at[name] += l.Count
		}
	}
	for _, o := range t.Outcomes {
		w := c.points[o.Point]
		if w == nil {
			continue
		}
		if o.True > 0 {
			w.yes[name] += o.True
		}
		if o.False > 0 {
			w.no[name] += o.False
		}
	}
}

// Report tells what has been counted of the given files; of all when none is given.
func (c *Collector) Report(files ...string) *Report {
	sources := c.book.Files()
	if len(files) == 0 {
		files = slices.Sorted(maps.Keys(sources))
	}
	r := &Report{Ruleset: c.book.Hash(), Cases: slices.Sorted(maps.Keys(c.cases)), Files: []File{}, Failing: []string{}}
	for _, name := range files {
		f := c.file(name, string(sources[name]))
		r.Lines.add(f.Lines)
		r.Outcomes.add(f.Outcomes)
		r.Files = append(r.Files, f)
	}
	return r
}

func (c *Collector) file(name, source string) File {
	f := File{Name: name, source: strings.Split(strings.TrimSuffix(source, "\n"), "\n"), Hits: []Line{}, Points: []Point{}, Missing: []Missing{}}
	for p, t := range c.lines {
		if p.file == name {
			f.Hits = append(f.Hits, Line{Number: p.line, Count: t.sum(), Cases: t.names()})
		}
	}
	slices.SortFunc(f.Hits, func(a, b Line) int { return cmp.Compare(a.Number, b.Number) })
	missed := map[int]bool{} // of what never ran it goes without saying that its outcomes are missing
	for _, l := range f.Hits {
		f.Lines.count(l.Count > 0)
		if l.Count == 0 {
			missed[l.Number] = true
			f.miss(l.Number, 0, "never ran")
		}
	}
	for p, w := range c.points {
		if p.File == name {
			f.Points = append(f.Points, Point{Line: p.Line, Column: p.Column, Kind: p.Kind, Text: p.Text,
				True: w.yes.sum(), False: w.no.sum(), TrueCases: w.yes.names(), FalseCases: w.no.names()})
		}
	}
	slices.SortFunc(f.Points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Text, b.Text))
	})
	for _, p := range f.Points {
		for _, way := range p.ways() {
			f.Outcomes.count(way.count > 0)
			if way.count == 0 && !missed[p.Line] {
				f.miss(p.Line, p.Column, fmt.Sprintf("`%s` %s", p.Text, way.never))
			}
		}
	}
	slices.SortStableFunc(f.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f
}

func (t tally) sum() int {
	n := 0
	for _, count := range t {
		n += count
	}
	return n
}

// names lists the cases that come closest first: those that did this most often.
func (t tally) names() []string {
	return append([]string{}, slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(t[b], t[a]), strings.Compare(a, b))
	})...)
}
