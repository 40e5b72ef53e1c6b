package play

import (
	"encoding/json"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
)

// Told is what became of one message.
type Told struct {
	Name       string             `json:"name"`
	Kind       string             `json:"kind"` // "" when it could not be told
	State      message.State      `json:"state"`
	Class      message.ErrorClass `json:"class"`
	Reason     string             `json:"reason"`
	Script     string             `json:"script"` // that decided it; "" when none was asked
	Notes      []Note             `json:"notes"`
	Warnings   []string           `json:"warnings"`
	Unknown    []Count            `json:"unknown"` // elements that the catalogue does not name
	Dropped    []Count            `json:"dropped"` // entries and values left out
	Flights    []Flight           `json:"flights"`
	References []Reference        `json:"references"`
	Requests   []Request          `json:"requests"`
	Events     []Event            `json:"events"`
	Trace      *Trace             `json:"trace"` // nil when no script was asked
}

// Note is a record that the rule left out.
type Note struct {
	FLID   string `json:"flid"` // "" when it is about no flight
	Reason string `json:"reason"`
}

// Count is how often something was found.
type Count struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// Flight is what changes of a flight.
type Flight struct {
	FLID    string      `json:"flid"`
	Op      decision.Op `json:"op"`
	Before  int64       `json:"before"` // version; 0 when it is new
	After   int64       `json:"after"`
	Changes []Change    `json:"changes"`
}

// Change is one difference: Before and After are JSON in print, "" for nothing; of a
// list Entries says it entry by entry.
type Change struct {
	Path    string  `json:"path"`
	Before  string  `json:"before"`
	After   string  `json:"after"`
	Entries []Entry `json:"entries"`
}

// Reference is a change of reference data.
type Reference struct {
	Type  string `json:"type"`
	Key   string `json:"key"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

// Request is a message that the decision wants sent upstream.
type Request struct {
	Name   string            `json:"name"`
	Fields map[string]string `json:"fields"`
}

// Event is what goes to Kafka.
type Event struct {
	Target  string          `json:"target"`
	Key     string          `json:"key"`
	Type    string          `json:"type"`
	FLID    string          `json:"flid"`
	Version int64           `json:"version"`
	Payload json.RawMessage `json:"payload"` // null for a tombstone
}

// Trace is how the decision came about.
type Trace struct {
	Instructions int64    `json:"instructions"`
	Budget       int64    `json:"budget"`
	Branches     []Branch `json:"branches"`
	Cut          int      `json:"cut"` // branches left out
	Reads        []Read   `json:"reads"`
	Writes       []string `json:"writes"`
}

// Branch is one evaluation of a place that can go two ways.
type Branch struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	Taken    bool     `json:"taken"`
	Operands []string `json:"operands"`
}

// Read is what the script looked at, and what it found.
type Read struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// tell writes down what became of a message. The trace is nil when no script was asked.
func tell(name string, r *rehearse.Result, t *rulebook.Trace, budget int64) Told {
	s := &r.Settlement
	out := Told{
		Name: name, Kind: s.Kind, State: s.Outcome.State, Class: s.Outcome.Class, Reason: s.Outcome.Reason, Script: s.Script,
		Warnings: append([]string{}, s.Warnings...), Notes: []Note{}, Flights: []Flight{}, References: []Reference{},
		Requests: []Request{}, Events: []Event{}, Unknown: []Count{}, Dropped: []Count{},
	}
	if r.Message != nil {
		out.Unknown, out.Dropped = counts(r.Message.Unknowns), counts(r.Message.Dropped)
	}
	for _, n := range s.Effects.Notes {
		note := Note{Reason: n.Reason}
		if n.FLID != 0 {
			note.FLID = n.FLID.String()
		}
		out.Notes = append(out.Notes, note)
	}
	for i := range s.Effects.Advances {
		out.Flights = append(out.Flights, flightOf(&s.Effects.Advances[i]))
	}
	for _, ref := range s.Effects.Refs {
		out.References = append(out.References, Reference{ref.Type, ref.Key, string(ref.Op), string(ref.Value)})
	}
	for _, o := range s.Effects.Outbound {
		out.Requests = append(out.Requests, Request{o.Request, o.Fields})
	}
	for _, e := range s.Effects.Events {
		out.Events = append(out.Events, Event{string(e.Target), e.Key, string(e.Type), e.FLID.String(), e.Version, e.Payload})
	}
	if t != nil {
		out.Trace = traceOf(t, budget)
	}
	return out
}

func counts(of []message.Unknown) []Count {
	out := []Count{}
	for _, u := range of {
		out = append(out, Count{u.Path, u.Count})
	}
	return out
}

func flightOf(a *decision.Advance) Flight {
	f := Flight{FLID: a.After.ID.String(), Op: a.Op, After: a.After.Version, Changes: []Change{}}
	if a.Before != nil {
		f.Before = a.Before.Version
	}
	for _, c := range a.Changed {
		change := Change{Path: c.Path, Before: string(c.Before), After: string(c.After)}
		if entries, list := compareLists(c.Before, c.After); list {
			change.Entries = entries
		}
		f.Changes = append(f.Changes, change)
	}
	return f
}

func traceOf(t *rulebook.Trace, budget int64) *Trace {
	out := &Trace{Instructions: t.Instructions, Budget: budget, Cut: t.Cut, Branches: []Branch{}, Reads: []Read{}, Writes: append([]string{}, t.Writes...)}
	for _, b := range t.Branches {
		out.Branches = append(out.Branches, Branch{b.File, b.Line, b.Kind, b.Text, b.Taken, append([]string{}, b.Operands...)})
	}
	for _, name := range t.Reads {
		out.Reads = append(out.Reads, Read{name, t.Values[name]})
	}
	return out
}
