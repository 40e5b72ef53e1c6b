// Package comparison says how the decisions of two rule sets differ. Each
// message is decided by both over the same flights, so that one difference does not show again in
// every message after it: over those that the old rule set has made (Add), or over those that were there
// when the message was decided in the daemon (Recorded). Whether the flights differ at the end is
// found by letting each rule set go on with what it has made itself.
//
// Differences are grouped by kind, by the place that differs, and by the branch of the
// scripts at which the two went different ways.
package comparison

import (
	"cmp"
	"context"
	"slices"
	"time"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
)

// Traced loads both rule sets of a comparison with rulebook.LoadTraced. It is called when
// the first difference has been found.
type Traced func() (old, newer *rulebook.Rulebook, err error)

// Sequence is messages that belong together, and what was there before.
type Sequence struct {
	Name     string
	Before   rehearse.World
	Messages []message.Raw
	Decoder  rehearse.Decoder
	Old, New rehearse.Judge
	Traced   Traced // nil: differences are not followed to their branch
}

// Example is one message of a group, with what each rule set makes of it.
type Example struct {
	Sequence string `json:"sequence"`
	MsgID    int64  `json:"msg_id"`
	FLID     string `json:"flid,omitempty"`
	Old      string `json:"old"`
	New      string `json:"new"`
	// Operands is what the branch of the group was decided on, such as "#drafts = 2".
	Operands []string `json:"operands,omitempty"`
	Body     []byte   `json:"-"`
}

// Group is the messages of one kind that differ in the same place, for the same reason.
type Group struct {
	Kind      string  `json:"kind"`
	OldScript string  `json:"old_script"`
	NewScript string  `json:"new_script"`
	Where     Where   `json:"where"`
	Branch    *Branch `json:"branch,omitempty"` // nil when no branch went another way
	Count     int     `json:"count"`
	Example   Example `json:"example"` // the one with the shortest body
}

// Final is a flight that ends differently.
type Final struct {
	Sequence string   `json:"sequence"`
	FLID     string   `json:"flid"`
	Paths    []string `json:"paths"`
}

// Untold is a message that could not be compared, and why.
type Untold struct {
	MsgID int64  `json:"msg_id"`
	Why   string `json:"why"`
}

// Report is the whole comparison.
type Report struct {
	Messages  int      `json:"messages"` // compared
	Differing int      `json:"differing"`
	Groups    []Group  `json:"groups"` // by kind, then by how many
	Finals    []Final  `json:"finals"`
	Untold    int      `json:"untold"`                // messages that could not be compared
	Such      []Untold `json:"untold_such,omitempty"` // the first of them, ten at most
}

// Same tells that no decision and no final state differs.
func (r *Report) Same() bool { return r.Differing == 0 && len(r.Finals) == 0 }

// Comparer collects a report over any number of sequences. It is for one goroutine.
type Comparer struct {
	now    func() time.Time
	report Report
	groups map[groupKey]*Group
}

type groupKey struct {
	kind, old, new string
	where          Where
	branch         string
}

// New makes a comparer. now gives the time that is stamped on what is decided.
func New(now func() time.Time) *Comparer {
	return &Comparer{now: now, groups: map[groupKey]*Group{}}
}

// Add compares a sequence. Its error is that of loading traced rule sets.
func (c *Comparer) Add(ctx context.Context, s Sequence) error {
	alone := rehearse.New(s.Decoder, s.New, c.now, s.Before)
	both := rehearse.New(s.Decoder, s.Old, c.now, s.Before)
	parting := &parting{load: s.Traced}
	beside := &listener{judge: s.New}
	for _, raw := range s.Messages {
		if err := ctx.Err(); err != nil {
			return err
		}
		beside.message = nil
		result, newer := both.RunBeside(raw, beside)
		alone.Run(raw)
		if err := c.message(s.Name, raw, &result.Settlement, &newer, parting.at(beside)); err != nil {
			return err
		}
	}
	c.finals(s.Name, both.World(), alone.World())
	return nil
}

// Report is what has been found so far.
func (c *Comparer) Report() Report {
	r := c.report
	r.Groups, r.Finals = []Group{}, append([]Final{}, r.Finals...)
	for _, g := range c.groups {
		r.Groups = append(r.Groups, *g)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Branch.String(), b.Branch.String()),
			cmp.Compare(a.OldScript, b.OldScript), cmp.Compare(a.NewScript, b.NewScript))
	})
	return r
}

// message counts one message; follow finds the branch of a difference.
func (c *Comparer) message(sequence string, raw message.Raw, old, newer *decision.Settlement, follow func(old, newer *decision.Settlement) (*Branch, error)) error {
	c.report.Messages++
	found := Differences(old, newer)
	if len(found) == 0 {
		return nil
	}
	c.report.Differing++
	branch, err := follow(old, newer)
	if err != nil {
		return err
	}
	for _, d := range found {
		key := groupKey{old.Kind, old.Script, newer.Script, d.Where, branch.String()}
		g := c.groups[key]
		if g == nil {
			g = &Group{Kind: old.Kind, OldScript: old.Script, NewScript: newer.Script, Where: d.Where, Branch: branch}
			c.groups[key] = g
		}
		g.Count++
		if g.Count == 1 || len(raw.Body) < len(g.Example.Body) {
			g.Example = Example{Sequence: sequence, MsgID: old.MsgID, FLID: d.FLID, Old: d.Old, New: d.New, Body: raw.Body}
			if branch != nil {
				g.Example.Operands = branch.Operands
			}
		}
	}
	return nil
}
