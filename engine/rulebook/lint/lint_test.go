package lint_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/lint"
)

// TestTheShippedRulesAreClean, without an exception.
func TestTheShippedRulesAreClean(t *testing.T) {
	report, err := lint.Check(msgx.Files, shippedCatalogue(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("%s:%d:%d: %s [%s]", f.File, f.Line, f.Column, f.Message, f.Code)
	}
	if report.Files < 50 {
		t.Errorf("read %d files, expected all of them", report.Files)
	}
}

// gate is a script for FLOP-GTDT with a body of decide.
func gate(writes, body string) string {
	return "local merge = require(\"merge\")\nlocal draft = require(\"draft\")\nreturn { kind = \"FLOP-GTDT\", writes = { " + writes + " }, decide = function(view, msg)\n" + body + "\nend, merge = merge, draft = draft }\n"
}

func found(t *testing.T, files map[string]string, paths ...string) []string {
	t.Helper()
	report, err := lint.Check(overlaid(t, files), shippedCatalogue(t), paths...)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range report.Findings {
		if f.Code != diagnostic.UnknownHeader && f.Code != diagnostic.UnusedParameter {
			out = append(out, string(f.Code)+" "+f.Message)
		}
	}
	return out
}

// TestFinds: variants beyond the fixture of each code; the message names what is meant.
func TestFinds(t *testing.T) {
	for _, tt := range []struct{ writes, body, want string }{
		{`"GTDT"`, `return merge.flop(view, msg, { GTDT = merge.set_only(merge.value) })`, "MX305 GTDT is a list, and merge.set_only(merge.value) is for scalars and objects"},
		{`"STND"`, `for _, r in ipairs(msg.records) do draft.replace(draft.open("update", r.flid), "STND", {}) end return {}`, "MX305 STND is a scalar, and draft.replace is for others"},
		{`"STND"`, `for _, r in ipairs(msg.records) do draft.set(draft.open("update", r.flid), "STDN", "1") end return {}`, `MX301 "STDN" is not a tag of a flight; did you mean "STND"?`},
		{`"MVIN"`, `return { changes = { { flid = "1", op = "update", set = { MVIN = "X" } } } }`, `MX406 MVIN is "X", expected one of A, D`},
		{`"STND"`, `local set = {} set.STND = CLEAR return { changes = { { flid = "1", op = "update", set = set } } }`, "MX406 CLEAR is not a value: it occurs in msg only"},
		{`"FDIV"`, `return { changes = { { flid = "1", op = "update", set = { FDIV = { DEST = "PEK" } } } } }`, "MX302 FDIV has no DEST"},
		{`"GTDT"`, `return { changes = { { flid = "1", op = "update", clear = { "GTDT" } } } }`, "MX305 GTDT is a list and does not stand under clear"},
		{``, `return { changes = { { flid = "1", op = "upsert" } } }`, `MX404 op is "upsert", expected create, update, revive, delete`},
		{``, `return { skip = "x", notes = {} }`, "MX404 skip and reject stand alone: nothing else is decided beside them"},
		{``, `return { outbound = { { request = "NOPE" } } }`, `MX403 "NOPE" is not a request of the catalogue`},
		{``, `local records = msg.records table.insert(records, 1) return {}`, "MX105 records is read-only: msg.records is what the rule is given"},
		{``, `local function f(r) return r.GATES end for _, r in ipairs(msg.records) do f(r) end return {}`, "MX302 a record of msg has no GATES"},
		{``, `for _, r in ipairs(msg.records) do for _, g in ipairs(r.GTDT) do if g.GTNO == "1" then return {} end end end return {}`, `MX511 g.GTNO is a number, and "1" a text`},
		{``, `if msg.kind == "FLOP-GTDD" then return {} end return {}`, `MX303 "FLOP-GTDD" is no kind of the catalogue; did you mean "FLOP-GTDT"?`},
		{``, `local s = msg.kind return { skip = s:gsub("a", "b") }`, "MX106 the sandbox has no string.gsub"},
		{``, `if type(msg.recs) == "CLEAR" then return {} end return {}`, `MX505 type never gives "CLEAR"; did you mean "clear"?`},
		{``, `local d = msg.meta.dtm return { skip = d }`, `MX302 msg.meta has no dtm; did you mean "dttm"?`},
		{``, `return`, "MX405 decide returns nothing here"},
		{``, `while true do if msg.recs then break end end`, "MX405 decide reaches its end without a decision on some path"},
		{``, `local current = view.flights["1"] or {} current.STND = "1" return {}`, "MX105 current.STND is read-only: a flight is what the rule is given"},
		{`"*"`, `return merge.schedule(view, msg, { value = merge.replace, list = merge.replace })`, "MX305 merge.replace is not a mode for values"},
	} {
		got := found(t, map[string]string{"rules/flop-gtdt@2.lua": gate(tt.writes, tt.body)})
		if !strings.Contains(strings.Join(got, "\n"), tt.want) {
			t.Errorf("%s\ngot  %q\nwant %s", tt.body, got, tt.want)
		}
	}
}

// TestDoesNotAccuse: what is right, and looks a little like something that is not.
func TestDoesNotAccuse(t *testing.T) {
	for _, tt := range []struct{ writes, body string }{
		{`"GTDT"`, `local modes = { GTDT = merge.set_only(merge.by_key("GATE", "GTNO")) } return merge.flop(view, msg, modes)`},
		{`"STND", "REMC"`, `local set = {} for _, tag in ipairs({ "STND", "REMC" }) do set[tag] = "1" end return { changes = { { flid = "1", op = "update", set = set } } }`},
		{`"STND"`, `local flid = msg.records[1].flid local d = draft.open("update", flid, view.flights[flid]) draft.set(d, "STND", "1") return { changes = { draft.change(d) } }`},
		{``, `while true do if msg.recs then return {} end error("no") end`},
		{``, `local seen = {} for _, r in ipairs(msg.records) do if not seen[r.flid] then seen[r.flid] = true end end return {}`},
		{``, `local t = {} t.flid = "1" t.reason = "x" return { notes = { t } }`},
		{``, `local notes = {} for _, r in ipairs(msg.records) do local gates = r.GTDT if gates and gates ~= CLEAR and #gates > 0 and gates[1].GATE ~= nil then notes[#notes + 1] = { flid = r.flid, reason = gates[1].GATE } end end return { notes = notes }`},
		{``, `local text = "a" for i = 1, 3 do text = text .. i end return { skip = text }`},
		{``, `local function by(a, b) return a.flid < b.flid end local all = {} for i, r in ipairs(msg.records) do all[i] = r end table.sort(all, by) return { skip = all[1].flid }`},
		{``, `local master = view.flights[view.flights["1"] and view.flights["1"].MAID or "2"] if master and master.state == "ACTIVE" and #master.MAFL > 0 and master.MAFL[1].FLID == "7" then return {} end return { skip = "x" }`},
		{``, `local notes = {} local reason if #msg.records == 0 then reason = "empty" end return { skip = reason, notes = not reason and notes or nil }`},
		{``, `while true do for _, r in ipairs(msg.records) do if r.GTDT then break end end return {} end`},
		{``, `local n = #msg.records / 0 if n ~= n then return { skip = "NaN" } end return {}`},
		{``, `for _, r in ipairs(msg.records) do if not r.GTDT then -- absent keeps
			elseif r.GTDT == CLEAR then return {} end end return { skip = "x" }`},
		{``, `if msg.records[1].key then return { skip = "x" } end return {}`},
	} {
		for _, f := range found(t, map[string]string{"rules/flop-gtdt@2.lua": gate(tt.writes, tt.body)}) {
			if !strings.Contains(f, "local draft") && !strings.Contains(f, "a record of msg has no key") {
				t.Errorf("%s\n%s", tt.body, f)
			}
		}
	}
}

// TestAllAtOnce: a file that does not parse does not hide what is wrong with the others.
func TestAllAtOnce(t *testing.T) {
	got := found(t, map[string]string{
		"rules/flop-gtdt@1.lua": "return (",
		"rules/flop-ckdt@1.lua": strings.Replace(gate(`"CKDD"`, "x = os"), "FLOP-GTDT", "FLOP-CKDT", 1),
		"rules/odd.txt":         "",
	})
	for _, want := range []string{"MX001", "MX002", "MX101", "MX103", "MX301", "MX405"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
}

// TestByteOrderMark: what cannot be seen is named.
func TestByteOrderMark(t *testing.T) {
	want := []string{"MX001 a byte order mark before the text; save the file as UTF-8 without one"}
	if diff := cmp.Diff(want, found(t, map[string]string{"rules/flop-gtdt@2.lua": "\ufeff" + gate("", "return {}")}, "rules/flop-gtdt@2.lua")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPaths: only the findings of what was asked for, judged in the whole.
func TestPaths(t *testing.T) {
	files := map[string]string{"rules/flop-gtdt@2.lua": "return 1", "rules/flop-ckdt@2.lua": "return 1"}
	want := []string{"MX401 a script returns one table with kind or kinds, writes and decide"}
	if diff := cmp.Diff(want, found(t, files, "rules/flop-gtdt@2.lua")); diff != "" {
		t.Errorf("one file (-want +got):\n%s", diff)
	}
	if got := found(t, files, "rules"); len(got) != 2 {
		t.Errorf("a folder: got %q, want two findings", got)
	}
	if _, err := lint.Check(fstest.MapFS{}, shippedCatalogue(t), "rules/none.lua"); err == nil {
		t.Error("a path that is not there: got no error")
	}
	if got := found(t, nil, "handlers.lua"); len(got) != 0 {
		t.Errorf("handlers.lua: got %q", got)
	}
}

// FuzzCheck: no source makes the linter panic or hang, and every finding can be shown.
func FuzzCheck(f *testing.F) {
	for _, body := range []string{
		"return {}", "a, b.c = b, a", "local x <const> = 1", "return merge.flop(view, msg, { GTDT = merge.by_key() })", "goto a ::a::",
		"local f = f local function g(...) return ... end return g", "function view.a:b() self.c = msg end", "for k in next, t do break end",
		"return { changes = { { set = set } } }", "\x00\xff", "local t = {} t[t] = t return t", `x = "` + strings.Repeat("(", 500), strings.Repeat("{", 500),
		"机位 = '机位'", "return { kind = {}, writes = 1, decide = decide }", "if a then elseif b then else return end",
	} {
		f.Add(body)
		f.Add(gate(`"GTDT"`, body))
	}
	cat := shippedCatalogue(f)
	base := overlaid(f, nil)
	small := fstest.MapFS{
		"handlers.lua":        {Data: []byte(`return { ["FLOP-GTDT"] = "flop-gtdt@1", defaults = { ["*"] = "flop-gtdt@1" } }`)},
		"rules/lib/merge.lua": base["rules/lib/merge.lua"],
		"rules/lib/draft.lua": base["rules/lib/draft.lua"],
	}
	f.Fuzz(func(t *testing.T, text string) {
		small["rules/flop-gtdt@1.lua"] = &fstest.MapFile{Data: []byte(text)}
		report, err := lint.Check(small, cat)
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range report.Findings {
			if _, known := diagnostic.KindOf(finding.Code); !known || finding.Message == "" || finding.Cause == "" || finding.Fix == "" {
				t.Errorf("an incomplete finding: %+v", finding)
			}
		}
		if err := report.Write(&strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFollowsNames: a table that the file holds is the same under another name.
func TestFollowsNames(t *testing.T) {
	for _, tt := range []struct{ held, body, want string }{
		{`local seen = {}`, `local s = seen s.x = msg.kind return {}`, `MX109 s.x is written to when "seen" is read-only already: the file holds it`},
		{`local seen = { kinds = {} }`, `local k = seen.kinds local again = k again.x = 1 return {}`, `MX109 again.x is written to when "seen" is read-only already: the file holds it`},
		{"local seen = {}\nlocal insert = table.insert", `insert(seen, msg.kind) return {}`, `MX109 seen is written to when "seen" is read-only already: the file holds it`},
		{`local seen = {}`, `local s = seen s = {} s.x = 1 return {}`, ""},
		{`local seen = {}`, `local s = { seen } s.x = 1 return {}`, ""},
		{`local seen = {}`, `local seen = {} local s = seen s.x = 1 return {}`, ""},
	} {
		text := tt.held + "\n" + gate("", tt.body)
		got := strings.Join(found(t, map[string]string{"rules/flop-gtdt@2.lua": text}), "\n")
		if (tt.want == "") == strings.Contains(got, "MX109") || !strings.Contains(got, tt.want) {
			t.Errorf("%s; %s\ngot  %q\nwant %s", tt.held, tt.body, got, tt.want)
		}
	}
}
