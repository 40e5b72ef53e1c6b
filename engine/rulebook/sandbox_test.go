package rulebook_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// gates is a message and a view with something of everything in it.
func gates() (*message.Message, decision.View) {
	m := msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12", "GTNO", "1"))}), record(2, elements{"GTDT": empty()}))
	one := active(1, flight.Fields{"STND": "5", "MAXP": "180", "FDIV.DDES": "PEK", "FLNO": "CA101"}, lists{"GTDT": {rec("GATE", "9")}})
	one.Members = []flight.Member{{FLID: 3, FLNO: "MU1"}}
	return m, view(one, active(2, nil, nil))
}

// TestRefusedAtLoad: what a script may not even say. Each text must name the line.
func TestRefusedAtLoad(t *testing.T) {
	names := "io os debug load loadstring loadfile dofile setfenv getfenv newproxy collectgarbage coroutine package module " +
		"rawget rawset rawequal setmetatable getmetatable pcall xpcall print select unpack _G _VERSION arg channel"
	for _, name := range strings.Fields(names) {
		refused(t, name, "local x = "+name, fmt.Sprintf("rules/flop-gtdt@1.lua:3: unknown name %q", name))
	}
	tests := []struct{ name, body, want string }{
		{"global write", "counter = 1", `:3: "counter" is assigned but is not a local variable`},
		{"global function", "function f() end", `:3: "f" is assigned but is not a local variable`},
		{"allowed name written", "string = nil", `:3: "string" is assigned but is not a local variable`},
		{"upvalue write", "local n = 0\nlocal function f() n = n + 1 end", `:4: "n" belongs to an enclosing function`},
		{"several targets", "local n, t = 0, {}\nlocal function f() t.a, n = 1, 2 end", `:4: "n" belongs to an enclosing function`},
		{"require by variable", "local r = require", "require may only be called"},
		{"require computed", "return require('mer' .. 'ge')", "require takes the name of a library as it stands"},
		{"require outside", "return require('os')", `requires "os", and there is no rules/lib/os.lua`},
	}
	for _, tt := range tests {
		refused(t, tt.name, tt.body, tt.want)
	}
	source := "local merge = require(\"merge\")\nlocal n = 0\n" + `return { kind = "FLOP-GTDT", writes = {}, decide = function() n = n + 1 return { skip = "x" } end }`
	_, err := rulebook.Load(changed(t, map[string]string{"rules/flop-gtdt@1.lua": source}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err == nil || !strings.Contains(err.Error(), `rules/flop-gtdt@1.lua:3: "n" belongs to an enclosing function`) {
		t.Errorf("a counter beside decide: got %v", err)
	}
}

func refused(t *testing.T, name, body, want string) {
	t.Helper()
	_, err := rulebook.Load(changed(t, map[string]string{"rules/flop-gtdt@1.lua": deciding(body)}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s:\n%s\ngot  %v\nwant an error with %s", name, body, err, want)
	}
}

// TestTraps: everything that would run away, leak or change what it must not.
// Each must end in an error at once, and leave the rulebook as it was.
func TestTraps(t *testing.T) {
	const budget, bytes, frozen = "instruction budget used up", "string budget used up", "read-only"
	tests := []struct{ name, body, want string }{
		{"endless loop", "while true do end", budget},
		{"endless goto", "::a:: goto a", budget},
		{"endless repeat", "repeat until false", budget},
		{"endless tail recursion", "local function f() return f() end\nreturn f()", budget},
		{"deep recursion", "local function f() return 1 + f() end\nreturn f()", "stack overflow"},
		{"deep recursion through sort", "local function f() table.sort({ 1, 2 }, f) return true end\nf()", "stack overflow"},
		{"doubling a string", "local s = 'x'\nfor _ = 1, 40 do s = s .. s end", bytes},
		{"growing a string", "local s = 'xxxxxxxxxxxxxxxx'\nfor _ = 1, 10000 do s = s .. 'x' end", bytes},
		{"doubling in one expression", "local s = 'x'\nfor _ = 1, 10 do s = s .. s .. s .. s .. s .. s .. s .. s end", bytes},
		{"table.concat", "local t = {}\nfor i = 1, 100 do t[i] = 'xxxxxxxxxx' end\nlocal s = table.concat(t)\nlocal u = {}\nfor i = 1, 100 do u[i] = s end\nlocal v = table.concat(u)\nlocal w = {}\nfor i = 1, 100 do w[i] = v end\ntable.concat(w)", bytes},
		{"table.concat separator", "local t = {}\nfor i = 1, 1000 do t[i] = '' end\nlocal s = table.concat(t, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')\ntable.concat(t, s)", bytes},
		{"upper", "local s = 'xxxxxxxxxxxxxxxx' for _ = 1, 12 do s = s .. s end\nwhile true do s:upper() end", bytes},
		{"string.rep", "return string.rep('x', 1e9)", "attempt to call a non-function"},
		{"string.format", "return string.format('%1000000000d', 1)", "attempt to call a non-function"},
		{"string.match", "return ('x'):match('.-.-.-b')", "attempt to call a non-function"},
		{"string.gsub", "return ('x'):gsub('.', 'y')", "attempt to call a non-function"},
		{"string.gmatch", "return ('x'):gmatch('.')", "attempt to call a non-function"},
		{"math.random", "return math.random()", "attempt to call a non-function"},
		{"a list with a far position", "local t = {}\nt[60000000] = 1", "a list has no holes"},
		{"a far position in a constructor", "local t = { [60000000] = 1 }", "a computed key in a table constructor is a string"},
		{"a far insert", "table.insert({}, 60000000, 1)", "position 60000000 of a list of 0"},
		{"position zero", "local t = {}\nt[0] = 1", "position 0"},
		{"a fractional position", "local t = {}\nt[0.5] = 1", "position 0.5"},
		{"NaN as a key", "local t = {}\nt[0/0] = 1", "position NaN"},
		{"a table as a key", "local t = {}\nt[t] = 1", "keyed by strings or by positions, found a table"},
		{"nil as a key", "local t = {}\nt[nil] = 1", "found nil"},
		{"many tables", "while true do local t = {} end", budget},
		{"insert at the front", "local t = {}\nwhile true do table.insert(t, 1, 1) end", budget},
		{"walking what was deleted", "local t = {}\nfor i = 1, 2000 do t['k' .. i] = 1 end\nfor i = 1, 2000 do t['k' .. i] = nil end\nwhile true do next(t) end", budget},
		{"walking a large table", "local t = {}\nfor i = 1, 2000 do t[i] = 1 end\nwhile true do pairs(t) end", budget},
		{"a decision that unfolds", "local t = {}\nfor i = 1, 1000 do t[i] = { VSCD = 'x' } end\nlocal v = {}\nfor i = 1, 1000 do v[i] = { VIPT = t } end\nreturn { changes = { { flid = '1', op = 'update', lists = { VIPF = v } } } }", budget},
		{"a number of many digits", "local s = '1' for _ = 1, 17 do s = s .. s end\nwhile true do tonumber(s) end", budget},
		{"tostring of a table", "return { skip = tostring({}) }", "attempt to make a string of a table"},
		{"tostring of a function", "return { skip = tostring(tostring) }", "attempt to make a string of a function"},
		{"a table in a concatenation", "return { skip = 'x' .. msg }", "attempt to concatenate a table"},
		{"error with a table", "error({})", "attempt to raise a table"},
		{"an id through a number", "return { skip = '' .. (tonumber('999') * 1e15 + 1) }", "is not exact"},
		{"tonumber of an id", "return tonumber('999999999999999999')", "is not exact"},
		{"write to view", "view.x = 1", frozen},
		{"write to view.flights", "view.flights['1'] = nil", frozen},
		{"write to a flight", "view.flights['1'].STND = 'X'", frozen},
		{"write to a list of the view", "view.flights['1'].GTDT[1] = nil", frozen},
		{"write to a list entry of the view", "view.flights['1'].GTDT[1].GATE = 'X'", frozen},
		{"write to an object of the view", "view.flights['1'].FDIV.DDES = 'X'", frozen},
		{"write to MAFL", "view.flights['1'].MAFL[1].FLNO = 'X'", frozen},
		{"write to settings", "view.settings.absent_optional = 'clear'", frozen},
		{"write to msg", "msg.kind = 'X'", frozen},
		{"write to meta", "msg.meta.dttm = 'X'", frozen},
		{"write to a record", "msg.records[1].GTDT = nil", frozen},
		{"write to a list of a record", "table.insert(msg.records[1].GTDT, {})", frozen},
		{"remove from a list of a record", "table.remove(msg.records[1].GTDT)", frozen},
		{"sort a list of the view", "table.sort(view.flights['1'].GTDT, function() return true end)", frozen},
		{"several targets", "local a\na, msg.kind = 1, 2", frozen},
		{"a method on msg", "function msg:f() end", frozen},
		{"write to a library", "merge.value = nil", frozen},
		{"write to string", "string.sub = nil", frozen},
		{"ipairs of CLEAR", "for _ in ipairs(msg.records[2].GTDT) do end", "ipairs wants a table, found CLEAR"},
		{"error", "error('no such luck')", "rules/flop-gtdt@1.lua:3: no such luck"},
		{"assert", "assert(msg.records[9], 'no ninth record')", "no ninth record"},
		{"index of nil", "return view.flights['9'].STND", "rules/flop-gtdt@1.lua:3: attempt to index"},
		{"control characters", "error('a\\0b\\27c')", "a"},
	}
	m, v := gates()
	healthy, err := shipped(t, rulebook.Settings{}).Decide(m, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := withGate(t, deciding(tt.body))
			start := time.Now()
			_, err := b.Decide(m, v)
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v: the budget does not bound it", took)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%s\ngot  %v\nwant an error with %s", tt.body, err, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\x00\x1b") || strings.Contains(err.Error(), "0x") {
				t.Errorf("the error is not safe to store: %q", err)
			}
			_, again := b.Decide(m, v)
			if again == nil || again.Error() != err.Error() {
				t.Errorf("not repeatable: first %v, then %v", err, again)
			}
			// The other scripts of the same rulebook are none the worse.
			other := msg("FLOP-CKDT", record(1, elements{"CKDT": list(rec("CHKC", "A"))}))
			same(t, decide(t, b, other, v), update(1, nil, nil, lists{"CKDT": {rec("CHKC", "A")}}))
		})
	}
	same(t, decide(t, shipped(t, rulebook.Settings{}), m, v), healthy)
}

