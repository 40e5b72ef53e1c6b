package explain

import (
	"slices"
	"strings"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Explainer is a judge that can tell how it came to its last settlement. It is for one goroutine.
type Explainer struct {
	catalogue *catalogue.Catalogue
	rules     *asked
	judge     *verdict.Judge

	message    *message.Message // nil when the body was broken
	claimed    decision.Claimed
	settlement decision.Settlement
}

// asked is a rule set that keeps whether it was asked.
type asked struct {
	*rulebook.Rulebook
	trace *rulebook.Trace
}

func (a *asked) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	d, err := a.Rulebook.Decide(msg, view)
	a.trace = a.Trace()
	return d, err
}

// New makes an explainer. The rule set is one that rulebook.LoadTraced has loaded.
func New(cat *catalogue.Catalogue, traced *rulebook.Rulebook, options verdict.Options) *Explainer {
	rules := &asked{Rulebook: traced}
	return &Explainer{catalogue: cat, rules: rules, judge: verdict.New(cat, rules, options)}
}

// Claim names what has to be read before the message can be judged.
func (e *Explainer) Claim(msg *message.Message) decision.Claim { return e.judge.Claim(msg) }

// Judge judges a message and remembers how.
func (e *Explainer) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	e.rules.trace = nil
	e.message, e.claimed = msg, claimed
	e.settlement = e.judge.Judge(msg, claimed, at)
	return e.settlement
}

// Broken settles a message that could not be decoded.
func (e *Explainer) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	e.rules.trace = nil
	e.message, e.claimed = nil, decision.Claimed{}
	e.settlement = e.judge.Broken(raw, err, at)
	return e.settlement
}

// Asked is the last message, nil when it was broken, and what it was judged on.
func (e *Explainer) Asked() (*message.Message, decision.Claimed) { return e.message, e.claimed }

// Settlement is what became of the last message.
func (e *Explainer) Settlement() decision.Settlement { return e.settlement }

// Explain tells of the last message.
func (e *Explainer) Explain(name string) *Explanation {
	s := &e.settlement
	x := &Explanation{
		Name: name, MsgID: s.MsgID, Outcome: outcomeOf(s.Outcome), Script: e.script(),
		Notes: s.Effects.Notes, Warnings: s.Warnings, Changes: []Change{}, Requests: s.Effects.Outbound,
	}
	if e.message != nil {
		x.Said = e.said()
		x.Ignored = e.ignored()
	}
	for _, a := range s.Effects.Advances {
		x.Changes = append(x.Changes, Change{a.After.ID.String(), a.Op, a.After.Version, a.Changed})
	}
	for _, r := range s.Effects.Refs {
		x.References = append(x.References, ReferenceChange{r.Type, r.Key, r.Op, r.Value})
	}
	return x
}

func outcomeOf(o message.Outcome) Outcome { return Outcome{o.State, o.Class, o.Reason} }

// With tells what another explainer, asked the same, makes of the message, and puts it under the name.
func (e *Explainer) With(name string, other *Explainer) *With {
	w := &With{
		Name: name, Ruleset: other.rules.Hash(), Script: other.settlement.Script, Outcome: outcomeOf(other.settlement.Outcome),
		Differences: comparison.Differences(&e.settlement, &other.settlement),
	}
	if len(w.Differences) > 0 {
		if w.Branch = comparison.Parting(e.rules.trace, other.rules.trace); w.Branch != nil {
			w.Operands = w.Branch.Operands
		}
	} else {
		w.Differences = []comparison.Difference{}
	}
	return w
}

// script tells what the rule did; nil when it was not asked.
func (e *Explainer) script() *Script {
	trace := e.rules.trace
	if trace == nil || e.message == nil {
		return nil
	}
	found, _ := e.rules.Script(e.message.Kind)
	s := &Script{
		ID: found.ID(), File: found.File, Ruleset: e.rules.Hash(),
		Instructions: trace.Instructions, Budget: e.rules.Budget(len(e.message.Records)),
		Sources: e.sources(found.File, trace), Branches: make([]Branch, len(trace.Branches)), Cut: trace.Cut,
		Reads: make([]Read, len(trace.Reads)), Writes: append([]string{}, trace.Writes...),
	}
	for i, b := range trace.Branches {
		s.Branches[i] = Branch{b.File, b.Line, b.Column, b.Kind, b.Text, b.Taken, b.Operands}
	}
	for i, what := range trace.Reads {
		s.Reads[i] = Read{what, trace.Values[what]}
	}
	return s
}

// sources gives the script and every library of which something ran, with the hits of each line.
func (e *Explainer) sources(script string, trace *rulebook.Trace) []Source {
	hits := map[string]map[int]int{script: {}}
	names := []string{script}
	for _, l := range trace.Lines {
		if hits[l.File] == nil {
			hits[l.File] = map[int]int{}
			names = append(names, l.File)
		}
		hits[l.File][l.Line] = l.Count
	}
	files, executable, atLoad := e.rules.Files(), e.rules.Executable(), e.rules.Loaded()
	out := make([]Source, len(names))
	for i, name := range names {
		out[i].File = name
		for n, text := range strings.Split(strings.TrimRight(string(files[name]), "\n"), "\n") {
			line := Line{Number: n + 1, Text: strings.TrimRight(text, "\r")}
			if count := hits[name][n+1]; count > 0 || slices.Contains(executable[name], n+1) && !ranIn(atLoad[name], name, n+1) {
				line.Hits = &count
			}
			out[i].Lines = append(out[i].Lines, line)
		}
	}
	return out
}

// ranIn tells whether a line is among those of a trace.
func ranIn(trace *rulebook.Trace, file string, line int) bool {
	return trace != nil && slices.ContainsFunc(trace.Lines, func(l rulebook.LineHit) bool { return l.File == file && l.Line == line })
}
