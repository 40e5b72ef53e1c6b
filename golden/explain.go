package golden

import (
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// Ran tells what the rules did with the first message of a case that came out differently.
type Ran struct {
	Message string `json:"message"` // its file in the case
	// Script decided it, at its version; "" when no rule was asked, because the message
	// is a duplicate, say, or broken.
	Script       string      `json:"script"`
	Instructions int64       `json:"instructions"`
	Lines        []RanLine   `json:"lines"`    // that ran, by file and line
	Branches     []RanBranch `json:"branches"` // as they were gone
	Cut          int         `json:"cut"`      // how many more branches there were
	Others       []string    `json:"others"`   // messages that came out differently as well
}

// RanLine is a line of Lua that ran.
type RanLine struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Count  int    `json:"count"` // how often
	Source string `json:"source"`
}

// RanBranch is a condition that was worked out, or the head of a loop.
type RanBranch struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Kind     string   `json:"kind"` // if, elseif, while, until, for, and, or
	Text     string   `json:"text"`
	Taken    bool     `json:"taken"`    // it held, the loop had a round
	Operands []string `json:"operands"` // "#drafts = 2"
}

// watched is a traced rule set that remembers what it was asked since it was last looked at.
type watched struct {
	*rulebook.Rulebook
	asked *rulebook.Trace
}

func (w *watched) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	d, err := w.Rulebook.Decide(msg, view)
	w.asked = w.Trace()
	return d, err
}

// ran runs a case that failed once more, on a traced rule set, for the first message that differs.
func (c *Case) ran(cat *catalogue.Catalogue, book *rulebook.Rulebook, got *Outcome) (*Ran, error) {
	differ := c.differing(cat, got)
	r := &Ran{Message: c.steps[differ[0]].name, Lines: []RanLine{}, Branches: []RanBranch{}, Others: []string{}}
	for _, step := range differ[1:] {
		r.Others = append(r.Others, c.steps[step].name)
	}
	w := &watched{Rulebook: book}
	_, err := c.replay(cat, w, func(step int) {
		if step == differ[0] && w.asked != nil {
			r.Script = got.Results[step].Settlement.Script
			r.tell(w.asked, book.Files())
		}
		w.asked = nil
	})
	return r, err
}

func (r *Ran) tell(t *rulebook.Trace, files map[string][]byte) {
	r.Instructions, r.Cut = t.Instructions, t.Cut
	sources := map[string][]string{}
	for file, source := range files {
		sources[file] = strings.Split(string(source), "\n")
	}
	for _, l := range t.Lines {
		said := RanLine{File: l.File, Line: l.Line, Count: l.Count}
		if lines := sources[l.File]; l.Line <= len(lines) {
			said.Source = lines[l.Line-1]
		}
		r.Lines = append(r.Lines, said)
	}
	for _, b := range t.Branches {
		r.Branches = append(r.Branches, RanBranch{
			File: b.File, Line: b.Line, Column: b.Column, Kind: b.Kind, Text: b.Text, Taken: b.Taken, Operands: append([]string{}, b.Operands...),
		})
	}
}

// differing lists the messages that came out differently, the last one when it is
// only the end that differs.
func (c *Case) differing(cat *catalogue.Catalogue, got *Outcome) []int {
	var steps []int
	if c.some != nil {
		for _, m := range c.misses(cat, got) {
			if m.step != afterwards && !slices.Contains(steps, m.step) {
				steps = append(steps, m.step)
			}
		}
		slices.Sort(steps)
	} else {
		want, is := c.parts(c.expect), c.parts(c.tell(cat, got, c.Settings.Payloads))
		for i := range c.steps {
			if want[i] != is[i] {
				steps = append(steps, i)
			}
		}
	}
	if len(steps) == 0 {
		return []int{len(c.steps) - 1}
	}
	return steps
}

// parts takes an expectation apart by message.
func (c *Case) parts(expect string) map[int]string {
	out := map[int]string{}
	at := afterwards
	for line := range strings.Lines(expect) {
		if name, _, head := strings.Cut(line, ":"); head && !strings.HasPrefix(line, " ") {
			if step, ok := c.step(name); ok {
				at = step
			} else {
				at = afterwards
			}
		}
		out[at] += strings.TrimRight(line, "\n") + "\n"
	}
	for i := range out {
		out[i] = tidy(out[i]) // the empty line before the end belongs to no message
	}
	return out
}

// text is the form for people.
func (r *Ran) text() string {
	var b strings.Builder
	if r.Script == "" {
		fmt.Fprintf(&b, "%s was shown to no rule\n", r.Message)
	} else {
		fmt.Fprintf(&b, "%s was decided by %s in %d instructions; the lines that ran:\n", r.Message, r.Script, r.Instructions)
	}
	file := ""
	for _, l := range r.Lines {
		if l.File != file {
			file = l.File
			fmt.Fprintf(&b, "  %s\n", file)
		}
		times := ""
		if l.Count > 1 {
			times = fmt.Sprintf("x%d", l.Count)
		}
		fmt.Fprintf(&b, "  %5d %4s  %s\n", l.Line, times, l.Source)
	}
	if len(r.Branches) > 0 {
		b.WriteString("which way it went:\n")
	}
	for i, br := range r.Branches {
		if r.told(i) {
			continue
		}
		fmt.Fprintf(&b, "  %s:%d:%d  %s `%s` was %t", br.File, br.Line, br.Column, br.Kind, br.Text, br.Taken)
		if len(br.Operands) > 0 {
			b.WriteString(": " + strings.Join(br.Operands, ", "))
		}
		b.WriteByte('\n')
	}
	if r.Cut > 0 {
		fmt.Fprintf(&b, "  and %d more\n", r.Cut)
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(&b, "as well differ: %s\n", strings.Join(r.Others, ", "))
	}
	return b.String()
}

// told is whether a branch is a side of a condition that is told whole right behind it,
// with all its operands.
func (r *Ran) told(i int) bool {
	side := &r.Branches[i]
	for ; i < len(r.Branches); i++ {
		b := &r.Branches[i]
		if b.File != side.File || b.Line != side.Line {
			return false
		}
		if b.Kind != "and" && b.Kind != "or" {
			return side.Kind == "and" || side.Kind == "or"
		}
	}
	return false
}
