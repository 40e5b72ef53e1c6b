package comparison

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

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

// Difference is one place where two settlements differ, with what each has there.
type Difference struct {
	Where Where  `json:"where"`
	FLID  string `json:"flid,omitempty"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Differences compares what two rule sets make of one message, a place at most once. Another
// outcome is one difference and hides all others.
func Differences(old, newer *decision.Settlement) []Difference {
	if a, b := outcomeText(old.Outcome), outcomeText(newer.Outcome); a != b {
		return []Difference{{Where: Outcome, Old: a, New: b}}
	}
	var out []Difference
	seen := map[Where]bool{}
	add := func(d Difference) {
		if d.Old != d.New && !seen[d.Where] {
			seen[d.Where] = true
			out = append(out, d)
		}
	}
	oldAdvances, newAdvances := byFlight(old.Effects.Advances), byFlight(newer.Effects.Advances)
	ids := maps.Clone(oldAdvances)
	maps.Copy(ids, newAdvances)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		a, b := oldAdvances[id], newAdvances[id]
		if a != nil && b != nil {
			add(Difference{Operation, id.String(), string(a.Op), string(b.Op)})
		}
		before, after := changes(a), changes(b)
		paths := maps.Clone(before)
		maps.Copy(paths, after)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			add(Difference{Where(path), id.String(), orUnchanged(before, path), orUnchanged(after, path)})
		}
	}
	add(Difference{Where: References, Old: asJSON(old.Effects.Refs), New: asJSON(newer.Effects.Refs)})
	add(Difference{Where: Outbound, Old: asJSON(old.Effects.Outbound), New: asJSON(newer.Effects.Outbound)})
	add(Difference{Where: Notes, Old: asJSON(old.Effects.Notes), New: asJSON(newer.Effects.Notes)})
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
