package rulebook_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"msgx/engine/rulebook"
)

const fine = `return { kind = "FLOP-GTDT", writes = {}, decide = function() return {} end }`

// TestLoadFaults: each fault of a rule set in its own words.
func TestLoadFaults(t *testing.T) {
	gate := func(source string) map[string]string { return map[string]string{"rules/flop-gtdt@1.lua": source} }
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"unknown file", map[string]string{"rules/notes.txt": ""}, "rules/notes.txt: unexpected file"},
		{"name without version", map[string]string{"rules/flop-gtdt.lua": fine}, "rules/flop-gtdt.lua: unexpected file"},
		{"version zero", map[string]string{"rules/flop-gtdt@0.lua": fine}, "rules/flop-gtdt@0.lua: unexpected file"},
		{"unknown folder", map[string]string{"rules/old/flop-gtdt@1.lua": fine}, "rules/old: unexpected file"},
		{"unknown file of the library", map[string]string{"rules/lib/merge.txt": ""}, "rules/lib/merge.txt: unexpected file"},
		{"a library in the place of ours", map[string]string{"rules/lib/flight.lua": "return {}"}, "rules/lib/flight.lua: unexpected file"},
		{"syntax", gate("return {\n  kind == 1\n}"), "rules/flop-gtdt@1.lua:2"},
		{"cut short", gate("return {"), "rules/flop-gtdt@1.lua: "},
		{"syntax of an old version", map[string]string{"rules/flop-gtdt@7.lua": "return ("}, "rules/flop-gtdt@7.lua"},
		{"too large", gate(fine + strings.Repeat("\n", 300<<10)), "expected at most 262144"},
		{"fails when loaded", gate("local t = nil\nt.x = 1\nreturn t"), "rules/flop-gtdt@1.lua:2: attempt to set field \"x\" of nil"},
		{"never ends when loaded", gate("while true do end"), "rules/flop-gtdt@1.lua:1: instruction budget used up"},
		{"returns nothing", gate("local x = 1"), "rules/flop-gtdt@1.lua: a script returns one table"},
		{"no kind", gate(`return { writes = {}, decide = function() end }`), "rules/flop-gtdt@1.lua: kind: a script says which kind it handles"},
		{"no footprint", gate(`return { kind = "FLOP-GTDT", decide = function() end }`), "rules/flop-gtdt@1.lua: writes: a script declares its footprint"},
		{"no decide", gate(`return { kind = "FLOP-GTDT", writes = {} }`), "rules/flop-gtdt@1.lua: decide: expected a function"},
		{"unknown key", gate(`return { kind = "FLOP-GTDT", write = {}, writes = {}, decide = function() end }`), `rules/flop-gtdt@1.lua: unknown key "write"`},
		{"unknown tag", gate(`return { kind = "FLOP-GTDT", writes = { "GTDD" }, decide = function() end }`), `rules/flop-gtdt@1.lua: writes: "GTDD" is not a tag of a flight`},
		{"not a list", gate(`return { kind = "FLOP-GTDT", writes = "GTDT", decide = function() end }`), "rules/flop-gtdt@1.lua: writes: expected a list of strings"},
		{"unknown op", gate(`return { kind = "FLOP-GTDT", writes = {}, ops = { "upsert" }, decide = function() end }`), `rules/flop-gtdt@1.lua: ops: "upsert", expected`},
		{"unknown reference type", gate(`return { kind = "FLOP-GTDT", writes = {}, reads = { "NOPE" }, decide = function() end }`), `rules/flop-gtdt@1.lua: reads: "NOPE" is not a type`},
		{"another kind", gate(`return { kind = "FLOP-CKDT", writes = {}, decide = function() end }`), "handlers.lua: FLOP-GTDT is handled by flop-gtdt@1, which says it serves FLOP-CKDT"},
		{"libraries in a circle", map[string]string{"rules/lib/draft.lua": "local merge = require('merge')\nreturn {}"}, "require each other"},
		{"missing library", gate("local x = require('y')\n" + fine), `rules/flop-gtdt@1.lua: requires "y", and there is no rules/lib/y.lua`},
		{"missing script", map[string]string{"handlers.lua": `return { ["FLOP-GTDT"] = "flop-gtdt@2", defaults = { ["*"] = "ref@1" } }`}, "handlers.lua: FLOP-GTDT is handled by flop-gtdt@2, and there is no rules/flop-gtdt@2.lua"},
		{"not a script name", map[string]string{"handlers.lua": `return { ["FLOP-GTDT"] = "flop-gtdt" }`}, "handlers.lua: FLOP-GTDT: expected a script at a version"},
		{"unknown kind", map[string]string{"handlers.lua": `return { ["FLOP-NOPE"] = "flop-gtdt@1" }`}, "handlers.lua: FLOP-NOPE: the catalogue has no such kind"},
		{"no script for a kind", map[string]string{"handlers.lua": `return { ["FLOP-GTDT"] = "flop-gtdt@1" }`}, "kinds SCHD-DNLD, SCHD-RESP, "},
		{"unknown unsupported kind", map[string]string{"handlers.lua": `return { unsupported = { "FLOP-NOPE" } }`}, "handlers.lua: unsupported: FLOP-NOPE: the catalogue has no such kind"},
		{"both handled and unsupported", map[string]string{"handlers.lua": `return { ["FLOP-GTDT"] = "flop-gtdt@1", unsupported = { "FLOP-GTDT" } }`}, "handlers.lua: FLOP-GTDT: has a script and is listed as unsupported"},
		{"a default that covers nothing", map[string]string{"handlers.lua": `return { defaults = { ["X-*"] = "ref@1" } }`}, "handlers.lua: defaults: X-* covers no kind"},
		{"not a manifest", map[string]string{"handlers.lua": `return 1`}, "handlers.lua: the manifest returns one table"},
	}
	for _, tt := range tests {
		_, err := rulebook.Load(changed(t, tt.files), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant an error with %s", tt.name, err, tt.want)
		}
	}
	if _, err := rulebook.Load(changed(t, nil), shippedCatalogue(t), rulebook.Settings{AbsentOptional: "drop"}, rulebook.Limits{}); err == nil || !strings.Contains(err.Error(), `absent-optional is "drop", expected keep or clear`) {
		t.Errorf("absent-optional: got %v", err)
	}
	empty := changed(t, nil)
	clear(empty)
	if _, err := rulebook.Load(empty, shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{}); err == nil || !strings.Contains(err.Error(), "handlers.lua: ") {
		t.Errorf("no files: got %v", err)
	}
}

