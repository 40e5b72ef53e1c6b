package rulebook_test

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/schemas"
)

func shippedCatalogue(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// shipped loads the rule set that the binary carries.
func shipped(t testing.TB, s rulebook.Settings) *rulebook.Rulebook {
	t.Helper()
	b, err := rulebook.Load(msgx.Files, shippedCatalogue(t), s, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changed is the shipped rule set with some files put in place of, or beside, its own.
func changed(t testing.TB, files map[string]string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for _, pattern := range []string{"handlers.lua", "rules/*.lua", "rules/lib/*.lua"} {
		names, err := fs.Glob(msgx.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(msgx.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = &fstest.MapFile{Data: data}
		}
	}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// withGate is a rule set whose script for FLOP-GTDT is the given text.
func withGate(t testing.TB, source string) *rulebook.Rulebook {
	t.Helper()
	b, err := rulebook.Load(changed(t, map[string]string{"rules/flop-gtdt@1.lua": source}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deciding wraps the body of a decide function.
func deciding(body string) string {
	return "local merge = require(\"merge\")\nreturn { kind = \"FLOP-GTDT\", writes = { \"GTDT\", \"STND\", \"MAXP\", \"FDIV\", \"LBWT\", \"ESTT\", \"MVIN\", \"TAID\", \"VIPF\" }, decide = function(view, msg)\n" + body + "\nend }"
}

func text(s string) message.Element                 { return message.Element{Text: s} }
func empty() message.Element                        { return message.Element{Empty: true} }
func list(records ...flight.Record) message.Element { return message.Element{Records: records} }

// rec makes a list record of pairs.
func rec(pairs ...string) flight.Record {
	r := flight.Record{Fields: flight.Fields{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Fields[pairs[i]] = pairs[i+1]
	}
	return r
}

type elements = map[string]message.Element

func record(id flight.ID, e elements) message.Record {
	return message.Record{FLID: id, FFID: "CA-CA101-A", Elements: e}
}

func msg(kind string, records ...message.Record) *message.Message {
	typ, sub, _ := strings.Cut(kind, "-")
	family := message.Operation
	switch typ {
	case "SCHD":
		family = message.Schedule
	case "FDEL":
		family = message.Deletion
	}
	return &message.Message{ID: 7, Kind: kind, Family: family, Records: records,
		Meta: message.Meta{Sender: "AODB", Sequence: "1", Type: typ, Subtype: sub, SentAt: "2021-01-23T22:31:26+08:00"}}
}

func active(id flight.ID, fields flight.Fields, lists map[string][]flight.Record) *flight.State {
	if fields == nil {
		fields = flight.Fields{}
	}
	return &flight.State{ID: id, Status: flight.Active, Version: 3, OperationDay: "2021-01-23", Fields: fields, Lists: lists}
}

func view(states ...*flight.State) decision.View {
	v := decision.View{Flights: map[flight.ID]*flight.State{}}
	for _, s := range states {
		v.Flights[s.ID] = s
	}
	return v
}

func deleted(s *flight.State) *flight.State { s.Status = flight.Deleted; return s }

func decide(t testing.TB, b *rulebook.Rulebook, m *message.Message, v decision.View) decision.Decision {
	t.Helper()
	d, err := b.Decide(m, v)
	if err != nil {
		t.Fatalf("%s: %v", m.Kind, err)
	}
	return d
}

func update(id flight.ID, set map[string]decision.Value, cleared []string, lists map[string][]flight.Record) decision.Decision {
	return decision.Decision{Changes: []decision.Change{change(id, decision.Update, set, cleared, lists)}}
}

func change(id flight.ID, op decision.Op, set map[string]decision.Value, cleared []string, lists map[string][]flight.Record) decision.Change {
	return decision.Change{FLID: id, Op: op, Set: set, Clear: cleared, Lists: lists}
}

func values(pairs ...string) map[string]decision.Value {
	out := map[string]decision.Value{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = decision.Value{Text: pairs[i+1]}
	}
	return out
}

func same(t *testing.T, got, want decision.Decision) {
	t.Helper()
	if diff := cmp.Diff(want, got, emptyIsNil()); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// emptyIsNil takes nil and empty maps and slices as the same thing.
func emptyIsNil() cmp.Option {
	return cmp.FilterPath(func(cmp.Path) bool { return true }, cmp.Options{
		cmp.FilterValues(func(a, b []decision.Note) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
		cmp.FilterValues(func(a, b []decision.Change) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
		cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
		cmp.FilterValues(func(a, b []flight.Record) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
		cmp.FilterValues(func(a, b map[string]decision.Value) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
		cmp.FilterValues(func(a, b map[string][]flight.Record) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
	})
}

func TestShippedRuleSet(t *testing.T) {
	cat := shippedCatalogue(t)
	b := shipped(t, rulebook.Settings{})
	if got, want := len(b.Scripts()), len(cat.Kinds); got != want {
		t.Errorf("scripts: got %d, want one for each of the %d kinds", got, want)
	}
	for _, k := range cat.Kinds {
		s, ok := b.Script(k.Name)
		if !ok {
			t.Errorf("%s: no script", k.Name)
			continue
		}
		// An operation writes exactly the elements that its message carries.
		if k.Family == message.Operation {
			want := maps.Collect(func(yield func(string, bool) bool) {
				for _, tag := range k.Elements {
					if !yield(tag, true) {
						return
					}
				}
			})
			got := map[string]bool{}
			for _, tag := range s.Writes {
				got[tag] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s writes (-elements +writes):\n%s", k.Name, diff)
			}
			if diff := cmp.Diff([]string{"update"}, s.Ops); diff != "" {
				t.Errorf("%s ops: %s", k.Name, diff)
			}
		}
	}
	s, _ := b.Script("FLOP-GTDT")
	if got, want := fmt.Sprint(s.ID(), " ", s.Footprint(), " ", s.File), "flop-gtdt@1 GTDT rules/flop-gtdt@1.lua"; got != want {
		t.Errorf("FLOP-GTDT: got %s, want %s", got, want)
	}
	if s, _ := b.Script("SCHD-DNLD"); len(s.Writes) != len(cat.Tags())-1 {
		t.Errorf("SCHD-DNLD writes %d tags, want all but FLID of %d", len(s.Writes), len(cat.Tags()))
	}
}
