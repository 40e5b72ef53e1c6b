// Package comparison says how the decisions of two rule sets differ. Each
// message is decided by both over the same flights, those that the old rule set has made, so
// that one difference does not show again in every message after it; whether the flights
// differ at the end is found by running the new rule set over the messages alone.
package comparison

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"time"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// Sequence is messages that belong together, and what was there before.
type Sequence struct {
	Name     string
	Before   rehearse.World
	Messages []message.Raw
	Decoder  rehearse.Decoder
	Old, New rehearse.Judge
}

// Where names what differs of a message.
type Where string

// What can differ besides the path of a field ("STND", "FDIV.DDES", "GTDT").
const (
	Outcome    Where = "outcome"
	Operation  Where = "operation"
	References Where = "references"
	Outbound   Where = "outbound"
	Notes      Where = "notes"
)

// Example is one message of a group, with what each rule set makes of it.
type Example struct {
	Sequence string `json:"sequence"`
	MsgID    int64  `json:"msg_id"`
	FLID     string `json:"flid,omitempty"`
	Old      string `json:"old"`
	New      string `json:"new"`
	Body     []byte `json:"-"`
}

// Group is the messages of one kind that differ in the same place.
type Group struct {
	Kind      string  `json:"kind"`
	OldScript string  `json:"old_script"`
	NewScript string  `json:"new_script"`
	Where     Where   `json:"where"`
	Count     int     `json:"count"`
	Example   Example `json:"example"` // the one with the shortest body
}

// Final is a flight that ends differently.
type Final struct {
	Sequence string   `json:"sequence"`
	FLID     string   `json:"flid"`
	Paths    []string `json:"paths"`
}

// Report is the whole comparison.
type Report struct {
	Messages  int     `json:"messages"`
	Differing int     `json:"differing"`
	Groups    []Group `json:"groups"` // by kind, then by how many
	Finals    []Final `json:"finals"`
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
}

// New makes a comparer. now gives the time that is stamped on what is decided.
func New(now func() time.Time) *Comparer {
	return &Comparer{now: now, groups: map[groupKey]*Group{}}
}

// Add compares a sequence.
func (c *Comparer) Add(s Sequence) {
	alone := rehearse.New(s.Decoder, s.New, c.now, s.Before)
	both := rehearse.New(s.Decoder, s.Old, c.now, s.Before)
	for _, raw := range s.Messages {
		result, beside := both.RunBeside(raw, s.New)
		alone.Run(raw)
		c.message(s.Name, raw, &result.Settlement, &beside)
	}
	c.finals(s.Name, both.World(), alone.World())
}

// Report is what has been found so far.
func (c *Comparer) Report() Report {
	r := c.report
	r.Groups, r.Finals = []Group{}, append([]Final{}, r.Finals...)
	for _, g := range c.groups {
		r.Groups = append(r.Groups, *g)
	}
	sort.Slice(r.Groups, func(i, j int) bool {
		a, b := r.Groups[i], r.Groups[j]
		if a.Kind != b.Kind {
			return a.Kind < b.Kind
		}
		if a.Count != b.Count {
			return a.Count > b.Count
		}
		return a.Where < b.Where
	})
	return r
}

func (c *Comparer) message(sequence string, raw message.Raw, old, newer *decision.Settlement) {
	c.report.Messages++
	found := differences(old, newer)
	if len(found) > 0 {
		c.report.Differing++
	}
	for _, d := range found {
		key := groupKey{old.Kind, old.Script, newer.Script, d.where}
		g := c.groups[key]
		if g == nil {
			g = &Group{Kind: old.Kind, OldScript: old.Script, NewScript: newer.Script, Where: d.where}
			c.groups[key] = g
		}
		g.Count++
		if g.Count == 1 || len(raw.Body) < len(g.Example.Body) {
			g.Example = Example{Sequence: sequence, MsgID: old.MsgID, FLID: d.flid, Old: d.old, New: d.new, Body: raw.Body}
		}
	}
}

