package rulebook_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"msgx/engine/rulebook"
)

// FuzzDecide gives the sandbox whatever text comes to mind as a script: it is
// refused, or it fails, or it decides, and says the same twice; nothing else.
func FuzzDecide(f *testing.F) {
	for _, body := range []string{
		"return {}", "return { skip = 'x' }", "a, b = b, a", "local t = {} t[1], t.x = 1, 'y' return t",
		"for k, v in pairs(view.flights['1']) do return { skip = k .. type(v) } end",
		"return { changes = { { flid = '1', op = 'update', set = { STND = '1' }, lists = { GTDT = { { GATE = '1' } } } } } }",
		"while true do end", "local s = 'x' while true do s = s .. s end", "::a:: goto a", "return merge.flop(view, msg, { GTDT = merge.replace })",
		"local function f(...) return f(...) end return f(1, 2)", "table.sort(msg.records)", "return { notes = { { reason = tostring(1/0) } } }",
	} {
		f.Add(body)
	}
	cat := shippedCatalogue(f)
	m, v := gates()
	limits := rulebook.Limits{Instructions: 5_000, InstructionsPerRecord: 10}
	shippedFiles := changed(f, nil)
	base := fstest.MapFS{ // no more than is needed, to be quick
		"handlers.lua":        {Data: []byte(`return { ["FLOP-GTDT"] = "flop-gtdt@1", defaults = { ["*"] = "rest@1" } }`)},
		"rules/rest@1.lua":    {Data: []byte(`return { kinds = { "*" }, writes = {}, decide = function() return {} end }`)},
		"rules/lib/merge.lua": shippedFiles["rules/lib/merge.lua"],
		"rules/lib/draft.lua": shippedFiles["rules/lib/draft.lua"],
	}
	f.Fuzz(func(t *testing.T, body string) {
		base["rules/flop-gtdt@1.lua"] = &fstest.MapFile{Data: []byte(deciding(body))}
		b, err := rulebook.Load(base, cat, rulebook.Settings{}, limits)
		if err != nil {
			return
		}
		first, err := b.Decide(m, v)
		second, again := b.Decide(m, v)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("not repeatable:\n%v\n%v", err, again)
		}
		if err != nil {
			if !utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) {
				t.Fatalf("the error is not safe to store: %q", err)
			}
			return
		}
		same(t, second, first)
	})
}
