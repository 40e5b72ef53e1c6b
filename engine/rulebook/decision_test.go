package rulebook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// TestRefusedDecisions: what a script may not return. Each error names the place.
func TestRefusedDecisions(t *testing.T) {
	long := strings.Repeat("x", 201)
	tests := []struct{ body, want string }{
		{"return nil", "found nil, expected a decision"},
		{"return 1", "found the number 1, expected a decision"},
		{"return CLEAR", "found CLEAR, expected a decision"},
		{"return { change = {} }", "change: unknown key, expected changes, refs"},
		{"return { 1 }", "found position 1, expected names only"},
		{"return { skip = 1 }", "skip: found the number 1, expected a reason"},
		{"return { skip = '' }", "skip: found the string \"\", expected a reason"},
		{"return { reject = '" + long + "' }", "reject: found the string"},
		{"return { skip = 'x', notes = {} }", "skip and reject stand alone"},
		{"return { skip = 'x', reject = 'y' }", "skip and reject stand alone"},
		{"return { changes = 1 }", "changes: found the number 1, expected a list"},
		{"return { changes = { a = 1 } }", "changes: a list has positions only"},
		{"return { changes = { 1 } }", "changes[1]: found the number 1, expected a table"},
		{"local c = { {}, {}, {} }\nc[2] = nil\nreturn { changes = c }", "changes: the list has a hole at 2"},
		{"return { changes = { {} } }", "changes[1]: a change names flid and op"},
		{"return { changes = { { flid = 1, op = 'update' } } }", "changes[1].flid: found the number 1, expected a FLID as a string"},
		{"return { changes = { { flid = '01', op = 'update' } } }", "changes[1].flid: found the string \"01\", expected 1 to 18 digits without leading zeros"},
		{"return { changes = { { flid = '1', op = 'upsert' } } }", "changes[1].op: found the string \"upsert\", expected one of create, update, revive, delete"},
		{"return { changes = { { flid = '1', op = 'delete' } } }", `changes[1].op: "delete" is outside the footprint`},
		{"return { changes = { { flid = '1', op = 'update', sets = {} } } }", "changes[1].sets: unknown key"},
		{"return { changes = { { flid = '1', op = 'update' }, { flid = '1', op = 'update' } } }", "changes[2].flid: 1 has an entry already"},
		{change1("set = { RENO = 'B1' }"), "changes[1].set.RENO: outside the footprint: the script declares writes"},
		{change1("clear = { 'RENO' }"), "changes[1].clear[1]: RENO: outside the footprint"},
		{change1("lists = { CKDT = {} }"), "changes[1].lists.CKDT: outside the footprint"},
		{change1("set = { FLID = '2' }"), "changes[1].set.FLID: outside the footprint"},
		{change1("set = { MAFL = {} }"), "changes[1].set.MAFL: the catalogue has no such tag"},
		{change1("set = { STDN = '1' }"), "changes[1].set.STDN: the catalogue has no such tag"},
		{change1("set = { GTDT = {} }"), "changes[1].set.GTDT: this is a list, expected a scalar or object"},
		{change1("lists = { STND = {} }"), "changes[1].lists.STND: this is a scalar, expected a list"},
		{change1("clear = { 'GTDT' }"), "GTDT: this is a list, expected a scalar or object"},
		{change1("clear = { 'STND', 'STND' }"), "changes[1].clear[2]: STND stands twice"},
		{change1("set = { STND = '1' }, clear = { 'STND' }"), "changes[1]: STND is both set and cleared"},
		{change1("set = { STND = 12 }"), "changes[1].set.STND: found the number 12, expected a string"},
		{change1("set = { STND = '' }"), "expected a value; to empty the field, clear it"},
		{change1("set = { STND = ' 1' }"), "expected text without blanks around it"},
		{change1("set = { STND = '123456789' }"), "expected at most 8 characters"},
		{change1("set = { STND = 'a\\0' }"), "expected valid UTF-8 without NUL"},
		{change1("set = { STND = '\\255' }"), "expected valid UTF-8 without NUL"},
		{change1("set = { STND = true }"), "changes[1].set.STND: found true, expected a string"},
		{change1("set = { STND = CLEAR }"), "changes[1].set.STND: found CLEAR, expected a string"},
		{change1("set = { STND = tostring }"), "found a function, expected a string"},
		{change1("set = { MAXP = '180' }"), "changes[1].set.MAXP: found the string \"180\", expected an integer of 32 bits"},
		{change1("set = { MAXP = 1.5 }"), "expected an integer of 32 bits"},
		{change1("set = { MAXP = 3000000000 }"), "expected an integer of 32 bits"},
		{change1("set = { MAXP = 0/0 }"), "expected an integer of 32 bits"},
		{change1("set = { MAXP = 1/0 }"), "expected an integer of 32 bits"},
		{change1("set = { LBWT = 1.5 }"), "changes[1].set.LBWT: found the number 1.5, expected a string"},
		{change1("set = { LBWT = '1.50' }"), "expected a decimal without superfluous zeros"},
		{change1("set = { TAID = '007' }"), "expected 1 to 18 digits without leading zeros"},
		{change1("set = { ESTT = '23JAN210535' }"), "expected a time such as"},
		{change1("set = { ESTT = '2021-02-30T05:35:00+08:00' }"), "expected a time such as"},
		{change1("set = { MVIN = 'X' }"), "expected one of A, D"},
		{change1("set = { FDIV = 'PEK' }"), "changes[1].set.FDIV: found the string \"PEK\", expected a table of DDES, DDIR, TEXT"},
		{change1("set = { FDIV = {} }"), "changes[1].set.FDIV: an object without parts"},
		{change1("set = { FDIV = { DEST = 'PEK' } }"), "changes[1].set.FDIV.DEST: unknown key, expected DDES, DDIR, TEXT"},
		{change1("set = { FDIV = { DDIR = 'UP' } }"), "changes[1].set.FDIV.DDIR: found the string \"UP\", expected one of TO, FROM"},
		{change1("lists = { GTDT = CLEAR }"), "changes[1].lists.GTDT: found CLEAR, expected a list"},
		{change1("lists = { GTDT = { { GATES = '1' } } }"), "changes[1].lists.GTDT[1].GATES: unknown key"},
		{change1("lists = { GTDT = { { GATE = '1' }, { GTNO = 'x' } } }"), "changes[1].lists.GTDT[2].GTNO: found the string \"x\", expected an integer"},
		{change1("lists = { GTDT = { '1' } }"), "changes[1].lists.GTDT[1]: found the string \"1\", expected a table"},
		{change1("lists = { VIPF = { { VPCD = '1', VIPT = { { VSCE = '1' } } } } }"), "changes[1].lists.VIPF[1].VIPT[1].VSCE: unknown key"},
		{change1("lists = { VIPF = msg.records[1].GTDT }"), "changes[1].lists.VIPF[1].GATE: unknown key"},
		{change1("lists = { GTDT = view.flights }"), "changes[1].lists.GTDT: a list has positions only"},
		{change1("set = view.flights['1']"), "changes[1].set.ABTM: this is a list"},
		{"return { refs = { { type = 'SLST', key = 'a', op = 'delete' } } }", "refs[1]: only a kind of reference data"},
		{"return { outbound = { { request = 'NOPE' } } }", "outbound[1].request: found the string \"NOPE\", expected a request of the catalogue"},
		{"return { outbound = { { request = 'EROR', FLID = '1' } } }", "outbound[1].FLID: the request EROR has no such field"},
		{"return { notes = { { flid = '1' } } }", "notes[1]: a note gives a reason"},
		{"return { notes = { { text = 'x' } } }", "notes[1].text: unknown key, expected flid, reason"},
	}
	m, _ := gates()
	v := view(busy(t, 1), active(2, nil, nil))
	for _, tt := range tests {
		b := withGate(t, deciding(tt.body))
		for range 3 { // Go's map order must not choose the error
			_, err := b.Decide(m, v)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "rules: flop-gtdt@1: rules/flop-gtdt@1.lua:2: decision: ") {
				t.Errorf("%s\ngot  %v\nwant file and line and %s", tt.body, err, tt.want)
				break
			}
		}
	}
}

