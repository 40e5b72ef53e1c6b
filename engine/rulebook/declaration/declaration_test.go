package declaration_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
	"msgx/schemas"
)

func shipped(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func text(s string) declaration.Value { return declaration.Value{Type: declaration.Text, Text: s} }

func texts(list ...string) declaration.Value {
	v := declaration.Value{Type: declaration.Table}
	for _, s := range list {
		v.List = append(v.List, text(s))
	}
	return v
}

func table(pairs ...any) declaration.Value {
	v := declaration.Value{Type: declaration.Table}
	for i := 0; i < len(pairs); i += 2 {
		v.Fields = append(v.Fields, declaration.Field{Name: pairs[i].(string), Value: pairs[i+1].(declaration.Value)})
	}
	return v
}

var (
	decide  = declaration.Value{Type: declaration.Function}
	unknown = declaration.Value{Type: declaration.Unknown}
)

func codes(faults []*diagnostic.Fault) []diagnostic.Code {
	var out []diagnostic.Code
	for _, f := range faults {
		out = append(out, f.Code)
	}
	return out
}

// TestReadHeader: what is unknown until it runs is not accused, and what is known is read.
func TestReadHeader(t *testing.T) {
	cat := shipped(t)
	h, faults := declaration.ReadHeader("x", table("kind", text("FLOP-GTDT"), "writes", texts("STND", "GTDT", "STND", "FLID"), "decide", decide), cat)
	want := declaration.Header{Kinds: []string{"FLOP-GTDT"}, Writes: []string{"STND", "GTDT"}, Ops: []string{"update"}, Whole: true}
	if diff := cmp.Diff(want, h); diff != "" || faults != nil {
		t.Errorf("faults %v, header (-want +got):\n%s", faults, diff)
	}
	h, faults = declaration.ReadHeader("x", table("kind", unknown, "writes", unknown, "decide", unknown), cat)
	if h.Whole || faults != nil {
		t.Errorf("unknown parts: got %+v, %v", h, faults)
	}
	_, faults = declaration.ReadHeader("x", table("kinds", texts(), "writes", texts("STDN"), "reads", texts("NOPE"), "ops", texts("upsert"), "more", text("x")), cat)
	wrong := []diagnostic.Code{diagnostic.UnknownHeader, diagnostic.ScriptShape, diagnostic.UnknownTag, diagnostic.ScriptShape, diagnostic.UnknownReference, diagnostic.ScriptShape}
	if diff := cmp.Diff(wrong, codes(faults)); diff != "" {
		t.Errorf("all at once (-want +got):\n%s", diff)
	}
}

// TestBind: the longest pattern wins, an entry of its own before it, and what is left over
// is told once.
func TestBind(t *testing.T) {
	cat := shipped(t)
	m, faults := declaration.ReadManifest(table("FLOP-GTDT", text("own@1"), "defaults", table("*", text("rest@1"), "FLOP-*", text("flop@2"), "FLOP-GTDT*", text("idle@1"))), cat)
	if faults != nil {
		t.Fatal(faults)
	}
	bound, faults := m.Bind(cat, func(file string) (declaration.Header, bool, bool) {
		return declaration.Header{Kinds: []string{"FLOP-*"}}, file != "rules/own@1.lua", true
	})
	if diff := cmp.Diff([]diagnostic.Code{diagnostic.ServesOtherKind, diagnostic.NoScript}, codes(faults)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, faults)
	}
	for _, b := range bound {
		if b.Script != "flop@2" {
			t.Errorf("%s is handled by %s, want flop@2", b.Kind.Name, b.Script)
		}
	}
	if diff := cmp.Diff([]diagnostic.Code{diagnostic.NeverApplies}, codes(m.Idle(cat))); diff != "" {
		t.Errorf("idle (-want +got):\n%s", diff)
	}
}

// A name in a comment is no mention: nothing is decided by it.
func TestMentions(t *testing.T) {
	manifest := []byte("-- \"schd@1\" is the file rules/schd@1.lua\n--[[ [\"A\"] = \"schd@3\",\n]]\nreturn {\n" +
		"  [\"SCHD-DNLD\"] = \"schd@2\", -- not \"schd@4\"\n  ['SCHD-RESP'] = 'schd@1',\n  [\"SCHD-ADFT\"] = \"schd-adft@1\",\n  defaults = { [\"-- *\"] = \"schd@1\" },\n}\n")
	found := declaration.Mentions(manifest, "schd")
	var names []string
	for _, m := range found {
		names = append(names, m.Script)
	}
	if diff := cmp.Diff([]string{"schd@2", "schd@1", "schd@1"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := string(declaration.Rename(manifest, found[1:], "schd@10"))
	want := strings.ReplaceAll(strings.Replace(string(manifest), "'schd@1'", "'schd@10'", 1), "[\"-- *\"] = \"schd@1\"", "[\"-- *\"] = \"schd@10\"")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
