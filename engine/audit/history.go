package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

// invariantOf says which promise a difference in a path breaks.
func invariantOf(path string) Invariant {
	switch path {
	case decision.PathOperationDay:
		return OperationDay
	case decision.PathMembers:
		return Members
	}
	return Together
}

// covers tells whether a footprint covers a path. What only the host adds is in every footprint.
func covers(writes []string, path string) bool {
	switch path {
	case decision.PathState, decision.PathOperationDay, decision.PathMembers:
		return true
	}
	tag, _, _ := strings.Cut(path, ".")
	return slices.Contains(writes, "*") || slices.Contains(writes, tag)
}

// history adds the changes up and compares what they come to with the state.
func (a *Audit) history(d *dossier, gapped map[int64]bool) {
	r := a.report
	known := map[string][]byte{}
	complete := false
	var before *evidence.Version
	for i := range d.versions {
		v := &d.versions[i]
		if i == 0 {
			complete = v.Version == 1
		}
		if gapped[v.Version] { // told already; what is known ends here
			clear(known)
			complete = false
		}
		if before != nil && v.DecisionNo != 0 && before.DecisionNo >= v.DecisionNo {
			r.broken(Order, d.at(v.Version), fmt.Sprintf("made by decision %d, the version before by decision %d", v.DecisionNo, before.DecisionNo), "versions in the order of decisions")
		}
		a.add(d, v, known, complete)
		before = v
	}
	if d.State == nil || before == nil || before.Version != d.State.Version {
		return
	}
	r.compared(Together, 1)
	if d.State.LastMsgID != before.MsgID {
		r.broken(Together, d.place(), fmt.Sprintf("last changed by message %d", d.State.LastMsgID), fmt.Sprintf("message %d, as history tells", before.MsgID))
	}
	if d.State.OperationDay != "" {
		r.compared(OperationDay, 1)
	}
	if d.State.IsMaster() {
		r.compared(Members, 1)
	}
	for _, path := range differing(known, d.parts) {
		if _, told := known[path]; told || complete {
			r.broken(invariantOf(path), d.place()+" "+path, "the state has "+shown(d.parts[path]), shown(known[path])+", as history comes to")
		}
	}
}

// add takes one version's changes into what is known, and holds them to it.
func (a *Audit) add(d *dossier, v *evidence.Version, known map[string][]byte, complete bool) {
	for i := range v.Changed {
		c := &v.Changed[i]
		if c.Path == decision.PathOperationDay && !none(c.Before) {
			a.report.broken(OperationDay, d.at(v.Version), fmt.Sprintf("%s became %s, by message %d", c.Before, shown(c.After), v.MsgID), "the day it had")
		} else if was, told := known[c.Path]; (told || complete) && !sameJSON(was, c.Before) {
			a.report.broken(invariantOf(c.Path), d.at(v.Version)+" "+c.Path, "was "+shown(c.Before)+" before", shown(was)+", as the versions before left it")
		}
		known[c.Path] = c.After
	}
}

func none(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// shown is a value for people, shortened.
func shown(value []byte) string {
	const most = 200
	if none(value) {
		return "nothing"
	}
	if len(value) > most {
		return strings.ToValidUTF8(string(value[:most]), "") + "…"
	}
	return string(value)
}

// sameJSON compares values; nothing and null are the same.
func sameJSON(x, y []byte) bool {
	if none(x) || none(y) {
		return none(x) && none(y)
	}
	if bytes.Equal(x, y) {
		return true
	}
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && reflect.DeepEqual(a, b)
}

// differing lists the paths whose values differ, in order.
func differing(x, y map[string][]byte) []string {
	paths := map[string]bool{}
	for path, value := range x {
		paths[path] = !sameJSON(value, y[path])
	}
	for path, value := range y {
		paths[path] = !sameJSON(value, x[path])
	}
	maps.DeleteFunc(paths, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(paths))
}

// stateParts is a state as history tells it: JSON values by path.
func stateParts(cat *catalogue.Catalogue, s *flight.State) (map[string][]byte, error) {
	parts, err := payloadParts(cat, append(decision.AppendState([]byte{'{'}, cat, s), '}'))
	if err != nil {
		return nil, err
	}
	parts[decision.PathState] = fmt.Appendf(nil, "%q", s.Status)
	if s.OperationDay != "" {
		parts[decision.PathOperationDay] = fmt.Appendf(nil, "%q", s.OperationDay)
	}
	return parts, nil
}

// payloadParts takes the values of a state out of a payload that tells it whole.
func payloadParts(cat *catalogue.Catalogue, payload []byte) (map[string][]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, err
	}
	parts := make(map[string][]byte, len(members))
	take := func(path string, from map[string]json.RawMessage, tag string) {
		if value, ok := from[tag]; ok {
			parts[path] = value
		}
	}
	for i := range cat.Flight.Scalars {
		take(cat.Flight.Scalars[i].Tag, members, cat.Flight.Scalars[i].Tag)
	}
	for i := range cat.Flight.Objects {
		o := &cat.Flight.Objects[i]
		var object map[string]json.RawMessage
		if raw, ok := members[o.Tag]; ok {
			if err := json.Unmarshal(raw, &object); err != nil {
				return nil, err
			}
		}
		for k := range o.Parts {
			take(o.Tag+"."+o.Parts[k].Tag, object, o.Parts[k].Tag)
		}
	}
	for i := range cat.Flight.Lists {
		take(cat.Flight.Lists[i].Tag, members, cat.Flight.Lists[i].Tag)
	}
	take(decision.PathMembers, members, decision.PathMembers)
	return parts, nil
}

// sameChanges compares what an event tells with a row of history.
func sameChanges(payload json.RawMessage, changed []decision.FieldChange) bool {
	var told struct {
		Changes []decision.FieldChange `json:"changes"`
	}
	if json.Unmarshal(payload, &told) != nil || len(told.Changes) != len(changed) {
		return false
	}
	return slices.EqualFunc(told.Changes, changed, func(x, y decision.FieldChange) bool {
		return x.Path == y.Path && sameJSON(x.Before, y.Before) && sameJSON(x.After, y.After)
	})
}
