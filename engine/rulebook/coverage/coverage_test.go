package coverage_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/coverage"
	"msgx/schemas"
)

const gate = `local lib = require("lib")
return {
  kind   = "FLOP-GTDT",
  writes = {},
  decide = function(_, msg)
    for _, record in ipairs(msg.records) do
      if record.GTDT == CLEAR or record.flid == "9" then
        return { skip = lib.reason("empty") }
      end
    end
    return {}
  end,
}
`

const library = `local lib = {}
function lib.reason(text)
  return text
end
function lib.unused()
  return 1
end
return lib
`

func loaded(t *testing.T) *rulebook.Rulebook {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"handlers.lua":          {Data: []byte(`return { ["FLOP-GTDT"] = "flop-gtdt@1", defaults = { ["*"] = "rest@1" } }`)},
		"rules/rest@1.lua":      {Data: []byte(`return { kinds = { "*" }, writes = {}, decide = function() return {} end }`)},
		"rules/flop-gtdt@1.lua": {Data: []byte(gate)},
		"rules/lib/lib.lua":     {Data: []byte(library)},
	}
	b, err := rulebook.LoadTraced(files, cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// report runs cases, each of records that have an empty GTDT or none.
func report(t *testing.T, cases map[string][]bool, files ...string) *coverage.Report {
	t.Helper()
	b := loaded(t)
	c := coverage.New(b)
	for name, records := range cases {
		c.Case(name)
		b.Watch(func(kind string, tr *rulebook.Trace) { c.Add(name, b, kind, tr) })
		m := &message.Message{ID: 1, Kind: "FLOP-GTDT", Family: message.Operation}
		for i, empty := range records {
			r := message.Record{FLID: flight.ID(i + 1), Elements: map[string]message.Element{}}
			if empty {
				r.Elements["GTDT"] = message.Element{Empty: true}
			}
			m.Records = append(m.Records, r)
		}
		if _, err := b.Decide(m, decision.View{}); err != nil {
			t.Fatal(err)
		}
	}
	return c.Report(files...)
}

func missing(r *coverage.Report) []string {
	out := []string{}
	for _, f := range r.Files {
		for _, m := range f.Missing {
			out = append(out, fmt.Sprintf("%s:%d:%d %s", f.Name, m.Line, m.Column, m.What))
		}
	}
	return out
}

func TestReportNamesWhatIsMissing(t *testing.T) {
	const script, lib = "rules/flop-gtdt@1.lua", "rules/lib/lib.lua"
	unused := []string{lib + ":5:1 `function lib.unused()` was never called", lib + ":6:0 never ran"}
	tests := []struct {
		name  string
		cases map[string][]bool
		want  []string
	}{
		{"one way", map[string][]bool{"a": {false}}, append([]string{
			script + ":7:7 `record.GTDT == CLEAR or record.flid == \"9\"` was never true",
			script + ":7:31 `record.GTDT == CLEAR` was never true",
			script + ":7:31 `record.flid == \"9\"` was never true",
			script + ":8:0 never ran",
			lib + ":2:1 `function lib.reason(text)` was never called", lib + ":3:0 never ran",
		}, unused...)},
		{"both ways in two cases", map[string][]bool{"a": {false}, "b": {true}}, append([]string{
			script + ":7:31 `record.flid == \"9\"` was never true",
		}, unused...)},
		{"no round", map[string][]bool{"a": {}}, append([]string{
			script + ":6:5 `for _, record in ipairs(msg.records)` never had a round",
			script + ":7:0 never ran",
			script + ":8:0 never ran",
			lib + ":2:1 `function lib.reason(text)` was never called", lib + ":3:0 never ran",
		}, unused...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, missing(report(t, tt.cases, script, lib))); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// A file that no message of the cases comes to is not covered by being loaded.
func TestLoadingCountsForThoseWhoUseIt(t *testing.T) {
	r := report(t, map[string][]bool{"a": {true}})
	for _, f := range r.Files {
		if none := f.Name == "rules/rest@1.lua"; none != (f.Lines.Covered == 0) {
			t.Errorf("%s: %s lines are covered", f.Name, f.Lines)
		}
	}
}

func TestHitsNameTheCasesThatRanALineMost(t *testing.T) {
	r := report(t, map[string][]bool{"few": {false}, "many": {false, false, false}, "none": {}}, "rules/flop-gtdt@1.lua")
	for _, l := range r.Files[0].Hits {
		want := coverage.Line{Number: 7, Count: 4, Cases: []string{"many", "few"}}
		if l.Number != 7 {
			continue
		}
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("line 7 (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"few", "many", "none"}, r.Cases); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

// 100 means all, however many there are.
func TestPercentIsRoundedDown(t *testing.T) {
	tests := []struct {
		ratio coverage.Ratio
		want  string
	}{
		{coverage.Ratio{Covered: 9999, Total: 10000}, "99.9% (9999 of 10000)"},
		{coverage.Ratio{Covered: 1, Total: 3}, "33.3% (1 of 3)"},
		{coverage.Ratio{}, "100.0% (0 of 0)"},
	}
	for _, tt := range tests {
		if got := tt.ratio.String(); got != tt.want {
			t.Errorf("%d of %d is %s, expected %s", tt.ratio.Covered, tt.ratio.Total, got, tt.want)
		}
	}
	r := coverage.Report{Lines: coverage.Ratio{Covered: 9, Total: 10}, Outcomes: coverage.Ratio{Covered: 8, Total: 10}}
	if !r.Reaches(80) || r.Reaches(81) {
		t.Error("90% of lines and 80% of outcomes: expected to reach 80 and not 81")
	}
}

func TestTextAndPage(t *testing.T) {
	r := report(t, map[string][]bool{"a<b": {false}}, "rules/flop-gtdt@1.lua")
	r.Failing = []string{"a<b"}
	r.Again = func(name string) string { return "msgx golden run '" + name + "'" }
	var text, html strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	want := "rules/flop-gtdt@1.lua:7:7: `record.GTDT == CLEAR or record.flid == \"9\"` was never true\n" +
		"rules/flop-gtdt@1.lua:7:31: `record.GTDT == CLEAR` was never true\n" +
		"rules/flop-gtdt@1.lua:7:31: `record.flid == \"9\"` was never true\n" +
		"rules/flop-gtdt@1.lua:8: never ran: return { skip = lib.reason(\"empty\") }\n" +
		"  LINES       OUTCOMES       FILE\n" +
		"  83.3%  5/6     62.5%  5/8  rules/flop-gtdt@1.lua\n" +
		"  83.3%  5/6     62.5%  5/8  all, by 1 case\n" +
		"case a<b does not come out as expected: msgx golden run 'a<b'\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if err := r.HTML(&html); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`class="line partly"`, `class="line missed"`, `class="line covered"`, "Case a&lt;b does not come out", "<div>Ran once, in a&lt;b</div>"} {
		if !strings.Contains(html.String(), part) {
			t.Errorf("the page has no %s", part)
		}
	}
	for _, part := range []string{"http://", "https://", "src="} {
		if strings.Contains(html.String(), part) {
			t.Errorf("the page needs something from elsewhere: %s", part)
		}
	}
}