func change1(rest string) string {
	return "return { changes = { { flid = '1', op = 'update', " + rest + " } } }"
}

// TestOfSeveralFaultsTheSameIsNamed: the order of Go's maps must not choose.
func TestOfSeveralFaultsTheSameIsNamed(t *testing.T) {
	m, v := gates()
	b := withGate(t, deciding(change1("set = { STND = 1, MVIN = 2, ESTT = 3, TAID = 4, LBWT = 5 }")))
	for range 50 {
		if _, err := b.Decide(m, v); err == nil || !strings.Contains(err.Error(), "changes[1].set.ESTT:") {
			t.Fatalf("got %v, want the first in order, ESTT", err)
		}
	}
}

func TestDecisionsOfEveryShape(t *testing.T) {
	m, v := gates()
	tests := []struct {
		body string
		want decision.Decision
	}{
		{"return {}", decision.Decision{}},
		{"return { skip = 'because' }", skip("because")},
		{"return { reject = 'record-count 3, found 2' }", decision.Decision{Reject: "record-count 3, found 2"}},
		{"return { skip = 'a\\0b' }", skip(message.SafeText("a\x00b", 200))},
		{change1("set = { STND = '12345678', MAXP = -1, LBWT = '0.25', ESTT = '2021-01-23T05:35:00+08:00', TAID = '0' }"),
			update(1, values("STND", "12345678", "MAXP", "-1", "LBWT", "0.25", "ESTT", at5, "TAID", "0"), nil, nil)},
		{change1("set = { STND = '机位一二三四五六' }"), update(1, values("STND", "机位一二三四五六"), nil, nil)},
		{change1("lists = { GTDT = { { GTNO = 1, GATE = '1' }, {} } }"), update(1, nil, nil, lists{"GTDT": {rec("GTNO", "1", "GATE", "1"), rec()}})},
		{change1("lists = { GTDT = view.flights['1'].GTDT }"), update(1, nil, nil, lists{"GTDT": {rec("GATE", "9")}})},
		{change1("set = { FDIV = view.flights['1'].FDIV }"), update(1, map[string]decision.Value{"FDIV": {Object: map[string]string{"DDES": "PEK"}}}, nil, nil)},
		{"return { outbound = { { request = 'EROR', SEQN = '1', TEXT = 'x' } } }",
			decision.Decision{Outbound: []decision.Outbound{{Request: "EROR", Fields: map[string]string{"SEQN": "1", "TEXT": "x"}}}}},
		{"return { notes = { { reason = 'x' }, { flid = '5', reason = 'y' } } }", decision.Decision{Notes: []decision.Note{note(0, "x"), note(5, "y")}}},
		// What a rule sees.
		{"local out = {} for k in pairs(view.flights['1']) do out[#out + 1] = k end return { skip = table.concat(out, ' ') }",
			skip("ABTM CHDT CHOT CKDT CLDT DELY ERUT FDIV FLNO GTDT MAFL MAXP PORT PSDT PSHT ROUT SRVT STND TIPT VIPF flid operation_day state version")},
		{"local f = view.flights['1'] return { skip = f.flid .. f.state .. f.version .. f.operation_day .. f.MAXP + 1 .. #f.CKDT .. f.MAFL[1].FLID .. f.MAFL[1].FLNO }",
			skip("1ACTIVE32021-01-2318103MU1")},
		{"local out = {} for k, r in pairs(msg.records[1]) do out[#out + 1] = k .. type(r) end return { skip = table.concat(out, ' ') .. type(msg.records[2].GTDT) .. msg.records[1].flid }",
			skip("GTDTtable ffidstring flidstringclear1")},
		{"local out = {} for k, s in pairs(msg.meta) do out[#out + 1] = k .. '=' .. s end return { skip = msg.kind .. ' ' .. table.concat(out, ' ') }",
			skip("FLOP-GTDT dttm=2021-01-23T22:31:26+08:00 seqn=1 sndr=AODB styp=GTDT type=FLOP")},
		{"local out = {} for k in pairs(view.flights) do out[#out + 1] = k end return { skip = table.concat(out, ' ') .. view.settings.absent_optional .. tostring(view.refs) .. tostring(view.flights['3']) .. tostring(view.flights['01']) }",
			skip("1 2keepnilnilnil")},
		// The language as it is rewritten.
		{"local a, b = 1, 2 a, b = b, a local t = { x = 1, y = 2, 5, 6 } t.x, t.y, t[1], t[2] = t.y, t.x, t[2], t[1] return { skip = a .. b .. t.x .. t.y .. t[1] .. t[2] }", skip("212165")},
		{"local i, t = 1, {} i, t[i] = i + 1, 20 return { skip = i .. t[1] .. #t }", skip("2201")},
		{"local function two() return 1, 2 end local t = {} t.a, t.b, t.c = two() t.d = two() return { skip = t.a .. t.b .. tostring(t.c) .. t.d .. two() .. #{ two() } .. #{ two(), two() } }", skip("12nil1123")},
		{"local function many(...) return 'x' .. ..., #{ ... } end local s, n = many('a', 'b', 'c') return { skip = s .. n }", skip("xa3")},
		{"local t = {} function t.f(x) return x end function t:g(x) return self == t and x end return { skip = t.f('a') .. t:g('b') }", skip("ab")},
		{"local t = { 1, 2, 3, 4 } table.insert(t, 1, 0) table.remove(t, 2) t[#t] = nil t[2] = nil t[3] = nil return { skip = #t .. table.concat(t) }", skip("10")},
		{"local t = { 'b', 'c', 'a' } table.sort(t) local s = table.concat(t) table.sort(t, function(x, y) return x > y end) return { skip = s .. table.concat(t, ',') }", skip("abcc,b,a")},
		{"local s = 'Hello' return { skip = s:upper() .. s:lower() .. s:sub(2, -2) .. s:sub(-1) .. s:sub(9) .. s:len() .. tostring(s:find('l')) .. tostring(s:find('.')) .. tostring(s:byte(1)) .. tostring(s:byte(9)) }",
			skip("HELLOhelloello53nil72nil")},
		{"return { skip = tostring(tonumber(' 12 ')) .. tostring(tonumber('0x10')) .. tostring(tonumber('inf')) .. tostring(tonumber('-1.5')) .. math.floor(-1.5) .. math.ceil(1.2) .. math.max(1, 3, 2) .. math.min(2, 1) .. math.abs(-4) }",
			skip("12nilnil-1.5-22314")},
		{"local n = 0 repeat local done = n == 3 n = n + 1 until done for i = 10, 1, -4 do n = n + i end while true do break end return { skip = tostring(n) }", skip("22")},
	}
	for _, tt := range tests {
		b := withGate(t, deciding(tt.body))
		for range 2 {
			d, err := b.Decide(m, v)
			if err != nil {
				t.Errorf("%s\n%v", tt.body, err)
				continue
			}
			same(t, d, tt.want)
			if t.Failed() {
				t.Fatalf("in %s", tt.body)
			}
		}
	}
}