// TestNothingSurvivesACall: a script that tries to remember fails, or cannot be
// told from one that does not.
func TestNothingSurvivesACall(t *testing.T) {
	keepers := map[string]string{
		"a table beside decide":     "local seen = {}\n",
		"a table in a closure":      "local function make() local seen = {} return function() return seen end end\nlocal get = make()\n",
		"a table in a module table": "local module = { inner = { {} } }\n",
	}
	writes := map[string]string{
		"a table beside decide":     "seen[1] = 1",
		"a table in a closure":      "get().x = 1",
		"a table in a module table": "table.insert(module.inner[1], 1)",
	}
	m, v := gates()
	for name, before := range keepers {
		b := withGate(t, before+deciding(writes[name]))
		if _, err := b.Decide(m, v); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: got %v, want an error that it is read-only", name, err)
		}
	}
	// An iterator made when the file is loaded has no place of its own.
	b := withGate(t, "local step, state = pairs({ a = 1, b = 2, c = 3 })\n"+deciding(`return { skip = step(state, nil) .. step(state, "a") .. step(state, "b") }`))
	for range 3 {
		same(t, decide(t, b, m, v), skip("abc"))
	}
}

// TestBudgetIsExact: the same call costs the same, and one instruction decides.
func TestBudgetIsExact(t *testing.T) {
	m, v := gates()
	with := func(n int64) error {
		b, err := rulebook.Load(changed(t, nil), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{Instructions: n, InstructionsPerRecord: 1})
		if err != nil {
			if strings.Contains(err.Error(), "instruction budget") {
				return err
			}
			t.Fatal(err)
		}
		_, err = b.Decide(m, v)
		return err
	}
	low, high := int64(1), int64(100_000)
	for low+1 < high {
		if mid := (low + high) / 2; with(mid) == nil {
			high = mid
		} else {
			low = mid
		}
	}
	for range 3 {
		if err := with(high); err != nil {
			t.Errorf("budget %d: %v", high, err)
		}
		if with(high-1) == nil {
			t.Errorf("budget %d: enough, but one more was the least", high-1)
		}
	}
	t.Logf("two records: %d instructions", high)
}

