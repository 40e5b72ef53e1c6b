package rulebook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/golden"
)

func traced(t testing.TB, files map[string]string) *rulebook.Rulebook {
	t.Helper()
	b, err := rulebook.LoadTraced(changed(t, files), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tracedGate(t testing.TB, body string) *rulebook.Rulebook {
	t.Helper()
	return traced(t, map[string]string{"rules/flop-gtdt@1.lua": deciding(body)})
}

// A traced run decides what the plain run does, for the whole corpus, and so does its
// instrumented twin; the cost it reports is the plain one.
func TestTracedDecidesAlike(t *testing.T) {
	calls, err := golden.Calls(golden.Options{Catalogue: shippedCatalogue(t), Rules: msgx.Files})
	if err != nil {
		t.Fatal(err)
	}
	plain, with := shipped(t, rulebook.Settings{}), traced(t, nil)
	for _, c := range calls {
		want, wantErr := plain.Decide(c.Message, c.View)
		asked := false
		with.Twin(func(got decision.Decision, err error) {
			asked = true
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s: the twin decides (-plain +twin):\n%s\nwith %v, expected %v", c.Case, diff, err, wantErr)
			}
		})
		got, err := with.Decide(c.Message, c.View)
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) || !asked {
			t.Errorf("%s: traced (-plain +traced):\n%s\nwith %v, expected %v", c.Case, diff, err, wantErr)
		}
		if got, want := with.Trace().Instructions, plain.Instructions(); got != want {
			t.Errorf("%s: %d instructions, expected the %d of the plain run", c.Case, got, want)
		}
		if len(with.Trace().Lines) == 0 {
			t.Errorf("%s: no line ran", c.Case)
		}
	}
	if len(calls) < 100 {
		t.Errorf("%d decisions in the corpus, expected more", len(calls))
	}
	if plain.Trace() != nil || plain.Points() != nil || plain.Executable() != nil || plain.Loaded() != nil {
		t.Error("a plain rule set has a trace")
	}
}

// Whatever a script does wrong, the traced run says the same of it.
func TestTracedFailsAlike(t *testing.T) {
	for _, body := range []string{
		`return view.flights["9"].STND`,
		`local x = msg.records[1].GTDT.y.z`,
		`local t = nil; return t.x`,
		`local k = "a"; local t; return t[k]`,
		`return msg.nothing()`,
		`return msg.kind:nothing()`,
		`view.flights["1"].STND = "x"`,
		`msg.records[1].x, msg.kind = 1, 2`,
		`local t = {} ; t[1], t[3] = 1, 3`,
		`return 1 + {}`,
		`return "a" .. {}`,
		`return #nil`,
		`if msg.kind < 1 then return {} end`,
		`error("because")`,
		`assert(msg.nothing and true, "because")`,
		`while true do end`,
		`while msg.kind do local x = 1 end`,
		`repeat local x = msg.kind until x ~= msg.kind`,
		`for i = 1, 1000000000 do local x = i end`,
		`local s = "x"; for i = 1, 100 do s = s .. s end`,
		`local function f(n) return 1 + f(n) end return f(1)`,
		`local t = {}; for i = 1, 1e9 do t[i] = {} end`,
		`return { changes = { { flid = "1", op = "update", set = { NOPE = "1" } } } }`,
		`return { skip = 1 }`,
	} {
		t.Run(body, func(t *testing.T) {
			m, v := msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12"))})), view(active(1, nil, nil))
			plain, with := withGate(t, deciding(body)), tracedGate(t, body)
			_, want := plain.Decide(m, v)
			if want == nil {
				t.Fatal("expected an error")
			}
			asked := false
			with.Twin(func(_ decision.Decision, err error) {
				asked = true
				budget := strings.Contains(want.Error(), "budget") || strings.Contains(want.Error(), "stack overflow")
				if err == nil || !budget && err.Error() != want.Error() {
					t.Errorf("the twin says %v, expected %v", err, want)
				}
			})
			if _, err := with.Decide(m, v); err == nil || err.Error() != want.Error() || !asked {
				t.Errorf("traced: %v, expected %v", err, want)
			}
			if tr := with.Trace(); tr.Instructions != plain.Instructions() || len(tr.Branches) > 2000 {
				t.Errorf("%d instructions and %d branches, expected %d and at most 2000", tr.Instructions, len(tr.Branches), plain.Instructions())
			}
			with.Twin(nil) // and it is whole again
			m = msg("FLOP-STND", record(1, elements{"STND": text("12")}))
			if _, err := with.Decide(m, v); err != nil || len(with.Trace().Lines) == 0 {
				t.Errorf("after the error: %v, %v", err, with.Trace())
			}
		})
	}
}

const gateBody = `  local n, found = 0, nil
  for _, record in ipairs(msg.records) do
    if record.GTDT == CLEAR or #record.GTDT > 1 and record.GTDT[1].GATE ~= "12" then
      n = n + 1
    elseif not view.flights[record.flid] then
      n = n + 10
    end
    found = found or view.flights[record.flid]
  end
  for _, door in ipairs(view.flights["1"].PORT) do n = n + 100 end
  while n > 10 do n = n - 10 end
  repeat n = n - 1 until n <= 0
  return { changes = { { flid = "1", op = "update", set = { STND = found.STND } } } }`

