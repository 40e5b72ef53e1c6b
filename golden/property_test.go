package golden_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx"
	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

// bench is everything that a message passes through, and what messages left.
type bench struct {
	*rehearse.Rehearsal
	t *rapid.T
}

type setting struct {
	cat   *catalogue.Catalogue
	codec *codec.Codec
	zone  *time.Location
	books []*rulebook.Rulebook // of the same rule set
}

func newSetting(t *testing.T, absent string) *setting {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{cat: cat}
	if s.zone, err = time.LoadLocation("Asia/Shanghai"); err != nil {
		t.Fatal(err)
	}
	if s.codec, err = codec.New(cat, codec.Options{Zone: s.zone}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		book, err := rulebook.Load(msgx.Files, cat, rulebook.Settings{AbsentOptional: absent}, rulebook.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s.books = append(s.books, book)
	}
	return s
}

func (s *setting) start(t *rapid.T, book int, before rehearse.World) bench {
	judge := verdict.New(s.cat, s.books[book], verdict.Options{Options: decision.Options{Zone: s.zone, CodeShareKey: decision.KeyMaster}})
	at := time.Date(2021, 1, 23, 4, 0, 0, 0, time.UTC)
	return bench{rehearse.New(s.codec, judge, func() time.Time { return at }, before), t}
}

// run runs a message, which has to succeed, or to be skipped where that is said.
func (b bench) run(text string, also ...message.State) decision.Settlement {
	b.t.Helper()
	r := b.Run(message.Raw{Body: []byte(text)})
	if o := r.Settlement.Outcome; o.State != message.Succeeded && !slices.Contains(also, o.State) {
		b.t.Fatalf("%s\n%s %s %s, want %s", text, o.State, o.Class, o.Reason, message.Succeeded)
	}
	return r.Settlement
}

// day draws a world as a schedule and some operations leave it.
func (s *setting) day(t *rapid.T, w *writer) rehearse.World {
	b := s.start(t, 0, rehearse.World{})
	b.run(w.message(s.kind("SCHD-DNLD"), w.records(s.kind("SCHD-DNLD"))))
	for range w.draw(4, "messages") {
		if text, ok := w.any(s.anyKind(w)); ok {
			b.run(text, message.Skipped)
		}
	}
	return b.World()
}

func (s *setting) kind(name string) *catalogue.Kind {
	k, _ := s.cat.KindNamed(name)
	return k
}

// anyKind draws a kind that concerns flights.
func (s *setting) anyKind(w *writer) *catalogue.Kind {
	kinds := slices.DeleteFunc(slices.Clone(s.cat.Kinds), func(k catalogue.Kind) bool { return k.Family == message.Reference })
	return &kinds[w.draw(len(kinds)-1, "kind")]
}

// records draws what a message says of some of the flights, of each once.
func (w *writer) records(kind *catalogue.Kind) []string {
	some := rapid.Permutation(flights).Draw(w.t, "flights")[:1+w.draw(len(flights)-1, "n")]
	out := make([]string, len(some))
	for i, flid := range some {
		out[i] = w.record(kind, flid)
	}
	return out
}

// any draws a message that carries what its kind requires.
func (w *writer) any(kind *catalogue.Kind) (string, bool) {
	records := slices.DeleteFunc(w.records(kind), func(r string) bool {
		return len(kind.Required) > 0 && !slices.ContainsFunc(kind.Required, func(tag string) bool { return strings.Contains(r, "<"+tag) })
	})
	return w.message(kind, records), len(records) > 0
}

func properties(t *testing.T, check func(s *setting, w *writer, before rehearse.World)) {
	for _, absent := range []string{"keep", "clear"} {
		t.Run(absent, func(t *testing.T) {
			s := newSetting(t, absent)
			rapid.Check(t, func(t *rapid.T) {
				w := &writer{cat: s.cat, t: t}
				check(s, w, s.day(t, w))
			})
		})
	}
}

// TestAScheduleTwiceIsAScheduleOnce: what comes a second time changes nothing at all.
func TestAScheduleTwiceIsAScheduleOnce(t *testing.T) {
	properties(t, func(s *setting, w *writer, before rehearse.World) {
		kind := s.kind(rapid.SampledFrom([]string{"SCHD-DNLD", "SCHD-RESP", "SCHD-ADFT"}).Draw(w.t, "schedule"))
		b := s.start(w.t, 0, before)
		text := w.message(kind, w.records(kind))
		b.run(text)
		once := b.World().List()
		second := b.run(w.again(text))
		if n := len(second.Effects.Advances) + len(second.Effects.Events); n > 0 {
			w.t.Errorf("%s\nthe second time: %d effects, want none", text, n)
		}
		if diff := cmp.Diff(once, b.World().List()); diff != "" {
			w.t.Errorf("%s\nthe second time (-once +twice):\n%s", text, diff)
		}
	})
}

// TestTheOrderOfRecordsInAScheduleDoesNotMatter holds for states and for versions.
func TestTheOrderOfRecordsInAScheduleDoesNotMatter(t *testing.T) {
	properties(t, func(s *setting, w *writer, before rehearse.World) {
		kind := s.kind(rapid.SampledFrom([]string{"SCHD-DNLD", "SCHD-ADFT"}).Draw(w.t, "schedule"))
		records := w.records(kind)
		one, other := s.start(w.t, 0, before), s.start(w.t, 1, before)
		text := w.message(kind, records)
		one.run(text)
		w.seqn--
		other.run(w.message(kind, rapid.Permutation(records).Draw(w.t, "order")))
		if diff := cmp.Diff(one.World().List(), other.World().List()); diff != "" {
			w.t.Errorf("%s\nin another order:\n%s", text, diff)
		}
	})
}

// TestADecisionIsTheSameByteForByte: another rule set loaded from the same files,
// another run, the same bytes.
func TestADecisionIsTheSameByteForByte(t *testing.T) {
	properties(t, func(s *setting, w *writer, before rehearse.World) {
		text, ok := w.any(s.anyKind(w))
		if !ok {
			return
		}
		var first string
		for book := range s.books {
			got, err := json.Marshal(s.start(w.t, book, before).run(text, message.Skipped))
			if err != nil {
				w.t.Fatal(err)
			}
			if first == "" {
				first = string(got)
			} else if string(got) != first {
				w.t.Errorf("%s\nfirst  %s\nthen   %s", text, first, got)
			}
		}
	})
}

// TestADecisionStaysInItsFootprint: an operation changes the elements of its kind and no
// other, a deletion none, and nobody touches a flight that the message does not
// name, but for what follows from code shares.
func TestADecisionStaysInItsFootprint(t *testing.T) {
	properties(t, func(s *setting, w *writer, before rehearse.World) {
		kind := s.anyKind(w)
		text, ok := w.any(kind)
		if !ok {
			return
		}
		for _, a := range s.start(w.t, 0, before).run(text, message.Skipped).Effects.Advances {
			named := strings.Contains(text, "<FLID>"+a.After.ID.String()+"</FLID>")
			for _, c := range a.Changed {
				tag, _, _ := strings.Cut(c.Path, ".")
				switch {
				case tag == "MAFL": // follows from the children, wherever they are
				case tag == "STATE" && kind.Family == message.Deletion: // a master takes its children with it
				case !named:
					w.t.Errorf("%s\nchanged %s of flight %s, which it does not name", text, c.Path, a.After.ID)
				case kind.Family == message.Schedule:
				case !slices.Contains(kind.Elements, tag):
					w.t.Errorf("%s\nchanged %s of flight %s, want only %v", text, c.Path, a.After.ID, kind.Elements)
				}
			}
		}
	})
}

// TestWhatIsToldOfAChangeIsTheChange: the fields as they are told, put over the state before,
// give the state after; taken back, the state before.
func TestWhatIsToldOfAChangeIsTheChange(t *testing.T) {
	properties(t, func(s *setting, w *writer, before rehearse.World) {
		text, ok := w.any(s.anyKind(w))
		if !ok {
			return
		}
		for _, a := range s.start(w.t, 0, before).run(text, message.Skipped).Effects.Advances {
			was, is := s.fields(w.t, a.Before), s.fields(w.t, a.After)
			forth, back := maps.Clone(was), maps.Clone(is)
			for _, c := range a.Changed {
				put(forth, c.Path, c.After)
				put(back, c.Path, c.Before)
			}
			if diff := cmp.Diff(is, forth); diff != "" {
				w.t.Errorf("%s\nflight %s, told %v, forth (-is +told):\n%s", text, a.After.ID, a.Changed, diff)
			}
			if diff := cmp.Diff(was, back); diff != "" {
				w.t.Errorf("%s\nflight %s, told %v, back (-was +told):\n%s", text, a.After.ID, a.Changed, diff)
			}
		}
	})
}

func put(fields map[string]string, path string, value json.RawMessage) {
	if fields[path] = string(value); value == nil {
		delete(fields, path)
	}
}

// fields is a state as JSON values by path, those of objects one by one.
func (s *setting) fields(t *rapid.T, state *flight.State) map[string]string {
	out := map[string]string{}
	if state == nil {
		return out
	}
	put(out, decision.PathState, json.RawMessage(strconv.Quote(string(state.Status))))
	if state.OperationDay != "" {
		put(out, decision.PathOperationDay, json.RawMessage(strconv.Quote(state.OperationDay)))
	}
	var whole, parts map[string]json.RawMessage
	if err := json.Unmarshal(append(decision.AppendState([]byte("{"), s.cat, state), '}'), &whole); err != nil {
		t.Fatal(err)
	}
	for tag, value := range whole {
		if _, object := s.cat.Object(tag); !object {
			put(out, tag, value)
			continue
		}
		parts = nil
		if err := json.Unmarshal(value, &parts); err != nil {
			t.Fatal(err)
		}
		for part, value := range parts {
			put(out, tag+"."+part, value)
		}
	}
	return out
}