func TestBudgetGrowsWithRecords(t *testing.T) {
	b := shipped(t, rulebook.Settings{})
	m, v := schedule(t, 1000)
	d := decide(t, b, m, v)
	if len(d.Changes) != 1000 {
		t.Errorf("got %d changes, want 1000", len(d.Changes))
	}
}

// schedule is a full schedule for flights of which every other one exists.
func schedule(t testing.TB, n int) (*message.Message, decision.View) {
	cat := shippedCatalogue(t)
	m := msg("SCHD-DNLD")
	v := view()
	for i := range n {
		id := flight.ID(1_000_000 + i)
		r := record(id, elements{"FLID": text(id.String())})
		for _, f := range cat.Flight.Scalars[1:31] {
			r.Elements[f.Tag] = text(sample(f.Type, f.Flags))
		}
		r.Elements["ROUT"] = list(rec("RTNO", "1", "APCD", "PEK"), rec("RTNO", "2", "APCD", "SHA", "SCAT", at5))
		r.Elements["GTDT"] = list(rec("GTNO", "1", "GATE", "12", "PGOT", at5, "PGCT", at6))
		m.Records = append(m.Records, r)
		if i%2 == 0 {
			v.Flights[id] = active(id, flight.Fields{"STND": "1", "SODT": at5}, nil)
		}
	}
	return m, v
}

