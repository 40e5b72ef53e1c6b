package golden_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"msgx"
	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/golden"
)

// keyed are the kinds whose list is put in by key, and the elements of the key. Every
// other list of a message takes the place of the list that was there.
var keyed = map[string][]string{
	"FLOP-DELY": {"CODE"}, "FLOP-SRVT": {"SRTC"}, "FLOP-VIPF": {"VPCD"}, "FLOP-PORT": {"POID"},
	"FLOP-TIPT": {"TRST"}, "FLOP-PSHT": {"PUST", "PSID"},
}

// facts is what the corpus shows, each with the first case that shows it.
type facts map[string]string

func (f facts) add(name string, fact ...any) {
	key := strings.TrimSuffix(fmt.Sprintln(fact...), "\n")
	if f[key] == "" {
		f[key] = name
	}
}

// TestTheCorpusIsBroad holds the corpus to showing, for each kind, what every element of it does
// when it has a value, is empty, is absent, and is bad; what every list does by key; and every
// reason for which a message or a record is left out. What an element does is checked against
// the merge modes as they are told in rules/README.md, without the rules.
func TestTheCorpusIsBroad(t *testing.T) {
	cat := load(t)
	cases, err := golden.Load(golden.Options{Catalogue: cat, Rules: msgx.Files})
	if err != nil {
		t.Fatal(err)
	}
	shown := facts{}
	for _, c := range cases {
		if len(c.Settings.Rules) == 0 { // bound to old versions: another rule
			showCase(t, cat, c, shown)
		}
	}
	var missing []string
	for _, want := range wanted(cat) {
		if shown[want] == "" {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d facts are shown by no case:\n%s", len(missing), len(wanted(cat)), strings.Join(missing, "\n"))
	}
}

// wanted lists the facts that the corpus has to show.
func wanted(cat *catalogue.Catalogue) []string {
	want := facts{}
	for i := range cat.Kinds {
		kind := &cat.Kinds[i]
		if kind.Family != message.Schedule && kind.Family != message.Operation {
			continue
		}
		for _, tag := range elementsOf(cat, kind) {
			for _, how := range []string{"value", "empty", "absent", "bad"} {
				if how == "empty" && tag == "SODT" && kind.NeedsDay || how == "absent" && tag == "SODT" && kind.NeedsDay {
					continue // rejects the message, which is a reason below
				}
				want.add("", kind.Name, tag, how)
			}
		}
		if keyed[kind.Name] != nil {
			for _, how := range []string{"known key", "new key", "key twice", "no key"} {
				want.add("", kind.Name, how)
			}
		}
	}
	for _, r := range cat.References {
		want.add("", "REF-"+r.Type, "upsert")
		want.add("", "REF-"+r.Type, "delete")
	}
	for _, subtype := range catalogue.RefSubtypes {
		want.add("", "REF-*", subtype)
	}
	for _, reason := range []string{
		"SUCCEEDED", "SKIPPED flight-unknown", "SKIPPED flight-deleted", "SKIPPED ignored:", "SKIPPED duplicate-of:",
		"DEAD MALFORMED", "DEAD MALFORMED payload-missing", "DEAD PROTOCOL record-count", "DEAD PROTOCOL duplicate-flid",
		"DEAD PROTOCOL operation-day", "DEAD PROTOCOL FLID", "DEAD PROTOCOL SODT", "FAILED CODEC_ERROR", "FAILED UNSUPPORTED",
		"note flight-unknown", "note flight-deleted", "note record-count",
	} {
		want.add("", reason)
	}
	return slices.Sorted(maps.Keys(want))
}

func elementsOf(cat *catalogue.Catalogue, kind *catalogue.Kind) []string {
	if !slices.Contains(kind.Elements, "*") {
		return kind.Elements
	}
	return slices.DeleteFunc(cat.Tags(), func(tag string) bool { return tag == "FLID" })
}

// showCase runs a case and adds what it shows.
func showCase(t *testing.T, cat *catalogue.Catalogue, c *golden.Case, shown facts) {
	decoder, err := codec.New(cat, codec.Options{Zone: c.Settings.Zone, Ignore: c.Settings.Ignore})
	if err != nil {
		t.Fatal(err)
	}
	book, err := rulebook.Load(msgx.Files, cat, c.RuleSettings(), rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	judge := verdict.New(cat, book, verdict.Options{
		Options:         decision.Options{Zone: c.Settings.Zone, DayCutover: c.Settings.DayCutover, CodeShareKey: c.Settings.CodeShare},
		IdentityWithDay: c.Settings.IdentityWithDay,
	})
	at := time.Date(2021, 1, 23, 4, 0, 0, 0, time.UTC)
	r := rehearse.New(decoder, judge, func() time.Time { return at }, c.Before())
	for _, m := range c.Messages() {
		before := maps.Clone(r.World().Flights)
		got := r.Run(m.Raw)
		s := showing{t: t, cat: cat, shown: shown, name: c.Name + " " + m.Name, keeps: c.Settings.AbsentOptional != rulebook.Clear}
		s.reasons(&got.Settlement)
		if got.Message == nil {
			s.bad(m.Raw.Body, got.Settlement.Outcome.Reason)
			continue
		}
		s.message(got.Message, &got.Settlement, before, r.World().Flights)
	}
}

// showing is one message of a case.
type showing struct {
	t     *testing.T
	cat   *catalogue.Catalogue
	shown facts
	name  string
	keeps bool // what a schedule does not carry
}

// reasons adds how a message ended, and what it left out.
func (s *showing) reasons(settled *decision.Settlement) {
	o := settled.Outcome
	short := []string{string(o.State)}
	if o.Class != "" {
		short = append(short, string(o.Class))
	}
	state := strings.Join(short, " ")
	s.shown.add(s.name, state)
	for _, reason := range strings.Split(o.Reason, "; ") {
		for _, known := range []string{"flight-unknown", "flight-deleted", "ignored:", "duplicate-of:", "payload-missing", "record-count", "duplicate-flid", "operation-day"} {
			if strings.HasPrefix(reason, known) {
				s.shown.add(s.name, state, known)
			}
		}
		for _, tag := range []string{"FLID", "SODT"} {
			if strings.Contains(reason, "/"+tag+":") {
				s.shown.add(s.name, state, tag)
			}
		}
	}
	for _, n := range settled.Effects.Notes {
		reason, _, _ := strings.Cut(n.Reason, " ")
		s.shown.add(s.name, "note", reason)
	}
}

var (
	envelope = regexp.MustCompile(`<TYPE>(\w+)</TYPE>\s*<STYP>(\w+)</STYP>`)
	path     = regexp.MustCompile(`^/MSG/(?:SCHD(?:\[1\])?/FLTR|FLOP)\[\d+\]/(\w+)`)
)

// bad adds the element that a message was refused for.
func (s *showing) bad(body []byte, reason string) {
	kind, at := envelope.FindSubmatch(body), path.FindStringSubmatch(reason)
	if kind == nil || at == nil {
		return
	}
	if k, ok := s.cat.KindOf(string(kind[1]), string(kind[2])); ok {
		s.shown.add(s.name, k.Name, at[1], "bad")
	}
}

func (s *showing) message(m *message.Message, settled *decision.Settlement, before, after map[flight.ID]*flight.State) {
	for _, r := range settled.Effects.Refs {
		s.shown.add(s.name, m.Kind, r.Op)
		s.shown.add(s.name, "REF-*", m.Meta.Subtype)
	}
	kind, ok := s.cat.KindNamed(m.Kind)
	if !ok || kind.Family != message.Schedule && kind.Family != message.Operation {
		return
	}
	named := map[flight.ID]int{}
	for i := range m.Records {
		named[m.Records[i].FLID]++
	}
	if m.PayloadMissing != "" && len(kind.Elements) == 1 {
		s.shown.add(s.name, kind.Name, kind.Elements[0], "absent")
	}
	if settled.Outcome.State != message.Succeeded {
		s.dropped(kind, m)
		return
	}
	for i := range m.Records {
		r := &m.Records[i]
		was, is := before[r.FLID], after[r.FLID]
		if was == nil || was.Status == flight.Deleted {
			was = &flight.State{}
		}
		if named[r.FLID] > 1 || is == nil || is.Status == flight.Deleted {
			continue // of what several records say of a flight, the properties tell
		}
		for _, tag := range elementsOf(s.cat, kind) {
			s.element(kind, tag, r.Elements, was, is)
		}
	}
	s.dropped(kind, m)
}

// dropped adds a SODT that does not parse where that counts as absent.
func (s *showing) dropped(kind *catalogue.Kind, m *message.Message) {
	for _, d := range m.Dropped {
		if strings.HasSuffix(d.Path, "/SODT") {
			s.shown.add(s.name, kind.Name, "SODT", "bad")
		}
	}
	for i := range m.Records {
		for _, fault := range m.Records[i].Faults {
			if strings.Contains(fault, "/SODT:") {
				s.shown.add(s.name, kind.Name, "SODT", "bad")
			}
		}
	}
}

// element adds what one element did, and holds it to the merge mode of its kind.
func (s *showing) element(kind *catalogue.Kind, tag string, said map[string]message.Element, was, is *flight.State) {
	had, has := valueOf(s.cat, was, tag), valueOf(s.cat, is, tag)
	e, present := said[tag]
	setOnly := kind.Name == "SCHD-ADFT"
	want := had
	how := "absent"
	switch {
	case !present:
		if kind.Family == message.Schedule && !setOnly && !s.keeps && tag != "FFID" && tag != "SODT" {
			want = ""
		}
	case e.Empty:
		how = "empty"
		if !setOnly {
			want = ""
		}
	default:
		how = "value"
		if has == "" || has == had && keyed[kind.Name] == nil {
			return // says what was there: shows nothing
		}
		if keyed[kind.Name] != nil {
			s.byKey(kind, e.Records, was.Lists[tag])
		}
		s.shown.add(s.name, kind.Name, tag, how)
		return
	}
	if want != has {
		s.t.Errorf("%s: %s %s of flight %s, %q before: got %q, want %q", s.name, tag, how, is.ID, had, has, want)
	}
	if had != "" {
		s.shown.add(s.name, kind.Name, tag, how)
	}
}

// byKey adds what the records of a list show of its keys.
func (s *showing) byKey(kind *catalogue.Kind, said, was []flight.Record) {
	key := func(r flight.Record) string {
		text := ""
		for _, tag := range keyed[kind.Name] {
			if r.Fields[tag] == "" {
				return ""
			}
			text += "|" + r.Fields[tag]
		}
		return text
	}
	seen := map[string]bool{}
	for _, r := range said {
		k := key(r)
		switch known := slices.ContainsFunc(was, func(old flight.Record) bool { return key(old) == k }); {
		case k == "":
			s.shown.add(s.name, kind.Name, "no key")
		case seen[k]:
			s.shown.add(s.name, kind.Name, "key twice")
		case known:
			s.shown.add(s.name, kind.Name, "known key")
		default:
			s.shown.add(s.name, kind.Name, "new key")
		}
		seen[k] = true
	}
}

// valueOf is a scalar, an object or a list of a state in print, "" when there is none.
func valueOf(cat *catalogue.Catalogue, s *flight.State, tag string) string {
	if _, is := cat.Scalar(tag); is {
		return s.Fields[tag]
	}
	if records := s.Lists[tag]; len(records) > 0 {
		return fmt.Sprint(records)
	}
	o, is := cat.Object(tag)
	if !is {
		return ""
	}
	text := ""
	for _, p := range o.Parts {
		if v := s.Fields[tag+"."+p.Tag]; v != "" {
			text += p.Tag + "=" + v + " "
		}
	}
	return text
}
