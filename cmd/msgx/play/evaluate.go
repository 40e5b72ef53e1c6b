package play

import (
	"errors"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/lint"
	"msgx/golden"
)

// Question asks what the rules make of an input when a file has the given text.
type Question struct {
	File   string `json:"file"`
	Source string `json:"source"`
	Input  Input  `json:"input"`
}

// Answer is what the rules make of it. Without a Result there are Faults or
// InputFaults, or the input is blank.
type Answer struct {
	Standing    Standing       `json:"standing"`
	Instead     string         `json:"instead"` // the script that the file stands in for
	Lint        []lint.Finding `json:"lint"`    // of the file
	Faults      []Fault        `json:"faults"`  // why the rule set does not load
	InputFaults []InputFault   `json:"input_faults"`
	Result      *Result        `json:"result"`
}

// Result is what became of the input.
type Result struct {
	Ruleset  string  `json:"ruleset"` // hash
	Messages []Told  `json:"messages"`
	After    string  `json:"after"` // the flights afterwards, in the form of state
	Zone     string  `json:"zone"`
	Lines    []Line  `json:"lines"`  // those of the file that can run
	Raised   []Fault `json:"raised"` // what scripts failed with
	// Expected tells whether it is what the input expects; nil when it expects nothing.
	Expected   *bool  `json:"expected"`
	Difference string `json:"difference"` // when it is not, in print
}

// Line is a line that can run.
type Line struct {
	Line   int  `json:"line"`
	Count  int  `json:"count"`  // how often it ran on this input
	Loaded bool `json:"loaded"` // it ran when the file was loaded
}

// Fault is something wrong with the rule set.
type Fault struct {
	Code string `json:"code"` // MX101; "" when it has none
	File string `json:"file"` // "" when it has no place
	Line int    `json:"line"` // 0 when it is about the file as a whole
	Text string `json:"text"`
	// Cause and Fix are what is said of the code in general; "" without one.
	Cause string `json:"cause"`
	Fix   string `json:"fix"`
}

// explained adds what is known of the code.
func (f Fault) explained() Fault {
	if kind, ok := diagnostic.KindOf(diagnostic.Code(f.Code)); ok {
		f.Cause, f.Fix = kind.Cause, kind.Fix
	}
	return f
}

func (s *Server) evaluate(r *http.Request, q Question) (any, error) {
	done, err := s.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	rules, standing, instead, err := s.rules.drafted(q.File, q.Source)
	if err != nil {
		return nil, err
	}
	out := &Answer{Standing: standing, Instead: instead, Faults: []Fault{}, InputFaults: []InputFault{}}
	report, err := lint.Check(rules, s.catalogue, q.File)
	if err != nil {
		return nil, err
	}
	out.Lint = report.Findings
	if q.Input.blank() {
		return out, nil
	}
	c, faults, err := s.parse(&q.Input)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		out.InputFaults = faults
		return out, nil
	}
	out.Result, err = s.replay(c, rules, &q)
	var broken *brokenRules
	if errors.As(err, &broken) {
		out.Faults, err = faultsOf(broken.error), nil
	}
	return out, err
}

// brokenRules says that the rule set does not load.
type brokenRules struct{ error }

func (b *brokenRules) Unwrap() error { return b.error }

// replay runs the case, traced.
func (s *Server) replay(c *golden.Case, rules fs.FS, q *Question) (*Result, error) {
	var (
		book   *rulebook.Rulebook
		traces []*rulebook.Trace
	)
	got, err := c.Replay(s.catalogue, func(settings rulebook.Settings) (*rulebook.Rulebook, error) {
		var err error
		if book, err = rulebook.LoadTraced(rules, s.catalogue, settings, s.limits); err != nil {
			return nil, &brokenRules{err}
		}
		book.Watch(func(_ string, t *rulebook.Trace) { traces = append(traces, t) })
		return book, nil
	})
	if err != nil {
		return nil, err
	}
	out := &Result{Ruleset: book.Hash(), Zone: c.Settings.Zone.String(), Lines: linesOf(book, q.File, traces), Raised: []Fault{}}
	for i := range got.Results {
		r := &got.Results[i]
		var t *rulebook.Trace
		if r.Settlement.Script != "" && len(traces) > 0 { // who names a script has asked it
			t, traces = traces[0], traces[1:]
		}
		out.Messages = append(out.Messages, tell(q.Input.Messages[i].Name, r, t, s.budget(r)))
		if f, ok := raised(r.Settlement.Outcome.Reason); ok {
			out.Raised = append(out.Raised, f)
		}
	}
	out.After = string(rehearse.FormatState(s.catalogue, c.Settings.Zone, got.After))
	if q.Input.Expect != nil {
		out.Difference = c.Mismatch(s.catalogue, got)
		as := out.Difference == ""
		out.Expected = &as
	}
	return out, nil
}

// budget is how many instructions the decision on a message may take.
func (s *Server) budget(r *rehearse.Result) int64 {
	limits := s.limits
	if limits.Instructions == 0 {
		limits.Instructions = rulebook.DefaultLimits().Instructions
	}
	if limits.InstructionsPerRecord == 0 {
		limits.InstructionsPerRecord = rulebook.DefaultLimits().InstructionsPerRecord
	}
	if r.Message == nil {
		return limits.Instructions
	}
	return limits.Instructions + limits.InstructionsPerRecord*int64(len(r.Message.Records))
}

// linesOf tells of each line of the file that can run how often it did.
func linesOf(book *rulebook.Rulebook, file string, traces []*rulebook.Trace) []Line {
	count, loaded := map[int]int{}, map[int]bool{}
	for _, t := range traces {
		for _, l := range t.Lines {
			if l.File == file {
				count[l.Line] += l.Count
			}
		}
	}
	for _, t := range book.Loaded() {
		for _, l := range t.Lines {
			loaded[l.Line] = loaded[l.Line] || (l.File == file && l.Count > 0)
		}
	}
	out := []Line{}
	for _, n := range book.Executable()[file] {
		out = append(out, Line{n, count[n], loaded[n]})
	}
	return out
}

// inReason finds where a script failed: "rules: flop-gtdt@1: rules/flop-gtdt@1.lua:12: text [MX604]".
var inReason = regexp.MustCompile(`^rules: (?:\S+@\d+: )?([^\s:]+\.lua):(\d+): (.*?)(?: \[(MX\d+)\])?$`)

func raised(reason string) (Fault, bool) {
	m := inReason.FindStringSubmatch(reason)
	if m == nil {
		return Fault{}, false
	}
	line, err := strconv.Atoi(m[2])
	return Fault{Code: m[4], File: m[1], Line: line, Text: m[3]}.explained(), err == nil
}

// faultsOf takes the faults of a rule set apart; one without a place is one text.
func faultsOf(err error) []Fault {
	out := []Fault{}
	for _, f := range diagnostic.Of(err) {
		out = append(out, Fault{Code: string(f.Code), File: f.File, Line: f.Line, Text: f.Text}.explained())
	}
	if len(out) == 0 {
		for line := range strings.Lines(err.Error()) {
			out = append(out, Fault{Text: strings.TrimSpace(line)})
		}
	}
	return out
}