func sample(typ catalogue.Type, flags []string) string {
	switch typ {
	case catalogue.ID, catalogue.Int, catalogue.Decimal, catalogue.Duration:
		return "120"
	case catalogue.Datetime:
		return at5
	case catalogue.Flag:
		return flags[0]
	}
	return "CA"
}

// A rule set that is only looked at can be stopped by the clock as well; its count of instructions stays exact.
func TestLateEndsACall(t *testing.T) {
	asked := 0
	for _, tt := range []struct {
		name  string
		late  func() bool
		wants string
	}{
		{"never late", func() bool { asked++; return false }, "instruction budget used up"},
		{"late at once", func() bool { return true }, "time used up"},
	} {
		files := map[string]string{"rules/flop-gtdt@1.lua": deciding("while true do end")}
		b, err := rulebook.Load(changed(t, files), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{Instructions: 100_000, InstructionsPerRecord: 1, Late: tt.late})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Decide(gates())
		if err == nil || !strings.Contains(err.Error(), tt.wants) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.wants)
		}
	}
	if asked < 20 {
		t.Errorf("asked %d times over 100,000 instructions, want every few thousand", asked)
	}
	exact := func(late func() bool) int64 {
		b, err := rulebook.Load(changed(t, nil), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{Late: late})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Decide(gates()); err != nil {
			t.Fatal(err)
		}
		return b.Instructions()
	}
	if with, without := exact(func() bool { return false }), exact(nil); with != without || with == 0 {
		t.Errorf("%d instructions with the clock and %d without, want the same", with, without)
	}
}
