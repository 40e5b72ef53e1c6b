// Package mutate breaks scripts on purpose, one small change at a time, and asks whether any
// case of a corpus notices. A change that none notices survives: the corpus does not say what
// that place of the script is for.
//
// A mutant is an edit of the source at the tokens of one node of the tree, so that it can be shown
// as a difference and keeps the numbers of all lines. It is tried on the cases that run its line,
// those that are most about it first, until one kills it: comes out otherwise than it expects.
//
//	killed      a case fails
//	timeout     a case fails because a budget is used up: the mutant does not end
//	invalid     the host refuses to load the mutant, so nobody could bring it into use
//	equivalent  it survives, and the list of equivalent mutants says why no case can tell it apart
//	survived    none of the cases notices, or none runs the line
//
// The score is what is killed, timeouts included, of that and the survivors.
package mutate

import (
	"fmt"
	"strings"

	"msgx/engine/rulebook/syntax/tree"
)

// Mutant is one change of one script.
type Mutant struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`   // from 1, in bytes
	Operator string `json:"operator"` // the sort of change, one of Operators
	From     string `json:"from"`     // what stands there
	To       string `json:"to"`       // what stands there in the mutant; "" when it is deleted
	lines    [2]int // the first and the last line of the statement it is in
	start    int    // bytes of the source
	end      int
}

// Operators are the sorts of changes, with what they do.
var Operators = []struct{ Name, What string }{
	{"compare", "== to ~=, < to <=, > to >=, and back"},
	{"logic", "and to or, and back; one side alone; not left out"},
	{"arithmetic", "+ to -, * to /, and back; one side of .. alone; a minus left out"},
	{"number", "one more, one less"},
	{"text", "another text, the empty text"},
	{"word", "true to false and back, nil to false, CLEAR to nil"},
	{"condition", "always true, always false, negated"},
	{"statement", "an assignment, a call, a loop, a return or a break left out"},
	{"field", "an entry of a table left out"},
	{"mode", "another merge mode: value, replace, by_key, with set_only and without"},
}

// Change tells what a mutant does, on one line.
func (m Mutant) Change() string {
	if m.To == "" {
		return "without `" + short(m.From) + "`"
	}
	return "`" + short(m.From) + "` -> `" + short(m.To) + "`"
}

// short puts a text on one line.
func short(text string) string { return strings.Join(strings.Fields(text), " ") }

// Place is file:line:column.
func (m Mutant) Place() string { return fmt.Sprintf("%s:%d:%d", m.File, m.Line, m.Column) }

// Apply makes the source of the mutant. What is deleted leaves its line breaks behind.
func (m Mutant) Apply(source string) string {
	breaks := strings.Count(source[m.start:m.end], "\n") - strings.Count(m.To, "\n")
	return source[:m.start] + m.To + strings.Repeat("\n", max(breaks, 0)) + source[m.end:]
}

// Diff shows the lines of the source that differ in the mutant, and what they are there.
func (m Mutant) Diff(source string) string {
	before, after := strings.Split(source, "\n"), strings.Split(m.Apply(source), "\n")
	var b strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				b.WriteString(mark + line + "\n")
			}
		}
	}
	last := m.Line + strings.Count(source[m.start:m.end], "\n")
	write("- ", before[m.Line-1:last])
	write("+ ", after[m.Line-1:last])
	return b.String()
}

// Options say what a script means to the host.
type Options struct {
	// FirstElement is the first element of an entry of a list of flights, such as GTNO of GTDT; false for
	// what is no list. It makes a key for by_key.
	FirstElement func(tag string) (string, bool)
}

// Mutants lists the mutants of a script in the order of the source. No two give the same source.
func Mutants(file, source string, o Options) ([]Mutant, error) {
	tokens, root, err := tree.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	b := &breeder{file: file, source: source, tokens: tokens, options: o, seen: map[string]bool{}}
	tree.Walk(root, func(n *tree.Node, above []*tree.Node) bool {
		b.above = above
		b.node(n)
		return true
	})
	return b.mutants, nil
}

// breeder makes mutants of one script.
type breeder struct {
	file    string
	source  string
	tokens  []tree.Token
	options Options
	above   []*tree.Node // the nodes above the one at hand
	merge   string       // the local name of the library merge, "" when it is not used
	seen    map[string]bool
	mutants []Mutant
}

func (b *breeder) text(n *tree.Node) string {
	return b.source[b.tokens[n.First].Start:b.tokens[n.Last].End]
}

// replace adds a mutant that has a text in the place of a node.
func (b *breeder) replace(operator string, n *tree.Node, to string) {
	b.add(operator, b.tokens[n.First], b.tokens[n.Last], to)
}

func (b *breeder) add(operator string, first, last tree.Token, to string) {
	m := Mutant{File: b.file, Line: first.Line, Column: first.Column, Operator: operator, To: to,
		From: b.source[first.Start:last.End], start: first.Start, end: last.End, lines: b.statement(first.Line)}
	mutated := m.Apply(b.source)
	if mutated == b.source || b.seen[mutated] {
		return
	}
	b.seen[mutated] = true
	b.mutants = append(b.mutants, m)
}

// statement finds the first and last line of the innermost statement above the node at hand; of a clause and
// a loop the head alone.
func (b *breeder) statement(line int) [2]int {
	for i := len(b.above) - 1; i >= 0; i-- {
		n := b.above[i]
		switch n.Kind {
		case tree.Local, tree.Assign, tree.CallStmt, tree.Return:
			return [2]int{b.tokens[n.First].Line, line}
		case tree.Clause:
			return [2]int{b.tokens[n.Op].Line, line}
		case tree.Block, tree.Repeat:
			return [2]int{line, line}
		case tree.While, tree.For:
			return [2]int{b.tokens[n.First].Line, line}
		}
	}
	return [2]int{line, line}
}
