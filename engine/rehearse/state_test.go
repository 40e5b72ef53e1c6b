package rehearse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/rehearse"
	"msgx/schemas"
)

var zone = time.FixedZone("CST", 8*3600)

func load(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

const example = `- flight: 1
  version: 3
  FLNO: CA101
  SODT: 2021-01-23 05:35
  STND: 01
  REMC: "雾: \"low\""
  LBWT: 12.5
  FTSS: ON
  FDIV: {DDES: PEK, DDIR: TO, TEXT: "fog, thick"}
  GTDT:
    - {GTNO: 1, GATE: G1, PGOT: 2021-01-23 06:00}
    - {GATE: "null: 1"}
  CHOT:
    - {CHID: ON}
  VIPF:
    - {VPCD: V1, VFES: 2, VIPT: [{VSCD: CAR}, {VSCD: BUS}]}
  MAFL: [{FLID: 2, FLNO: ZH2}, {FLID: 4}]
- flight: 2
  operation_day: 2021-01-22
  FLNO: ZH2
  MAID: 1
- flight: 3
  state: DELETED
  operation_day: ~
  SODT: 2021-01-23 05:35
  MAID: 1
- flight: 4
  MAID: 1
- reference: SLST
  key: S209
  value: {"NAME":["a",null],"SCOD":"S209"}
`

func TestStateRoundTrip(t *testing.T) {
	cat := load(t)
	w, err := rehearse.ParseState(cat, zone, []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example, string(rehearse.FormatState(cat, zone, w))); diff != "" {
		t.Errorf("format of what was parsed (-given +got):\n%s", diff)
	}
	first := w.Flights[1]
	if first.OperationDay != "2021-01-23" || first.Fields["SODT"] != "2021-01-23T05:35:00+08:00" || first.Fields["STND"] != "01" ||
		len(first.Members) != 2 || w.Flights[3].OperationDay != "" || w.Flights[2].OperationDay != "2021-01-22" {
		t.Errorf("parsed %+v", first)
	}
}

func TestAnyTextRoundTrips(t *testing.T) {
	cat := load(t)
	texts := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.StringMatching(`[-~#&*!|>'"%@?:{}\[\], a1]{1,8}`),
		rapid.SampledFrom([]string{"null", "~", "ON", "0x1F", "1e3", "...", "---", "2021-01-23", "true", ".inf", "="}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimSpace(strings.Map(func(r rune) rune {
			if r == 0 || r == '\uFEFF' {
				return 'x'
			}
			return r
		}, texts.Draw(t, "text")))
		if text == "" {
			return
		}
		w := rehearse.World{Flights: map[flight.ID]*flight.State{1: {ID: 1, Status: flight.Active, Version: 1,
			Fields: flight.Fields{"REMC": text},
			Lists:  map[string][]flight.Record{"DELY": {{Fields: flight.Fields{"CODE": "1", "TEXT": text}}}}}}}
		out := rehearse.FormatState(cat, zone, w)
		back, err := rehearse.ParseState(cat, zone, out)
		if err != nil {
			t.Fatalf("%q is written as\n%s\nand not understood: %v", text, out, err)
		}
		got := back.Flights[1]
		if got.Fields["REMC"] != text || got.Lists["DELY"][0].Fields["TEXT"] != text {
			t.Fatalf("%q is written as\n%s\nand read as %q, %q", text, out, got.Fields["REMC"], got.Lists["DELY"])
		}
	})
}

func TestStateFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"not a list", "flight: 1", "line 1: expected a list"},
		{"no flight", "- FLNO: CA1", `line 1: found "FLNO", expected an entry that begins with flight`},
		{"bad id", "- flight: x1", `line 1: flight: found "x1"`},
		{"unknown tag with its line", "- flight: 1\n  STAND: 1", `line 2: unknown tag "STAND"`},
		{"unknown tag with the nearest", "- flight: 1\n  STDN: 1", `line 2: unknown tag "STDN", did you mean STND?`},
		{"reference twice", "- reference: SLST\n  key: 1\n  value: 1\n- reference: SLST\n  key: 1\n  value: 2", "line 4: reference SLST 1 stands twice"},
		{"all at once", "- flight: 1\n  STDN: 1\n- flight: x\n", `line 2: unknown tag "STDN", did you mean STND?` + "\n" + `state: line 3: flight: found "x"`},
		{"unknown part", "- flight: 1\n  FDIV: {X: 1}", `FDIV: unknown part "X"`},
		{"bad time", "- flight: 1\n  SODT: 23JAN210535", `line 2: SODT is "23JAN210535", expected a time`},
		{"too long", "- flight: 1\n  STND: 123456789", "at most 8 characters"},
		{"empty value", "- flight: 1\n  STND:", "STND: expected a text (leave out what is absent)"},
		{"empty list", "- flight: 1\n  GTDT: []", "leave out an empty list"},
		{"twice", "- flight: 1\n- flight: 1", "flight 1 stands twice"},
		{"tag twice", "- flight: 1\n  STND: 1\n  STND: 2", "STND stands twice"},
		{"bad state", "- flight: 1\n  state: GONE", "expected ACTIVE or DELETED"},
		{"bad version", "- flight: 1\n  version: 0", "expected a number from 1"},
		{"bad day", "- flight: 1\n  operation_day: today", "expected a date"},
		{"wrong MAFL", "- flight: 1\n  MAFL: [{FLID: 2}]", "MAFL of flight 1 is [{FLID: 2}], expected []"},
		{"unknown reference", "- reference: XXXX\n  key: 1\n  value: 1", `unknown reference type "XXXX"`},
		{"half a reference", "- reference: SLST\n  key: 1", "needs key and value"},
		{"two documents", "- flight: 1\n---\n- flight: 2", "line 2: a second YAML document begins here"},
		{"two documents, the second broken", "- flight: 1\n---\n- flight: [", "this is not YAML"},
		{"alias of a text", "- flight: 1\n  STND: &s 1\n- flight: 2\n  STND: *s", "line 4: found the alias *s, expected what it stands for"},
		{"alias of an entry", "- &f {flight: 1}\n- *f", "line 2: found the alias *f"},
		{"alias in a reference", "- reference: SLST\n  key: &k S1\n  value: {SCOD: *k}", "line 3: found the alias *k"},
		{"not YAML", "- flight: [", "state: line 1: this is not YAML"},
	}
	cat := load(t)
	for _, tt := range tests {
		_, err := rehearse.ParseState(cat, zone, []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: ParseState(%q): %v\nexpected a text with %q", tt.name, tt.text, err, tt.want)
		}
	}
	if w, err := rehearse.ParseState(cat, zone, nil); err != nil || len(w.Flights) != 0 {
		t.Errorf("an empty state gave %+v, %v", w, err)
	}
}

func TestSharedStates(t *testing.T) {
	cat := load(t)
	departure := rehearse.Layer{Name: "departure", Data: []byte("- flight: 1\n  STND: 7\n  MAFL: [{FLID: 2}]\n- flight: 2\n  MAID: 1\n- reference: SLST\n  key: S1\n  value: {A: 1}\n")}
	tests := []struct {
		name, own, want string
		shared          []rehearse.Layer
		fault           string
	}{
		{name: "as they are", shared: []rehearse.Layer{departure},
			want: "- flight: 1\n  STND: 7\n  MAFL: [{FLID: 2}]\n- flight: 2\n  MAID: 1\n- reference: SLST\n  key: S1\n  value: {\"A\":\"1\"}\n"},
		{name: "the own entry takes the place, whole", own: "- flight: 1\n  version: 3\n- reference: SLST\n  key: S1\n  value: {}\n", shared: []rehearse.Layer{departure},
			want: "- flight: 1\n  version: 3\n  MAFL: [{FLID: 2}]\n- flight: 2\n  MAID: 1\n- reference: SLST\n  key: S1\n  value: {}\n"},
		{name: "two that have something in common", shared: []rehearse.Layer{departure, {Name: "other", Data: []byte("- flight: 2\n")}},
			fault: "state other: line 1: flight 2 is in the state departure as well"},
		{name: "a fault with its layer", own: "- flight: 3\n  STDN: 1\n", shared: []rehearse.Layer{{Name: "other", Data: []byte("- flight: 4\n  GDTD: 1\n")}},
			fault: "state: line 2: unknown tag \"STDN\", did you mean STND?\nstate other: line 2: unknown tag \"GDTD\""},
		{name: "a MAFL that an own entry makes wrong", own: "- flight: 2\n", shared: []rehearse.Layer{departure},
			fault: "state departure: line 3: MAFL of flight 1 is [{FLID: 2}], expected []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := rehearse.ParseState(cat, zone, []byte(tt.own), tt.shared...)
			if tt.fault != "" {
				if faults, ok := rehearse.FaultsOf(err); !ok || len(faults) == 0 || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("%v, expected faults with %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(rehearse.FormatState(cat, zone, w))); diff != "" {
				t.Errorf("the state (-want +got):\n%s", diff)
			}
		})
	}
}