// TestAllFaultsAtOnce: nobody wants to mend a rule set one error at a time.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := rulebook.Load(changed(t, map[string]string{
		"rules/flop-gtdt@1.lua": "x = 1\ny = os\nreturn {}",
		"rules/flop-ckdt@1.lua": "return (",
		"rules/odd.txt":         "",
	}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err == nil {
		t.Fatal("got no error, want five")
	}
	for _, want := range []string{"flop-gtdt@1.lua:1: \"x\"", "flop-gtdt@1.lua:2: \"y\"", "flop-gtdt@1.lua:2: unknown name \"os\"", "flop-ckdt@1.lua", "odd.txt"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in\n%v", want, err)
		}
	}
}

func TestHash(t *testing.T) {
	load := func(files map[string]string, s rulebook.Settings) *rulebook.Rulebook {
		b, err := rulebook.Load(changed(t, files), shippedCatalogue(t), s, rulebook.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	base := load(nil, rulebook.Settings{})
	if len(base.Hash()) != 64 || base.Hash() != load(nil, rulebook.Settings{AbsentOptional: "keep"}).Hash() {
		t.Errorf("hash %q: want 64 hex digits, the same twice", base.Hash())
	}
	unused := load(map[string]string{"rules/flop-gtdt@2.lua": fine, "rules/lib/spare.lua": "return {}", "rules/README.md": "x", "rules/.luarc.json": "{}"}, rulebook.Settings{})
	if unused.Hash() != base.Hash() {
		t.Error("a file that is not used changes the hash")
	}
	if _, ok := unused.Files()["rules/flop-gtdt@2.lua"]; ok {
		t.Error("a file that is not used is among the files of the set")
	}
	source := string(base.Files()["rules/lib/draft.lua"])
	for name, other := range map[string]*rulebook.Rulebook{
		"script":   load(map[string]string{"rules/flop-gtdt@1.lua": fine}, rulebook.Settings{}),
		"library":  load(map[string]string{"rules/lib/draft.lua": source + "\n"}, rulebook.Settings{}),
		"manifest": load(map[string]string{"handlers.lua": string(base.Files()["handlers.lua"]) + "\n"}, rulebook.Settings{}),
		"settings": load(nil, rulebook.Settings{AbsentOptional: "clear"}),
	} {
		if other.Hash() == base.Hash() {
			t.Errorf("another %s, the same hash", name)
		}
	}
	cat := shippedCatalogue(t)
	cat.Flight.Scalars[5].MaxLen++
	b, err := rulebook.Load(changed(t, nil), cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Hash() == base.Hash() {
		t.Error("another catalogue, the same hash")
	}
	names := slices.Sorted(maps.Keys(base.Files()))
	if len(names) < 50 || names[0] != "handlers.lua" || !slices.Contains(names, "rules/lib/merge.lua") {
		t.Errorf("files: %v", names)
	}
}

func TestAnotherVersion(t *testing.T) {
	files := map[string]string{"rules/flop-gtdt@2.lua": `return { kind = "FLOP-GTDT", writes = {}, decide = function() return { skip = "two" } end }`}
	files["handlers.lua"] = strings.Replace(string(shipped(t, rulebook.Settings{}).Files()["handlers.lua"]), "flop-gtdt@1", "flop-gtdt@2", 2)
	files["handlers.lua"] = strings.Replace(files["handlers.lua"], `"flop-gtdt@1"`, `"flop-gtdt@2"`, 1)
	b, err := rulebook.Load(changed(t, files), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := b.Script("FLOP-GTDT"); s.ID() != "flop-gtdt@2" {
		t.Errorf("got %s, want flop-gtdt@2", s.ID())
	}
	m, v := gates()
	same(t, decide(t, b, m, v), skip("two"))
}

func TestUnsupportedKind(t *testing.T) {
	manifest := string(shipped(t, rulebook.Settings{}).Files()["handlers.lua"])
	manifest = strings.Replace(manifest, `["FLOP-GTDT"] = "flop-gtdt@1",`, "", 1)
	manifest = strings.Replace(manifest, "unsupported = {}", `unsupported = { "FLOP-GTDT" }`, 1)
	b, err := rulebook.Load(changed(t, map[string]string{"handlers.lua": manifest}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Script("FLOP-GTDT"); ok {
		t.Error("got a script for an unsupported kind")
	}
	m, v := gates()
	if _, err := b.Decide(m, v); err == nil || !strings.Contains(err.Error(), "no script handles FLOP-GTDT") {
		t.Errorf("got %v, want that no script handles it", err)
	}
}
