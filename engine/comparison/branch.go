package comparison

import (
	"fmt"
	"regexp"
	"time"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
)

// Branch is where a rule set went a way that the other did not go.
type Branch struct {
	Side   string `json:"side"` // SideNew, or SideOld when all that the new one went the old one went too
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Kind   string `json:"kind"` // if, elseif, while, until, for, and, or
	Text   string `json:"text"` // the condition, or the head of the loop
	Taken  bool   `json:"taken"`
	// Operands is what it was decided on, in the message at hand; a group is of many and has those of its example.
	Operands []string `json:"-"`
}

// The sides of a comparison.
const (
	SideOld = "old"
	SideNew = "new"
)

// String names the place and the way; "" for none.
func (b *Branch) String() string {
	if b == nil {
		return ""
	}
	way := "no"
	if b.Taken {
		way = "yes"
	}
	return fmt.Sprintf("%s %s:%d:%d %s `%s` %s", b.Side, b.File, b.Line, b.Column, b.Kind, b.Text, way)
}

// way is a way that a run went, whatever version of the script it stands in.
type way struct {
	file, kind, text string
	taken            bool
}

var version = regexp.MustCompile(`@\d+\.lua$`)

func wayOf(b rulebook.Branch) way {
	return way{version.ReplaceAllString(b.File, ".lua"), b.Kind, b.Text, b.Taken}
}

// Parting finds the branch that tells two runs over the same message apart: the first that the new one went
// more often than the old one, otherwise the first that only the old one went. Nil means that they
// went the same ways, or that a run is not there.
func Parting(old, newer *rulebook.Trace) *Branch {
	if old == nil || newer == nil {
		return nil
	}
	if b := more(newer, old); b != nil {
		return branchOf(SideNew, *b)
	}
	if b := more(old, newer); b != nil {
		return branchOf(SideOld, *b)
	}
	return nil
}

// more is the first evaluation of one run that goes beyond those of the other.
func more(one, other *rulebook.Trace) *rulebook.Branch {
	left := map[way]int{}
	for _, b := range other.Branches {
		left[wayOf(b)]++
	}
	for i, b := range one.Branches {
		w := wayOf(b)
		if left[w]--; left[w] < 0 {
			return &one.Branches[i]
		}
	}
	return nil
}

func branchOf(side string, b rulebook.Branch) *Branch {
	return &Branch{Side: side, File: b.File, Line: b.Line, Column: b.Column, Kind: b.Kind, Text: b.Text, Taken: b.Taken, Operands: b.Operands}
}

// parting follows differing messages on traced rule sets, which it loads when there is one.
type parting struct {
	load       Traced
	old, newer *rulebook.Rulebook
}

// follow asks both rule sets again. A rule that was not asked, or is asked of one side only, has no branch.
func (p *parting) follow(msg *message.Message, view decision.View, old, newer *decision.Settlement) (*Branch, error) {
	if p.load == nil || msg == nil || old.Script == "" || newer.Script == "" {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if p.old == nil {
		var err error
		if p.old, p.newer, err = p.load(); err != nil {
			return nil, err
		}
	}
	// What they decide is known; a script that fails has a trace too.
	_, _ = p.old.Decide(msg, view)
	_, _ = p.newer.Decide(msg, view)
	return Parting(p.old.Trace(), p.newer.Trace()), nil
}

// at follows what a listener heard.
func (p *parting) at(l *listener) func(old, newer *decision.Settlement) (*Branch, error) {
	return func(old, newer *decision.Settlement) (*Branch, error) { return p.follow(l.message, l.view, old, newer) }
}

// listener is a judge that keeps what it was asked last.
type listener struct {
	judge   rehearse.Judge
	message *message.Message // nil when the body was broken
	view    decision.View
}

func (l *listener) Claim(msg *message.Message) decision.Claim { return l.judge.Claim(msg) }

func (l *listener) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	l.message, l.view = msg, claimed.View
	return l.judge.Judge(msg, claimed, at)
}

func (l *listener) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	return l.judge.Broken(raw, err, at)
}
