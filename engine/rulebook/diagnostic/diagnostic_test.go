package diagnostic_test

import (
	"errors"
	"fmt"
	"testing"

	"msgx/engine/rulebook/diagnostic"
)

func TestNearest(t *testing.T) {
	tags := []string{"STND", "GTDT", "CKDT", "flights", "FLOP-GTDT"}
	for _, tt := range [][2]string{
		{"STDN", "STND"}, {"stnd", "STND"}, {"GTDD", "GTDT"}, {"flihgts", "flights"}, {"FLOP-GTTD", "FLOP-GTDT"},
		{"XXXX", ""}, {"", ""}, {"S", ""},
	} {
		if got := diagnostic.Nearest(tt[0], tags); got != tt[1] {
			t.Errorf("%q: got %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestCodesOfErrors(t *testing.T) {
	inner := diagnostic.With("MX601", errors.New("budget"))
	outer := diagnostic.With("MX620", fmt.Errorf("place: %w", inner))
	if got := diagnostic.CodeOf(outer); got != "MX601" || outer.Error() != "place: budget" {
		t.Errorf("got %s of %v, want the innermost number and an unchanged text", got, outer)
	}
	if diagnostic.With("MX601", nil) != nil || diagnostic.CodeOf(errors.New("x")) != "" {
		t.Error("no error has no number")
	}
	fault := &diagnostic.Fault{Code: "MX101", File: "rules/a@1.lua", Line: 3, Text: "no"}
	found := diagnostic.Of(fmt.Errorf("rule set: %w", errors.Join(fault, errors.Join(errors.New("other"), fault))))
	if len(found) != 2 || found[0] != fault || fault.Error() != "rules/a@1.lua:3: no [MX101]" {
		t.Errorf("got %v of a joined error, want the fault twice", found)
	}
}

func TestPageOf(t *testing.T) {
	pages := "# All\n\n### MX101\n\nOne.\n\n```lua\n# not a heading\n```\n\n## Next\n\n### MX102\n\nTwo.\n"
	for code, want := range map[diagnostic.Code]string{"MX101": "### MX101\n\nOne.\n\n```lua\n# not a heading\n```", "MX102": "### MX102\n\nTwo."} {
		if got, ok := diagnostic.PageOf(pages, code); !ok || got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
	if _, ok := diagnostic.PageOf(pages, "MX10"); ok {
		t.Error("MX10: found a page")
	}
}