// difference is one place where two settlements differ.
type difference struct {
	where          Where
	flid, old, new string
}

// differences compares what two rule sets make of one message, a place at most once.
func differences(old, newer *decision.Settlement) []difference {
	if a, b := outcomeText(old.Outcome), outcomeText(newer.Outcome); a != b {
		return []difference{{where: Outcome, old: a, new: b}}
	}
	var out []difference
	seen := map[Where]bool{}
	add := func(d difference) {
		if d.old != d.new && !seen[d.where] {
			seen[d.where] = true
			out = append(out, d)
		}
	}
	oldAdvances, newAdvances := byFlight(old.Effects.Advances), byFlight(newer.Effects.Advances)
	ids := maps.Clone(oldAdvances)
	maps.Copy(ids, newAdvances)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		a, b := oldAdvances[id], newAdvances[id]
		if a != nil && b != nil {
			add(difference{Operation, id.String(), string(a.Op), string(b.Op)})
		}
		before, after := changes(a), changes(b)
		paths := maps.Clone(before)
		maps.Copy(paths, after)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			add(difference{Where(path), id.String(), orUnchanged(before, path), orUnchanged(after, path)})
		}
	}
	add(difference{where: References, old: asJSON(old.Effects.Refs), new: asJSON(newer.Effects.Refs)})
	add(difference{where: Outbound, old: asJSON(old.Effects.Outbound), new: asJSON(newer.Effects.Outbound)})
	add(difference{where: Notes, old: asJSON(old.Effects.Notes), new: asJSON(newer.Effects.Notes)})
	return out
}

func outcomeText(o message.Outcome) string {
	text := string(o.State)
	if o.Class != "" {
		text += "(" + string(o.Class) + ")"
	}
	if o.Reason != "" {
		text += " " + o.Reason
	}
	return text
}

func byFlight(advances []decision.Advance) map[flight.ID]*decision.Advance {
	out := make(map[flight.ID]*decision.Advance, len(advances))
	for i := range advances {
		out[advances[i].After.ID] = &advances[i]
	}
	return out
}

// changes is what an advance sets each path to.
func changes(a *decision.Advance) map[string]string {
	out := map[string]string{}
	if a == nil {
		return out
	}
	for _, c := range a.Changed {
		out[c.Path] = "none"
		if c.After != nil {
			out[c.Path] = string(c.After)
		}
	}
	return out
}

func orUnchanged(changes map[string]string, path string) string {
	if value, ok := changes[path]; ok {
		return value
	}
	return "unchanged"
}

func asJSON(v any) string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// finals compares the flights at the end of a sequence.
func (c *Comparer) finals(sequence string, old, newer rehearse.World) {
	ids := map[flight.ID]bool{}
	for id := range old.Flights {
		ids[id] = true
	}
	for id := range newer.Flights {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if paths := differing(old.Flights[id], newer.Flights[id]); len(paths) > 0 {
			c.report.Finals = append(c.report.Finals, Final{Sequence: sequence, FLID: id.String(), Paths: paths})
		}
	}
}

// differing names the paths in which two states of a flight differ, versions aside.
func differing(a, b *flight.State) []string {
	if a == nil || b == nil {
		if a == b {
			return nil
		}
		return []string{"STATE"}
	}
	var paths []string
	note := func(path string, same bool) {
		if !same {
			paths = append(paths, path)
		}
	}
	note("STATE", a.Status == b.Status)
	note("OPERATION_DAY", a.OperationDay == b.OperationDay)
	fields := maps.Clone(a.Fields)
	maps.Copy(fields, b.Fields)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		note(path, a.Fields[path] == b.Fields[path])
	}
	lists := maps.Clone(a.Lists)
	if lists == nil {
		lists = map[string][]flight.Record{}
	}
	maps.Copy(lists, b.Lists)
	for _, tag := range slices.Sorted(maps.Keys(lists)) {
		note(tag, flight.EqualRecords(a.Lists[tag], b.Lists[tag]))
	}
	note("MAFL", slices.Equal(a.Members, b.Members))
	return paths
}
