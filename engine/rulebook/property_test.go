package rulebook_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// slowByKey says in the plainest way what a list becomes when a message's
// records are put in by key.
func slowByKey(state, said []flight.Record, key ...string) []flight.Record {
	keyOf := func(r flight.Record) (string, bool) {
		text := ""
		for _, tag := range key {
			v, ok := r.Fields[tag]
			if !ok {
				return "", false
			}
			text += fmt.Sprintf("%q", v)
		}
		return text, true
	}
	with := func(k string, in []flight.Record) (out []flight.Record) {
		for _, r := range in {
			if x, ok := keyOf(r); ok && x == k {
				out = append(out, r)
			}
		}
		return out
	}
	var out []flight.Record
	for i, r := range state {
		k, ok := keyOf(r)
		switch {
		case !ok || len(with(k, said)) == 0:
			out = append(out, r)
		case len(with(k, state[:i])) == 0: // the first of its key
			out = append(out, with(k, said)...)
		}
	}
	for _, r := range said {
		if k, ok := keyOf(r); !ok || len(with(k, state)) == 0 {
			out = append(out, r)
		}
	}
	return out
}

// said is what one record of a message says about a list.
type said struct {
	empty   bool
	records []flight.Record
}

func (s said) element() message.Element {
	if s.empty {
		return empty()
	}
	return list(s.records...)
}

// entries draws a list whose keys often collide, are sometimes missing, and
// whose records can be told apart.
func entries(tags ...string) *rapid.Generator[[]flight.Record] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) flight.Record {
		r := flight.Record{Fields: flight.Fields{}}
		for _, tag := range tags[:len(tags)-1] {
			if v := rapid.SampledFrom([]string{"A", "B", "AB", "1:A", ""}).Draw(t, tag); v != "" {
				r.Fields[tag] = v
			}
		}
		r.Fields[tags[len(tags)-1]] = fmt.Sprintf("2021-01-23T%02d:35:00+08:00", rapid.IntRange(0, 23).Draw(t, "hour"))
		return r
	}), 0, 6)
}

func saying(tags ...string) *rapid.Generator[said] {
	return rapid.Custom(func(t *rapid.T) said {
		if rapid.IntRange(0, 5).Draw(t, "empty") == 0 {
			return said{empty: true}
		}
		return said{records: entries(tags...).Draw(t, "records")}
	})
}

func TestListsAgreeWithTheModel(t *testing.T) {
	book := shipped(t, rulebook.Settings{})
	kinds := []struct {
		tag  string
		key  []string // nil replaces
		tags []string
	}{
		{"TIPT", []string{"TRST"}, []string{"TRST", "TRTM"}},
		{"SRVT", []string{"SRTC"}, []string{"SRTC", "SRPR", "SRST"}},
		{"DELY", []string{"CODE"}, []string{"CODE", "TEXT", "STRT"}},
		{"GTDT", nil, []string{"GATE", "GTYP", "PGOT"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		state := entries(kind.tags...).Draw(t, "state")
		says := rapid.SliceOfN(saying(kind.tags...), 1, 3).Draw(t, "says")
		m := msg("FLOP-" + kind.tag)
		want := state
		for _, s := range says {
			m.Records = append(m.Records, record(1, elements{kind.tag: s.element()}))
			switch {
			case s.empty:
				want = nil
			case kind.key == nil:
				want = s.records
			default:
				want = slowByKey(want, s.records, kind.key...)
			}
		}
		d, err := book.Decide(m, view(active(1, nil, lists{kind.tag: state})))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(update(1, nil, nil, lists{kind.tag: want}), d, emptyIsNil()); diff != "" {
			t.Fatalf("FLOP-%s (-want +got):\n%s", kind.tag, diff)
		}
	})
}

// TestTwoKeysAgreeWithTheModel covers keys of two elements, one of them a flag.
func TestTwoKeysAgreeWithTheModel(t *testing.T) {
	book := shipped(t, rulebook.Settings{})
	draw := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) flight.Record {
		r := rec("PSHN", fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "n")))
		if v := rapid.SampledFrom([]string{"", "1", "12"}).Draw(t, "stand"); v != "" {
			r.Fields["PUST"] = v
		}
		if v := rapid.SampledFrom([]string{"", "IN", "OUT"}).Draw(t, "direction"); v != "" {
			r.Fields["PSID"] = v
		}
		return r
	}), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		state, records := draw.Draw(t, "state"), draw.Draw(t, "said")
		d, err := book.Decide(msg("FLOP-PSHT", record(1, elements{"PSHT": list(records...)})), view(active(1, nil, lists{"PSHT": state})))
		if err != nil {
			t.Fatal(err)
		}
		want := update(1, nil, nil, lists{"PSHT": slowByKey(state, records, "PUST", "PSID")})
		if diff := cmp.Diff(want, d, emptyIsNil()); diff != "" {
			t.Fatalf("FLOP-PSHT (-want +got):\n%s", diff)
		}
	})
}

// TestOrderOfCallsDoesNotMatter: any order, a fresh machine or a used one, failures
// in between: the same input gives the same decision.
func TestOrderOfCallsDoesNotMatter(t *testing.T) {
	type job struct {
		msg  *message.Message
		view decision.View
	}
	scheduled, scheduledView := schedule(t, 20)
	jobs := []job{{scheduled, scheduledView}}
	cat := shippedCatalogue(t)
	for _, kind := range cat.Kinds {
		if kind.Family != message.Operation {
			continue
		}
		e := elements{}
		for _, tag := range kind.Elements {
			if f, ok := cat.Scalar(tag); ok {
				e[tag] = text(sample(f.Type, f.Flags))
			} else {
				e[tag] = empty()
			}
		}
		jobs = append(jobs, job{msg(kind.Name, record(1, e), record(2, e)), view(busy(t, 1))})
	}
	want := make([]decision.Decision, len(jobs))
	for i, j := range jobs {
		fresh, err := rulebook.Load(msgx.Files, cat, rulebook.Settings{}, rulebook.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = decide(t, fresh, j.msg, j.view)
	}
	failing := changed(t, map[string]string{"rules/fdel@1.lua": `return { kind = "FDEL", writes = {}, decide = function() while true do end end }`})
	used, err := rulebook.Load(failing, cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewSource(1))
	for range 5 {
		for _, i := range order.Perm(len(jobs)) {
			if order.Intn(10) == 0 {
				if _, err := used.Decide(msg("FDEL", record(1, nil)), view()); err == nil {
					t.Fatal("an endless script came back")
				}
			}
			same(t, decide(t, used, jobs[i].msg, jobs[i].view), want[i])
		}
	}
}

// TestInputsAreLeftAlone: the host's own values are not the script's to change,
// nor the decision's to share.
func TestInputsAreLeftAlone(t *testing.T) {
	b := shipped(t, rulebook.Settings{})
	m, v := gates()
	d := decide(t, b, m, v)
	d.Changes[0].Lists["GTDT"][0].Fields["GATE"] = "changed"
	want, wantView := gates()
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantView, v); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	if !slices.Equal([]string{}, d.Changes[0].Clear) {
		t.Errorf("clear: %v", d.Changes[0].Clear)
	}
}