func TestTrace(t *testing.T) {
	b := tracedGate(t, gateBody)
	m := msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "11"), rec("GATE", "12"))}), record(9, elements{"GTDT": list(rec("GATE", "12"))}))
	v := view(active(1, flight.Fields{"STND": "7"}, nil))
	if _, err := b.Decide(m, v); err != nil {
		t.Fatal(err)
	}
	tr := b.Trace()
	var branches []string
	for _, br := range tr.Branches {
		branches = append(branches, fmt.Sprintf("%d:%d %s `%s` %t %s", br.Line, br.Column, br.Kind, br.Text, br.Taken, strings.Join(br.Operands, "; ")))
	}
	want := []string{
		"4:3 for `for _, record in ipairs(msg.records)` true ",
		`5:29 or ` + "`record.GTDT == CLEAR`" + ` false record.GTDT = {{GATE = "11"}, {GATE = "12"}}`,
		"5:49 and `#record.GTDT > 1` true #record.GTDT = 2",
		"5:49 and `record.GTDT[1].GATE ~= \"12\"` true record.GTDT[1].GATE = \"11\"",
		"5:5 if `record.GTDT == CLEAR or #record.GTDT > 1 and record.GTDT[1].GATE ~= \"12\"` true " +
			`record.GTDT = {{GATE = "11"}, {GATE = "12"}}; #record.GTDT = 2; record.GTDT[1].GATE = "11"`,
		"10:19 or `found` false found = nil",
		`5:29 or ` + "`record.GTDT == CLEAR`" + ` false record.GTDT = {{GATE = "12"}}`,
		"5:49 and `#record.GTDT > 1` false #record.GTDT = 1",
		"5:5 if `record.GTDT == CLEAR or #record.GTDT > 1 and record.GTDT[1].GATE ~= \"12\"` false " +
			`record.GTDT = {{GATE = "12"}}; #record.GTDT = 1`,
		"7:5 elseif `not view.flights[record.flid]` true view.flights[record.flid] = nil",
		"10:19 or `found` true found = {flight 1}",
		"12:3 for `for _, door in ipairs(view.flights[\"1\"].PORT)` false ",
		"13:3 while `n > 10` true n = 11",
		"13:3 while `n > 10` false n = 1",
		"14:20 until `n <= 0` true n = 0",
	}
	if diff := cmp.Diff(want, branches); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
	lines := map[int]int{}
	for _, l := range tr.Lines {
		if l.File == "rules/flop-gtdt@1.lua" {
			lines[l.Line] = l.Count
		}
	}
	if diff := cmp.Diff(map[int]int{3: 1, 4: 1, 5: 2, 6: 1, 7: 1, 8: 1, 10: 2, 12: 1, 13: 1, 14: 1, 15: 1}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	wantReads := []string{"flight 1", "flight 1 PORT", "flight 1 STND", "flight 9", "record 1 GTDT", "record 1 GTDT[1]", "record 1 GTDT[1] GATE", "record 1 flid", "record 2 GTDT", "record 2 flid"}
	if diff := cmp.Diff(wantReads, tr.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if tr.Values["flight 1 STND"] != `"7"` || tr.Values["flight 9"] != "nil" {
		t.Errorf("values: %v", tr.Values)
	}
	if diff := cmp.Diff([]string{"flight 1 STND"}, tr.Writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTraceOfReferencesAndSchedules(t *testing.T) {
	b := traced(t, nil)
	m := msg("SCHD-DNLD", record(1, elements{"STND": text("12"), "REMC": empty()}), record(2, elements{"STND": text("13")}))
	if _, err := b.Decide(m, view(deleted(active(2, nil, nil)))); err != nil {
		t.Fatal(err)
	}
	wantReads := []string{"flight 1", "flight 2", "flight 2 state", "record 1 FFID", "record 1 REMC", "record 1 STND", "record 1 flid"}
	for _, r := range wantReads {
		if r != "record 1 FFID" && !slices.Contains(b.Trace().Reads, r) {
			t.Errorf("reads: %q, expected %q among them", b.Trace().Reads, r)
		}
	}
	if diff := cmp.Diff([]string{"flight 1 create", "flight 1 REMC", "flight 1 STND", "flight 2 revive", "flight 2 STND"}, b.Trace().Writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	m = &message.Message{ID: 1, Kind: "REF-SLST", Family: message.Reference, Meta: message.Meta{Type: "REF"},
		Records: []message.Record{{Key: "S1", Value: []byte(`{"SCOD":"S1"}`)}}}
	if _, err := b.Decide(m, view()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"reference SLST S1"}, b.Trace().Writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// A value of a trace is one short line, whatever the script makes.
func TestTraceIsBounded(t *testing.T) {
	b := tracedGate(t, `
  local long, deep, wide = "ü\n", { { { { {} } } } }, {}
  for i = 1, 200 do long = long .. "x"; wide["k" .. i] = i end
  if long and deep and wide then end
  for i = 1, 5000 do if i > 2 then end end
  return { notes = {} }`)
	if _, err := b.Decide(msg("FLOP-GTDT", record(1, nil)), view()); err != nil {
		t.Fatal(err)
	}
	tr := b.Trace()
	if len(tr.Branches) != 2000 || tr.Cut == 0 {
		t.Errorf("%d branches and %d more, expected 2000 and some", len(tr.Branches), tr.Cut)
	}
	var texts []string
	for _, br := range tr.Branches[:6] {
		texts = append(texts, br.Operands...)
	}
	for _, text := range texts {
		if len(text) > 140 || strings.ContainsAny(text, "\n") {
			t.Errorf("operand: %s", text)
		}
	}
	if want := `wide = {k1 = 1, k10 = 10, k100 = 100, k101 = 101, 196 more}`; !slices.Contains(texts, want) {
		t.Errorf("operands %q, expected %q among them", texts, want)
	}
	if want := `deep = {{{…}}}`; !slices.Contains(texts, want) {
		t.Errorf("operands %q, expected %q among them", texts, want)
	}
	for _, o := range tr.Outcomes {
		if o.Text == "i > 2" && (o.True != 4998 || o.False != 2) {
			t.Errorf("outcomes of i > 2: %d and %d, expected 4998 and 2", o.True, o.False)
		}
	}
}

func TestWhatCanRun(t *testing.T) {
	b := tracedGate(t, gateBody)
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15}, b.Executable()["rules/flop-gtdt@1.lua"]); diff != "" {
		t.Errorf("executable lines (-want +got):\n%s", diff)
	}
	var points []string
	for _, p := range b.Points() {
		if p.File == "rules/flop-gtdt@1.lua" {
			points = append(points, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Kind))
		}
	}
	slices.Sort(points)
	want := []string{"10:19 or", "12:3 for", "13:3 while", "14:20 until", "2:124 function", "4:3 for", "5:29 or", "5:5 if", "5:49 and", "5:49 and", "7:5 elseif"}
	slices.Sort(want)
	if diff := cmp.Diff(want, points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	loaded := b.Loaded()["rules/flop-dely@1.lua"]
	if loaded == nil || !slices.ContainsFunc(loaded.Lines, func(l rulebook.LineHit) bool { return l.File == "rules/lib/merge.lua" }) {
		t.Errorf("loading flop-dely: %v, expected lines of merge.lua", loaded)
	}
	if diff := cmp.Diff([]string{"rules/lib/draft.lua", "rules/lib/merge.lua"}, b.Requires("rules/flop-dely@1.lua")); diff != "" {
		t.Errorf("requires (-want +got):\n%s", diff)
	}
}

// Every form of the language means the same when it is instrumented.
func TestInstrumentedMeansTheSame(t *testing.T) {
	for _, body := range []string{
		`for i = 1, 3 do if i == 2 then goto continue end local x = i ::continue:: end return { skip = "a" }`,
		`local function va(...) local a, b = ..., 2; if ... then return a, ... end return b end local x, y = va(1, 2) return { skip = tostring(x) .. y }`,
		`local t = { f = function(self, n) if n == 0 then return "end" end return self:f(n - 1) end } return { skip = t:f(3) }`,
		`local function two() return 1, 2 end local t = { two(), (two()), two() } return { skip = tostring(#t) }`,
		`local function two() return nil, 2 end local a = two() or "x" and (two() or "y") if (two()) == nil and not (two() and a) then return { skip = a } end`,
		`local s = "" for k, v in pairs({ b = 1, a = 2 }) do s = s .. k .. v end for i = 3, 1, -1 do s = s .. i end return { skip = s }`,
		`local i, s = 0, "x" while true do i = i + 1 if i > 3 then break end s = s .. i end repeat local j = i i = i - 1 until j < 2 return { skip = s .. i }`,
		`local o = {} function o.f(x) return x end function o:g(x) return self.f(x) end return { skip = o:g("z") }`,
		`local o = { a = { b = "k" }, k = { v = "deep" } } return { skip = o[o.a.b].v }`,
		`local a, b = 1, 2 a, b = b, a local t = {} t.x, t.y = a, b return { skip = t.x .. "," .. t.y }`,
		`return { skip = ({ "p", "q" })[2] .. (("x"):upper()) .. (#msg.records) .. tostring(-1 ^ 2) .. tostring(not msg.none) }`,
		`local t = { 3, 1, 2 } table.sort(t, function(a, b) return a > b end) return { skip = table.concat(t, "") }`,
		`do local x = msg.kind do return { skip = x } end end`,
	} {
		m, v := msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12"))})), view(active(1, nil, nil))
		want, err := withGate(t, deciding(body)).Decide(m, v)
		if err != nil || want.Skip == "" {
			t.Errorf("%s: %v, %v", body, want, err)
			continue
		}
		with := tracedGate(t, body)
		with.Twin(func(got decision.Decision, err error) {
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: the twin decides (-plain +twin):\n%s%v", body, diff, err)
			}
		})
		decide(t, with, m, v)
	}
}