// TestReferenceViews: a script that declares what it reads sees it, and can
// build records of its own.
func TestReferenceViews(t *testing.T) {
	source := `return { kinds = { "REF-*" }, writes = {}, reads = { "SLST" }, decide = function(view, msg)
  local seen = {}
  for key, stand in pairs(view.refs.SLST) do seen[#seen + 1] = key .. "=" .. stand.NAME .. #stand.TAGS .. stand.TAGS[1].A .. tostring(stand.NOTE) end
  return { refs = { { type = "SLST", key = "new", op = "upsert", value = { SEEN = seen, OLD = view.refs.SLST.b, EMPTY = {}, B = { A = "x" } } } } }
end }`
	b, err := rulebook.Load(changed(t, map[string]string{"rules/ref@1.lua": source}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	refs := decision.View{Refs: rawRefs("SLST", "a", `{"NAME":"one","NOTE":null,"TAGS":[{"A":"p"},"q"]}`, "b", `{"NAME":"two","TAGS":[{"A":"r"}]}`)}
	m := &message.Message{Kind: "REF-SLST", Family: message.Reference, Meta: message.Meta{Type: "SLST", Subtype: "UPD"}}
	got := decide(t, b, m, refs)
	want := `{"B":{"A":"x"},"EMPTY":{},"OLD":{"NAME":"two","TAGS":[{"A":"r"}]},"SEEN":["a=one2p","b=two1rnil"]}`
	if len(got.Refs) != 1 || string(got.Refs[0].Value) != want {
		t.Errorf("got %s\nwant %s", got.Refs, want)
	}
	for body, want := range map[string]string{
		`type = "GLST", key = "a", op = "delete"`:              `refs[1].type: outside the footprint: found the string "GLST", the message is REF-SLST`,
		`type = "SLST", key = "", op = "delete"`:               `refs[1].key: found the string "", expected the key of a record`,
		`type = "SLST", key = "a", op = "remove"`:              `refs[1].op: found the string "remove", expected upsert or delete`,
		`type = "SLST", key = "a", op = "upsert"`:              `refs[1]: a reference change names type, key and op`,
		`type = "SLST", key = "a", op = "delete", value = {}`:  `refs[1]: a reference change names type, key and op`,
		`type = "SLST", key = "a", op = "upsert", value = "x"`: `refs[1].value: found the string "x", expected a record`,
		`type = "SLST", key = "a", op = "upsert", value = (function() local s, t = "x", {} for _ = 1, 14 do s = s .. s end for i = 1, 1000 do t[i] = s end return t end)()`: `string budget used up`,
		`type = "SLST", key = "a", op = "upsert", val = {}`:      `refs[1].val: unknown key`,
		`type = "SLST", key = "a", op = "upsert", value = {A=1}`: `refs[1].value: found the number 1, expected text, a list or a record`,
	} {
		source := `return { kinds = { "REF-*" }, writes = {}, decide = function() return { refs = { { ` + body + ` } } } end }`
		b, err := rulebook.Load(changed(t, map[string]string{"rules/ref@1.lua": source}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Decide(m, refs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
}

func rawRefs(typ string, pairs ...string) map[string]map[string]json.RawMessage {
	records := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		records[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return map[string]map[string]json.RawMessage{typ: records}
}

// TestBrokenInput: a host that hands over an integer that is none fails the
// message, not the process.
func TestBrokenInput(t *testing.T) {
	b := withGate(t, deciding("return { skip = tostring(view.flights['1'].MAXP) }"))
	m, v := gates()
	v.Flights[1].Fields["MAXP"] = "many"
	broken := msg("FLOP-MAXP", record(1, elements{"MAXP": text("many")}))
	for range 2 {
		for _, job := range []*message.Message{m, broken} {
			if _, err := b.Decide(job, v); err == nil || !strings.Contains(err.Error(), `MAXP: "many" is not the canonical text of an integer`) {
				t.Errorf("%s: got %v", job.Kind, err)
			}
		}
	}
	v.Flights[1].Fields["MAXP"] = "180"
	same(t, decide(t, b, m, v), skip("180"))
}
